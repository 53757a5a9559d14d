#include "stableaa/rl/run/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// Repeats a call that a signal interrupted. Returns false, with errno set, if it failed.
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

// Check before opening: opening a named pipe without a reader would block.
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

// A new file's name must survive a crash of the machine just like its content.
void SyncDirectoryOf(const fs::path& path) {
  const fs::path parent = path.parent_path();
  const Descriptor directory(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) throw Refused(path);
  // Some file systems cannot sync a directory and report EINVAL.
  if (!Succeeds([&] { return ::fsync(directory.get()); }) && errno != EINVAL) throw Refused(path);
}

// The checksum of `bytes` appended to data whose checksum is `before`.
std::uint32_t ExtendChecksum(std::uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void RequireSize(const fs::path& path, std::uint64_t size) {
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

}  // namespace

void LogRows::Add(std::span<const std::byte> row) {
  if (row.empty()) return;
  const std::uint32_t before = rows_.empty() ? 0 : rows_.back().checksum;
  rows_.push_back({static_cast<std::uint32_t>(row.size()), ExtendChecksum(before, row)});
  bytes_ += row.size();
}

std::size_t LogRows::FirstDifference(const fs::path& path) const {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> row;
  std::uint32_t checksum = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    row.resize(rows_[i].bytes);
    if (!file.read(row.data(), std::ssize(row))) {
      throw SystemError(fmt::format("cannot read {}", path.string()), errno);
    }
    checksum = ExtendChecksum(checksum, std::as_bytes(std::span(row)));
    if (checksum != rows_[i].checksum) return i;
  }
  return rows_.size();
}

void LogRows::Save(ByteWriter& out) const {
  out.U64(rows_.size());
  for (const Row& row : rows_) {
    out.U32(row.bytes);
    out.U32(row.checksum);
  }
}

void LogRows::Load(ByteReader& in) {
  const std::uint64_t count = in.U64();
  if (count > in.remaining() / sizeof(Row)) {
    throw in.Wrong(fmt::format("expected fewer rows of a log, found {}", count));
  }
  rows_.clear();
  bytes_ = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t bytes = in.U32();
    if (bytes == 0) throw in.Wrong("expected a row of a log, found one of 0 bytes");
    rows_.push_back({bytes, in.U32()});
    bytes_ += bytes;
  }
}

void RunLog::Require(const fs::path& path, const LogRows& rows, Kind kind) {
  RequireSize(path, rows.bytes());
  const std::size_t row = rows.FirstDifference(path);
  if (row == rows.count()) return;
  const std::string place = kind == Kind::kRecords ? fmt::format("record {}", row + 1)
                            : row == 0             ? std::string("line 1, the names of columns,")
                                                   : fmt::format("row {} (line {})", row, row + 1);
  throw BadInput(fmt::format("{}: expected {} as the run has logged it, found it changed",
                             path.string(), place));
}

RunLog::RunLog(fs::path path, LogRows rows) : path_(std::move(path)), rows_(std::move(rows)) {
  RequireSize(path_, size());
  const bool exists = ExistsAsRegularFile(path_);
  file_ = Open(path_, exists ? 0 : O_CREAT);
  if (!exists) SyncDirectoryOf(path_);

  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0) throw Refused(path_);
  const auto cut = [&] { return ::ftruncate(file_.get(), static_cast<off_t>(size())); };
  if (static_cast<std::uint64_t>(status.st_size) > size() && !Succeeds(cut)) throw Refused(path_);
}

void RunLog::Append(std::span<const std::byte> bytes) {
  Write(bytes);
  rows_.Add(bytes);
}

void RunLog::Append(std::string_view text) { Append(std::as_bytes(std::span(text))); }

void RunLog::AppendUncounted(std::string_view text) { Write(std::as_bytes(std::span(text))); }

void RunLog::Write(std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    // Write at a position rather than at the end: if bytes could not be cut off after a failure,
    // the next append overwrites them.
    const ssize_t written = ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                                     static_cast<off_t>(size() + done));
    if (written >= 0) {  // short if the disk is full; the next try tells why
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      const Error refused = Refused(path_);
      Succeeds([&] { return ::ftruncate(file_.get(), static_cast<off_t>(size())); });
      throw refused;
    }
  }
}

void RunLog::Sync() {
  if (!Succeeds([&] { return ::fsync(file_.get()); })) throw Refused(path_);
}

}  // namespace stableaa
