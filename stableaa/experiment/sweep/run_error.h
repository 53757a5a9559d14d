// Why a run's process failed, in a file of one line: the process writes it, the sweep reads it.
//
// The sweep makes the file, empty, before it starts the process, and names it in the process's
// environment (kErrorFileVariable). What is written stays there whoever is killed later, until the
// run is started again.
#ifndef STABLEAA_EXPERIMENT_SWEEP_RUN_ERROR_H_
#define STABLEAA_EXPERIMENT_SWEEP_RUN_ERROR_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace stableaa {

inline constexpr char kErrorFileVariable[] = "STABLEAA_ERROR_FILE";

// Replaces what is there, a former error or anything else, by an empty file. Reserves room for an
// error, so that the process can still write that the disk is full. WorkFailed if it cannot.
void ClearRunError(const std::filesystem::path& file);

// For the process, once: the message on one line, control characters escaped, at most about 2000
// bytes. Does nothing if the file cannot be written.
void WriteRunError(const std::filesystem::path& file, std::string_view message) noexcept;

// The first line, fit to be shown, at most about 500 bytes, whoever has written it. Empty if there
// is none.
std::string ReadRunError(const std::filesystem::path& file);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_RUN_ERROR_H_
