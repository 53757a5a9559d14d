// Floats aligned to a cache line, initially zero. Large buffers ask for huge pages, which saves a
// few percent when memory is read in order.
#ifndef STABLEAA_NN_ALIGNED_BUFFER_H_
#define STABLEAA_NN_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace stableaa {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size);

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<float> span() { return {data(), size_}; }
  std::span<const float> span() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(float* pointer) const { std::free(pointer); }
  };

  std::unique_ptr<float[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_ALIGNED_BUFFER_H_
