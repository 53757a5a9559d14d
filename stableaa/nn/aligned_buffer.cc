#include "stableaa/nn/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace stableaa {

AlignedBuffer::AlignedBuffer(std::size_t size) : size_(size) {
  constexpr std::size_t kCacheLine = 64;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t bytes = size * sizeof(float);
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  data_.reset(static_cast<float*>(std::aligned_alloc(unit, rounded)));
  if (data_ == nullptr && rounded > 0) throw std::bad_alloc();
  // Only a hint: nothing is lost if the kernel declines.
  if (unit == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
  std::fill_n(data_.get(), size_, 0.0F);
}

}  // namespace stableaa
