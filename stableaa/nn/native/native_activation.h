// The activation of a convolution or linear step.
#ifndef STABLEAA_NN_NATIVE_NATIVE_ACTIVATION_H_
#define STABLEAA_NN_NATIVE_NATIVE_ACTIVATION_H_

#include <span>

#include "stableaa/nn/kernels.h"
#include "stableaa/nn/native/native_values.h"
#include "stableaa/nn/native/native_worker.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

class NativeActivation {
 public:
  NativeActivation(const PlanStep& step, NativeValues& values);

  // ReLU is part of the product that computes the values (PanelProduct::relu).
  bool is_relu() const { return step_.activation == Activation::kRelu; }

  // Applies the others in place.
  void ApplySmooth(std::span<float> values) const;

  // Turns the gradient of the step's output into that of the activation's argument, in place.
  void BackwardSample(int sample) const;
  // The same for all samples, shared by the threads, which wait for each other afterwards.
  void Backward(int count, const NativeWorker& worker) const;

 private:
  const Kernels& kernels_;
  const PlanStep& step_;
  NativeValues& values_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_ACTIVATION_H_
