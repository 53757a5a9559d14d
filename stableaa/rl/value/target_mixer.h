// From the values of the target networks to the targets of an update: Step 1 and 2 of the paper's
// Algorithm 1.
//
// For sampled transitions (s, a, R, s') with discount g of the next state (γ, γ^n, or 0 at the
// end), target networks 1 (oldest) … m (newest) and the backup op:
//
//   residuals    e_i = R + g · op Q_i(s') − Q_i(s, a)
//   differences  δ_i = Q_{i+1}(s, a) − Q_i(s, a)
//   weights      α from these (anderson/weights.h), Σα = 1
//   targets      y = β Σ α_i Q_i(s, a) + (1 − β) Σ α_i [R + g · op Q_i(s')]
//
// β multiplies Q and not the map: .1 here is a damping of .9 in tabular notation. `single` takes
// the newest network and `average` the backup of the mean of all, both with β = 0. With the backup
// `double` the value of s' is Q_i(s', a*), a* the best action of the online network; for the
// weights, of the newest target network, which is what the online network was at the last shift.
#ifndef STABLEAA_RL_VALUE_TARGET_MIXER_H_
#define STABLEAA_RL_VALUE_TARGET_MIXER_H_

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

// The weights in force and how they came about. NaN where something does not apply.
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

// Which values of transitions the mixer needs from the target networks, and what it makes of them.
// A batch of n transitions asks for the values of up to 2n states: first those s' whose discount is
// not 0, then all s if asked for.
class TargetMixer {
 public:
  explicit TargetMixer(const AgentOptions& options);

  // The states of `batch`; with_states: the s too.
  void CollectStates(const ReplayBatch& batch, int stack, bool with_states,
                     std::vector<FrozenState>& states) const;
  // Whether targets need the values of s.
  bool targets_need_states() const { return options_.beta() != 0; }

  // From a sample with states. Throws WorkFailed if a value is not finite: training has diverged.
  Mixing FitWeights(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time);
  // The residual alone.
  double NewestResidual(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time);

  // Targets of a batch. `values` came from CollectStates(batch, targets_need_states());
  // `online_best`: for the backup double, the online network's best action in each s'; else empty.
  // `time` counts the shifts from 1, for dynamic-boltzmann.
  void Targets(const ReplayBatch& batch, const FrozenValues& values, const Mixing& mixing,
               std::span<const int> online_best, std::int64_t time, std::span<float> targets);

 private:
  void Residuals(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time);
  double NextValue(std::span<const float> q, int best) const;
  const MixingWeights& Fit(std::size_t candidate, std::size_t begin, std::size_t end);
  double ResidualNorm(std::span<const double> alpha, std::size_t begin, std::size_t end) const;

  const AgentOptions options_;
  Backup backup_;  // as it is at the moment
  // Columns of the present sample, one per network.
  std::vector<std::vector<double>> residuals_, differences_;
  std::vector<std::span<const double>> residual_spans_, difference_spans_;
  std::vector<WeightSolver> solvers_;  // one per candidate of eta
  std::vector<double> etas_;
  std::vector<float> mean_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_TARGET_MIXER_H_
