// Directories: making, naming and locking them.
#ifndef STABLEAA_BASE_FILES_DIRECTORIES_H_
#define STABLEAA_BASE_FILES_DIRECTORIES_H_

#include <filesystem>
#include <string>

#include "stableaa/base/files/descriptor.h"

namespace stableaa {

// Normalises a path: runs/a/ and runs/./a are both runs/a.
std::filesystem::path NormalPath(const std::filesystem::path& path);

// The path as shown in messages.
std::string ShownPath(const std::filesystem::path& path);

// Creates the directory and its parents. WorkFailed, with the path and the system's reason, on
// failure.
void MakeDirectories(const std::filesystem::path& path);

// For locking and syncing. WorkFailed if it cannot be opened.
Descriptor OpenDirectory(const std::filesystem::path& path);

// Holds the lock until the descriptor is closed; false if another process has it. A file system
// without locks gives no protection, but that is no reason not to work.
bool TryLock(const Descriptor& opened);

// A unique directory that is removed with everything in it.
class TemporaryDirectory {
 public:
  // The name is `prefix` plus a unique suffix. WorkFailed if it cannot be made.
  explicit TemporaryDirectory(const std::string& prefix);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_DIRECTORIES_H_
