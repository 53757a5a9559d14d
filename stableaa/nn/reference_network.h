// Plain loops: the network that every other backend is checked against.
//
// It shares no code and no memory order with them. Values lie sample, channel, row, column and
// parameters as PyTorch keeps them, so that each loop is the definition of its layer:
//
//   convolution  y[o, r, c] = b[o] + Σ w[o, i, p, q] · x[i, r·stride + p, c·stride + q]
//   linear       y[o] = b[o] + Σ w[o, k] · x[k]
//   relu, tanh;  elu(x) = x for x > 0, eˣ − 1 otherwise
//   dueling      Q[a] = V + A[a] − mean A
//
// In double its gradients agree with finite differences to nine digits, and Nature's dueling
// network takes about a second for 32 samples, forward and backward.
#ifndef STABLEAA_NN_REFERENCE_NETWORK_H_
#define STABLEAA_NN_REFERENCE_NETWORK_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/nn/network.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// All arithmetic is in T, float or double. Spans have to have the sizes named below; the backend
// "reference", which is this in double, checks them.
//
// A NaN comes out as a NaN, through relu too, as in PyTorch; so does its gradient.
template <typename T>
class ReferenceNetwork {
 public:
  explicit ReferenceNetwork(std::shared_ptr<const Plan> plan);

  // outputs: input.count × plan.outputs(). `parameters` are the elements of ParameterTensors(plan)
  // one after another, parameters() of them.
  void Forward(std::span<const T> parameters, const NetworkInput& input, std::span<T> outputs);

  // Replaces `gradients`, in the order of `parameters`. For the parameters and the input of the
  // Forward before.
  void Backward(std::span<const T> parameters, std::span<const T> output_gradients,
                std::span<T> gradients);

  std::size_t parameters() const { return parameters_; }

 private:
  using Values = std::vector<T>;  // of all samples

  void ReadInput(const NetworkInput& input);
  // `parameters` and `gradients` begin with those of the step.
  void ForwardStep(const PlanStep& step, std::span<const T> parameters);
  void BackwardStep(const PlanStep& step, std::span<const T> parameters, std::span<T> gradients);

  std::shared_ptr<const Plan> plan_;
  std::vector<std::size_t> first_parameter_;  // of each step: its weights, then its biases
  std::size_t parameters_ = 0;
  std::size_t count_ = 0;          // samples of the last Forward
  std::vector<Values> values_;     // one per value of the plan, after the activation
  std::vector<Values> gradients_;  // dL/d(values_)
};

extern template class ReferenceNetwork<float>;
extern template class ReferenceNetwork<double>;

}  // namespace stableaa

#endif  // STABLEAA_NN_REFERENCE_NETWORK_H_
