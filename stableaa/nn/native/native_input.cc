#include "stableaa/nn/native/native_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stableaa {

NativeInput::NativeInput(const Plan& plan, NativeValues& values)
    : kernels_(BestKernels()),
      values_(values),
      shape_(plan.values[0]),
      first_size_(plan.spec.input.part_size(0)),
      floats_(plan.spec.input.floats),
      divisor_(static_cast<float>(plan.spec.input.divisor)),
      is_taken_whole_(shape_.is_vector || std::ranges::any_of(plan.steps, [](const PlanStep& step) {
                        return step.input == 0 && step.operation == Operation::kLinear;
                      })) {}

void NativeInput::Take(const NetworkInput& input, const NativeWorker& worker) const {
  if (shape_.is_vector && first_size_ == shape_.size()) {
    if (worker.index == 0) {
      std::memcpy(values_.Value(0), input.vectors.data(), input.vectors.size_bytes());
    }
    return;
  }
  const auto [first, last] = worker.Share(input.count);
  for (int n = first; n < last; ++n) {
    float* const to = values_.ValueAt(0, n, worker);
    if (shape_.is_vector) {
      const std::ptrdiff_t second_size = shape_.size() - first_size_;
      std::copy_n(input.vectors.data() + std::ptrdiff_t{n} * first_size_, first_size_, to);
      std::copy_n(input.second_vectors.data() + n * second_size, second_size, to + first_size_);
    } else {
      LoadSample(input, n, to);
    }
  }
}

void NativeInput::LoadSample(const NetworkInput& input, int sample, float* to) const {
  const std::ptrdiff_t pixels = std::ptrdiff_t{shape_.height} * shape_.width;
  if (floats_) {
    const float* from = input.vectors.data() + std::ptrdiff_t{sample} * shape_.size();
    for (int c = 0; c < shape_.channels; ++c) {
      for (std::ptrdiff_t i = 0; i < pixels; ++i) to[i * shape_.channels + c] = *from++ / divisor_;
    }
    return;
  }
  const std::uint8_t* const* frames =
      input.frames.data() + std::ptrdiff_t{sample} * shape_.channels;
  if (shape_.channels == 4) return kernels_.interleave_four(frames, pixels, divisor_, to);
  for (int c = 0; c < shape_.channels; ++c) {
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
      to[i * shape_.channels + c] = static_cast<float>(frames[c][i]) / divisor_;
    }
  }
}

}  // namespace stableaa
