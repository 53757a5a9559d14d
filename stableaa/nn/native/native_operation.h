// One operation of a native network. Each kind is a class with its own tables.
#ifndef STABLEAA_NN_NATIVE_NATIVE_OPERATION_H_
#define STABLEAA_NN_NATIVE_NATIVE_OPERATION_H_

#include "stableaa/nn/native/native_worker.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// Successive components of the network's input, and where their gradients go: samples × size.
struct InputGradient {
  float* to = nullptr;  // null if they are not wanted
  int first = 0;
  int size = 0;
};

// What one thread needs to know about a pass.
struct NativeForward {
  const Parameters& parameters;
  const NetworkInput& input;
  NativeWorker worker;
};
struct NativeBackward {
  const Parameters& parameters;
  int count;  // samples
  // Null if only the gradient of the network's input is wanted.
  Parameters* gradients;
  // Where the gradient of the network's input goes, if it is wanted.
  InputGradient input;
  NativeWorker worker;
};

// Every thread calls Forward or Backward; they all wait for each other afterwards.
class NativeOperation {
 public:
  virtual ~NativeOperation() = default;
  virtual void Forward(const NativeForward& pass) = 0;
  // Computes the gradients of the parameters, if they are wanted, and of the input from that of the
  // output, which it may overwrite.
  virtual void Backward(const NativeBackward& pass) = 0;
};

// Steps that read the same input pass gradients on to it one after another, the last step first.
struct GradientOrder {
  bool sets_input = true;           // instead of adding to what another step passed on
  bool output_is_complete = false;  // the output's gradient includes the activation's derivative
  // If a convolution is the last to add, it also applies the derivative of the preceding step's
  // activation while the gradient is in the caches. This is that preceding step.
  const PlanStep* completes = nullptr;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_OPERATION_H_
