#include "stableaa/base/files/directories.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace fs = std::filesystem;

fs::path NormalPath(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

std::string ShownPath(const fs::path& path) { return Shorten(path.string(), 400); }

void MakeDirectories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw SystemError(fmt::format("cannot make {}", ShownPath(path)), error.value());
}

Descriptor OpenDirectory(const fs::path& path) {
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) {
    throw SystemError(fmt::format("cannot open {}", ShownPath(path)), errno);
  }
  return directory;
}

bool TryLock(const Descriptor& opened) {
  return flock(opened.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

TemporaryDirectory::TemporaryDirectory(const std::string& prefix) {
  std::string name = (fs::temp_directory_path() / (prefix + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr)
    throw SystemError(fmt::format("cannot make {}", name), errno);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace stableaa
