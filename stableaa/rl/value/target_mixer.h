// Computes the targets of an update from the values of the target networks: Step 2 of the paper's
// Algorithm 1. In the notation of weight_fitter.h, with weights α:
//
//   targets      y = β Σ α_i Q_i(s, a) + (1 − β) Σ α_i [R + g · op Q_i(s')]
//
// β multiplies Q and not the map: .1 here is a damping of .9 in tabular notation. `single` takes
// the newest network, and `average` the backup of the mean of all, both with β = 0. With the backup
// `double` the value of s' is Q_i(s', a*), where a* is the online network's best action.
#ifndef STABLEAA_RL_VALUE_TARGET_MIXER_H_
#define STABLEAA_RL_VALUE_TARGET_MIXER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa {

// Not thread-safe.
class TargetMixer {
 public:
  explicit TargetMixer(const AgentOptions& options) : options_(options) {}

  // Computes the targets of a batch from the values of the states that CollectStates(…,
  // options.targets_need_states()) collected. `alpha`: one weight per network; `average` ignores
  // them. `online_best`: for the backup double, the online network's best action in each s';
  // otherwise empty. `time` counts the shifts from 1, for dynamic-boltzmann. `beta`: the one of the
  // update's step.
  void Targets(const ReplayBatch& batch, const FrozenValues& values, std::span<const double> alpha,
               std::span<const int> online_best, std::int64_t time, double beta,
               std::span<float> targets);

 private:
  const AgentOptions options_;
  std::vector<float> mean_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_TARGET_MIXER_H_
