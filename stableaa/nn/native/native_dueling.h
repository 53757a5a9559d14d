// Q_a = V + A_a − mean A, on one thread.
#ifndef STABLEAA_NN_NATIVE_NATIVE_DUELING_H_
#define STABLEAA_NN_NATIVE_NATIVE_DUELING_H_

#include "stableaa/nn/native/native_operation.h"
#include "stableaa/nn/native/native_values.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

class NativeDueling final : public NativeOperation {
 public:
  NativeDueling(const PlanStep& step, NativeValues& values) : step_(step), values_(values) {}

  void Forward(const NativeForward& pass) override;
  void Backward(const NativeBackward& pass) override;

 private:
  const PlanStep& step_;
  NativeValues& values_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_DUELING_H_
