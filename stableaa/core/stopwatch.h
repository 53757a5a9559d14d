// Wall time since construction, from a clock that never jumps.
#ifndef STABLEAA_CORE_STOPWATCH_H_
#define STABLEAA_CORE_STOPWATCH_H_

#include <chrono>

namespace stableaa {

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace stableaa

#endif  // STABLEAA_CORE_STOPWATCH_H_
