// Optimisers: from gradients to the next parameters.
//
//   rmsprop   v ← αv + (1−α)g²,  θ ← θ − lr · g / (√v + ε)                   (PyTorch's form)
//   centred   also m ← αm + (1−α)g, with √(v − m²) instead of √v             (Graves 2013)
//   adam      m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,
//             θ ← θ − lr · m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε)                    (Kingma and Ba 2015)
//
// Before that, gradients whose norm exceeds max_gradient_norm are scaled down to it.
#ifndef STABLEAA_NN_OPTIMIZER_H_
#define STABLEAA_NN_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "stableaa/base/config/schedule.h"
#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/parameters.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class Config;

enum class OptimizerKind { kRmsprop, kCentredRmsprop, kAdam };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kRmsprop;

  // [0, 1e3]. A larger rate learns faster, until it diverges. May change with the run's steps.
  Schedule learning_rate = 2.5e-4;

  // α of RMSprop, [0, 1): squared gradients are remembered for about 1/(1−α) updates.
  double alpha = 0.95;

  // β₁ and β₂ of Adam, [0, 1).
  double beta1 = 0.9;
  double beta2 = 0.999;

  // [1e-30, 1e3]. Bounds the step when gradients are tiny; PyTorch's default is 1e-8, the DQN
  // papers' 0.01.
  double epsilon = 0.01;

  // RMSprop only: √(v + ε) instead of √v + ε, as in the code of Mnih et al. (2015).
  bool epsilon_inside = false;

  // [0, 1e30]; 0: no clipping.
  double max_gradient_norm = 0;

  // Throws BadInput naming the option, its value and its range.
  void Validate() const;
};

// Binds the keys `optimizer.*` of the configuration to the fields of `options`.
void Describe(Config& config, OptimizerOptions& options);

struct OptimizerReport {
  double gradient_norm = 0;  // before clipping; computed only when clipping
  bool clipped = false;
};

// Not thread-safe. Allocates only at construction.
class Optimizer {
 public:
  // `threads` share the loops, [1, kMaxThreads]; results do not depend on their number.
  Optimizer(std::shared_ptr<const Plan> plan, const OptimizerOptions& options, int threads = 1);

  // Performs one update, with the learning rate of step `step` of the run; a constant rate needs
  // none. When clipping, throws WorkFailed, without changing anything, if the norm is not finite.
  OptimizerReport Step(const Parameters& gradients, Parameters& parameters, std::int64_t step = 0);

  std::int64_t steps() const { return steps_; }
  const OptimizerOptions& options() const { return options_; }

  // The exact state: an optimiser that loads it continues with the same bytes. Load throws
  // BadInput, without changing anything, unless the state comes from the same kind of optimiser and
  // network; other options may differ.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  double GradientNorm(const Parameters& gradients);

  std::shared_ptr<const Plan> plan_;
  OptimizerOptions options_;
  int threads_;
  std::int64_t steps_ = 0;
  Parameters square_;                 // average of squared gradients
  std::unique_ptr<Parameters> mean_;  // average of gradients; none for plain RMSprop
  std::vector<double> block_sums_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_OPTIMIZER_H_
