// From residuals to mixing weights: Step 1 of the paper's Algorithm 1, for agents of every kind.
//
// With n sampled transitions and frozen value functions Q_1 (oldest) … Q_m (newest), given
//
//   residuals    e_i = backup of Q_i − Q_i(s, a)                 i = 1 … m
//   differences  δ_i = Q_{i+1}(s, a) − Q_i(s, a)                 i = 1 … m − 1
//
// it computes weights α, Σα = 1 (anderson/weights.h), with the penalty, the choice of eta and the
// safeguard of the options.
#ifndef STABLEAA_RL_VALUE_MIXING_FIT_H_
#define STABLEAA_RL_VALUE_MIXING_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/rl/run/metric_row.h"
#include "stableaa/rl/value/agent_options.h"

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

// Residuals and differences of a sample, a column per network, oldest first.
struct SampledColumns {
  std::vector<std::vector<double>> residuals, differences;

  // Makes room for `networks` columns of `transitions` numbers.
  void Resize(std::size_t networks, std::size_t transitions);
};

// What metrics.csv says about the mixing. `networks`: those in the window. Without a mixer that has
// weights to compute, all cells but the number of networks and the restarts are empty.
MetricRow MixingMetrics(const AgentOptions& options, const Mixing& mixing, int networks,
                        std::int64_t fallbacks, std::int64_t restarts, std::int64_t step);

// Not thread-safe.
class MixingFit {
 public:
  explicit MixingFit(const AgentOptions& options);

  // `step`: of the run, for agent.eta. Once the window is full, allocates nothing if `mixing` is from
  // an earlier fit.
  void Fit(const SampledColumns& columns, std::int64_t step, Mixing& mixing);

  // Root of the mean square of the newest network's residuals.
  static double NewestResidual(const SampledColumns& columns);

 private:
  const MixingWeights& Solve(const SampledColumns& columns, std::size_t candidate,
                             std::size_t begin, std::size_t end);

  const AgentOptions options_;
  std::vector<std::span<const double>> residual_spans_, difference_spans_;
  std::vector<WeightSolver> solvers_;  // one per candidate eta
  std::vector<double> etas_;
  std::vector<double> newest_;  // the weights of the newest network alone
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_MIXING_FIT_H_
