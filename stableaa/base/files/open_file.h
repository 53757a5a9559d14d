// Opening files to read, so that what is no file is an error and not a wait without end.
#ifndef STABLEAA_BASE_FILES_OPEN_FILE_H_
#define STABLEAA_BASE_FILES_OPEN_FILE_H_

#include <sys/stat.h>

#include <filesystem>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/error.h"

namespace stableaa {

struct OpenedFile {
  Descriptor descriptor;
  struct stat status = {};

  bool is_regular() const { return S_ISREG(status.st_mode); }
};

// What the program itself has written earlier: runs, checkpoints, weights. BadInput, naming the
// path and what is there, for all but regular files: a named pipe would wait for a writer, a device
// may never end. Links are followed.
OpenedFile OpenRegularFile(const std::filesystem::path& path);

// What a user has named, who may mean a pipe or a terminal: <(...), /dev/stdin. Waits for the
// writer of a named pipe. BadInput for directories and sockets. Read no more than a limit from what
// is not regular: /dev/zero has no end.
OpenedFile OpenAnyFile(const std::filesystem::path& path);

// Both: BadInput if it is missing or may not be read, WorkFailed where the system has no room for
// one more open file.

// For a read that has failed with errno.
Error CannotRead(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_OPEN_FILE_H_
