// Y = X · Wᵀ + b and the activation. The threads divide outputs among themselves in the forward
// pass, and inputs or groups of 16 samples in the backward pass.
#ifndef STABLEAA_NN_NATIVE_NATIVE_LINEAR_H_
#define STABLEAA_NN_NATIVE_NATIVE_LINEAR_H_

#include <cstddef>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/kernels.h"
#include "stableaa/nn/native/native_activation.h"
#include "stableaa/nn/native/native_operation.h"
#include "stableaa/nn/native/native_values.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// Scratch memory shared by the linear steps of a network in the backward pass: values and gradients
// with samples in lanes, [group][component][16]. Empty for inference.
class LinearLanes {
 public:
  LinearLanes(const Plan& plan, const NativeValues& values);

  // Call before a backward pass: the inputs of the previous one are out of date.
  void Forget();

  // The values that linear steps read, rearranged once for all of them.
  float* input(int value) { return inputs_[static_cast<std::size_t>(value)].data(); }
  bool has_input(int value) const { return has_input_[static_cast<std::size_t>(value)] != 0; }
  void set_has_input(int value) { has_input_[static_cast<std::size_t>(value)] = 1; }

  // The gradients of one step's output, padded to whole panels, and of its input.
  float* output_gradient() { return output_gradient_.data(); }
  float* input_gradient() { return input_gradient_.data(); }

 private:
  std::vector<AlignedBuffer> inputs_;
  std::vector<char> has_input_;
  AlignedBuffer output_gradient_, input_gradient_;
};

class NativeLinear final : public NativeOperation {
 public:
  NativeLinear(const PlanStep& step, const GradientOrder& order, NativeValues& values,
               LinearLanes& lanes);

  void Forward(const NativeForward& pass) override;
  void Backward(const NativeBackward& pass) override;

 private:
  void BackwardBias(const NativeBackward& pass);
  void BackwardWeights(const NativeBackward& pass);
  void BackwardInput(const NativeBackward& pass, const InputGradient& gradient);
  void TurnSamples(const NativeBackward& pass);

  const Kernels& kernels_;
  const PlanStep& step_;
  GradientOrder order_;
  NativeValues& values_;
  LinearLanes& lanes_;
  NativeActivation activation_;
  std::vector<std::ptrdiff_t> in_rows_;     // where each sample begins in the input
  std::vector<std::ptrdiff_t> out_rows_;    // and in the output
  std::vector<std::ptrdiff_t> panel_rows_;  // 0, 16, 32, ...: rows of weights and of lanes
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_LINEAR_H_
