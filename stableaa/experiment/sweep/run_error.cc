#include "stableaa/experiment/sweep/run_error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestWritten = 2000;
constexpr std::size_t kLongestRead = 500;
constexpr std::size_t kReservedBytes = 4096;

}  // namespace

void ClearRunError(const fs::path& file) {
  std::error_code ignored;  // if something is still there, opening it fails
  fs::remove(file, ignored);
  const Descriptor made(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!made.is_open()) throw SystemError(fmt::format("cannot write {}", ShownPath(file)), errno);
  // Some file systems cannot reserve space; there, only a full disk goes unreported.
  [[maybe_unused]] const int reserved =
      ::fallocate(made.get(), FALLOC_FL_KEEP_SIZE, 0, kReservedBytes);
}

void WriteRunError(const fs::path& file, std::string_view message) noexcept {
  try {
    const std::string line = Shorten(message, kLongestWritten) + "\n";
    // Truncating would release the reserved space. A single write, so that a kill leaves the whole
    // line or nothing.
    const Descriptor opened(
        open(file.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!opened.is_open()) return;
    [[maybe_unused]] const ssize_t written = ::write(opened.get(), line.data(), line.size());
  } catch (const std::exception&) {  // out of memory
  }
}

void ReportError(std::string_view prefix, std::string_view message) {
  // Not fmt::print, which throws if stderr is closed.
  std::fputs(fmt::format("{}error: {}\n", prefix, Shorten(message, kLongestWritten)).c_str(),
             stderr);
  if (const char* const file = std::getenv(kErrorFileVariable)) WriteRunError(file, message);
}

std::string ReadRunError(const fs::path& file) {
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!opened.is_open() || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return "";
  }
  std::string text(kReservedBytes, '\0');
  const ssize_t got = ::read(opened.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return Shorten(std::string_view(text).substr(0, text.find('\n')), kLongestRead);
}

}  // namespace stableaa
