#include "stableaa/cli/flag_checks.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <variant>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/base/text/whole_number.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_directory.h"

namespace stableaa {
namespace {

constexpr auto kMostSeed = std::numeric_limits<std::uint64_t>::max();

// "2^40" or "10^12" where the digits would be hard to read.
std::string LimitText(std::uint64_t limit) {
  std::string digits = std::to_string(limit);
  const std::size_t zeros = digits.size() - 1;
  if (zeros < 12) return digits;
  if (std::has_single_bit(limit)) return fmt::format("2^{}", std::countr_zero(limit));
  return digits == '1' + std::string(zeros, '0') ? fmt::format("10^{}", zeros) : digits;
}

bool SameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::is_other(a, error)) return false;
  const auto canonical = [&](const std::string& path) {
    // weakly_canonical leaves the relative name of a missing file unchanged.
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  const std::filesystem::path first = canonical(a);
  return (!error && first == canonical(b)) || std::filesystem::equivalent(a, b, error);
}

}  // namespace

CLI::Validator WholeBetween(std::int64_t least, std::uint64_t most) {
  const auto rewrite = [least, most](std::string& text) -> std::string {
    const std::optional<WholeNumber> number = ReadWholeNumber(text);
    const auto within = [least, most](auto value) {
      return std::cmp_greater_equal(value, least) && std::cmp_less_equal(value, most);
    };
    if (!number || !std::visit(within, *number)) {
      const std::string range = most == kMostSeed ? fmt::format("[{}, 2^64)", least)
                                                  : fmt::format("[{}, {}]", least, LimitText(most));
      return fmt::format("expected a whole number in {}, found {}", range,
                         text.empty() ? "nothing" : Shorten(text));
    }
    text = std::visit([](auto value) { return std::to_string(value); }, *number);
    return "";
  };
  return CLI::Validator(rewrite, "");
}

void AddSeedFlag(CLI::App& command, std::uint64_t* seed, const std::string& meaning) {
  command.add_option("--seed", *seed, meaning)
      ->transform(WholeBetween(0, kMostSeed))
      ->type_name("N in [0, 2^64)");
}

void CheckEnding(const std::optional<std::string>& path, const std::string& flag,
                 const std::string& ending) {
  if (path && !path->ends_with(ending)) {
    throw BadInput(fmt::format("{}: expected a path that ends in {}, found '{}'", flag, ending,
                               Shorten(*path)));
  }
}

void RequireAnotherFile(const FlagAndPath& output, const std::vector<FlagAndPath>& taken) {
  for (const FlagAndPath& other : taken) {
    if (SameFile(output.second, other.second)) {
      throw BadInput(
          fmt::format("{}: {} is '{}', too", output.first, other.first, Shorten(output.second)));
    }
  }
}

void RequireNoFileOfRun(const FlagAndPath& output) {
  if (const auto run = RunThatWrote(output.second)) {
    throw BadInput(fmt::format("{}: '{}' is a file of the run in {}", output.first,
                               Shorten(output.second), ShownPath(*run)));
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
      ->transform(WholeBetween(1, 1024))
      ->type_name("N in [1, 1024]");
}

CLI::Option* AddTrustFlag(CLI::App& command, bool* trust) {
  return command.add_flag("--trust", *trust,
                          "Run the Python modules (gymnasium/module:Id, env.wrappers) and the "
                          "interpreter (env.python) that the run's files name; otherwise only what "
                          "you name yourself is run");
}

}  // namespace stableaa
