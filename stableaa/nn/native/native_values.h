// Memory for a native network's values and their gradients: [sample][row][column][channel].
#ifndef STABLEAA_NN_NATIVE_NATIVE_VALUES_H_
#define STABLEAA_NN_NATIVE_NATIVE_VALUES_H_

#include <cstddef>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/native/native_worker.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// kPanel for pointer arithmetic.
inline constexpr std::ptrdiff_t kPanelSize = kPanel;

// The steps that have a value as input, in order.
std::vector<std::size_t> ReadersOf(const Plan& plan, int value);

class NativeValues {
 public:
  NativeValues(const Plan& plan, const NetworkOptions& options);

  int batch() const { return batch_; }
  bool training() const { return training_; }

  // The batch rounded up to whole groups of 16, for passes with samples in lanes.
  std::ptrdiff_t samples() const { return PanelCount(batch_) * kPanelSize; }

  // Starts with the first sample; for values that have room for all samples.
  float* Value(int value) { return values_[Index(value)].data(); }
  float* ValueAt(int value, int sample, const NativeWorker& worker) {
    const int slot = passing_[Index(value)] ? worker.index : sample;
    return Value(value) + std::ptrdiff_t{slot} * sizes_[Index(value)];
  }

  // Only for training, and not for the network's input.
  float* Gradient(int value) { return gradients_[Index(value)].data(); }
  float* GradientAt(int value, int sample) {
    return Gradient(value) + std::ptrdiff_t{sample} * sizes_[Index(value)];
  }

 private:
  static std::size_t Index(int value) { return static_cast<std::size_t>(value); }

  int batch_;
  bool training_;
  std::vector<std::ptrdiff_t> sizes_;  // floats per sample
  std::vector<bool> passing_;          // one slot per thread instead of per sample
  std::vector<AlignedBuffer> values_;
  std::vector<AlignedBuffer> gradients_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_VALUES_H_
