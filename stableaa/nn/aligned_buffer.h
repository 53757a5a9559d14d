// Floats that begin on a cache line, zero at first.
#ifndef STABLEAA_NN_ALIGNED_BUFFER_H_
#define STABLEAA_NN_ALIGNED_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace stableaa {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size)
      : data_(static_cast<float*>(::operator new[](size * sizeof(float), kAlignment))),
        size_(size) {
    std::fill_n(data(), size_, 0.0F);
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<float> span() { return {data(), size_}; }
  std::span<const float> span() const { return {data(), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* pointer) const { ::operator delete[](pointer, kAlignment); }
  };

  std::unique_ptr<float[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_ALIGNED_BUFFER_H_
