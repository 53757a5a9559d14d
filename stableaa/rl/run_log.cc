#include "stableaa/rl/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "stableaa/base/error.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// Repeats a call that a signal has interrupted. False, with errno, if it failed.
template <typename Call>
bool Succeeds(const Call& call) {
  int result = 0;
  do {
    result = call();
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

Error Refused(const fs::path& path) {
  const int reason = errno;  // before formatting can change it
  return SystemError(fmt::format("cannot write {}", path.string()), reason);
}

// Before opening it: a named pipe without a reader would block there.
bool ExistsAsRegularFile(const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw Refused(path);
  }
  if (!S_ISREG(status.st_mode)) {
    throw BadInput(fmt::format("{} is not a regular file", path.string()));
  }
  return true;
}

Descriptor Open(const fs::path& path, int flags) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  if (file.is_open()) return file;
  if (errno == ENOENT || errno == ENOTDIR) throw BadInput(Refused(path).what());
  throw Refused(path);
}

// A new file's name, as its content, has to survive a crash of the machine.
void SyncDirectoryOf(const fs::path& path) {
  const fs::path parent = path.parent_path();
  const Descriptor directory(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) throw Refused(path);
  // Some file systems cannot sync a directory and say so with EINVAL.
  if (!Succeeds([&] { return ::fsync(directory.get()); }) && errno != EINVAL) throw Refused(path);
}

}  // namespace

void RunLog::Require(const fs::path& path, std::uint64_t size) {
  if (!ExistsAsRegularFile(path)) {
    if (size == 0) return;
    throw BadInput(
        fmt::format("{} does not exist, expected at least {} bytes", path.string(), size));
  }
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) throw Refused(path);
  if (const auto found = static_cast<std::uint64_t>(status.st_size); found < size) {
    throw BadInput(
        fmt::format("{} has {} bytes, expected at least {}", path.string(), found, size));
  }
}

RunLog::RunLog(fs::path path, std::uint64_t size) : path_(std::move(path)), size_(size) {
  Require(path_, size);
  const bool exists = ExistsAsRegularFile(path_);
  file_ = Open(path_, exists ? 0 : O_CREAT);
  if (!exists) SyncDirectoryOf(path_);

  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0) throw Refused(path_);
  const auto cut = [&] { return ::ftruncate(file_.get(), static_cast<off_t>(size)); };
  if (static_cast<std::uint64_t>(status.st_size) > size && !Succeeds(cut)) throw Refused(path_);
}

void RunLog::Append(std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    // At a position rather than at the end, so that bytes which could not be cut off after a
    // failure are overwritten by the next append.
    const ssize_t written = ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                                     static_cast<off_t>(size_ + done));
    if (written >= 0) {  // less than asked for where the disk is full: the next try tells why
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      const Error refused = Refused(path_);
      Succeeds([&] { return ::ftruncate(file_.get(), static_cast<off_t>(size_)); });
      throw refused;
    }
  }
  size_ += bytes.size();
}

void RunLog::Append(std::string_view text) { Append(std::as_bytes(std::span(text))); }

void RunLog::Sync() {
  if (!Succeeds([&] { return ::fsync(file_.get()); })) throw Refused(path_);
}

}  // namespace stableaa
