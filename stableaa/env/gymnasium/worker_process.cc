#include "stableaa/env/gymnasium/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "stableaa/base/error.h"
#include "stableaa/base/plain_text.h"
#include "stableaa/env/gymnasium/worker_source.h"

namespace stableaa {
namespace {

using Clock = std::chrono::steady_clock;

// The child's numbers for what it inherits; python/stableaa_worker.py knows them.
constexpr int kControl = 3, kMemory = 4, kLifeline = 5, kScript = 6, kFirstClosed = 7;

constexpr std::size_t kMaxLine = std::size_t{1} << 26;  // bounds of a large box, in text
constexpr std::size_t kKeptWords = 4096;

struct Pipe {
  Descriptor read, write;
};

Pipe MakePipe() {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemError("cannot make a pipe", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// The worker's source as a file without a name, so that an installed library needs none.
Descriptor ScriptFile() {
  Descriptor file(::memfd_create("stableaa_worker.py", MFD_CLOEXEC));
  const std::string_view source = kWorkerSource;
  if (!file.is_open() ||
      ::write(file.get(), source.data(), source.size()) != static_cast<ssize_t>(source.size())) {
    throw SystemError("cannot make a file in memory", errno);
  }
  return file;
}

// Descriptors below kFirstClosed would be overwritten by the ones the child is given.
Descriptor MovedUp(Descriptor descriptor) {
  if (descriptor.get() >= kFirstClosed) return descriptor;
  Descriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kFirstClosed));
  if (!moved.is_open()) throw SystemError("cannot copy a descriptor", errno);
  return moved;
}

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void Give(int descriptor, int as) {
    ::posix_spawn_file_actions_adddup2(&actions_, descriptor, as);
  }
  void OpenNull(int as) {
    ::posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", O_RDONLY, 0);
  }
  void CloseFrom(int first) { ::posix_spawn_file_actions_addclosefrom_np(&actions_, first); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

// A process group of its own (signals of the terminal do not reach it), and no signal blocked or
// ignored that this process may have set so.
class SpawnAttributes {
 public:
  SpawnAttributes() {
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
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_ = {};
};

// Looks without reaping.
bool IsDead(pid_t pid, siginfo_t* state) {
  siginfo_t found = {};
  const int failed = ::waitid(P_PID, static_cast<id_t>(pid), &found, WEXITED | WNOHANG | WNOWAIT);
  if (state != nullptr) *state = found;
  return failed == 0 && found.si_pid == pid;
}

// This process's environment, but that nothing may wait in a buffer, open a window or greet.
std::vector<char*> WorkerEnvironment(std::vector<std::string>& storage) {
  storage = {"PYTHONUNBUFFERED=1", "SDL_VIDEODRIVER=dummy", "PYGAME_HIDE_SUPPORT_PROMPT=1"};
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::ranges::any_of(
        storage, [name](const std::string& ours) { return ours.starts_with(name); });
    if (!replaced) environment.push_back(*entry);
  }
  for (std::string& ours : storage) environment.push_back(ours.data());
  environment.push_back(nullptr);
  return environment;
}

}  // namespace

WorkerProcess::WorkerProcess(Options options) : options_(std::move(options)) { Start(); }

WorkerProcess::~WorkerProcess() { Kill(); }

void WorkerProcess::Start() {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw SystemError("cannot make a socket", errno);
  }
  control_ = Descriptor(ends[0]);
  const Descriptor child_control = MovedUp(Descriptor(ends[1]));
  Pipe lifeline = MakePipe();
  Pipe words = MakePipe();
  const Descriptor child_lifeline = MovedUp(std::move(lifeline.read));
  const Descriptor child_words = MovedUp(std::move(words.write));
  const Descriptor script = MovedUp(ScriptFile());
  const Descriptor memory =
      MovedUp(Descriptor(::fcntl(options_.shared_memory, F_DUPFD_CLOEXEC, kFirstClosed)));
  if (!memory.is_open()) throw SystemError("cannot copy a descriptor", errno);

  SpawnActions actions;
  actions.OpenNull(STDIN_FILENO);
  actions.Give(child_words.get(), STDOUT_FILENO);
  actions.Give(child_words.get(), STDERR_FILENO);
  actions.Give(child_control.get(), kControl);
  actions.Give(memory.get(), kMemory);
  actions.Give(child_lifeline.get(), kLifeline);
  actions.Give(script.get(), kScript);
  actions.CloseFrom(kFirstClosed);

  const SpawnAttributes attributes;
  std::string python = options_.python;
  std::string path = fmt::format("/dev/fd/{}", kScript);
  std::array<char*, 3> arguments = {python.data(), path.data(), nullptr};
  std::vector<std::string> storage;
  const std::vector<char*> environment = WorkerEnvironment(storage);
  const int problem = ::posix_spawnp(&pid_, python.c_str(), actions.get(), attributes.get(),
                                     arguments.data(), environment.data());
  if (problem != 0) {
    pid_ = -1;
    throw BadInput(
        fmt::format("{}: cannot start Python as '{}': {}; name one by env.python, or run "
                    "scripts/atari, which makes one",
                    options_.name, Shorten(python), std::strerror(problem)));
  }
  lifeline_ = std::move(lifeline.write);
  words_ = std::move(words.read);
  ::fcntl(words_.get(), F_SETFL, O_NONBLOCK);
  // These belong to the pipe's end that the child has, not to this process's number for it.
  if (::fcntl(child_lifeline.get(), F_SETOWN, -pid_) != 0 ||
      ::fcntl(child_lifeline.get(), F_SETSIG, SIGKILL) != 0 ||
      ::fcntl(child_lifeline.get(), F_SETFL, O_ASYNC) != 0) {
    throw SystemError("cannot tie a worker's life to this process", errno);
  }
}

void WorkerProcess::Send(std::string_view bytes) {
  if (!failure_.empty()) throw WorkFailed(failure_);
  while (!bytes.empty()) {
    const ssize_t written = ::send(control_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) FailBecauseDead();
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

char WorkerProcess::ReceiveByte() {
  char byte = 0;
  Receive({&byte, 1});
  return byte;
}

std::string WorkerProcess::ReceiveLine() {
  std::string line;
  std::array<char, 65536> buffer;
  while (line.empty() || line.back() != '\n') {
    line.append(buffer.data(), Receive(buffer));
    if (line.size() > kMaxLine) Fail("the worker's answer is too long");
  }
  line.pop_back();
  return line;
}

std::size_t WorkerProcess::Receive(std::span<char> into) {
  if (!failure_.empty()) throw WorkFailed(failure_);
  const auto limit = Clock::now() + std::chrono::duration<double>(options_.timeout_seconds);
  std::array<pollfd, 2> waits = {pollfd{control_.get(), POLLIN, 0}, {words_.get(), POLLIN, 0}};
  for (;;) {
    const std::chrono::duration<double, std::milli> left = limit - Clock::now();
    if (left.count() <= 0) {
      Fail(
          fmt::format("its worker has not answered for {:g} s (env.timeout_seconds); it was killed",
                      options_.timeout_seconds));
    }
    const int ready = ::poll(waits.data(), waits.size(),
                             static_cast<int>(std::min(std::ceil(left.count()), 1e9)));
    if (ready < 0 && errno != EINTR) throw SystemError("cannot wait for a worker", errno);
    if (ready <= 0) continue;
    // Read even while waiting for something else: a full pipe would stop the worker.
    if (waits[1].revents != 0) KeepWords();
    if (waits[0].revents == 0) continue;
    const ssize_t count = ::recv(control_.get(), into.data(), into.size(), 0);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count < 0 && errno == EINTR) continue;
    FailBecauseDead();
  }
}

void WorkerProcess::KeepWords() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = ::read(words_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    last_words_.append(buffer.data(), static_cast<std::size_t>(count));
    if (last_words_.size() > kKeptWords) {
      last_words_.erase(0, last_words_.size() - kKeptWords);
    }
  }
}

void WorkerProcess::FailBecauseDead() {
  // A process closes its end a moment before it is known to be dead.
  for (int i = 0; i < 1000 && !IsDead(pid_, nullptr); ++i) ::usleep(500);
  const std::string end = Kill();
  Fail(fmt::format("its worker {}", end));
}

void WorkerProcess::Fail(const std::string& what) {
  Kill();
  failure_ = fmt::format("{}: {}", options_.name, what);
  KeepWords();
  while (!last_words_.empty() && std::isspace(static_cast<unsigned char>(last_words_.back()))) {
    last_words_.pop_back();
  }
  const std::size_t line = last_words_.rfind('\n') + 1;  // npos + 1 is 0
  if (!last_words_.empty()) {
    failure_ += fmt::format("; it last wrote: {}", Shorten(last_words_.substr(line)));
  }
  throw WorkFailed(failure_);
}

std::string WorkerProcess::Kill() {
  if (pid_ < 0) return "is dead";
  // How it ended, if it had before being killed here. Not reaped yet, so that the group's number
  // cannot belong to anybody else.
  siginfo_t state = {};
  const bool dead = IsDead(pid_, &state);
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  control_.Close();
  lifeline_.Close();
  if (!dead) return "closed its end and was killed";
  if (state.si_code == CLD_EXITED) return fmt::format("ended with exit code {}", state.si_status);
  return fmt::format("was killed by signal {} ({})", state.si_status, ::strsignal(state.si_status));
}

}  // namespace stableaa
