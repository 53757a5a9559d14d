#include "stableaa/env/gymnasium/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <utility>

#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/env/gymnasium/worker_source.h"

namespace stableaa {
namespace {

using Clock = std::chrono::steady_clock;

// The descriptor numbers that the child inherits; python/stableaa_worker.py knows them.
constexpr int kControl = 3, kMemory = 4, kScript = 5;

constexpr std::size_t kMaxLine = std::size_t{1} << 26;  // holds the bounds of a large box as text
constexpr std::size_t kKeptWords = 4096;
constexpr std::size_t kMaxUnlogged = std::size_t{1} << 16;  // before the first answer, or in a line
constexpr std::size_t kMaxLoggedLine = 2000;
constexpr int kMaxWordReads = 256;  // at once; a child that never stops must not block us

// For poll(), rounded up so that it does not return slightly early.
int MillisecondsUntil(Clock::time_point limit) {
  const std::chrono::duration<double, std::milli> left = limit - Clock::now();
  return static_cast<int>(std::clamp(std::ceil(left.count()), 0.0, 1e9));
}

Clock::time_point After(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Drops terminal colours, ESC [ numbers m, which would otherwise only be escaped.
std::string WithoutColours(std::string_view text) {
  constexpr std::string_view kNumbers = "0123456789;";
  std::string plain;
  while (!text.empty()) {
    const std::size_t end = text.starts_with("\x1b[") ? text.find_first_not_of(kNumbers, 2) : 0;
    const bool is_colour = end != 0 && end != text.npos && text[end] == 'm';
    if (!is_colour) plain += text.front();
    text.remove_prefix(is_colour ? end + 1 : 1);
  }
  return plain;
}

}  // namespace

WorkerProcess::WorkerProcess(Options options) : options_(std::move(options)) { Start(); }

WorkerProcess::~WorkerProcess() {
  if (has_failed()) return;
  ReadWords();
  unlogged_ += '\n';
  if (has_answered_) LogWords();
}

void WorkerProcess::Start() {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw SystemError("cannot make a socket", errno);
  }
  control_ = Descriptor(ends[0]);
  const Descriptor its_control(ends[1]);
  Pipe words = MakePipe();
  // Kept out of the file system, so an installed library needs no such file.
  const Descriptor script = MemoryFile("stableaa_worker.py", kWorkerSource);
  try {
    // Must not buffer output, open a window or print a greeting.
    child_ = std::make_unique<ChildProcess>(
        ChildProcess::Options{.program = options_.python,
                              .arguments = {fmt::format("/dev/fd/{}", kScript)},
                              .descriptors = {{words.write.get(), STDOUT_FILENO},
                                              {words.write.get(), STDERR_FILENO},
                                              {its_control.get(), kControl},
                                              {options_.shared_memory, kMemory},
                                              {script.get(), kScript}},
                              .environment = {"PYTHONUNBUFFERED=1", "SDL_VIDEODRIVER=dummy",
                                              "PYGAME_HIDE_SUPPORT_PROMPT=1"},
                              .ends_with_us = true});
  } catch (const Error& error) {
    if (!std::string_view(error.what()).starts_with("cannot start")) throw;
    throw Error(error.kind(),
                fmt::format("{}: {}; env.python names the Python to use, scripts/atari "
                            "makes one with all that is needed",
                            options_.name, error.what()));
  }
  words_ = std::move(words.read);
  ::fcntl(words_.get(), F_SETFL, O_NONBLOCK);
}

void WorkerProcess::Send(std::string_view bytes) {
  if (!failure_.empty()) throw WorkFailed(failure_);
  const auto limit = After(wait_seconds());
  while (!bytes.empty()) {
    const ssize_t written =
        ::send(control_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd wait = {control_.get(), POLLOUT, 0};
      if (::poll(&wait, 1, MillisecondsUntil(limit)) == 0) FailBecauseSilent();
    } else if (errno != EINTR) {
      FailBecauseDead();
    }
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
    if (line.size() > kMaxLine) Fail("its worker's answer is too long");
  }
  line.pop_back();
  return line;
}

std::size_t WorkerProcess::Receive(std::span<char> into) {
  if (!failure_.empty()) throw WorkFailed(failure_);
  const auto limit = After(wait_seconds());
  // Also watch for the process's end: a child forked by the worker may keep its socket open.
  std::array<pollfd, 3> waits = {pollfd{control_.get(), POLLIN, 0}, pollfd{words_.get(), POLLIN, 0},
                                 pollfd{child_->end_descriptor(), POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(waits.data(), waits.size(), MillisecondsUntil(limit));
    if (ready < 0 && errno != EINTR) throw SystemError("cannot wait for a worker", errno);
    if (ready == 0) FailBecauseSilent();
    if (ready < 0) continue;
    if (waits[0].revents != 0) {
      const ssize_t count = ::recv(control_.get(), into.data(), into.size(), MSG_DONTWAIT);
      if (count > 0) {
        has_answered_ = true;
        // Everything written before the answer is in the pipe by now.
        if (waits[1].revents != 0) ReadWords();
        LogWords();
        return static_cast<std::size_t>(count);
      }
      if (count == 0 || (errno != EINTR && errno != EAGAIN)) FailBecauseDead();
    } else if (waits[2].revents != 0) {
      FailBecauseDead();
    }
    // Read even while waiting for something else: a full pipe would block the worker.
    if (waits[1].revents != 0) ReadWords();
    if ((waits[1].revents & POLLIN) == 0 && waits[1].revents != 0) waits[1].fd = -1;  // closed
    if (Clock::now() >= limit) FailBecauseSilent();
  }
}

void WorkerProcess::ReadWords() {
  std::array<char, 4096> buffer;
  for (int i = 0; i < kMaxWordReads; ++i) {
    const ssize_t count = ::read(words_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const std::string_view words(buffer.data(), static_cast<std::size_t>(count));
    const auto keep = [words](std::string& text, std::size_t most) {
      text += words;
      if (text.size() > most) text.erase(0, text.size() - most);
    };
    keep(last_words_, kKeptWords);
    keep(unlogged_, kMaxUnlogged);
    if (has_answered_) LogWords();
  }
}

// Logs whole lines; a carriage return, as in progress bars, ends a line too.
void WorkerProcess::LogWords() {
  std::string_view rest = unlogged_;
  for (std::size_t end = 0; (end = rest.find_first_of("\r\n")) != rest.npos;) {
    const std::string line = WithoutColours(rest.substr(0, end));
    if (!line.empty()) {
      LogInfo(fmt::format("{}: {}", options_.name, Shorten(line, kMaxLoggedLine)));
    }
    rest.remove_prefix(end + 1);
  }
  unlogged_.erase(0, unlogged_.size() - rest.size());
}

void WorkerProcess::FailBecauseDead() {
  child_->Wait(.5);  // a process closes its end slightly before it is known to have ended
  child_->Kill();
  Fail(fmt::format("its worker {}", child_->End()));
}

void WorkerProcess::FailBecauseSilent() {
  const bool by_option = wait_seconds() == options_.timeout_seconds;
  Fail(fmt::format("its worker has not answered for {:g} s{}; it was killed", wait_seconds(),
                   by_option ? " (env.timeout_seconds)" : ""));
}

void WorkerProcess::Fail(const std::string& what) {
  child_->Kill();
  failure_ = fmt::format("{}: {}", options_.name, what);
  ReadWords();
  unlogged_ += '\n';
  if (has_answered_) LogWords();
  while (!last_words_.empty() && std::isspace(static_cast<unsigned char>(last_words_.back()))) {
    last_words_.pop_back();
  }
  const std::size_t line = last_words_.rfind('\n') + 1;  // npos + 1 is 0
  if (!last_words_.empty()) {
    failure_ += fmt::format("; it last wrote: {}", Shorten(last_words_.substr(line), 200));
  }
  throw WorkFailed(failure_);
}

}  // namespace stableaa
