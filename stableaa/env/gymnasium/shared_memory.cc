#include "stableaa/env/gymnasium/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "stableaa/core/error.h"

namespace stableaa {

SharedMemory::SharedMemory() : descriptor_(::memfd_create("stableaa-environments", MFD_CLOEXEC)) {
  if (!descriptor_.is_open()) throw SystemError("cannot make shared memory", errno);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void SharedMemory::Allocate(std::size_t size) {
  // Reserve it now: running out of memory later would be a crash (SIGBUS), not an error.
  if (const int problem = ::posix_fallocate(descriptor_.get(), 0, static_cast<off_t>(size));
      problem != 0) {
    throw SystemError("cannot reserve shared memory", problem);
  }
  void* const place =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (place == MAP_FAILED) throw SystemError("cannot map shared memory", errno);
  data_ = static_cast<std::byte*>(place);
  size_ = size;
}

}  // namespace stableaa
