// Computes the mixing weights of the target networks: Step 1 of the paper's Algorithm 1.
//
// For sampled transitions (s, a, R, s') with discount g of the next state (γ, γ^n, or 0 at the
// end), target networks 1 (oldest) … m (newest) and the backup op:
//
//   residuals    e_i = R + g · op Q_i(s') − Q_i(s, a)
//   differences  δ_i = Q_{i+1}(s, a) − Q_i(s, a)
//   weights      α from these (anderson/weights.h), Σα = 1
//
// With the backup `double` the value of s' is Q_i(s', a*), where a* is the best action of the
// newest target network, that is, of the online network as of the last shift.
#ifndef STABLEAA_RL_VALUE_WEIGHT_FITTER_H_
#define STABLEAA_RL_VALUE_WEIGHT_FITTER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

// The current weights and how they came about. NaN where something does not apply.
struct Mixing {
  std::vector<double> alpha = {1};  // oldest network first
  double tau_norm = 0;
  double lambda = 0;
  double eta = 0;
  double condition = 1;
  double gain = 1;  // ‖Σ α_i e_i‖ / ‖e_m‖ on the transitions that α was fitted on
  double gain_held_out = 1;  // weights fitted on the first half of the sample, on the second half
  double residual = 0;       // root of the mean square of e_m
  bool fallback = false;     // the safeguard chose the newest network alone

  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);
};

// Not thread-safe.
class WeightFitter {
 public:
  explicit WeightFitter(const AgentOptions& options);

  // Computes weights from a sample and the values of the states that CollectStates(…, with_states =
  // true) collected. `time` counts the shifts from 1, for dynamic-boltzmann. `step`: of the run, for
  // agent.eta. Throws WorkFailed if a value is not finite: training has diverged.
  Mixing Fit(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time,
             std::int64_t step);

  // Only the residual.
  double NewestResidual(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time);

 private:
  void ComputeResiduals(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time);
  const MixingWeights& Solve(std::size_t candidate, std::size_t begin, std::size_t end);
  double ResidualNorm(std::span<const double> alpha, std::size_t begin, std::size_t end) const;

  const AgentOptions options_;
  // Columns for the present sample, one per network.
  std::vector<std::vector<double>> residuals_, differences_;
  std::vector<std::span<const double>> residual_spans_, difference_spans_;
  std::vector<WeightSolver> solvers_;  // one per candidate eta
  std::vector<double> etas_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_WEIGHT_FITTER_H_
