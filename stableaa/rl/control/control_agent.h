// DDPG, TD3 and SAC as an Agent: an actor and critics for continuous actions, learning from a replay
// (control_learner.h). Until learning starts (replay.start), all actions are random.
#ifndef STABLEAA_RL_CONTROL_CONTROL_AGENT_H_
#define STABLEAA_RL_CONTROL_CONTROL_AGENT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/rl/control/control_learner.h"
#include "stableaa/rl/control/control_player.h"
#include "stableaa/rl/replay_agent.h"

namespace stableaa {

class ControlAgent : public ReplayAgent {
 public:
  // Throws BadInput unless observations are vectors, actions a box with finite bounds, and the
  // layers fit.
  static void RequireFits(const RunOptions& options, const EnvironmentSpec& spec);
  static AgentMemory EstimateMemory(const RunOptions& options, const EnvironmentSpec& spec);

  // Its actor's network.
  static std::shared_ptr<const Plan> PlanFor(const RunOptions& options,
                                             const EnvironmentSpec& spec);

  // What its learner gets of a run's options.
  static ControlLearnerOptions LearnerOptionsOf(const RunOptions& options);

  ControlAgent(const RunOptions& options, const EnvironmentSpec& spec);

  void StartFrom(const Parameters& first) override { learner_.StartFrom(first); }
  void Begin(int environment, const Observations& observations) override;
  Actions Act(std::int64_t step, const Observations& observations, RandomStream& random) override;
  void Remember(int environment, const ActionOutcome& outcome) override;
  std::span<const double> Update(std::int64_t step) override;

  const Parameters& weights() const override { return learner_.actor(); }
  bool IsFinite() const override { return learner_.IsFinite(); }
  std::int64_t updates() const override { return learner_.counts().updates; }
  AgentTimes times() const override;
  std::vector<std::string> update_metrics() const override;
  AgentMetrics Metrics(std::int64_t step) const override;

  std::optional<EvaluationResult> Evaluate(Environment& environment,
                                           const EvaluationOptions& options, std::uint64_t seed,
                                           const std::function<bool()>& stop) override;

  void WriteDiagnosis(const std::filesystem::path& path) const override;
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in, const std::filesystem::path& directory,
            const RunPosition& position) override;

 private:
  bool is_gaussian() const { return IsGaussian(options_.agent.algorithm); }
  void Explore(std::int64_t step, const Observations& observations, RandomStream& random);

  const std::size_t elements_;  // of an action
  const ControlPlans plans_;
  ControlLearner learner_;
  ControlPlayer player_;                              // of training
  std::unique_ptr<ControlPlayer> evaluation_player_;  // made when first needed
  std::vector<float> actions_;                        // from the last Act, in [−1, 1]
  std::vector<float> noise_;
  std::vector<double> log_densities_;
  std::vector<double> update_values_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CONTROL_AGENT_H_
