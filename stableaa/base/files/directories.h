// Directories: making, naming and locking them.
#ifndef STABLEAA_BASE_FILES_DIRECTORIES_H_
#define STABLEAA_BASE_FILES_DIRECTORIES_H_

#include <filesystem>
#include <string>

#include "stableaa/base/files/descriptor.h"

namespace stableaa {

// One spelling of a path: runs/a/ and runs/./a are runs/a.
std::filesystem::path NormalPath(const std::filesystem::path& path);

// For messages.
std::string ShownPath(const std::filesystem::path& path);

// With those above it. WorkFailed, naming it and the system's reason, if it cannot be made.
void MakeDirectories(const std::filesystem::path& path);

// For locking and syncing. WorkFailed if it cannot be opened.
Descriptor OpenDirectory(const std::filesystem::path& path);

// Locks what was opened until it is closed; false if another process has it. A file system without
// locks offers no guard, which is no reason not to work.
bool TryLock(const Descriptor& opened);

// A directory of its own that goes away with all that is in it.
class TemporaryDirectory {
 public:
  // Named `prefix` and something that makes it the only one. WorkFailed if it cannot be made.
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
