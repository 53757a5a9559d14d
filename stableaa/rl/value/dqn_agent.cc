#include "stableaa/rl/value/dqn_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/saved_number.h"

namespace stableaa {

Plan DqnAgent::PlanFor(const RunOptions& options, const EnvironmentSpec& spec) {
  return MakePlan(AgentNetwork(options.agent, ObservationLayout(spec).input(), spec.action.n));
}

void DqnAgent::RequireFits(const RunOptions& options, const EnvironmentSpec& spec) {
  if (spec.action.kind != Space::Kind::kDiscrete) {
    throw BadInput(
        fmt::format("{} has continuous actions ({}); the agents of the DQN family need discrete "
                    "ones",
                    options.train.env, Describe(spec.action)));
  }
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
    : options_(options),
      layout_(spec),
      plan_(std::make_shared<const Plan>(PlanFor(options, spec))),
      replay_(options.replay, {options.agent.n_step, options.agent.discount}, layout_.frames(),
              {.count = spec.action.n}, Learner::ReplayReserve(LearnerOptionsOf(options)),
              options.env.num_envs),
      learner_(LearnerOptionsOf(options), plan_, layout_, replay_),
      actor_(plan_, layout_, options.exploration.policy, options.agent.omega, options.env.num_envs),
      encoded_(layout_.frames().observation_bytes()) {}

std::span<const std::uint8_t> DqnAgent::Encode(const Observations& observations, int environment) {
  layout_.Encode(observations, static_cast<std::size_t>(environment), encoded_);
  return encoded_;
}

void DqnAgent::Begin(int environment, const Observations& observations) {
  replay_.Begin(Encode(observations, environment), environment);
}

Actions DqnAgent::Act(std::int64_t step, const Observations& observations, RandomStream& random) {
  actions_ =
      actor_.Act(learner_.online(), observations, options_.exploration.Epsilon(step), random);
  return {.indices = actions_};
}

void DqnAgent::Remember(int environment, const ActionOutcome& outcome) {
  replay_.Add({actions_[static_cast<std::size_t>(environment)]}, static_cast<float>(outcome.reward),
              outcome.terminated, outcome.truncated, Encode(outcome.next, environment),
              environment);
}

bool DqnAgent::UpdateIsDue(std::int64_t step) const {
  return step > options_.replay.start && step % options_.train.update_interval_steps == 0 &&
         replay_.transitions() > 0;
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
  metrics.learning.Append(MixingMetrics(step));
  metrics.memory.Add("replay_states", static_cast<double>(replay_.states()));
  metrics.wall.Add("wall_replay_bytes_per_frame", replay_.bytes_per_frame());
  return metrics;
}

MetricRow DqnAgent::MixingMetrics(std::int64_t step) const {
  const Mixing& mixing = learner_.mixing();
  const LearnerCounts& counts = learner_.counts();
  const bool mixes = options_.agent.mixes();
  const auto if_mixing = [mixes](double value) {
    return mixes ? std::optional(value) : std::nullopt;
  };
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  MetricRow row;
  // The current weights; right after a shift they may still be those of the former window.
  row.Add("targets", mixes ? number(std::ssize(mixing.alpha)) : number(learner_.targets()));
  row.Add("damping", if_mixing(options_.agent.BetaAt(step)));
  row.Add("gain", if_mixing(mixing.gain));
  row.Add("gain_held_out", if_mixing(mixing.gain_held_out));
  row.Add("residual", if_mixing(mixing.residual));
  row.Add("tau_norm", if_mixing(mixing.tau_norm));
  row.Add("lambda", if_mixing(mixing.lambda));
  row.Add("eta", if_mixing(mixing.eta));
  row.Add("condition", if_mixing(mixing.condition));
  // alpha_m always belongs to the newest network.
  const auto window = static_cast<std::size_t>(options_.agent.window());
  for (std::size_t k = 0; mixes && k < window; ++k) {
    const std::size_t missing = window - mixing.alpha.size();
    row.Add(fmt::format("alpha_{}", k + 1),
            k >= missing ? std::optional(mixing.alpha[k - missing]) : std::nullopt);
  }
  row.Add("fallbacks", if_mixing(number(counts.fallbacks)));
  row.Add("restarts", number(counts.restarts));
  return row;
}

std::optional<EvaluationResult> DqnAgent::Evaluate(Environment& environment,
                                                   const EvaluationOptions& options,
                                                   std::uint64_t seed,
                                                   const std::function<bool()>& stop) {
  if (!evaluation_actor_) {
    evaluation_actor_ = std::make_unique<Actor>(plan_, layout_, PolicyKind::kGreedy,
                                                options_.agent.omega, environment.num_envs());
  }
  struct Stopped {};
  try {
    return stableaa::Evaluate(environment, *evaluation_actor_, learner_.online(), options.episodes,
                              options.epsilon, seed, [&stop](const EvaluationStep&) {
                                if (stop && stop()) throw Stopped{};
                              });
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

void DqnAgent::WriteDiagnosis(const std::filesystem::path& path) const {
  learner_.WriteDiagnosis(path);
}

void DqnAgent::SaveFiles(const std::filesystem::path& directory) {
  replay_.SaveSegments(directory);
}

void DqnAgent::Save(ByteWriter& out) const {
  replay_.Save(out);
  learner_.Save(out);
}

void DqnAgent::RemoveOldFiles(const std::filesystem::path& directory) const {
  replay_.RemoveOldSegments(directory);
}

void DqnAgent::Load(ByteReader& in, const std::filesystem::path& directory,
                    const RunPosition& position) {
  replay_.Load(in, directory);
  learner_.Load(in);
  CheckLoaded(in, position);
}

void DqnAgent::CheckLoaded(const ByteReader& in, const RunPosition& position) {
  const auto [step, episodes, observations] = position;
  const int envs = replay_.stream_count();
  std::int64_t met = 0;
  for (int i = 0; i < envs; ++i) met += replay_.stream(i).next_id();
  ExpectCount(in, "states that the replay has met",
              static_cast<std::uint64_t>(step + episodes + envs), static_cast<std::uint64_t>(met));
  for (int i = 0; i < envs; ++i) {
    const ReplayStream& stream = replay_.stream(i);
    if (stream.next_id() <= step / envs || !stream.in_episode() ||
        !std::ranges::equal(Encode(observations, i), stream.newest_observation())) {
      throw in.Wrong("expected the environment's observation as the newest of the replay");
    }
  }
  const std::int64_t interval = options_.train.update_interval_steps;
  const std::int64_t due = step / interval - std::min(step, options_.replay.start) / interval;
  if (updates() > due) {
    throw in.Wrong(
        fmt::format("expected at most {} updates in {} steps, found {}", due, step, updates()));
  }
}

}  // namespace stableaa
