// Whole files: written so that a kill at any moment leaves either the old file or the new one,
// never a partial one, and read with every byte accounted for.
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

// A file that appears, or replaces the previous one, all at once:
//
//   AtomicFile file("run/metrics.csv");
//   file.Write("step,return\n");
//   file.Commit();
//
// The bytes go to `.NAME.tmp` in the same directory; Commit syncs it, renames it to NAME and syncs
// the directory. The next writer takes over a temporary left by a killed process. While one writer
// holds it, another gets WorkFailed ("... is being written by another process").
//
// - A symbolic link stays; its target is replaced.
// - An existing file keeps its permission bits; a new one gets 0666 less the umask. The writer
//   becomes the owner, and other hard links keep the old content. A file that the process may not
//   write to is not replaced.
// - Anything but a regular file (a terminal, /dev/null, a named pipe), and any descriptor of this
//   process (/dev/stdout, /dev/fd/3), is written to directly: nothing is renamed, and what was
//   flushed before a failure has been written.
//
// Errors: WorkFailed, naming the path and the reason, for anything that cannot be written: a
// missing directory, a path that is a directory, no permission, a full disk. (Exceeding the file
// size limit is also such an error, but only where SIGXFSZ is ignored, as our program does;
// otherwise that signal ends the process.) BadInput for an empty name. Not thread-safe, but any
// number of AtomicFiles on different paths may be used at once.
class AtomicFile {
 public:
  enum class Target {
    kUsersFile,  // named by the user, as above
    // The program's own file, in its own directory: WorkFailed if anything but a regular file is
    // there. Nobody reads a pipe there, and a link may lead anywhere.
    kOwnFile,
  };

  // Opens the temporary, so that an unwritable path fails before any work is done.
  explicit AtomicFile(std::filesystem::path path, Target target = Target::kUsersFile);

  // Without Commit, removes the temporary and leaves the previous file in place.
  ~AtomicFile();

  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Appends; buffered.
  void Write(std::span<const std::byte> bytes);
  void Write(std::string_view text);

  enum class Durable {
    kNow,  // once Commit returns, the new content survives a machine crash
    // The name may be lost until SyncDirectory: of many files in one directory, each then costs one
    // sync less. A crash before leaves the old content or the new one.
    kOnceDirectoryIsSynced,
  };

  // Nothing may be written afterwards.
  void Commit(Durable durable = Durable::kNow);

 private:
  void OpenTemporary(const std::filesystem::path& target);
  Descriptor LockFile(const std::string& name) const;
  void KeepPermissions() const;
  void WriteAll(std::span<const std::byte> bytes);
  void Flush();
  void Publish(Durable durable);
  void CheckUsable() const;
  Error Refused() const;

  std::filesystem::path path_;  // as given, for messages
  std::string name_;            // the target's, within directory_
  std::string temporary_;       // within directory_; empty if there is none to rename or remove
  Descriptor directory_;
  Descriptor file_;
  std::vector<std::byte> buffer_;
  bool failed_ = false;
};

// A binary file that identifies itself and detects damage. On disk, all numbers little-endian:
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
                      std::span<const std::byte> payload,
                      AtomicFile::Durable durable = AtomicFile::Durable::kNow);

// For files committed with kOnceDirectoryIsSynced. Throws WorkFailed.
void SyncDirectory(const std::filesystem::path& directory);

// Throws BadInput, naming the file and the difference, if it is missing, not a regular file, not a
// stableaa file, of another kind, of a version above `max_version`, truncated, too long or damaged.
// Reserves no more memory than the file's size.
CheckedFile ReadCheckedFile(const std::filesystem::path& path, std::string_view kind,
                            uint32_t max_version);

// The first `bytes` of the payload, for peeking into a large file. Throws as ReadCheckedFile does,
// but only detects a damaged header and a file that ends too early.
std::vector<std::byte> PeekCheckedFile(const std::filesystem::path& path, std::string_view kind,
                                       uint32_t max_version, size_t bytes);

// Writes one of the program's own files atomically, as AtomicFile does.
void WriteTextFile(const std::filesystem::path& path, std::string_view text);

// The whole content of a file or pipe named by the user; waits for a pipe. Throws BadInput if it is
// missing, a directory, or longer than `max_bytes`.
std::string ReadTextFile(const std::filesystem::path& path, size_t max_bytes);

// The whole content of a file this program wrote earlier, such as one in a run's directory. Like
// ReadTextFile, but also BadInput if it is not a regular file, so it never waits.
std::string ReadRegularFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_ATOMIC_FILE_H_
