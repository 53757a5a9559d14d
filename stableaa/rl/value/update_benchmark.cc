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
#include "stableaa/rl/value/actor.h"
#include "stableaa/rl/value/learner.h"

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

}  // namespace

std::string EnvironmentOf(const std::string& network) {
  if (network == "nature") return "atari/breakout";
  if (network == "minatar") return "minatar/breakout";
  if (network == "mlp") return "classic/cartpole";
  throw BadInput(fmt::format("expected a network nature, minatar or mlp, found '{}'", network));
}

std::uint64_t UpdateBenchmarkBytes(const RunOptions& options, const std::string& network) {
  const EnvironmentSpec spec = SpecOf(network);
  const ObservationLayout layout(spec);
  const Plan plan = MakePlan(AgentNetwork(options.agent, layout.input(), spec.action.n));
  return Replay::EstimateBytes(options.replay, layout.frames(), Learner::ReplayReserve(options)) +
         Learner::EstimateBytes(options, plan);
}

UpdateTiming MeasureUpdate(const RunOptions& options, const std::string& network,
                           const UpdateBenchmark& benchmark) {
  const EnvironmentSpec spec = SpecOf(network);
  const ObservationLayout layout(spec);
  const auto plan = std::make_shared<const Plan>(
      MakePlan(AgentNetwork(options.agent, layout.input(), spec.action.n)));
  Replay replay(options.replay, {options.agent.n_step, options.agent.discount}, layout.frames(),
                Learner::ReplayReserve(options));
  Fill(network, layout, options.replay.size, replay);
  Learner learner(options, plan, layout, replay);
  SgemmMeter meter(options.threads());
  meter.SampleAllSizes();

  const std::int64_t interval = options.agent.target_interval_updates;
  const std::int64_t stretches = std::min<std::int64_t>(benchmark.stretches, interval);
  const std::int64_t updates = std::min<std::int64_t>(benchmark.updates, interval / stretches);
  double seconds = 0;
  UpdateTimes parts;
  double multiply_adds = 0;
  TargetNetworks::Counts values;
  const auto measure = [&](std::int64_t count) {
    const UpdateTimes before = learner.times();
    const double adds_before = learner.multiply_adds();
    const TargetNetworks::Counts values_before = learner.cache_counts();
    const Stopwatch watch;
    for (std::int64_t k = 0; k < count; ++k) learner.Update(0);
    seconds += watch.Seconds();
    parts.sampling += learner.times().sampling - before.sampling;
    parts.targets += learner.times().targets - before.targets;
    parts.gradient += learner.times().gradient - before.gradient;
    multiply_adds += learner.multiply_adds() - adds_before;
    values.asked += learner.cache_counts().asked - values_before.asked;
    values.computed += learner.cache_counts().computed - values_before.computed;
  };
  for (std::int64_t k = 0; k < stretches; ++k) {
    // The middle of the k-th part of the interval.
    learner.PretendSteadyState((2 * k + 1) * interval / (2 * stretches));
    learner.Update(0);  // warms the caches of the processor
    meter.Sample();
    measure(updates);
  }
  const auto timed = static_cast<double>(stretches * updates);
  const double shift_seconds = learner.MeasureShift() / static_cast<double>(interval);
  const double per_update = seconds / timed + shift_seconds;
  return {.ms_per_update = 1e3 * per_update,
          .gflops = 2e-9 * multiply_adds / seconds,
          .sgemm_gflops = meter.gflops(),
          .hit_rate = 1 - static_cast<double>(values.computed) /
                              std::max(1.0, static_cast<double>(values.asked)),
          .sampling_share = parts.sampling / timed / per_update,
          .targets_share = (parts.targets / timed + shift_seconds) / per_update,
          .gradient_share = parts.gradient / timed / per_update};
}

double MeasureDecision(const RunOptions& options, const std::string& network) {
  constexpr double kSeconds = 1;
  const EnvironmentSpec spec = SpecOf(network);
  const ObservationLayout layout(spec);
  const auto plan = std::make_shared<const Plan>(
      MakePlan(AgentNetwork(options.agent, layout.input(), spec.action.n)));
  Actor actor(plan, layout, options.exploration.policy, options.agent.omega, 1, options.threads());
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
