#include "stableaa/rl/run/json_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/json_table.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_directory.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFirstWords = "{\"kind\":\"run\",";  // of every log
constexpr int kPollMilliseconds = 200;

std::string AsciiText(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// Nothing if there is no such file, or it is not a regular one.
std::optional<std::uint64_t> RegularSize(const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::string ReadPart(std::ifstream& file, const fs::path& path, std::uint64_t begin,
                     std::uint64_t size) {
  std::string part(static_cast<std::size_t>(size), '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  if (!file.read(part.data(), std::ssize(part))) {
    throw BadInput(fmt::format("cannot read {}", ShownPath(path)));
  }
  return part;
}

Error NoLog(const fs::path& path) {
  return BadInput(
      fmt::format("{} holds something else than the rows of a run as JSON, which begin "
                  "with {}",
                  ShownPath(path), kFirstWords));
}

void RequireLog(const fs::path& path, std::uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  const std::string start =
      ReadPart(file, path, 0, std::min<std::uint64_t>(size, kFirstWords.size()));
  if (!kFirstWords.starts_with(start)) throw NoLog(path);
}

// The size without a last line that is not whole, as a crash may leave it.
std::uint64_t SizeOfWholeLines(const fs::path& path, std::uint64_t size) {
  constexpr std::uint64_t kChunk = 65536;
  std::ifstream file(path, std::ios::binary);
  while (size > 0) {
    const std::uint64_t begin = size > kChunk ? size - kChunk : 0;
    const std::size_t end = ReadPart(file, path, begin, size - begin).rfind('\n');
    if (end != std::string::npos) return begin + end + 1;
    size = begin;
  }
  return 0;
}

// The last `run` object of a log of whole lines.
Json LastRun(const fs::path& path, std::uint64_t size) {
  constexpr std::uint64_t kChunk = 65536;
  constexpr std::uint64_t kLongestLine = std::uint64_t{1} << 22;
  const std::string words = fmt::format("\n{}", kFirstWords);
  std::ifstream file(path, std::ios::binary);
  std::uint64_t line = 0;  // the log begins with one
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end > kChunk ? end - kChunk : 0;
    const std::uint64_t length = std::min(size, end + words.size()) - begin;
    const std::size_t found = ReadPart(file, path, begin, length).rfind(words);
    if (found != std::string::npos) {
      line = begin + found + 1;
      break;
    }
    end = begin;
  }
  const std::string text = ReadPart(file, path, line, std::min(size - line, kLongestLine));
  Json run = Json::parse(text.substr(0, text.find('\n')), nullptr, /*allow_exceptions=*/false);
  const bool is_run = run.is_object() && run.contains("config") && run["config"].is_object();
  if (!is_run) throw NoLog(path);
  return run;
}

Json JsonOf(const ConfigKey& key) {
  return Json::parse(LiteralToJson(key.key, key.type, key.value));
}

Descriptor OpenToAppend(const fs::path& path, int flags) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | flags, 0666));
  if (!file.is_open()) {
    throw SystemError(fmt::format("cannot write {}", ShownPath(path)), errno);
  }
  return file;
}

// Writes without the signal that a pipe without readers causes, which would end the program.
ssize_t WriteQuietly(int fd, std::string_view text) {
  sigset_t pipe, former, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe, &former);
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int reason = errno;
  if (written < 0 && reason == EPIPE && !was_pending) {
    const timespec now = {};
    sigtimedwait(&pipe, nullptr, &now);  // takes the signal away
  }
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  errno = reason;
  return written;
}

}  // namespace

void JsonLog::Require(const std::string& target, Part part) {
  if (target == "-") return;
  std::error_code unknown;
  const std::optional<std::uint64_t> size = RegularSize(target);
  if (!size) {
    // Opening a pipe or a device would have effects.
    if (!fs::is_other(target, unknown)) const AtomicFile attempt(target);
    return;
  }
  OpenToAppend(target, 0);
  if (*size == 0) return;
  if (part == Part::kFirst) throw BadInput(fmt::format("{} exists already", ShownPath(target)));
  RequireLog(target, *size);
}

void JsonLog::RequireSameRun(const std::string& target, const RunOptions& options,
                             const fs::path& directory) {
  if (target == "-") return;
  const std::optional<std::uint64_t> all = RegularSize(target);
  const std::uint64_t size = all ? SizeOfWholeLines(target, *all) : 0;
  if (size == 0) return;
  const Json run = LastRun(target, size);
  const auto other = [&target](const std::string& what) {
    return BadInput(fmt::format("{} holds the rows of another run: {}", ShownPath(target), what));
  };
  for (const ConfigKey& key : LastingKeys(options)) {
    const auto found = run["config"].find(key.key);
    if (found == run["config"].end() || *found == JsonOf(key)) continue;
    throw other(fmt::format("its {} is {}, and here it is {}", key.key, Shorten(AsciiText(*found)),
                            Shorten(AsciiText(JsonOf(key)))));
  }
  // Equal options do not make an equal run, which may have begun with other weights. A run that has
  // been moved is still the same, and so is a copy whose log is in its directory.
  const auto there = run.find("directory");
  if (there == run.end() || !there->is_string() || PathWithin(target, directory)) return;
  const fs::path theirs = there->get<std::string>();
  std::error_code error;
  if (!fs::exists(theirs / "config.toml", error) || fs::equivalent(theirs, directory, error))
    return;
  throw other(fmt::format("of {}, and not of {}", ShownPath(theirs), ShownPath(directory)));
}

JsonLog::JsonLog(const std::string& target, Part part) : name_("stdout"), fd_(STDOUT_FILENO) {
  if (target != "-") {
    Require(target, part);
    name_ = ShownPath(target);
    file_ = OpenToAppend(target, O_CREAT);
    fd_ = file_.get();
    if (const auto size = RegularSize(target)) {
      const std::uint64_t whole = SizeOfWholeLines(target, *size);
      if (whole < *size && ::ftruncate(fd_, static_cast<off_t>(whole)) != 0) {
        throw SystemError(fmt::format("cannot write {}", name_), errno);
      }
    }
  }
  struct stat status = {};
  is_regular_ = ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
}

bool JsonLog::is_stdout() const {
  struct stat ours = {}, standard = {};
  return fd_ == STDOUT_FILENO ||
         (::fstat(fd_, &ours) == 0 && ::fstat(STDOUT_FILENO, &standard) == 0 &&
          ours.st_dev == standard.st_dev && ours.st_ino == standard.st_ino);
}

void JsonLog::AddRun(const RunOptions& options, const fs::path& directory, std::int64_t step) {
  Json config;
  for (const ConfigKey& key : AllKeys(options)) {
    config[key.key] = JsonOf(key);
  }
  Write(AsciiText({{"kind", "run"},
                   {"version", LibraryVersion()},
                   {"env", options.train.env},
                   {"preset", options.train.preset},
                   {"seed", options.train.seed},
                   {"directory", directory.string()},
                   {"step", step},
                   {"config", config}}));
}

void JsonLog::Add(const MetricRow& row) {
  std::string line = "{\"kind\":\"metrics\"";
  for (const auto& [column, value] : row.cells) {
    const bool is_number = value && std::isfinite(*value);
    line += fmt::format(",{}:{}", AsciiText(column),
                        is_number ? fmt::format("{}", *value) : std::string("null"));
  }
  Write(line + '}');
}

void JsonLog::Add(const EpisodeRow& row) {
  Write(
      fmt::format("{{\"kind\":\"episode\",\"episode\":{},\"step\":{},\"return\":{},\"length\":{},"
                  "\"terminated\":{:d},\"truncated\":{:d}}}",
                  row.episode, row.step,
                  std::isfinite(row.episode_return) ? fmt::format("{}", row.episode_return)
                                                    : std::string("null"),
                  row.length, row.terminated, row.truncated));
}

void JsonLog::Write(std::string line) {
  line += '\n';
  std::size_t done = 0;
  while (has_reader_ && done < line.size()) {
    if (!WaitForRoom()) return GiveUp("its reader does not read");
    const ssize_t written = WriteQuietly(fd_, std::string_view(line).substr(done));
    if (written >= 0) {  // short if the disk is full; the next try tells why
      done += static_cast<std::size_t>(written);
    } else if (errno == EPIPE) {
      return GiveUp("its reader has gone");
    } else if (errno != EINTR && errno != EAGAIN) {
      const Error refused = SystemError(fmt::format("cannot write {}", name_), errno);
      struct stat status = {};
      if (is_regular_ && done > 0 && ::fstat(fd_, &status) == 0) {
        [[maybe_unused]] const int cut =
            ::ftruncate(fd_, status.st_size - static_cast<off_t>(done));
      }
      throw refused;
    }
  }
}

// False if the user wants to stop while a pipe is full.
bool JsonLog::WaitForRoom() const {
  pollfd place = {.fd = fd_, .events = POLLOUT, .revents = 0};
  while (::poll(&place, 1, kPollMilliseconds) <= 0) {
    if (InterruptRequested()) return false;
  }
  return true;
}

void JsonLog::GiveUp(std::string_view why) {
  has_reader_ = false;
  LogWarning(fmt::format("{}: {}; the run goes on, and its files have all rows", name_, why));
}

}  // namespace stableaa
