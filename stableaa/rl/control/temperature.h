// SAC's temperature T, the weight of the entropy in the actor's and the critics' objectives: given,
// or learnt so that the entropy approaches a target (Haarnoja et al. 2018, "Soft Actor-Critic
// Algorithms and Applications"): gradient descent on log T · mean(−log π − target) by Adam.
#ifndef STABLEAA_RL_CONTROL_TEMPERATURE_H_
#define STABLEAA_RL_CONTROL_TEMPERATURE_H_

#include <cstdint>

#include "stableaa/rl/control/control_options.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

class Temperature {
 public:
  // `optimizer`: of the critics; its decays, epsilon and, unless the options have one, learning
  // rate are the temperature's too. `elements`: those of an action.
  Temperature(const ControlOptions& options, const OptimizerOptions& optimizer, int elements);

  // In step `step` of the run.
  double At(std::int64_t step) const;

  // Takes one step, given the mean of −log π. Does nothing if the temperature is given. Throws
  // WorkFailed if it is not finite any more.
  void Learn(double entropy, std::int64_t step);

  // Those taken so far.
  std::int64_t steps() const { return steps_; }

  // Load throws BadInput for anything that no such temperature saved.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  const ControlOptions options_;
  const OptimizerOptions optimizer_;
  const int elements_;
  double log_ = 0;
  double mean_ = 0, square_ = 0;  // Adam's averages
  std::int64_t steps_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_TEMPERATURE_H_
