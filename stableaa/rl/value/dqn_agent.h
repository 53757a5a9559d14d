// The DQN family as an Agent: learns a value per action from a replay, with one target network or a
// mixture of several (agent_options.h).
#ifndef STABLEAA_RL_VALUE_DQN_AGENT_H_
#define STABLEAA_RL_VALUE_DQN_AGENT_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/nn/plan.h"
#include "stableaa/rl/replay_agent.h"
#include "stableaa/rl/value/actor.h"
#include "stableaa/rl/value/learner.h"

namespace stableaa {

class DqnAgent : public ReplayAgent {
 public:
  // For numbered actions. Throws BadInput for a network that does not fit the observations.
  static void RequireFits(const RunOptions& options, const EnvironmentSpec& spec);
  static AgentMemory EstimateMemory(const RunOptions& options, const EnvironmentSpec& spec);

  // Its network.
  static Plan PlanFor(const RunOptions& options, const EnvironmentSpec& spec);

  // What its learner gets of a run's options.
  static LearnerOptions LearnerOptionsOf(const RunOptions& options);

  DqnAgent(const RunOptions& options, const EnvironmentSpec& spec);

  void StartFrom(const Parameters& first) override { learner_.StartFrom(first); }
  Actions Act(std::int64_t step, const Observations& observations, RandomStream& random) override;
  void Remember(int environment, const ActionOutcome& outcome) override;
  std::span<const double> Update(std::int64_t step) override;

  const Parameters& weights() const override { return learner_.online(); }
  std::int64_t updates() const override { return learner_.counts().updates; }
  AgentTimes times() const override;
  std::vector<std::string> update_metrics() const override { return {"loss", "td_abs", "q_mean"}; }
  AgentMetrics Metrics(std::int64_t step) const override;

  std::optional<EvaluationResult> Evaluate(Environment& environment,
                                           const EvaluationOptions& options, std::uint64_t seed,
                                           const std::function<bool()>& stop) override;

  void WriteDiagnosis(const std::filesystem::path& path) const override;
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in, const std::filesystem::path& directory,
            const RunPosition& position) override;

 private:
  const std::shared_ptr<const Plan> plan_;
  Learner learner_;
  Actor actor_;
  std::unique_ptr<Actor> evaluation_actor_;  // made when first needed
  std::span<const std::int32_t> actions_;    // from the last Act
  std::array<double, 3> update_values_ = {};
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_DQN_AGENT_H_
