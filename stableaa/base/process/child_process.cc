#include "stableaa/base/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

using Clock = std::chrono::steady_clock;

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

// Gives the child its own group and undoes any signal blocking or ignoring by this process.
class Attributes {
 public:
  Attributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_ = {};
};

// The pointers go into `ours` and into this process's environment.
std::vector<char*> MergedEnvironment(std::vector<std::string>& ours) {
  std::vector<char*> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::ranges::any_of(
        ours, [name](const std::string& mine) { return mine.starts_with(name); });
    if (!replaced) merged.push_back(*entry);
  }
  for (std::string& mine : ours) merged.push_back(mine.data());
  merged.push_back(nullptr);
  return merged;
}

}  // namespace

Pipe MakePipe() {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor MemoryFile(const char* label, std::string_view content) {
  Descriptor file(::memfd_create(label, MFD_CLOEXEC));
  if (!file.is_open()) throw SystemError("cannot make a file in memory", errno);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw SystemError("cannot write a file in memory", errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

ChildProcess::ChildProcess(const Options& options) {
  int first_closed = STDERR_FILENO + 1;
  for (const Given& given : options.descriptors)
    first_closed = std::max(first_closed, given.its + 1);
  std::vector<Given> descriptors = options.descriptors;
  Pipe lifeline;
  if (options.ends_with_us) {
    lifeline = MakePipe();
    descriptors.push_back({lifeline.read.get(), first_closed++});
  }
  // First move them away from the numbers the child gets, so that placing one overwrites none.
  std::vector<Descriptor> moved;
  FileActions actions;
  std::array<bool, 3> standard = {};
  for (const Given& given : descriptors) {
    moved.emplace_back(::fcntl(given.ours, F_DUPFD_CLOEXEC, first_closed));
    if (!moved.back().is_open()) throw SystemError("cannot copy a descriptor", errno);
    ::posix_spawn_file_actions_adddup2(actions.get(), moved.back().get(), given.its);
    if (given.its <= STDERR_FILENO) standard[static_cast<std::size_t>(given.its)] = true;
  }
  for (int its = 0; its <= STDERR_FILENO; ++its) {
    if (standard[static_cast<std::size_t>(its)]) continue;
    ::posix_spawn_file_actions_addopen(actions.get(), its, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), first_closed);

  const Attributes attributes;
  std::vector<std::string> words = options.arguments;
  words.insert(words.begin(), options.program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<std::string> ours = options.environment;
  const std::vector<char*> environment = MergedEnvironment(ours);
  const int problem = ::posix_spawnp(&pid_, options.program.c_str(), actions.get(),
                                     attributes.get(), arguments.data(), environment.data());
  if (problem != 0) {
    pid_ = -1;
    throw SystemError(fmt::format("cannot start '{}'", Shorten(options.program, 200)), problem);
  }
  lifeline_ = std::move(lifeline.write);
  if (options.ends_with_us) TieToUs(lifeline.read);
  // glibc 2.36's pidfd_open is unusable here: its header is not fit for C++.
  end_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!end_.is_open()) {
    const int reason = errno;
    Kill();
    throw SystemError("cannot watch a child process", reason);
  }
}

ChildProcess::~ChildProcess() { Kill(); }

// These belong to the child's end of the pipe, not to this process's descriptor for it.
void ChildProcess::TieToUs(const Descriptor& its_end) {
  if (::fcntl(its_end.get(), F_SETOWN, -pid_) == 0 &&
      ::fcntl(its_end.get(), F_SETSIG, SIGKILL) == 0 &&
      ::fcntl(its_end.get(), F_SETFL, O_ASYNC) == 0) {
    return;
  }
  const int reason = errno;
  Kill();
  throw SystemError("cannot tie a child process to this one", reason);
}

bool ChildProcess::Wait(double seconds) {
  const auto limit = Clock::now() + std::chrono::duration<double>(seconds);
  while (!reaped_) {
    const std::chrono::duration<double, std::milli> left = limit - Clock::now();
    pollfd wait = {end_.get(), POLLIN, 0};
    const double milliseconds = std::clamp(std::ceil(left.count()), 0.0, 1e9);
    const int ready = ::poll(&wait, 1, static_cast<int>(milliseconds));
    if (ready > 0) Reap();
    if (ready == 0 && left.count() <= 0) return false;
    if (ready < 0 && errno != EINTR) throw SystemError("cannot wait for a child process", errno);
  }
  return true;
}

void ChildProcess::Kill() {
  if (reaped_ || pid_ < 0) return;
  killed_here_ = !end_.is_open() || !Wait(0);
  if (reaped_) return;
  // Also kill the process itself, in case it has left its group. It is not reaped yet, so the
  // numbers are still its own.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  Reap();
}

void ChildProcess::Reap() {
  // Kill what it has started too; its number is not reused before it is reaped.
  ::kill(-pid_, SIGKILL);
  int status = 0;
  pid_t found = 0;
  while ((found = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
  }
  if (found == pid_) status_ = status;
  reaped_ = true;
}

std::optional<int> ChildProcess::exit_code() const {
  if (!status_ || !WIFEXITED(*status_)) return std::nullopt;
  return WEXITSTATUS(*status_);
}

std::string ChildProcess::End() const {
  if (killed_here_) return "was killed";
  if (!status_) return "ended";
  if (WIFEXITED(*status_)) return fmt::format("ended with exit code {}", WEXITSTATUS(*status_));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(*status_),
                     ::strsignal(WTERMSIG(*status_)));
}

void EndWithParent(std::int64_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) {
    throw SystemError("cannot end with the process that started this one", errno);
  }
  if (::getppid() != parent) {
    throw BadInput(fmt::format("expected {}, the process that started this one, found {}",
                               ::getppid(), parent));
  }
}

}  // namespace stableaa
