// For tests that start and end processes.
#ifndef STABLEAA_BASE_PROCESS_PROCESS_TEST_H_
#define STABLEAA_BASE_PROCESS_PROCESS_TEST_H_

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace stableaa {

// A process's file in /proc; empty if there is none. If the process ends between opening and
// reading, the read fails: an iterator over the file would throw, << does not.
inline std::string ProcessFile(pid_t pid, const std::string& name) {
  const std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A zombie is not alive: it only waits for its parent, which may take its time.
inline bool IsAlive(pid_t pid) {
  const std::string text = ProcessFile(pid, "stat");
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

#endif  // STABLEAA_BASE_PROCESS_PROCESS_TEST_H_
