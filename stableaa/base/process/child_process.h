// A program started as a child that never outlives the object it belongs to.
//
//   ChildProcess ffmpeg({.program = "ffmpeg", .arguments = {"-i", "pipe:0", "out.gif"},
//                        .descriptors = {{input.get(), STDIN_FILENO}}});
//   ...
//   if (!ffmpeg.Wait(60)) ...;           // still running
//   ffmpeg.End()                         // "ended with exit code 3", "was killed by signal 9 …"
//
// The child leads its own process group: signals from the terminal do not reach it, and killing it
// also kills everything it started that has not left the group. If this process is killed, a child
// with `ends_with_us` ends too; for others that depends on what they are waiting for.
//
// If this process ignores SIGCHLD, the system reaps its children and it never learns how they
// ended; exit_code() is then empty.
#ifndef STABLEAA_BASE_PROCESS_CHILD_PROCESS_H_
#define STABLEAA_BASE_PROCESS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/descriptor.h"

namespace stableaa {

// Things to pass to a child as descriptors, besides named files. WorkFailed if the system has no
// room.
struct Pipe {
  Descriptor read, write;
};
Pipe MakePipe();
// An unnamed file in memory, holding `content` and positioned at its beginning.
Descriptor MemoryFile(const char* label, std::string_view content = {});

// Not thread-safe.
class ChildProcess {
 public:
  struct Given {
    int ours = -1;
    int its = -1;  // the child's number for it
  };
  struct Options {
    std::string program;  // searched in PATH if it has no slash
    std::vector<std::string> arguments = {};
    // What the child inherits. If not given, 0, 1 and 2 are /dev/null; all others are closed.
    std::vector<Given> descriptors = {};
    // "NAME=value", added to this process's environment or overriding it.
    std::vector<std::string> environment = {};
    // Has the kernel kill the child and its group when this process ends, for whatever reason. For
    // that the child holds one more descriptor, the first number above those given: the read end of
    // a pipe whose write end only this process has. (Only a kill in the microseconds between
    // starting the child and setting this up leaves it running.)
    bool ends_with_us = false;
  };

  // WorkFailed if the program does not exist, cannot be executed or the system has no room: "cannot
  // start 'ffmpeg': No such file or directory".
  explicit ChildProcess(const Options& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Readable, for poll(), once the child has ended.
  int end_descriptor() const { return end_.get(); }

  // Waits up to `seconds` for the child to end; true if it has.
  bool Wait(double seconds);

  // Kills the child and its group if they are running, and reaps it. May be called again.
  void Kill();

  // After Wait or Kill. Empty if a signal ended it or how it ended is unknown.
  std::optional<int> exit_code() const;
  // How it ended, for people; "was killed" if Kill ended it.
  std::string End() const;

 private:
  void Reap();
  void TieToUs(const Descriptor& its_end);

  pid_t pid_ = -1;
  Descriptor lifeline_;
  Descriptor end_;  // a pidfd
  bool reaped_ = false;
  bool killed_here_ = false;
  std::optional<int> status_;  // as returned by waitpid
};

// For children that have something to finish before they end, which `ends_with_us` does not let
// them: from now on, the end of the process that started this one, `parent`, sends a SIGTERM.
// BadInput if that is another process: it may have ended before this call.
void EndWithParent(std::int64_t parent);

}  // namespace stableaa

#endif  // STABLEAA_BASE_PROCESS_CHILD_PROCESS_H_
