// Whole files: written so that a kill at any moment leaves the former file or the new one, never a
// part; and read with every byte accounted for.
#ifndef STABLEAA_BASE_FILES_ATOMIC_FILE_H_
#define STABLEAA_BASE_FILES_ATOMIC_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/error.h"

namespace stableaa {

// A file that appears, or replaces the former one, all at once:
//
//   AtomicFile file("run/metrics.csv");
//   file.Write("step,return\n");
//   file.Commit();
//
// The bytes go to `.NAME.tmp` in the same directory; Commit syncs it, renames it to NAME and syncs
// the directory. A temporary that a killed process left is taken over by the next writer. While one
// writer has it, another gets WorkFailed ("... is being written by another process").
//
// - A symbolic link stays; what it points to is replaced.
// - The permission bits of an existing file are kept; a new one gets 0666 less the umask. The owner
//   becomes the writer and other hard links keep the former content. A file that the process may
//   not write to is not replaced.
// - What is not a regular file (a terminal, /dev/null, a named pipe), and a descriptor of this
//   process (/dev/stdout, /dev/fd/3), is written to directly: nothing is renamed, and what was
//   flushed before a failure has been written.
//
// Errors: WorkFailed, naming the path and the reason, for all that cannot be written: its directory
// is missing, it is a directory, no permission, the disk is full. (A limit on the size of files is
// such an error too, but only where SIGXFSZ is ignored, as our program does; else that signal ends
// the process.) BadInput for an empty name. Not thread-safe, but any number of AtomicFiles on
// different paths may be used at once.
class AtomicFile {
 public:
  enum class Target {
    kUsersFile,  // what a user has named, as above
    // A file of the program's own, in a directory of its own: WorkFailed if something else than a
    // regular file is there. Nobody reads a pipe there, and a link may lead anywhere.
    kOwnFile,
  };

  // Opens the temporary, so that a path that cannot be written to is an error before any work.
  explicit AtomicFile(std::filesystem::path path, Target target = Target::kUsersFile);

  // Without Commit the temporary is removed and the former file stays.
  ~AtomicFile();

  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Appends, through a buffer.
  void Write(std::span<const std::byte> bytes);
  void Write(std::string_view text);

  // Once it returns, the new content survives a crash of the machine. Nothing may be written after.
  void Commit();

 private:
  void OpenTemporary(const std::filesystem::path& target);
  Descriptor LockFile(const std::string& name) const;
  void KeepPermissions() const;
  void WriteAll(std::span<const std::byte> bytes);
  void Flush();
  void Publish();
  void CheckUsable() const;
  Error Refused() const;

  std::filesystem::path path_;  // as given, for messages
  std::string name_;            // of the target, within directory_
  std::string temporary_;       // within directory_; empty: none to rename or remove
  Descriptor directory_;
  Descriptor file_;
  std::vector<std::byte> buffer_;
  bool failed_ = false;
};

// A binary file that knows what it is and notices damage. On disk, all numbers little-endian:
//
//   offset  bytes
//        0      8  "STABLEAA"
//        8      8  kind: text such as "weights", padded with zero bytes
//       16      4  version of the payload's format, u32
//       20      8  length n of the payload, u64
//       28      n  payload
//   28 + n      4  CRC-32 (that of zlib) of all bytes before it, u32
//
// This frame never changes; a payload whose format changes gets the next version.
struct CheckedFile {
  uint32_t version;
  std::vector<std::byte> payload;
};

// Writes the file atomically, as AtomicFile does. `kind` has 1 to 8 characters, none of them zero.
void WriteCheckedFile(const std::filesystem::path& path, std::string_view kind, uint32_t version,
                      std::span<const std::byte> payload);

// Throws BadInput, naming the file and the difference, if it is missing, not a regular file, not a
// stableaa file, of another kind, of a version above `max_version`, truncated, too long or damaged.
// Reserves no more memory than the file's size.
CheckedFile ReadCheckedFile(const std::filesystem::path& path, std::string_view kind,
                            uint32_t max_version);

// The first `bytes` of its payload, for a look at a large file. Throws as ReadCheckedFile does, but
// notices only damage of the header and a file that ends before them.
std::vector<std::byte> PeekCheckedFile(const std::filesystem::path& path, std::string_view kind,
                                       uint32_t max_version, size_t bytes);

// Writes a file of the program's own atomically, as AtomicFile does.
void WriteTextFile(const std::filesystem::path& path, std::string_view text);

// All of what a user has named, a file or a pipe, for which it waits. Throws BadInput if it is
// missing, a directory, or longer than `max_bytes`.
std::string ReadTextFile(const std::filesystem::path& path, size_t max_bytes);

// All of what this program has written earlier, such as a file in the directory of a run. As
// ReadTextFile, but BadInput too for what is not a regular file, so that it never waits.
std::string ReadRegularFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_ATOMIC_FILE_H_
