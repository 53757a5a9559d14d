#include "stableaa/base/files/open_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "stableaa/base/files/directories.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

std::string_view KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Error NotRegular(const fs::path& path, mode_t mode) {
  return BadInput(fmt::format("{} is {}, expected a {}file", ShownPath(path), KindName(mode),
                              S_ISDIR(mode) ? "" : "regular "));
}

Error CannotOpen(const fs::path& path, int reason) {
  if (reason == ENOENT) return BadInput(fmt::format("{} does not exist", ShownPath(path)));
  struct stat status = {};  // open() fails on a socket with an unhelpful reason
  if (reason == ENXIO && ::stat(path.c_str(), &status) == 0) {
    return NotRegular(path, status.st_mode);
  }
  const Error error = SystemError(fmt::format("cannot read {}", ShownPath(path)), reason);
  const bool no_room = reason == EMFILE || reason == ENFILE || reason == ENOMEM;
  return no_room ? error : BadInput(error.what());  // e.g. no permission, a loop of links
}

OpenedFile Open(const fs::path& path, int flags) {
  OpenedFile file = {.descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags))};
  if (!file.descriptor.is_open()) throw CannotOpen(path, errno);
  if (::fstat(file.descriptor.get(), &file.status) != 0) {
    const int reason = errno;
    throw SystemError(fmt::format("cannot read {}", ShownPath(path)), reason);
  }
  return file;
}

}  // namespace

// O_NONBLOCK opens a named pipe at once. It has no effect on regular files.
OpenedFile OpenRegularFile(const fs::path& path) {
  OpenedFile file = Open(path, O_NONBLOCK | O_NOCTTY);
  if (!file.is_regular()) throw NotRegular(path, file.status.st_mode);
  return file;
}

OpenedFile OpenAnyFile(const fs::path& path) {
  OpenedFile file = Open(path, O_NOCTTY);
  if (S_ISDIR(file.status.st_mode)) throw NotRegular(path, file.status.st_mode);
  return file;
}

std::string_view OwnFileObstacle(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISLNK(mode)) return "a link";
  return S_ISDIR(mode) ? "a directory" : "no file";
}

Error CannotRead(const std::filesystem::path& path) {
  const int reason = errno;  // before formatting can change it
  return SystemError(fmt::format("cannot read {}", path.string()), reason);
}

}  // namespace stableaa
