// Limits on the programs that draw for us, gnuplot and ffmpeg: one that hangs or floods us with
// output is abandoned.
//
//   ToolWatch watch("gnuplot");
//   while (!gnuplot.Wait(kToolSlice)) {
//     watch.Check();
//     watch.CheckSize(output, kMostBytes);
//   }
//
// The caller's ChildProcess kills the program as the error propagates.
#ifndef STABLEAA_BASE_PROCESS_OUTSIDE_TOOL_H_
#define STABLEAA_BASE_PROCESS_OUTSIDE_TOOL_H_

#include <sys/types.h>

#include <string>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {

// How many seconds such a program may go without a sign of life: the environment variable
// STABLEAA_TOOL_SECONDS, 0.1 to 1e6, or 60 if it is not set. BadInput if it is anything else.
double ToolSeconds();

// Seconds between two checks.
inline constexpr double kToolSlice = 0.05;

class ToolWatch {
 public:
  explicit ToolWatch(std::string program);

  // Restarts the clock.
  void SignOfLife() { since_ = Stopwatch(); }

  // WorkFailed, naming the program and the limit, once time is up; WorkFailed("interrupted") if
  // Ctrl-C was pressed (InterruptGuard) since this object was made.
  void Check() const;

  // WorkFailed, naming the program, once the file has more than `most` bytes.
  void CheckSize(const Descriptor& file, off_t most) const;

 private:
  std::string program_;
  double limit_;
  bool interrupted_before_;
  Stopwatch since_;
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_PROCESS_OUTSIDE_TOOL_H_
