#include "stableaa/base/process/outside_tool.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr const char* kVariable = "STABLEAA_TOOL_SECONDS";
constexpr double kUsualSeconds = 60;

}  // namespace

double ToolSeconds() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr || *value == '\0') return kUsualSeconds;
  const std::string_view text = value;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(seconds >= 0.1 && seconds <= 1e6)) {
    throw BadInput(fmt::format("{}: expected a number of seconds in [0.1, 1e6], found '{}'",
                               kVariable, Shorten(text)));
  }
  return seconds;
}

ToolWatch::ToolWatch(std::string program)
    : program_(std::move(program)),
      limit_(ToolSeconds()),
      interrupted_before_(InterruptRequested()) {}

void ToolWatch::Check() const {
  // An earlier interrupt was for the work whose result is now being drawn.
  if (InterruptRequested() && !interrupted_before_) throw WorkFailed("interrupted");
  if (since_.Seconds() <= limit_) return;
  throw WorkFailed(
      fmt::format("{} has not got on for {:g} s and was killed ({} in the environment sets this "
                  "limit)",
                  program_, limit_, kVariable));
}

void ToolWatch::CheckSize(const Descriptor& file, off_t most) const {
  struct stat status = {};
  if (::fstat(file.get(), &status) == 0 && status.st_size > most) {
    throw WorkFailed(fmt::format("{} has written more than {} bytes", program_, most));
  }
}

}  // namespace stableaa
