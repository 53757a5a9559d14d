#include "stableaa/nn/native/native_dueling.h"

#include <cstddef>

namespace stableaa {

void NativeDueling::Forward(const NativeForward& pass) {
  if (pass.worker.index > 0) return;
  const std::ptrdiff_t actions = step_.out.channels;
  for (int n = 0; n < pass.input.count; ++n) {
    const float* const advantage = values_.Value(step_.input) + n * actions;
    float* const out = values_.Value(step_.output) + n * actions;
    float sum = 0;
    for (std::ptrdiff_t a = 0; a < actions; ++a) sum += advantage[a];
    const float base = values_.Value(step_.value_input)[n] - sum / static_cast<float>(actions);
    for (std::ptrdiff_t a = 0; a < actions; ++a) out[a] = base + advantage[a];
  }
}

void NativeDueling::Backward(const NativeBackward& pass) {
  if (pass.worker.index > 0) return;
  const std::ptrdiff_t actions = step_.out.channels;
  for (int n = 0; n < pass.count; ++n) {
    const float* const out = values_.Gradient(step_.output) + n * actions;
    float sum = 0;
    for (std::ptrdiff_t a = 0; a < actions; ++a) sum += out[a];
    values_.Gradient(step_.value_input)[n] = sum;
    const float mean = sum / static_cast<float>(actions);
    float* const advantage = values_.Gradient(step_.input) + n * actions;
    for (std::ptrdiff_t a = 0; a < actions; ++a) advantage[a] = out[a] - mean;
  }
}

}  // namespace stableaa
