// A whole file as bytes in memory, without a copy where the system allows it.
//
//   const MappedFile file("model.bin");
//   Parse(file.bytes());
//
// A regular file is mapped (read-only, private), so opening one of many gigabytes costs nothing;
// its pages are read when touched, and the system may drop them again. What cannot be mapped is
// read to the end instead: pipes, terminals, /dev/stdin, files of size zero (those in /proc still
// have content), and small files, for which reading is cheaper.
//
// A mapped file must keep its length while it is in use. If someone truncates it, touching the
// missing part ends the process with SIGBUS; if someone writes to it, the bytes may change under
// the reader. Files replaced by renaming, as AtomicFile does, are safe: the mapping keeps the old
// one.
//
// Errors: BadInput if the file is missing, unreadable, a directory, or a device other than a
// terminal (/dev/zero has no end); WorkFailed, with the system's reason, for later failures.
#ifndef STABLEAA_BASE_FILES_MAPPED_FILE_H_
#define STABLEAA_BASE_FILES_MAPPED_FILE_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace stableaa {

// Moving leaves the bytes where they are. Reading from several threads is safe.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Starts at an address that is a multiple of 16. Valid as long as this object, or the one it was
  // moved to, lives.
  std::span<const std::byte> bytes() const {
    return is_mapped() ? mapping_ : std::span<const std::byte>(content_);
  }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
  }

  // False if the file was read into this process's memory.
  bool is_mapped() const { return !mapping_.empty(); }

 private:
  void Unmap();

  std::span<const std::byte> mapping_;  // empty: the bytes are in content_
  std::vector<std::byte> content_;
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_MAPPED_FILE_H_
