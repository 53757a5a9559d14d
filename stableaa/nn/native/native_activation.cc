#include "stableaa/nn/native/native_activation.h"

#include <cmath>
#include <cstddef>

namespace stableaa {

NativeActivation::NativeActivation(const PlanStep& step, NativeValues& values)
    : kernels_(BestKernels()), step_(step), values_(values) {}

void NativeActivation::ApplySmooth(std::span<float> values) const {
  if (step_.activation == Activation::kElu) {
    for (float& x : values) x = x > 0 ? x : std::expm1(x);
  } else if (step_.activation == Activation::kTanh) {
    for (float& x : values) x = std::tanh(x);
  }
}

void NativeActivation::BackwardSample(int sample) const {
  const std::ptrdiff_t size = step_.out.size();
  const float* const value = values_.Value(step_.output) + sample * size;
  float* const gradient = values_.GradientAt(step_.output, sample);
  switch (step_.activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return kernels_.mask_relu(value, size, gradient);
    case Activation::kElu:
      for (std::ptrdiff_t i = 0; i < size; ++i) gradient[i] *= value[i] > 0 ? 1 : value[i] + 1;
      return;
    case Activation::kTanh:
      for (std::ptrdiff_t i = 0; i < size; ++i) gradient[i] *= 1 - value[i] * value[i];
      return;
  }
}

void NativeActivation::Backward(int count, const NativeWorker& worker) const {
  if (step_.activation == Activation::kNone) return;
  const auto [first, last] = worker.Share(count);
  for (int n = first; n < last; ++n) BackwardSample(n);
  worker.Wait();
}

}  // namespace stableaa
