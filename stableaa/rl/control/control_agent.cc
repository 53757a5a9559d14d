#include "stableaa/rl/control/control_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/squashed_gaussian.h"

namespace stableaa {
namespace {

int Elements(const EnvironmentSpec& spec) { return static_cast<int>(spec.action.size()); }

ActionShape ShapeOf(const EnvironmentSpec& spec) { return {.count = 1, .floats = Elements(spec)}; }

// Batches are read when they are drawn.
constexpr std::int64_t kReserve = 1;

}  // namespace

void ControlAgent::RequireFits(const RunOptions& options, const EnvironmentSpec& spec) {
  (void)ActionBox(spec);
  const ObservationLayout layout(spec);
  if (!layout.input().is_vector()) {
    throw BadInput(fmt::format(
        "{} shows pictures ({}); agents with continuous actions take vectors of numbers, which "
        "Gymnasium's wrapper FlattenObservation makes (env.wrappers)",
        options.train.env, Describe(spec.observation)));
  }
  (void)ControlPlans(options.agent, layout, Elements(spec));
  if (const int drawn = LearnerOptionsOf(options).drawn(); drawn > kMaxBatch) {
    throw BadInput(fmt::format(
        "train.batch and agent.weights.batch: expected at most {} transitions in an update, found "
        "{} (replay.prioritized = true draws both)",
        kMaxBatch, drawn));
  }
}

std::shared_ptr<const Plan> ControlAgent::PlanFor(const RunOptions& options,
                                                  const EnvironmentSpec& spec) {
  return ControlPlans(options.agent, ObservationLayout(spec), Elements(spec)).actor;
}

AgentMemory ControlAgent::EstimateMemory(const RunOptions& options, const EnvironmentSpec& spec) {
  const ObservationLayout layout(spec);
  return {.replay = Replay::EstimateBytes(options.replay, layout.frames(), ShapeOf(spec), kReserve,
                                          options.env.num_envs),
          .networks = ControlLearner::EstimateBytes(
              LearnerOptionsOf(options), ControlPlans(options.agent, layout, Elements(spec)))};
}

ControlLearnerOptions ControlAgent::LearnerOptionsOf(const RunOptions& options) {
  return {.agent = options.agent,
          .control = options.control,
          .replay = options.replay,
          .optimizer = options.optimizer,
          .seed = options.train.seed,
          .batch = options.train.batch,
          .num_envs = options.env.num_envs,
          .threads = options.threads()};
}

ControlAgent::ControlAgent(const RunOptions& options, const EnvironmentSpec& spec)
    : ReplayAgent(options, spec, ShapeOf(spec), kReserve),
      elements_(spec.action.size()),
      plans_(options.agent, layout_, Elements(spec)),
      learner_(LearnerOptionsOf(options), plans_, layout_, replay_),
      player_(plans_.actor, spec, options.env.num_envs),
      actions_(static_cast<std::size_t>(options.env.num_envs) * elements_),
      noise_(actions_.size()),
      log_densities_(static_cast<std::size_t>(options.env.num_envs)) {}

Actions ControlAgent::Act(std::int64_t step, const Observations& observations,
                          RandomStream& random) {
  if (step < options_.replay.start) {
    for (float& action : actions_) action = static_cast<float>(random.Uniform(-1, 1));
  } else {
    Explore(step, observations, random);
  }
  return player_.ToEnvironment(actions_);
}

// The noise begins at 0 with each episode.
void ControlAgent::Begin(int environment, const Observations& observations) {
  ReplayAgent::Begin(environment, observations);
  std::ranges::fill(
      std::span(noise_).subspan(static_cast<std::size_t>(environment) * elements_, elements_),
      0.0F);
}

void ControlAgent::Explore(std::int64_t step, const Observations& observations,
                           RandomStream& random) {
  const std::span<const float> outputs = player_.Outputs(learner_.actor(), observations);
  const double kept = options_.control.noise_correlation, fresh = std::sqrt(1 - kept * kept);
  for (float& noise : noise_) {
    noise = static_cast<float>(kept * static_cast<double>(noise) + fresh * random.Normal());
  }
  if (is_gaussian()) {
    SampleSquashedGaussian(elements_, outputs, noise_, actions_, log_densities_);
    return;
  }
  const auto deviation = static_cast<float>(options_.control.exploration_noise.At(step));
  for (std::size_t k = 0; k < actions_.size(); ++k) {
    actions_[k] = std::clamp(outputs[k] + deviation * noise_[k], -1.0F, 1.0F);
  }
}

void ControlAgent::Remember(int environment, const ActionOutcome& outcome) {
  const auto row = static_cast<std::size_t>(environment);
  RememberAction(environment,
                 {.values = std::span<const float>(actions_).subspan(row * elements_, elements_)},
                 outcome);
}

std::vector<std::string> ControlAgent::update_metrics() const {
  std::vector<std::string> names = {"loss", "td_abs", "q_mean", "actor_value"};
  if (is_gaussian()) names.insert(names.end(), {"entropy", "temperature"});
  if (options_.agent.mixes()) names.emplace_back("alpha_spread");
  return names;
}

std::span<const double> ControlAgent::Update(std::int64_t step) {
  if (!UpdateIsDue(step)) return {};
  const double temperature = learner_.temperature(step);
  const ControlReport report = learner_.Update(step);
  update_values_ = {report.loss, report.td_abs, report.q_mean, report.actor_value};
  if (is_gaussian()) {
    update_values_.push_back(report.entropy);
    update_values_.push_back(temperature);
  }
  if (options_.agent.mixes()) update_values_.push_back(report.alpha_spread);
  return update_values_;
}

AgentTimes ControlAgent::times() const {
  const UpdateTimes& times = learner_.times();
  return {.sampling = times.sampling, .targets = times.targets, .gradient = times.gradient};
}

AgentMetrics ControlAgent::Metrics(std::int64_t step) const {
  AgentMetrics metrics;
  if (!is_gaussian()) {
    metrics.exploration.Add("exploration_noise", options_.control.exploration_noise.At(step));
  }
  metrics.learning.Add("learning_rate", options_.optimizer.learning_rate.At(step));
  constexpr std::int64_t kNoRestarts = 0;
  metrics.learning.Append(MixingMetrics(options_.agent, learner_.mixing(), learner_.members(),
                                        learner_.counts().fallbacks, kNoRestarts, step));
  AddReplayMetrics(metrics);
  return metrics;
}

std::optional<EvaluationResult> ControlAgent::Evaluate(Environment& environment,
                                                       const EvaluationOptions& options,
                                                       std::uint64_t seed,
                                                       const std::function<bool()>& stop) {
  if (!evaluation_player_) {
    evaluation_player_ =
        std::make_unique<ControlPlayer>(plans_.actor, environment.spec(), environment.num_envs());
  }
  return EvaluateUnlessStopped(environment, *evaluation_player_, learner_.actor(), options, seed,
                               stop);
}

void ControlAgent::WriteDiagnosis(const std::filesystem::path& path) const {
  learner_.WriteDiagnosis(path);
}

void ControlAgent::Save(ByteWriter& out) const {
  replay_.Save(out);
  learner_.Save(out);
  out.F32s(noise_);
}

void ControlAgent::Load(ByteReader& in, const std::filesystem::path& directory,
                        const RunPosition& position) {
  replay_.Load(in, directory);
  learner_.Load(in);
  in.F32s(noise_);
  if (!std::ranges::all_of(noise_, [](float noise) { return std::isfinite(noise); })) {
    throw in.Wrong("expected finite exploration noise");
  }
  CheckLoaded(in, position);
}

}  // namespace stableaa
