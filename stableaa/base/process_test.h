// For tests that start and end processes.
#ifndef STABLEAA_BASE_PROCESS_TEST_H_
#define STABLEAA_BASE_PROCESS_TEST_H_

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace stableaa {

// A zombie is not alive: it waits for its parent only, which may take its time.
inline bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

inline bool DiesWithin(pid_t pid, double seconds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (IsAlive(pid)) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace stableaa

#endif  // STABLEAA_BASE_PROCESS_TEST_H_
