#include "stableaa/rl/value/update_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/median.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/sgemm.h"
#include "stableaa/rl/replay/replay_benchmark.h"
#include "stableaa/rl/value/target_window.h"
#include "stableaa/rl/value/transition_sampler.h"

namespace stableaa {
namespace {

constexpr int kPictureActions = 18;

EnvironmentSpec PictureSpec() {
  return {.id = "atari/pictures",
          .observation = Space::Bytes({4, 84, 84}),
          .action = Space::Discrete(kPictureActions),
          .channel_axis = 0};
}

EnvironmentSpec SpecOf(const std::string& network) {
  if (network == "nature") return PictureSpec();
  return MakeEnvironment(EnvironmentOf(network))->spec();
}

void Fill(const std::string& network, const ObservationLayout& layout, std::int64_t states,
          Replay& replay) {
  if (network == "nature") return PlayPictures(states, replay);
  const std::unique_ptr<Environment> environment = MakeEnvironment(EnvironmentOf(network));
  PlayRandomly(*environment, layout, states, replay);
}

std::shared_ptr<const Plan> PlanFor(const AgentOptions& agent, const EnvironmentSpec& spec) {
  return std::make_shared<const Plan>(
      MakePlan(AgentNetwork(agent, ObservationLayout(spec).input(), spec.action.n)));
}

// What all timed updates took in total.
struct Stretch {
  double seconds = 0;
  UpdateTimes parts;
  double multiply_adds = 0;
  TargetNetworks::Counts values;
};

void Measure(Learner& learner, std::int64_t updates, Stretch& sum) {
  const UpdateTimes before = learner.times();
  const double adds_before = learner.multiply_adds();
  const TargetNetworks::Counts values_before = learner.cache_counts();
  const Stopwatch watch;
  for (std::int64_t k = 0; k < updates; ++k) learner.Update(0);
  sum.seconds += watch.Seconds();
  sum.parts.sampling += learner.times().sampling - before.sampling;
  sum.parts.targets += learner.times().targets - before.targets;
  sum.parts.gradient += learner.times().gradient - before.gradient;
  sum.multiply_adds += learner.multiply_adds() - adds_before;
  sum.values.asked += learner.cache_counts().asked - values_before.asked;
  sum.values.computed += learner.cache_counts().computed - values_before.computed;
}

// How long a shift takes at the end of its interval.
double ShiftSeconds(const LearnerOptions& options, const std::shared_ptr<const Plan>& plan,
                    const ObservationLayout& layout, const Replay& replay) {
  const std::int64_t interval = options.agent.target_interval_updates;
  TargetWindow window(options.agent, layout.frames().stack,
                      SteadyNetworks(options, plan, layout, replay, interval));
  TransitionSampler sampler(options.replay, options.seed, replay);
  const Parameters online = Learner::FirstParameters(options, plan);
  const Stopwatch watch;
  window.Shift(online, sampler, 0);
  return watch.Seconds();
}

}  // namespace

std::string EnvironmentOf(const std::string& network) {
  if (network == "nature") return "atari/breakout";
  if (network == "minatar") return "minatar/breakout";
  if (network == "mlp") return "classic/cartpole";
  throw BadInput(fmt::format("expected a network nature, minatar or mlp, found '{}'", network));
}

std::uint64_t UpdateBenchmarkBytes(const LearnerOptions& options, const std::string& network) {
  const EnvironmentSpec spec = SpecOf(network);
  const ObservationLayout layout(spec);
  return Replay::EstimateBytes(options.replay, layout.frames(), {.count = spec.action.n},
                               Learner::ReplayReserve(options)) +
         Learner::EstimateBytes(options, *PlanFor(options.agent, spec));
}

TargetNetworks SteadyNetworks(const LearnerOptions& options,
                              const std::shared_ptr<const Plan>& plan,
                              const ObservationLayout& layout, const Replay& replay,
                              std::int64_t updates) {
  const AgentOptions& agent = options.agent;
  const int window = agent.window();
  const Parameters parameters = Learner::FirstParameters(options, plan);
  TargetNetworks networks = Learner::EmptyNetworks(options, plan, layout);
  networks.Begin(parameters);
  for (int k = 0; k < window; ++k) networks.Push(parameters);

  RandomStream random(1, "steady state");
  std::vector<std::int64_t> ids;
  const std::vector<float> values(static_cast<std::size_t>(plan->outputs()));
  const auto remember = [&](std::int64_t id, int oldest) {
    for (int network = 0; network < oldest; ++network) {
      if (!networks.Knows(network, id)) networks.Remember(network, id, values);
    }
  };
  const auto meet = [&](std::int64_t batches, int count, bool with_states, int oldest) {
    for (std::int64_t k = 0; k < batches; ++k) {
      replay.SampleUniform(count, random, ids);
      for (const std::int64_t id : ids) {
        remember(id + agent.n_step, oldest);
        if (with_states) remember(id, oldest);
      }
    }
  };
  // The oldest network knows the states of all intervals, the newest only those of the present one.
  const bool sync = agent.weights.refresh == WeightRefresh::kSync;
  for (int oldest = 1; oldest <= window; ++oldest) {
    const std::int64_t batches = oldest == window ? updates : agent.target_interval_updates;
    meet(batches, options.batch, agent.targets_need_states(), oldest);
    if (agent.mixes()) meet(sync ? 1 : batches, agent.weights_batch(), true, oldest);
  }
  return networks;
}

UpdateTiming MeasureUpdate(const LearnerOptions& options, const std::string& network,
                           const UpdateBenchmark& benchmark) {
  const EnvironmentSpec spec = SpecOf(network);
  const ObservationLayout layout(spec);
  const std::shared_ptr<const Plan> plan = PlanFor(options.agent, spec);
  Replay replay(options.replay, {options.agent.n_step, options.agent.discount}, layout.frames(),
                {.count = spec.action.n}, Learner::ReplayReserve(options));
  Fill(network, layout, options.replay.size, replay);
  SgemmMeter meter(options.threads);
  meter.SampleAllSizes();

  const std::int64_t interval = options.agent.target_interval_updates;
  const std::int64_t stretches = std::min<std::int64_t>(benchmark.stretches, interval);
  const std::int64_t updates = std::min<std::int64_t>(benchmark.updates, interval / stretches);
  Stretch sum;
  for (std::int64_t k = 0; k < stretches; ++k) {
    LearnerOptions stretch_options = options;
    stretch_options.seed += static_cast<std::uint64_t>(k);  // other batches
    // The middle of the k-th part of the interval.
    const std::int64_t begin = (2 * k + 1) * interval / (2 * stretches);
    Learner learner(stretch_options, plan, layout, replay,
                    SteadyNetworks(stretch_options, plan, layout, replay, begin));
    learner.Update(0);  // warms the processor's caches
    meter.Sample();
    Measure(learner, updates, sum);
  }
  const auto timed = static_cast<double>(stretches * updates);
  const double shift_seconds =
      ShiftSeconds(options, plan, layout, replay) / static_cast<double>(interval);
  const double per_update = sum.seconds / timed + shift_seconds;
  return {.ms_per_update = 1e3 * per_update,
          .gflops = 2e-9 * sum.multiply_adds / sum.seconds,
          .sgemm_gflops = meter.gflops(),
          .hit_rate = 1 - static_cast<double>(sum.values.computed) /
                              std::max(1.0, static_cast<double>(sum.values.asked)),
          .sampling_share = sum.parts.sampling / timed / per_update,
          .targets_share = (sum.parts.targets / timed + shift_seconds) / per_update,
          .gradient_share = sum.parts.gradient / timed / per_update};
}

double MeasureDecision(const AgentOptions& agent, PolicyKind policy, int threads,
                       const std::string& network) {
  constexpr double kSeconds = 1;
  const EnvironmentSpec spec = SpecOf(network);
  const std::shared_ptr<const Plan> plan = PlanFor(agent, spec);
  Actor actor(plan, ObservationLayout(spec), policy, agent.omega, 1, threads);
  RandomStream random(1, "decisions");
  Parameters parameters(plan);
  parameters.Initialise(random);
  const std::vector<std::uint8_t> bytes(spec.observation.size(), 1);
  const std::vector<float> floats(spec.observation.size(), 0.5F);
  Observations seen;
  if (spec.observation.type == ElementType::kFloat) {
    seen.floats = floats;
  } else {
    seen.bytes = bytes;
  }
  std::vector<double> seconds;
  for (const Stopwatch total; total.Seconds() < kSeconds;) {
    const Stopwatch watch;
    actor.Act(parameters, seen, 0, random);
    seconds.push_back(watch.Seconds());
  }
  return Median(seconds);
}

}  // namespace stableaa
