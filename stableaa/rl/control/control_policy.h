// The actor of an agent with continuous actions: proposes actions and learns from the slopes of
// their values.
//
//   ddpg, td3   a = μ(s), the network's outputs after tanh; a' by a Polyak average of the network
//   sac         a = tanh(m + σ ε), ε standard normal (nn/squashed_gaussian.h)
//
// Actions are in [−1, 1].
#ifndef STABLEAA_RL_CONTROL_CONTROL_POLICY_H_
#define STABLEAA_RL_CONTROL_CONTROL_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/nn/network.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/rl/control/control_options.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class RandomStream;

struct ControlPolicyOptions {
  AgentAlgorithm algorithm = AgentAlgorithm::kTd3;
  ControlOptions control;
  OptimizerOptions optimizer;  // of the critics; the actor's has its own learning rate
  std::uint64_t seed = 1;
  int batch = 256;       // states that it learns from at once
  int next_batch = 256;  // states that it acts on at once
};

// A row of `elements` numbers for each state.
struct ProposedActions {
  std::vector<float> actions;
  std::vector<double> log_densities;  // sac; empty for the others
};

// Not thread-safe.
class ControlPolicy {
 public:
  // Draws parameters from the seed's stream "actor".
  ControlPolicy(const ControlPolicyOptions& options, const std::shared_ptr<const Plan>& plan,
                int elements);

  // Starts over with these weights.
  void StartFrom(const Parameters& first);

  // a' for targets: of the average and, for td3, with clipped noise; sac: a sample.
  void ProposeNext(std::span<const float> states, RandomStream& random, ProposedActions& out);

  // π(s) by the present network, to learn from. Valid until the next call.
  const ProposedActions& Propose(std::span<const float> states, RandomStream& random);

  // Takes one step of the optimiser, given how the loss changes with the proposed actions and with
  // each log-density.
  void Learn(std::span<const float> action_slopes, double log_density_slope, std::int64_t step);

  // Moves the average towards the network; nothing for sac, which has none.
  void MoveAverage(double polyak);

  const Parameters& parameters() const { return parameters_; }
  // Whether all weights, and those of the average, are.
  bool IsFinite() const;
  std::int64_t updates() const { return optimizer_.steps(); }
  // Multiplications and additions in all passes so far.
  double multiply_adds() const { return multiply_adds_; }
  static std::uint64_t Bytes(const ControlPolicyOptions& options, const Plan& plan);

  // Load throws BadInput for anything that no such policy saved.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  bool is_gaussian() const { return IsGaussian(options_.algorithm); }
  void Sample(std::span<const float> outputs, RandomStream& random, ProposedActions& out);

  const ControlPolicyOptions options_;
  const std::size_t elements_;
  Parameters parameters_, gradients_;
  std::optional<Parameters> average_;
  Optimizer optimizer_;
  std::unique_ptr<Network> network_;  // learns
  std::unique_ptr<Network> next_;     // only acts
  double multiply_adds_ = 0;
  ProposedActions proposed_;
  std::vector<float> outputs_, output_gradients_, noise_, next_outputs_;
  std::vector<double> log_density_slopes_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CONTROL_POLICY_H_
