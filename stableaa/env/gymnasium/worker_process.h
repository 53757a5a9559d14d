// A child process that runs the Python worker (python/stableaa_worker.py, compiled into the
// library).
//
// It gives one guarantee: whatever happens to either side, nobody waits for ever and no worker is
// left behind. Every wait has a limit of time. The child and its process group are killed when this
// object goes; and when this process goes without doing that (kill -9), the kernel does it: the
// child holds the reading end of a pipe whose writing end only this process has, set up to send
// SIGKILL to the group once that end is closed. That works too for a child that hangs in native
// code, where no thread of Python's would get to run. Only what an environment has started and
// moved to another group itself (setsid) is out of reach.
//
// What the child writes to stdout and stderr is logged line by line (base/log.h), so on this
// process's stderr; from its first answer on, since what never answers may be any program.
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
    std::string python;           // a program, looked for in PATH if it has no slash
    double timeout_seconds = 60;  // for each answer, the one after the start included; the key's
    int shared_memory = -1;       // a descriptor the child gets a copy of
  };

  // WorkFailed if there is no such program.
  explicit WorkerProcess(Options options);
  // Kills it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // WorkFailed, here and below, if the worker has died or does not answer in time: with its end and
  // the last line it wrote. It is killed then, and every later call fails the same way.
  void Send(std::string_view bytes);
  // Waits for one byte.
  char ReceiveByte();
  // Waits for a line, and returns it without its end.
  std::string ReceiveLine();

  void set_timeout_seconds(double seconds) { options_.timeout_seconds = seconds; }
  // From now on; where it is less than timeout_seconds.
  void set_most_seconds(double seconds) { most_seconds_ = seconds; }
  // Whether a call has thrown WorkFailed.
  bool has_failed() const { return !failure_.empty(); }
  pid_t pid() const { return child_->pid(); }

 private:
  void Start();
  double wait_seconds() const { return std::min(options_.timeout_seconds, most_seconds_); }
  // At least one byte from the worker, as many as fit.
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
  Descriptor words_;        // what the child writes to stdout and stderr
  std::string last_words_;  // the end of it
  std::string unlogged_;    // of it, what is not logged yet
  bool has_answered_ = false;
  std::string failure_;  // empty while all is well
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_GYMNASIUM_WORKER_PROCESS_H_
