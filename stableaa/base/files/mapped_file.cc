#include "stableaa/base/files/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/files/open_file.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// Up to this size, reading costs less than mapping and its page faults.
constexpr std::size_t kSmallBytes = std::size_t{1} << 18;

// A device without an end would be read until memory runs out. A terminal ends with Ctrl-D.
void RefuseEndless(const OpenedFile& file, const fs::path& path) {
  const bool device = S_ISCHR(file.status.st_mode) || S_ISBLK(file.status.st_mode);
  if (device && ::isatty(file.descriptor.get()) != 1) {
    throw BadInput(fmt::format("{} is a device, expected a file or a pipe", path.string()));
  }
}

// Reads everything, however long it turns out to be; the first `expected` bytes need no growing.
std::vector<std::byte> ReadToEnd(const Descriptor& file, std::size_t expected,
                                 const fs::path& path) {
  constexpr std::size_t kFirstPiece = std::size_t{1} << 16;
  std::vector<std::byte> content(std::max(expected + 1, kFirstPiece));
  std::size_t done = 0;
  while (true) {
    if (done == content.size()) content.resize(2 * content.size());
    const ssize_t got = ::read(file.get(), content.data() + done, content.size() - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw CannotRead(path);
    }
  }
  content.resize(done);
  return content;
}

// Empty if files of this kind cannot be mapped.
std::span<const std::byte> Map(const Descriptor& file, std::size_t size, const fs::path& path) {
  // Reads further ahead at each page not yet in memory. Unlike MADV_SEQUENTIAL, it does not make
  // pages already read the first to be dropped: a solver comes back to them.
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) {
    if (errno == ENODEV || errno == EACCES) return {};
    throw CannotRead(path);
  }
  ::madvise(start, size, MADV_HUGEPAGE);  // where the file system has large pages
  return {static_cast<const std::byte*>(start), size};
}

}  // namespace

MappedFile::MappedFile(const fs::path& path) {
  const OpenedFile opened = OpenAnyFile(path);
  RefuseEndless(opened, path);
  const Descriptor& file = opened.descriptor;
  const auto size = opened.is_regular() ? static_cast<std::uint64_t>(opened.status.st_size) : 0;
  if (size > std::numeric_limits<std::size_t>::max() / 2) {
    throw BadInput(fmt::format("{} is too large to be mapped", path.string()));
  }
  if (size > kSmallBytes) mapping_ = Map(file, static_cast<std::size_t>(size), path);
  if (!is_mapped()) content_ = ReadToEnd(file, static_cast<std::size_t>(size), path);
}

MappedFile::~MappedFile() { Unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : mapping_(std::exchange(other.mapping_, {})), content_(std::move(other.content_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    Unmap();
    mapping_ = std::exchange(other.mapping_, {});
    content_ = std::move(other.content_);
  }
  return *this;
}

void MappedFile::Unmap() {
  if (!is_mapped()) return;
  ::munmap(const_cast<std::byte*>(mapping_.data()), mapping_.size());
}

}  // namespace stableaa
