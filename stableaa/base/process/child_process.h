// A program started as a child, that never outlives the object it belongs to.
//
//   ChildProcess ffmpeg({.program = "ffmpeg", .arguments = {"-i", "pipe:0", "out.gif"},
//                        .descriptors = {{input.get(), STDIN_FILENO}}});
//   ...
//   if (!ffmpeg.Wait(60)) ...;           // still running
//   ffmpeg.End()                         // "ended with exit code 3", "was killed by signal 9 …"
//
// The child is the leader of a process group of its own: signals of the terminal do not reach it,
// and it is killed with all that it has started and that has not left the group. If this process is
// killed itself, it ends with `ends_with_us`; otherwise that is up to what it waits for.
//
// A process that ignores SIGCHLD has the system reap its children and never learns how they ended;
// exit_code() is empty then.
#ifndef STABLEAA_BASE_PROCESS_CHILD_PROCESS_H_
#define STABLEAA_BASE_PROCESS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/descriptor.h"

namespace stableaa {

// What a child may be given as a descriptor, besides files with names. WorkFailed if the system has
// no room for it.
struct Pipe {
  Descriptor read, write;
};
Pipe MakePipe();
// Without a name, in memory; it has `content` and stands at its beginning.
Descriptor MemoryFile(const char* label, std::string_view content = {});

// Not thread-safe.
class ChildProcess {
 public:
  struct Given {
    int ours = -1;
    int its = -1;  // the child's number for it
  };
  struct Options {
    std::string program;  // looked for in PATH if it has no slash
    std::vector<std::string> arguments = {};
    // What the child inherits. Of 0, 1 and 2 those not given are /dev/null, all others are closed.
    std::vector<Given> descriptors = {};
    // "NAME=value", in addition to this process's environment or instead of what that has.
    std::vector<std::string> environment = {};
    // Have the kernel kill the child and its group when this process ends, whatever ends it. The
    // child holds one more descriptor for that, the first number above those given: the reading end
    // of a pipe whose writing end only this process has. (Only a kill in the microseconds between
    // starting the child and setting this up leaves it running.)
    bool ends_with_us = false;
  };

  // WorkFailed if there is no such program, it cannot be executed or the system has no room:
  // "cannot start 'ffmpeg': No such file or directory".
  explicit ChildProcess(const Options& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Readable, for poll(), once the child has ended.
  int end_descriptor() const { return end_.get(); }

  // Waits for the end, so many seconds at most; true if it has come.
  bool Wait(double seconds);

  // Ends the child and its group at once, if they run, and reaps it. May be called again.
  void Kill();

  // After Wait or Kill. Empty if it was ended by a signal or how it ended is not known.
  std::optional<int> exit_code() const;
  // How it ended by itself, for people; "was killed" if that was by Kill.
  std::string End() const;

 private:
  void Reap();
  void TieToUs(const Descriptor& its_end);

  pid_t pid_ = -1;
  Descriptor lifeline_;
  Descriptor end_;  // a pidfd
  bool reaped_ = false;
  bool killed_here_ = false;
  std::optional<int> status_;  // as of waitpid
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_PROCESS_CHILD_PROCESS_H_
