// What several commands ask of their flags and CLI11 does not know.
#ifndef STABLEAA_CLI_FLAG_CHECKS_H_
#define STABLEAA_CLI_FLAG_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace stableaa {

// --seed N: any of 64 bits. `meaning` ends with the default.
void AddSeedFlag(CLI::App& command, std::uint64_t* seed, const std::string& meaning);

// BadInput unless the path, if there is one, ends as it should: ".gif".
void CheckEnding(const std::optional<std::string>& path, const std::string& flag,
                 const std::string& ending);

// An error now rather than after the work if no file can be written at this path. Changes nothing;
// looks only at directories and regular files, since opening a pipe would have effects.
void CheckWritable(const std::string& path);

// --threads N: in [1, 1024]. `threads` has the default, all cores.
void AddThreadsFlag(CLI::App& command, int* threads, const std::string& meaning);

}  // namespace stableaa

#endif  // STABLEAA_CLI_FLAG_CHECKS_H_
