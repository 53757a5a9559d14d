// Computes the mixing weights of the target networks: Step 1 of the paper's Algorithm 1.
//
// For sampled transitions (s, a, R, s') with discount g of the next state (γ, γ^n, or 0 at the
// end), target networks 1 (oldest) … m (newest) and the backup op:
//
//   residuals    e_i = R + g · op Q_i(s') − Q_i(s, a)
//   differences  δ_i = Q_{i+1}(s, a) − Q_i(s, a)
//   weights      α from these (mixing_fit.h), Σα = 1
//
// With the backup `double` the value of s' is Q_i(s', a*), where a* is the best action of the
// newest target network, that is, of the online network as of the last shift.
#ifndef STABLEAA_RL_VALUE_WEIGHT_FITTER_H_
#define STABLEAA_RL_VALUE_WEIGHT_FITTER_H_

#include <cstdint>

#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/mixing_fit.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa {

// Not thread-safe.
class WeightFitter {
 public:
  explicit WeightFitter(const AgentOptions& options) : options_(options), fit_(options) {}

  // Computes weights from a sample and the values of the states that CollectStates(…, with_states =
  // true) collected. `time` counts the shifts from 1, for dynamic-boltzmann. `step`: of the run, for
  // agent.eta. Throws WorkFailed if a value is not finite: training has diverged.
  Mixing Fit(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time,
             std::int64_t step);

  // Only the residual.
  double NewestResidual(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time);

 private:
  void ComputeResiduals(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time);

  const AgentOptions options_;
  SampledColumns columns_;  // of the present sample
  MixingFit fit_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_WEIGHT_FITTER_H_
