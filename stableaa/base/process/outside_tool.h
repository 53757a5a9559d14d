// Patience with the programs that draw for us, gnuplot and ffmpeg: one that hangs, or floods us with
// output, is given up.
//
//   ToolWatch watch("gnuplot");
//   while (!gnuplot.Wait(kToolSlice)) {
//     watch.Check();
//     watch.CheckSize(output, kMostBytes);
//   }
//
// The caller's ChildProcess kills the program while the error passes.
#ifndef STABLEAA_BASE_PROCESS_OUTSIDE_TOOL_H_
#define STABLEAA_BASE_PROCESS_OUTSIDE_TOOL_H_

#include <sys/types.h>

#include <string>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {

// How many seconds such a program may go without a sign of life: those of the environment variable
// STABLEAA_TOOL_SECONDS, 0.1 to 1e6, and 60 if it is not set. BadInput if it is something else.
double ToolSeconds();

// Between two looks, in seconds.
inline constexpr double kToolSlice = 0.05;

class ToolWatch {
 public:
  explicit ToolWatch(std::string program);

  // The time begins anew.
  void SignOfLife() { since_ = Stopwatch(); }

  // WorkFailed, naming the program and the limit, once the time is over; WorkFailed("interrupted")
  // if Ctrl-C has come (InterruptGuard) since this object was made.
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
