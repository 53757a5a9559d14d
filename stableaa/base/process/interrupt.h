// Ctrl-C and kill, turned into a question that a loop asks itself, so that it can end in good
// order: nothing half written, nothing left behind.
#ifndef STABLEAA_BASE_PROCESS_INTERRUPT_H_
#define STABLEAA_BASE_PROCESS_INTERRUPT_H_

#include <signal.h>

namespace stableaa {

// While it lives, the first SIGINT, SIGTERM or SIGHUP is only remembered; a second ends the process
// as it would without this. A signal that was ignored stays so (nohup). One per process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;

  // WorkFailed("interrupted") if it was.
  void ThrowIfRequested() const;

 private:
  struct sigaction former_[3];
};

// True if a signal has come since the last guard was made. For waits deep in the library, which no
// guard is handed to.
bool InterruptRequested();

}  // namespace stableaa

#endif  // STABLEAA_BASE_PROCESS_INTERRUPT_H_
