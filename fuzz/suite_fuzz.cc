// A suite from arbitrary bytes: either a BadInput, or runs with unique names that are valid
// directory names, and with consistent options that survive being written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "fuzz/accepts.h"
#include "stableaa/base/config/config.h"
#include "stableaa/experiment/suite/suite.h"

namespace stableaa {
namespace {

// More combinations would only take time.
constexpr std::ptrdiff_t kMaxCommas = 40;

// More draws would, too: at most two digits after "draws = ".
bool HasManyDraws(std::string_view text) {
  for (std::size_t at = text.find("draws"); at != std::string_view::npos;
       at = text.find("draws", at + 1)) {
    const std::string_view number = text.substr(at, text.find('\n', at) - at);
    if (std::ranges::count_if(number, [](char c) { return c >= '0' && c <= '9'; }) > 2) return true;
    if (number.find_first_of("eE") != std::string_view::npos) return true;
  }
  return false;
}

void CheckRun(const SuiteRun& run) {
  run.options.Validate();
  RunOptions again;
  Config config;
  Describe(config, again);
  config.LoadText(ToToml(run.options), "again.toml");
  Require(ToToml(again) == ToToml(run.options));
}

void Try(std::string_view text) {
  if (std::ranges::count(text, ',') > kMaxCommas || HasManyDraws(text)) return;
  Suite suite;
  if (!Accepts([&] { suite = ParseSuite(text, "fuzz.toml"); })) return;
  Require(!suite.runs.empty() && suite.runs.size() <= kMaxSuiteRuns);
  Require(suite.runs.size() % suite.seeds.size() == 0);
  if (suite.search) Require(suite.runs.size() % suite.search->draws == 0);
  std::set<std::string> names;
  for (const SuiteRun& run : suite.runs) {
    Require(names.insert(run.name).second);
    Require(run.variant < suite.variants.size());
    Require(run.draw <= (suite.search ? suite.search->draws : 0));
    Require(run.name.size() < 240 && run.name.front() != '.');
    Require(run.name.find_first_of("/ \n") == std::string::npos);
  }
  CheckRun(suite.runs.front());
  CheckRun(suite.runs.back());
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stableaa::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
