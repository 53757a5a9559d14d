#include "stableaa/base/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "stableaa/base/files/open_file.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/core/binary_io.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 16;

// N for a path that names descriptor N of this process, such as /dev/stdout or /dev/fd/3.
std::optional<int> OwnDescriptor(const fs::path& path) {
  std::error_code error;
  const fs::path own = fs::canonical("/proc/self/fd", error);
  if (error || fs::canonical(path.parent_path(), error) != own || error) return std::nullopt;
  const std::string name = path.filename().string();
  int fd = -1;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), fd);
  if (failure != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return fd;
}

// Follows the links if `path` is one: to a file, to a name not yet taken, or to a descriptor (which
// the system shows as another link, whose text need not be a path).
fs::path FollowLinks(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    if (OwnDescriptor(path) || !fs::is_symlink(path, error)) return path;
    const fs::path link = fs::read_symlink(path, error);
    if (error) return path;
    path = path.parent_path() / link;
  }
  return path;
}

Descriptor OpenDirectory(const fs::path& directory, const fs::path& path) {
  Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) return opened;
  const int reason = errno;
  if (reason == ENOENT) {
    throw WorkFailed(fmt::format("cannot write {}: the directory {} does not exist", path.string(),
                                 directory.string()));
  }
  if (reason == ENOTDIR) {
    throw WorkFailed(
        fmt::format("cannot write {}: {} is not a directory", path.string(), directory.string()));
  }
  throw SystemError(fmt::format("cannot write {}: cannot open the directory {}", path.string(),
                                directory.string()),
                    reason);
}

bool SyncToDisk(const Descriptor& file) {
  int result = 0;
  do {
    result = ::fsync(file.get());
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Some file systems cannot sync a directory and report EINVAL.
bool SyncNames(const Descriptor& directory) { return SyncToDisk(directory) || errno == EINVAL; }

// Returns an unopened descriptor, with errno set, on failure. Waits for a named pipe's reader, but
// not past Ctrl-C: with a handler that only remembers the signal, open() would keep waiting.
Descriptor OpenSpecialFile(const fs::path& path, bool is_pipe) {
  constexpr int kMicrosecondsBetweenTries = 10'000;
  for (;;) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (file.is_open()) ::fcntl(file.get(), F_SETFL, 0);  // writes block as usual
    if (file.is_open() || errno != ENXIO || !is_pipe) return file;
    if (InterruptRequested()) throw WorkFailed("interrupted");
    ::usleep(kMicrosecondsBetweenTries);
  }
}

// Fills `out` as far as the file goes; returns the number of bytes read.
size_t ReadUpTo(const Descriptor& file, std::span<std::byte> out, const fs::path& path) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::read(file.get(), out.data() + done, out.size() - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      throw CannotRead(path);
    }
  }
  return done;
}

// The size of a pipe, or of a file that is changing, cannot be known in advance.
std::string ReadAll(const OpenedFile& file, size_t max_bytes, const fs::path& path) {
  std::string text;
  bool fits = !file.is_regular() || static_cast<uint64_t>(file.status.st_size) <= max_bytes;
  while (fits) {
    const size_t done = text.size();
    const size_t wanted = std::min(kBufferBytes, max_bytes - done) + 1;
    text.resize(done + wanted);
    const auto rest = std::as_writable_bytes(std::span(text)).subspan(done);
    const size_t got = ReadUpTo(file.descriptor, rest, path);
    text.resize(done + got);
    fits = text.size() <= max_bytes;
    if (fits && got < wanted) return text;
  }
  throw BadInput(fmt::format("{} is longer than the {} bytes allowed", path.string(), max_bytes));
}

// The frame of a checked file; see the header for its layout.

constexpr std::string_view kMagic = "STABLEAA";
constexpr size_t kTagBytes = 8;
constexpr size_t kHeaderBytes = 2 * kTagBytes + sizeof(uint32_t) + sizeof(uint64_t);
constexpr size_t kCrcBytes = sizeof(uint32_t);

struct Header {
  std::string kind;
  uint32_t version;
  uint64_t payload_bytes;
};

void CheckKind(std::string_view kind) {
  if (!kind.empty() && kind.size() <= kTagBytes && kind.find('\0') == kind.npos) return;
  throw BadInput(fmt::format("a file's kind has 1 to {} characters, found '{}'", kTagBytes, kind));
}

void WriteTag(ByteWriter& out, std::string_view tag) {
  for (size_t i = 0; i < kTagBytes; ++i) {
    out.U8(i < tag.size() ? static_cast<uint8_t>(tag[i]) : uint8_t{0});
  }
}

// Returns the tag without its padding.
std::string ReadTag(ByteReader& in) {
  std::string tag;
  for (size_t i = 0; i < kTagBytes; ++i) tag.push_back(static_cast<char>(in.U8()));
  tag.resize(tag.find_last_not_of('\0') + 1);
  return tag;
}

std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// zlib treats a null pointer, which an empty span may hold, as a request for the initial value.
uint32_t ExtendCrc(uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty()) return crc;
  return static_cast<uint32_t>(
      ::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Error Truncated(const fs::path& path, uint64_t found, uint64_t payload_bytes) {
  return BadInput(
      fmt::format("{} is truncated: it has {} bytes, expected {} of frame and {} of payload",
                  path.string(), found, kHeaderBytes + kCrcBytes, payload_bytes));
}

// `start`: the file's first kHeaderBytes, or all of a shorter file.
Header ParseHeader(std::span<const std::byte> start, const fs::path& path) {
  const auto magic = std::as_bytes(std::span(kMagic)).first(std::min(start.size(), kTagBytes));
  if (!std::equal(magic.begin(), magic.end(), start.begin())) {
    throw BadInput(fmt::format("{} is not a stableaa file: it does not start with \"{}\"",
                               path.string(), kMagic));
  }
  if (start.size() < kHeaderBytes) throw Truncated(path, start.size(), 0);
  ByteReader in(start, path.string());
  ReadTag(in);
  Header header;
  header.kind = ReadTag(in);
  header.version = in.U32();
  header.payload_bytes = in.U64();
  return header;
}

void CheckHeader(const Header& header, std::string_view kind, uint32_t max_version,
                 const fs::path& path) {
  if (header.kind != kind) {
    throw BadInput(fmt::format("{} is a '{}' file, expected '{}'", path.string(),
                               Printable(header.kind), kind));
  }
  if (header.version > max_version) {
    throw BadInput(
        fmt::format("{} was written by a newer version ({}); this program reads up to {}",
                    path.string(), header.version, max_version));
  }
}

// A sparse file can claim any length.
void CheckMemory(const Header& header, const fs::path& path) {
  const auto pages = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const auto page_bytes = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  if (header.payload_bytes / page_bytes >= pages) {
    throw WorkFailed(
        fmt::format("cannot read {}: its {} bytes do not fit into this machine's memory",
                    path.string(), header.payload_bytes));
  }
}

void CheckLength(const Header& header, uint64_t file_bytes, const fs::path& path) {
  constexpr uint64_t kFrameBytes = kHeaderBytes + kCrcBytes;
  if (file_bytes < kFrameBytes || header.payload_bytes > file_bytes - kFrameBytes) {
    throw Truncated(path, file_bytes, header.payload_bytes);
  }
  const uint64_t surplus = file_bytes - kFrameBytes - header.payload_bytes;
  if (surplus > 0) {
    throw BadInput(fmt::format("{} has {} bytes too many: expected {} of frame and {} of payload",
                               path.string(), surplus, kFrameBytes, header.payload_bytes));
  }
}

}  // namespace

AtomicFile::AtomicFile(fs::path path, Target target) : path_(std::move(path)) {
  struct stat status = {};
  const bool is_own = target == Target::kOwnFile;
  const bool exists =
      (is_own ? ::lstat(path_.c_str(), &status) : ::stat(path_.c_str(), &status)) == 0;
  if (!exists && errno != ENOENT && errno != ENOTDIR) throw Refused();
  if (exists && S_ISDIR(status.st_mode)) {
    throw WorkFailed(fmt::format("cannot write {}: it is a directory", path_.string()));
  }
  const std::string_view obstacle = is_own && exists ? OwnFileObstacle(status.st_mode) : "";
  if (!obstacle.empty()) {
    throw WorkFailed(fmt::format("cannot write {}: it is {}, expected a regular file",
                                 path_.string(), obstacle));
  }
  const fs::path place = FollowLinks(path_);
  if (const std::optional<int> own = OwnDescriptor(place)) {
    file_ = Descriptor(::fcntl(*own, F_DUPFD_CLOEXEC, 0));
  } else if (exists && !S_ISREG(status.st_mode)) {
    file_ = OpenSpecialFile(path_, S_ISFIFO(status.st_mode));
  } else {
    OpenTemporary(place);
  }
  if (!file_.is_open()) throw Refused();
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  // While the lock is still held, so that another writer's temporary is not removed.
  if (!temporary_.empty()) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
}

void AtomicFile::OpenTemporary(const fs::path& target) {
  name_ = target.filename().string();
  if (name_.empty()) {
    throw BadInput(fmt::format("cannot write '{}': expected the name of a file", path_.string()));
  }
  const fs::path parent = target.parent_path();
  directory_ = OpenDirectory(parent.empty() ? fs::path(".") : parent, path_);
  if (::faccessat(directory_.get(), name_.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT) {
    throw Refused();
  }
  const std::string temporary = "." + name_ + ".tmp";
  file_ = LockFile(temporary);
  temporary_ = temporary;
  KeepPermissions();
  if (::ftruncate(file_.get(), 0) != 0) throw Refused();
}

// Between opening and locking, the writer that held the lock may have renamed or removed the file;
// what is locked here is then no longer the temporary but, at worst, the finished target.
Descriptor AtomicFile::LockFile(const std::string& name) const {
  while (true) {
    // Non-blocking, in case there is a named pipe.
    Descriptor file(::openat(directory_.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!file.is_open() && errno != ENXIO) throw Refused();
    struct stat locked = {};
    if (file.is_open() && ::fstat(file.get(), &locked) != 0) throw Refused();
    if (!S_ISREG(locked.st_mode)) {
      throw WorkFailed(
          fmt::format("cannot write {}: {} beside it is not a regular file", path_.string(), name));
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        throw WorkFailed(
            fmt::format("cannot write {}: it is being written by another process", path_.string()));
      }
      // A file system without locks gives no protection, but that is no reason not to write.
      if (errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP) throw Refused();
    }
    struct stat named = {};
    if (::fstatat(directory_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        locked.st_dev == named.st_dev && locked.st_ino == named.st_ino) {
      return file;
    }
  }
}

void AtomicFile::KeepPermissions() const {
  struct stat former = {};
  struct stat fresh = {};
  if (::fstatat(directory_.get(), name_.c_str(), &former, 0) != 0) return;
  if (::fstat(file_.get(), &fresh) != 0) throw Refused();
  constexpr mode_t kBits = 0777;
  if ((former.st_mode & kBits) == (fresh.st_mode & kBits)) return;
  if (::fchmod(file_.get(), former.st_mode & kBits) != 0) throw Refused();
}

void AtomicFile::Write(std::span<const std::byte> bytes) {
  CheckUsable();
  if (buffer_.size() + bytes.size() > kBufferBytes) Flush();
  if (bytes.size() >= kBufferBytes) {
    WriteAll(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void AtomicFile::Write(std::string_view text) { Write(std::as_bytes(std::span(text))); }

void AtomicFile::Commit(Durable durable) {
  CheckUsable();
  Flush();
  if (!temporary_.empty()) Publish(durable);
  if (!file_.Close()) throw Refused();
}

void AtomicFile::Flush() {
  WriteAll(buffer_);
  buffer_.clear();
}

void AtomicFile::WriteAll(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      failed_ = true;
      throw Refused();
    }
  }
}

// The content reaches the disk before the name does, and the name before the caller continues,
// unless the caller wants to see to that.
void AtomicFile::Publish(Durable durable) {
  failed_ = true;  // until everything succeeds
  if (!SyncToDisk(file_)) throw Refused();
  if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str()) != 0) {
    throw Refused();
  }
  temporary_.clear();
  if (durable == Durable::kNow && !SyncNames(directory_)) throw Refused();
  failed_ = false;
}

void AtomicFile::CheckUsable() const {
  if (failed_) {
    throw WorkFailed(fmt::format("cannot write {}: an earlier write failed", path_.string()));
  }
  if (!file_.is_open()) {
    throw BadInput(fmt::format("cannot write {}: it is already committed", path_.string()));
  }
}

Error AtomicFile::Refused() const {
  const int reason = errno;
  return SystemError(fmt::format("cannot write {}", path_.string()), reason);
}

void WriteCheckedFile(const fs::path& path, std::string_view kind, uint32_t version,
                      std::span<const std::byte> payload, AtomicFile::Durable durable) {
  CheckKind(kind);
  ByteWriter header;
  WriteTag(header, kMagic);
  WriteTag(header, kind);
  header.U32(version);
  header.U64(payload.size());
  ByteWriter trailer;
  trailer.U32(ExtendCrc(ExtendCrc(0, header.bytes()), payload));

  AtomicFile file(path);
  file.Write(header.bytes());
  file.Write(payload);
  file.Write(trailer.bytes());
  file.Commit(durable);
}

void SyncDirectory(const fs::path& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open() || !SyncNames(opened)) {
    throw SystemError(fmt::format("cannot sync {}", directory.string()), errno);
  }
}

CheckedFile ReadCheckedFile(const fs::path& path, std::string_view kind, uint32_t max_version) {
  CheckKind(kind);
  const OpenedFile opened = OpenRegularFile(path);
  const Descriptor& file = opened.descriptor;
  std::array<std::byte, kHeaderBytes> start;
  const size_t start_bytes = ReadUpTo(file, start, path);
  const Header header = ParseHeader(std::span(start).first(start_bytes), path);
  CheckHeader(header, kind, max_version, path);
  CheckLength(header, static_cast<uint64_t>(opened.status.st_size), path);
  CheckMemory(header, path);

  CheckedFile result = {header.version, std::vector<std::byte>(header.payload_bytes)};
  std::array<std::byte, kCrcBytes> trailer;
  size_t found = ReadUpTo(file, result.payload, path);
  found += ReadUpTo(file, trailer, path);
  if (found < header.payload_bytes + kCrcBytes) {  // it has shrunk in the meantime
    throw Truncated(path, kHeaderBytes + found, header.payload_bytes);
  }
  const uint32_t computed = ExtendCrc(ExtendCrc(0, start), result.payload);
  const uint32_t stored = ByteReader(trailer, path.string()).U32();
  if (computed != stored) {
    throw BadInput(fmt::format("{} is damaged: its checksum is {:08x}, expected {:08x}",
                               path.string(), computed, stored));
  }
  return result;
}

std::vector<std::byte> PeekCheckedFile(const fs::path& path, std::string_view kind,
                                       uint32_t max_version, size_t bytes) {
  CheckKind(kind);
  const OpenedFile opened = OpenRegularFile(path);
  const Descriptor& file = opened.descriptor;
  std::array<std::byte, kHeaderBytes> start;
  const size_t start_bytes = ReadUpTo(file, start, path);
  const Header header = ParseHeader(std::span(start).first(start_bytes), path);
  CheckHeader(header, kind, max_version, path);
  std::vector<std::byte> payload(bytes);
  const size_t found = ReadUpTo(file, payload, path);
  if (found < bytes) throw Truncated(path, kHeaderBytes + found, header.payload_bytes);
  return payload;
}

void WriteTextFile(const fs::path& path, std::string_view text) {
  AtomicFile file(path, AtomicFile::Target::kOwnFile);
  file.Write(text);
  file.Commit();
}

std::string ReadTextFile(const fs::path& path, size_t max_bytes) {
  return ReadAll(OpenAnyFile(path), max_bytes, path);
}

std::string ReadRegularFile(const fs::path& path, size_t max_bytes) {
  return ReadAll(OpenRegularFile(path), max_bytes, path);
}

}  // namespace stableaa
