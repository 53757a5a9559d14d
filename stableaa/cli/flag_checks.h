// Flags and checks that several commands share and CLI11 lacks.
#ifndef STABLEAA_CLI_FLAG_CHECKS_H_
#define STABLEAA_CLI_FLAG_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace stableaa {

// For `->transform(...)` of an integer flag: accepts 100000, 100_000 or 1e5. Every integer flag has
// one, because CLI11 clamps numbers that are too large and knows none of these spellings.
CLI::Validator WholeBetween(std::int64_t least, std::uint64_t most);

// --seed N, any 64-bit number. `meaning` ends with the default.
void AddSeedFlag(CLI::App& command, std::uint64_t* seed, const std::string& meaning);

// BadInput if a path is given and does not end in `ending`, such as ".gif".
void CheckEnding(const std::optional<std::string>& path, const std::string& flag,
                 const std::string& ending);

// A flag, or another name for the file, and its path.
using FlagAndPath = std::pair<std::string_view, std::string>;

// BadInput if the output is one of the files in `taken`. Devices and pipes may be used twice.
void RequireAnotherFile(const FlagAndPath& output, const std::vector<FlagAndPath>& taken);

// BadInput if the output is a file that a run has written, such as its weights.
void RequireNoFileOfRun(const FlagAndPath& output);

// Throws now rather than after the work if the path cannot be written. Changes nothing; does not
// try pipes and devices, since opening one would have effects.
void CheckWritable(const std::string& path);

// --threads N in [1, 1024]. Sets `threads` to the default, all cores.
void AddThreadsFlag(CLI::App& command, int* threads, const std::string& meaning);

// --trust, for commands that read runs. Returns the flag.
CLI::Option* AddTrustFlag(CLI::App& command, bool* trust);

}  // namespace stableaa

#endif  // STABLEAA_CLI_FLAG_CHECKS_H_
