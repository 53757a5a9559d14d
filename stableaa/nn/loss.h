// The loss of a batch of Q-values, and its gradient with respect to them.
//
//   L = (1/n) Σ w_i · ℓ(d_i),   d_i = outputs[i, chosen_i] − target_i
//
//   squared   ℓ(d) = d²                                       PyTorch's mse_loss
//   Huber     ℓ(d) = d²/2 for |d| ≤ δ, δ (|d| − δ/2) beyond   PyTorch's huber_loss
//
// The sum is divided by n and not by Σ w_i: the weights are the importance weights of prioritised
// replay (Schaul et al. 2016, section 3.4), whose sum is meant to change the length of the step.
#ifndef STABLEAA_NN_LOSS_H_
#define STABLEAA_NN_LOSS_H_

#include <span>

namespace stableaa {

enum class LossKind { kSquared, kHuber };

struct LossOptions {
  // Huber bounds the gradient by δ per sample, like DQN's error clipping; with squared, one odd
  // target can throw the network far off.
  LossKind kind = LossKind::kSquared;
  double huber_delta = 1;  // δ, above 0 and finite; only for kHuber

  // Throws BadInput.
  void Validate() const;
};

// n samples, n = chosen.size() ≥ 1. Borrowed.
struct LossBatch {
  int actions = 0;
  std::span<const float> outputs;       // n × actions, from the network
  std::span<const int> chosen;          // each sample's action, in [0, actions)
  std::span<const float> targets;       // n
  std::span<const float> weights = {};  // n, finite and ≥ 0; empty: all 1
};

// Returns L and writes dL/d(outputs), n × actions, with zeros for the actions not chosen. Unless
// `errors` (n) is empty, it receives d_i, whose magnitude is a sample's priority. Sums in double
// and allocates nothing.
//
// Throws BadInput for options, sizes, actions or weights outside the above, and WorkFailed, naming
// the sample, if an output or target is not finite or a result does not fit a float: training has
// diverged. Anything written by then is meaningless.
double LossGradient(const LossOptions& options, const LossBatch& batch,
                    std::span<float> output_gradients, std::span<float> errors = {});

}  // namespace stableaa

#endif  // STABLEAA_NN_LOSS_H_
