// Opens files for reading, so that anything that is not a file is an error rather than an endless
// wait, and says what the program's own files may be.
#ifndef STABLEAA_BASE_FILES_OPEN_FILE_H_
#define STABLEAA_BASE_FILES_OPEN_FILE_H_

#include <sys/stat.h>

#include <filesystem>
#include <string_view>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/error.h"

namespace stableaa {

struct OpenedFile {
  Descriptor descriptor;
  struct stat status = {};

  bool is_regular() const { return S_ISREG(status.st_mode); }
};

// For files the program itself wrote earlier: runs, checkpoints, weights. Anything but a regular
// file is BadInput that names the path and what is there: a named pipe would wait for a writer, a
// device may never end. Follows links.
OpenedFile OpenRegularFile(const std::filesystem::path& path);

// For files named by a user, who may mean a pipe or a terminal: <(...), /dev/stdin. Waits for a
// named pipe's writer. BadInput for directories and sockets. Limit how much is read from anything
// not regular: /dev/zero has no end.
OpenedFile OpenAnyFile(const std::filesystem::path& path);

// Both throw BadInput if the file is missing or unreadable, and WorkFailed if the system cannot
// open any more files.

// What keeps the program from writing a file of its own where something of this lstat() mode is:
// "a link", "a directory" or "no file"; empty for a regular file. Nobody reads a pipe there, and a
// link may lead anywhere, since the directory may come from somebody else.
std::string_view OwnFileObstacle(mode_t mode);

// For a read that failed with errno.
Error CannotRead(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_OPEN_FILE_H_
