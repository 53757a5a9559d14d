// What several commands ask of their flags and CLI11 does not know.
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

// For `->transform(...)` of a flag that takes a whole number: 100000, 100_000 or 1e5. Every integer
// flag has one, for CLI11 takes what is too large for the largest number and knows none of these
// spellings.
CLI::Validator WholeBetween(std::int64_t least, std::uint64_t most);

// --seed N: any of 64 bits. `meaning` ends with the default.
void AddSeedFlag(CLI::App& command, std::uint64_t* seed, const std::string& meaning);

// BadInput unless the path, if there is one, ends as it should: ".gif".
void CheckEnding(const std::optional<std::string>& path, const std::string& flag,
                 const std::string& ending);

// A flag, or what else names a file, and the path.
using FlagAndPath = std::pair<std::string_view, std::string>;

// BadInput if the output is one of the files that are taken. Devices and pipes may have several
// purposes.
void RequireAnotherFile(const FlagAndPath& output, const std::vector<FlagAndPath>& taken);

// An error now rather than after the work if no file can be written at this path. Changes nothing;
// looks only at directories and regular files, since opening a pipe would have effects.
void CheckWritable(const std::string& path);

// --threads N: in [1, 1024]. `threads` has the default, all cores.
void AddThreadsFlag(CLI::App& command, int* threads, const std::string& meaning);

// --trust, for commands that read runs. Returns the flag.
CLI::Option* AddTrustFlag(CLI::App& command, bool* trust);

}  // namespace stableaa

#endif  // STABLEAA_CLI_FLAG_CHECKS_H_
