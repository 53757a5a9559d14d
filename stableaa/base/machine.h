// What the program runs on, so that results can say where they were measured and work that cannot
// fit is refused.
#ifndef STABLEAA_BASE_MACHINE_H_
#define STABLEAA_BASE_MACHINE_H_

#include <cstdint>
#include <string>

namespace stableaa {

// The library's version, "0.1.0".
std::string LibraryVersion();

// "GCC 12.2.0".
std::string CompilerName();

// "AMD EPYC, 2 cores, AVX2": the processor's own name, the cores this process may use, and the
// widest vector instructions. Unknown parts are left out.
std::string MachineName();

// Cores this process may use, at least 1.
int CoreCount();

// Memory available without swapping, or 0 if the system does not say.
std::uint64_t AvailableMemoryBytes();

// Throws WorkFailed if `bytes` exceed the available memory:
// "bench anderson needs 1.4 GB of memory, 0.9 GB are available; <advice>".
void RequireMemory(const std::string& who, std::uint64_t bytes, const std::string& advice);

}  // namespace stableaa

#endif  // STABLEAA_BASE_MACHINE_H_
