// The gradients of a convolution's weights and bias. Each thread handles some of the kernel's rows
// for some pairs of panels, over all samples.
#ifndef STABLEAA_NN_NATIVE_CONVOLUTION_WEIGHT_GRADIENTS_H_
#define STABLEAA_NN_NATIVE_CONVOLUTION_WEIGHT_GRADIENTS_H_

#include <cstddef>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/kernels.h"
#include "stableaa/nn/native/native_operation.h"
#include "stableaa/nn/native/native_values.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// Scratch memory shared by the convolutions of a network: for each thread, the output gradients of
// two panels of filters at some pixels. Each panel's pixels are stored one after another, so one
// long loop covers them.
class PackedGradients {
 public:
  PackedGradients(const Plan& plan, const NetworkOptions& options);

  std::ptrdiff_t panel_size() const { return panel_size_; }
  float* of(const NativeWorker& worker) { return packed_.data() + 2 * panel_size_ * worker.index; }

 private:
  std::ptrdiff_t panel_size_ = 0;  // floats
  AlignedBuffer packed_;
};

class ConvolutionWeightGradients {
 public:
  // in_rows: where the input under each output pixel begins, owned by the caller.
  ConvolutionWeightGradients(const PlanStep& step, const std::vector<std::ptrdiff_t>& in_rows,
                             NativeValues& values, PackedGradients& packed);

  void Run(const NativeBackward& pass);

 private:
  // Some output rows of a sample.
  struct Rows {
    int sample;
    int y;
    int count;
  };

  // For up to two panels of filters, starting at `filter`.
  void Pack(const Rows& rows, int filter, float* packed);
  void AddToBias(const Rows& rows, int filter, const float* packed, float* bias) const;
  void AddToWeights(const Rows& rows, int filter, int kernel_row, const float* packed,
                    float* weights);

  const Kernels& kernels_;
  const PlanStep& step_;
  const std::vector<std::ptrdiff_t>& in_rows_;
  NativeValues& values_;
  PackedGradients& packed_;
  // Within a kernel row: 0, 1, 2, ... in the input, 0, 16, 32, ... in the weights.
  std::vector<std::ptrdiff_t> count_rows_;
  std::vector<std::ptrdiff_t> panel_rows_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_CONVOLUTION_WEIGHT_GRADIENTS_H_
