#include "stableaa/rl/value/dqn_agent.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "stableaa/core/binary_io.h"

namespace stableaa {

Plan DqnAgent::PlanFor(const RunOptions& options, const EnvironmentSpec& spec) {
  return MakePlan(AgentNetwork(options.agent, ObservationLayout(spec).input(), spec.action.n));
}

void DqnAgent::RequireFits(const RunOptions& options, const EnvironmentSpec& spec) {
  (void)PlanFor(options, spec);
}

AgentMemory DqnAgent::EstimateMemory(const RunOptions& options, const EnvironmentSpec& spec) {
  const LearnerOptions learner = LearnerOptionsOf(options);
  return {.replay = Replay::EstimateBytes(options.replay, ObservationLayout(spec).frames(),
                                          {.count = spec.action.n}, Learner::ReplayReserve(learner),
                                          options.env.num_envs),
          .networks = Learner::EstimateBytes(learner, PlanFor(options, spec))};
}

LearnerOptions DqnAgent::LearnerOptionsOf(const RunOptions& options) {
  return {.agent = options.agent,
          .replay = options.replay,
          .optimizer = options.optimizer,
          .seed = options.train.seed,
          .batch = options.train.batch,
          .update_interval_steps = options.train.update_interval_steps,
          .num_envs = options.env.num_envs,
          .lookahead_updates = options.train.lookahead_updates,
          .threads = options.threads()};
}

DqnAgent::DqnAgent(const RunOptions& options, const EnvironmentSpec& spec)
    : ReplayAgent(options, spec, {.count = spec.action.n},
                  Learner::ReplayReserve(LearnerOptionsOf(options))),
      plan_(std::make_shared<const Plan>(PlanFor(options, spec))),
      learner_(LearnerOptionsOf(options), plan_, layout_, replay_),
      actor_(plan_, layout_, options.exploration.policy, options.agent.omega,
             options.env.num_envs) {}

Actions DqnAgent::Act(std::int64_t step, const Observations& observations, RandomStream& random) {
  actions_ =
      actor_.Act(learner_.online(), observations, options_.exploration.Epsilon(step), random);
  return {.indices = actions_};
}

void DqnAgent::Remember(int environment, const ActionOutcome& outcome) {
  RememberAction(environment, {.index = actions_[static_cast<std::size_t>(environment)]}, outcome);
}

std::span<const double> DqnAgent::Update(std::int64_t step) {
  if (!UpdateIsDue(step)) return {};
  const UpdateReport report = learner_.Update(step);
  update_values_ = {report.loss, report.td_abs, report.q_mean};
  return update_values_;
}

AgentTimes DqnAgent::times() const {
  const UpdateTimes& times = learner_.times();
  return {.sampling = times.sampling, .targets = times.targets, .gradient = times.gradient};
}

AgentMetrics DqnAgent::Metrics(std::int64_t step) const {
  AgentMetrics metrics;
  metrics.exploration.Add("epsilon", options_.exploration.Epsilon(step));
  metrics.learning.Add("learning_rate", options_.optimizer.learning_rate.At(step));
  metrics.learning.Append(MixingMetrics(options_.agent, learner_.mixing(), learner_.targets(),
                                        learner_.counts().fallbacks, learner_.counts().restarts,
                                        step));
  AddReplayMetrics(metrics);
  return metrics;
}

std::optional<EvaluationResult> DqnAgent::Evaluate(Environment& environment,
                                                   const EvaluationOptions& options,
                                                   std::uint64_t seed,
                                                   const std::function<bool()>& stop) {
  if (!evaluation_actor_) {
    evaluation_actor_ = std::make_unique<Actor>(plan_, layout_, PolicyKind::kGreedy,
                                                options_.agent.omega, environment.num_envs());
  }
  return EvaluateUnlessStopped(environment, *evaluation_actor_, learner_.online(), options, seed,
                               stop);
}

void DqnAgent::WriteDiagnosis(const std::filesystem::path& path) const {
  learner_.WriteDiagnosis(path);
}

void DqnAgent::Save(ByteWriter& out) const {
  replay_.Save(out);
  learner_.Save(out);
}

void DqnAgent::Load(ByteReader& in, const std::filesystem::path& directory,
                    const RunPosition& position) {
  replay_.Load(in, directory);
  learner_.Load(in);
  CheckLoaded(in, position);
}

}  // namespace stableaa
