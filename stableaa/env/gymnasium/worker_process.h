// A child process that runs the Python worker (python/stableaa_worker.py, compiled into the
// library).
//
// It guarantees that, whatever happens to either side, nobody waits forever and no worker is left
// behind. Every wait has a time limit. The child and its process group are killed when this object
// is destroyed. If this process dies without doing that (kill -9), the kernel does it: the child
// holds the reading end of a pipe whose writing end only this process has, set up to send SIGKILL
// to the group once that end is closed. This works even for a child that hangs in native code,
// where no Python thread would get to run. Only processes that an environment has itself moved to
// another group (setsid) are out of reach.
//
// The child's stdout and stderr are logged line by line (base/log.h), that is, on this process's
// stderr, starting with its first answer: a program that never answers could be anything.
#ifndef STABLEAA_ENV_GYMNASIUM_WORKER_PROCESS_H_
#define STABLEAA_ENV_GYMNASIUM_WORKER_PROCESS_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/process/child_process.h"

namespace stableaa {

// Not thread-safe.
class WorkerProcess {
 public:
  struct Options {
    std::string name;             // in messages: "atari/pong"
    std::string python;           // a program, searched for in PATH if it has no slash
    double timeout_seconds = 60;  // for each answer, including the one after the start; the key's
    int shared_memory = -1;       // a descriptor of which the child gets a copy
  };

  // Throws WorkFailed if there is no such program.
  explicit WorkerProcess(Options options);
  // Kills it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // This and the functions below throw WorkFailed, with how the worker ended and the last line it
  // wrote, if it has died or does not answer in time. It is then killed, and every later call fails
  // the same way.
  void Send(std::string_view bytes);
  // Waits for one byte.
  char ReceiveByte();
  // Waits for a line and returns it without the newline.
  std::string ReceiveLine();

  void set_timeout_seconds(double seconds) { options_.timeout_seconds = seconds; }
  // Applies from now on, if less than timeout_seconds.
  void set_most_seconds(double seconds) { most_seconds_ = seconds; }
  // Whether a call has thrown WorkFailed.
  bool has_failed() const { return !failure_.empty(); }
  pid_t pid() const { return child_->pid(); }

 private:
  void Start();
  double wait_seconds() const { return std::min(options_.timeout_seconds, most_seconds_); }
  // Receives at least one byte from the worker, and as many as fit.
  std::size_t Receive(std::span<char> into);
  void ReadWords();
  void LogWords();
  [[noreturn]] void FailBecauseDead();
  [[noreturn]] void FailBecauseSilent();
  [[noreturn]] void Fail(const std::string& what);

  Options options_;
  double most_seconds_ = std::numeric_limits<double>::infinity();
  std::unique_ptr<ChildProcess> child_;
  Descriptor control_;      // a socket
  Descriptor words_;        // the child's stdout and stderr
  std::string last_words_;  // their end
  std::string unlogged_;    // their part that is not logged yet
  bool has_answered_ = false;
  std::string failure_;  // empty while all is well
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_GYMNASIUM_WORKER_PROCESS_H_
