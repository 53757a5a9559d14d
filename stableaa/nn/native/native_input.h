// The input of a native network, turned into its first value.
#ifndef STABLEAA_NN_NATIVE_NATIVE_INPUT_H_
#define STABLEAA_NN_NATIVE_NATIVE_INPUT_H_

#include "stableaa/nn/kernels.h"
#include "stableaa/nn/native/native_values.h"
#include "stableaa/nn/native/native_worker.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

class NativeInput {
 public:
  NativeInput(const Plan& plan, NativeValues& values);

  // Vectors, and frames that a linear step reads, are taken for all samples before the first step.
  // Otherwise convolutions load the frames sample by sample.
  bool is_taken_whole() const { return is_taken_whole_; }

  // Takes this thread's share of all samples. Joins the parts of a vector.
  void Take(const NetworkInput& input, const NativeWorker& worker) const;

  // Loads the frames of one sample, bytes or floats, interleaved and divided.
  void LoadSample(const NetworkInput& input, int sample, float* to) const;

 private:
  const Kernels& kernels_;
  NativeValues& values_;
  Shape shape_;
  int first_size_;  // of a vector's first part
  bool floats_;
  float divisor_;
  bool is_taken_whole_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_INPUT_H_
