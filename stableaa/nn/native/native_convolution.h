// Convolutions with their activations. The threads divide samples among themselves in the forward
// pass and, in the backward pass, for the gradient of the input.
#ifndef STABLEAA_NN_NATIVE_NATIVE_CONVOLUTION_H_
#define STABLEAA_NN_NATIVE_NATIVE_CONVOLUTION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/kernels.h"
#include "stableaa/nn/native/convolution_weight_gradients.h"
#include "stableaa/nn/native/native_activation.h"
#include "stableaa/nn/native/native_input.h"
#include "stableaa/nn/native/native_operation.h"
#include "stableaa/nn/native/native_values.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

class NativeConvolution {
 public:
  NativeConvolution(const PlanStep& step, const GradientOrder& order, NativeValues& values,
                    PackedGradients& packed);
  NativeConvolution(const NativeConvolution&) = delete;
  NativeConvolution& operator=(const NativeConvolution&) = delete;

  void ForwardSample(const Parameters& parameters, int sample, const NativeWorker& worker) const;
  void Backward(const NativeBackward& pass);

 private:
  void TurnWeights(const NativeBackward& pass);
  void BackwardInput(int sample);

  // Inputs in one kernel row, which are contiguous.
  int run() const { return step_.kernel * step_.in.channels; }

  const Kernels& kernels_;
  const PlanStep& step_;
  GradientOrder order_;
  NativeValues& values_;
  NativeActivation activation_;
  std::vector<std::ptrdiff_t> in_rows_;   // each output pixel's corner in the input
  std::vector<std::ptrdiff_t> out_rows_;  // and its place in the output
  std::optional<NativeActivation> completed_;
  std::optional<ConvolutionWeightGradients> weight_gradients_;
  AlignedBuffer turned_weights_;  // [kernel row][panel][filter][16]
};

// Consecutive convolutions: a sample goes through all of them while it is in the caches.
class NativeConvolutions final : public NativeOperation {
 public:
  // frames: where the first one reads the network's input, one sample at a time; or null.
  NativeConvolutions(const NativeInput* frames, NativeValues& values)
      : frames_(frames), values_(values) {}

  void Append(std::unique_ptr<NativeConvolution> convolution) {
    convolutions_.push_back(std::move(convolution));
  }

  void Forward(const NativeForward& pass) override;
  void Backward(const NativeBackward& pass) override;

 private:
  const NativeInput* frames_;
  NativeValues& values_;
  std::vector<std::unique_ptr<NativeConvolution>> convolutions_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_CONVOLUTION_H_
