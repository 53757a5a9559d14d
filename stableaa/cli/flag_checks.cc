#include "stableaa/cli/flag_checks.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "stableaa/base/atomic_file.h"
#include "stableaa/base/error.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/plain_text.h"

namespace stableaa {
namespace {

// CLI11 would take -1, and what is too large, for the largest number.
std::string CheckSeed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::string()
               : fmt::format("expected a whole number in [0, 2^64), found {}", text);
}

}  // namespace

void AddSeedFlag(CLI::App& command, std::uint64_t* seed, const std::string& meaning) {
  command.add_option("--seed", *seed, meaning)
      ->check(CLI::Validator(CheckSeed, ""))
      ->type_name("N in [0, 2^64)");
}

void CheckEnding(const std::optional<std::string>& path, const std::string& flag,
                 const std::string& ending) {
  if (path && !path->ends_with(ending)) {
    throw BadInput(fmt::format("{}: expected a path that ends in {}, found '{}'", flag, ending,
                               Shorten(*path)));
  }
}

void CheckWritable(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_directory(status) &&
                       !std::filesystem::is_regular_file(status);
  if (!special) const AtomicFile attempt(path);
}

void AddThreadsFlag(CLI::App& command, int* threads, const std::string& meaning) {
  *threads = std::min(CoreCount(), 1024);
  command.add_option("--threads", *threads, meaning + " (default: all cores)")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N in [1, 1024]");
}

}  // namespace stableaa
