// Plain loops: the network that every other backend is checked against.
//
// It shares neither code nor memory order with them. Values are stored by sample, channel, row,
// column and parameters in PyTorch's order, so each loop is the definition of its layer:
//
//   convolution  y[o, r, c] = b[o] + Σ w[o, i, p, q] · x[i, r·stride + p, c·stride + q]
//   linear       y[o] = b[o] + Σ w[o, k] · x[k]
//   relu, tanh;  elu(x) = x for x > 0, eˣ − 1 otherwise
//   dueling      Q[a] = V + A[a] − mean A
//
// In double, its gradients agree with finite differences to nine digits; Nature's dueling network
// takes about a second for 32 samples, forward and backward.
#ifndef STABLEAA_NN_REFERENCE_NETWORK_H_
#define STABLEAA_NN_REFERENCE_NETWORK_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/nn/network.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// All arithmetic is in T, float or double. Spans must have the sizes given below; the backend
// "reference", which is this class in double, checks them.
//
// A NaN stays a NaN, even through relu, as in PyTorch; so does its gradient.
template <typename T>
class ReferenceNetwork {
 public:
  explicit ReferenceNetwork(std::shared_ptr<const Plan> plan);

  // outputs: input.count × plan.outputs(). `parameters` are the elements of ParameterTensors(plan)
  // one after another, parameters() in total.
  void Forward(std::span<const T> parameters, const NetworkInput& input, std::span<T> outputs);

  // Replaces `gradients`, in the order of `parameters`. Applies to the parameters and input of the
  // preceding Forward.
  void Backward(std::span<const T> parameters, std::span<const T> output_gradients,
                std::span<T> gradients);

  // dL/d(input), count × size, from the last Backward. Of frames, with respect to the bytes
  // divided by the divisor.
  std::span<const T> input_gradients() const { return gradients_[0]; }

  std::size_t parameters() const { return parameters_; }

 private:
  using Values = std::vector<T>;  // for all samples

  void ReadInput(const NetworkInput& input);
  // `parameters` and `gradients` begin with the step's own.
  void ForwardStep(const PlanStep& step, std::span<const T> parameters);
  void BackwardStep(const PlanStep& step, std::span<const T> parameters, std::span<T> gradients);

  std::shared_ptr<const Plan> plan_;
  std::vector<std::size_t> first_parameter_;  // for each step: its weights, then its biases
  std::size_t parameters_ = 0;
  std::size_t count_ = 0;          // samples in the last Forward
  std::vector<Values> values_;     // one per value of the plan, after the activation
  std::vector<Values> gradients_;  // dL/d(values_)
};

extern template class ReferenceNetwork<float>;
extern template class ReferenceNetwork<double>;

}  // namespace stableaa

#endif  // STABLEAA_NN_REFERENCE_NETWORK_H_
