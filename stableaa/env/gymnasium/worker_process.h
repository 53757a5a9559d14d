// A child process that runs the Python worker (python/stableaa_worker.py, compiled into the
// library).
//
// It gives one guarantee: whatever happens to either side, nobody waits for ever and nothing is
// left behind. Every wait has a limit of time. The child, and whatever it may have started, is in a
// process group of its own, which is killed when this object goes; and when this process goes
// without doing that (kill -9), the kernel does it: the child holds the reading end of a pipe whose
// writing end only this process has, set up to send SIGKILL to the group once that end is closed.
// That works too for a child that hangs in native code, where no thread of Python's would get to
// run.
#ifndef STABLEAA_ENV_GYMNASIUM_WORKER_PROCESS_H_
#define STABLEAA_ENV_GYMNASIUM_WORKER_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stableaa/base/descriptor.h"

namespace stableaa {

// Not thread-safe.
class WorkerProcess {
 public:
  struct Options {
    std::string name;             // in messages: "atari/pong"
    std::string python;           // a program, looked for in PATH if it has no slash
    double timeout_seconds = 60;  // for each answer, the one after the start included
    int shared_memory = -1;       // a descriptor the child gets a copy of
  };

  // BadInput if there is no such program.
  explicit WorkerProcess(Options options);
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

  pid_t pid() const { return pid_; }

 private:
  void Start();
  // At least one byte from the worker, as many as fit.
  std::size_t Receive(std::span<char> into);
  void KeepWords();
  [[noreturn]] void FailBecauseDead();
  [[noreturn]] void Fail(const std::string& what);
  // Ends and reaps the process group; afterwards how it ended, for people.
  std::string Kill();

  const Options options_;
  pid_t pid_ = -1;
  Descriptor control_;      // a socket
  Descriptor lifeline_;     // the writing end of the child's pipe
  Descriptor words_;        // what the child writes to stdout and stderr
  std::string last_words_;  // the end of it
  std::string failure_;     // empty while all is well
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_GYMNASIUM_WORKER_PROCESS_H_
