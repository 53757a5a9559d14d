#include "stableaa/base/machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// The text after "name :" in a file like /proc/cpuinfo; empty if there is none.
std::string ProcField(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !std::string_view(line).starts_with(name)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

const char* VectorInstructions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  return "SSE2";
#else
  return "";
#endif
}

}  // namespace

std::string LibraryVersion() { return STABLEAA_VERSION; }

std::string CompilerName() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string MachineName() {
  std::string name = ProcField("/proc/cpuinfo", "model name");
  if (name.empty()) name = "unknown processor";
  name += fmt::format(", {} core{}", CoreCount(), CoreCount() == 1 ? "" : "s");
  if (*VectorInstructions() != '\0') name += fmt::format(", {}", VectorInstructions());
  return name;
}

int CoreCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::uint64_t AvailableMemoryBytes() {
  const std::string kilobytes = ProcField("/proc/meminfo", "MemAvailable");
  return kilobytes.empty() ? 0 : std::strtoull(kilobytes.c_str(), nullptr, 10) * 1024;
}

void RequireMemory(const std::string& who, std::uint64_t bytes, const std::string& advice) {
  const std::uint64_t available = AvailableMemoryBytes();
  if (available == 0 || bytes <= available) return;
  throw WorkFailed(fmt::format("{} needs {:.3g} GB of memory, {:.3g} GB are available; {}", who,
                               static_cast<double>(bytes) / 1e9,
                               static_cast<double>(available) / 1e9, advice));
}

}  // namespace stableaa
