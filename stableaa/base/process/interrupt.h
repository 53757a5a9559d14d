// Turns Ctrl-C and kill into a flag that a loop polls, so that it can end cleanly: nothing half
// written, nothing left behind.
#ifndef STABLEAA_BASE_PROCESS_INTERRUPT_H_
#define STABLEAA_BASE_PROCESS_INTERRUPT_H_

#include <signal.h>

namespace stableaa {

// While it lives, the first SIGINT, SIGTERM or SIGHUP is only remembered; a second one ends the
// process as it would without the guard. An ignored signal stays ignored (nohup). One per process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;

  // Throws WorkFailed("interrupted") if it was.
  void ThrowIfRequested() const;

 private:
  struct sigaction former_[3];
};

// True if a signal has arrived since the last guard was made. For waits deep in the library that
// are not passed a guard.
bool InterruptRequested();

}  // namespace stableaa

#endif  // STABLEAA_BASE_PROCESS_INTERRUPT_H_
