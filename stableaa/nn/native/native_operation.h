// One operation of a native network: a class for each kind, with tables of its own.
#ifndef STABLEAA_NN_NATIVE_NATIVE_OPERATION_H_
#define STABLEAA_NN_NATIVE_NATIVE_OPERATION_H_

#include "stableaa/nn/native/native_worker.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// What one thread needs to know of a pass.
struct NativeForward {
  const Parameters& parameters;
  const NetworkInput& input;
  NativeWorker worker;
};
struct NativeBackward {
  const Parameters& parameters;
  int count;  // samples
  Parameters& gradients;
  NativeWorker worker;
};

// Every thread calls Forward or Backward; all of them wait for each other afterwards.
class NativeOperation {
 public:
  virtual ~NativeOperation() = default;
  virtual void Forward(const NativeForward& pass) = 0;
  // From the gradient of the output, which it may overwrite, to those of the parameters and of the
  // input.
  virtual void Backward(const NativeBackward& pass) = 0;
};

// Steps that read the same input pass gradients on to it one after another, the last step first.
struct GradientOrder {
  bool sets_input = true;           // instead of adding to what another step has passed on
  bool output_is_complete = false;  // the activation's derivative is in the output's gradient
  // A convolution that is the last to add also takes the gradient through the activation of the
  // step before, while it is in the caches: this step.
  const PlanStep* completes = nullptr;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_OPERATION_H_
