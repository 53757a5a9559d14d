// A one-line file that says why a run's process failed: the process writes it, the sweep reads it.
//
// The sweep creates the file, empty, before it starts the process, and names it in the process's
// environment (kErrorFileVariable). Its content survives whoever is killed later, until the run is
// started again.
#ifndef STABLEAA_EXPERIMENT_SWEEP_RUN_ERROR_H_
#define STABLEAA_EXPERIMENT_SWEEP_RUN_ERROR_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace stableaa {

inline constexpr char kErrorFileVariable[] = "STABLEAA_ERROR_FILE";

// Replaces whatever is there with an empty file. Reserves space for an error, so that the process
// can still report a full disk. WorkFailed if the file cannot be created.
void ClearRunError(const std::filesystem::path& file);

// Called by the process, once: writes the message on one line, with control characters escaped, up
// to about 2000 bytes. Does nothing if the file cannot be written.
void WriteRunError(const std::filesystem::path& file, std::string_view message) noexcept;

// What a program that trains runs does when it fails: prints "PREFIXerror: MESSAGE" on one line of
// stderr, shortened in the same way, and writes the message for the sweep, if one started it.
void ReportError(std::string_view prefix, std::string_view message);

// The first line, safe to show whoever wrote it, up to about 500 bytes. Empty if there is none.
std::string ReadRunError(const std::filesystem::path& file);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_RUN_ERROR_H_
