// Memory that a worker process shares with this one.
#ifndef STABLEAA_ENV_GYMNASIUM_SHARED_MEMORY_H_
#define STABLEAA_ENV_GYMNASIUM_SHARED_MEMORY_H_

#include <cstddef>
#include <span>

#include "stableaa/base/files/descriptor.h"

namespace stableaa {

// It has no name in the file system, so it is gone with the last process that has it, however that
// ends.
class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Call once: allocates `size` bytes, all zero, at an address that is a multiple of the page size.
  void Allocate(std::size_t size);

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  int descriptor() const { return descriptor_.get(); }

  // `count` elements at a suitably aligned place.
  template <typename T>
  std::span<T> At(std::size_t offset, std::size_t count) const {
    return {reinterpret_cast<T*>(data_ + offset), count};
  }

 private:
  Descriptor descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_GYMNASIUM_SHARED_MEMORY_H_
