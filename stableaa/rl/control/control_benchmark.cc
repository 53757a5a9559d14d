#include "stableaa/rl/control/control_benchmark.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "stableaa/core/median.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/nn/sgemm.h"
#include "stableaa/rl/control/control_player.h"

namespace stableaa {
namespace {

constexpr int kObserved = 17;
constexpr int kActionElements = 6;
constexpr ActionShape kActions = {.count = 1, .floats = kActionElements};
constexpr std::int64_t kNoReserve = 0;

void FillWithNoise(std::int64_t states, const ObservationLayout& layout, Replay& replay) {
  constexpr std::int64_t kEpisode = 1000;
  RandomStream random(1, "transitions");
  std::vector<float> observed(kObserved), action(kActionElements);
  std::vector<std::uint8_t> encoded(layout.frames().observation_bytes());
  const auto observe = [&] {
    random.FillUniform(observed, -1, 1);
    layout.Encode({.floats = observed}, 0, encoded);
  };
  for (std::int64_t k = 0; k < states; ++k) {
    if (k % kEpisode == 0) {
      observe();
      replay.Begin(encoded);
    }
    random.FillUniform(action, -1, 1);
    observe();
    replay.Add({.values = action}, random.UniformFloat(), false, (k + 1) % kEpisode == 0, encoded);
  }
}

}  // namespace

EnvironmentSpec HalfCheetahSizes() {
  return {.id = "gymnasium/HalfCheetah-v5",
          .observation = Space::Floats({kObserved}, {-1e30F}, {1e30F}),
          .action = Space::Floats({kActionElements}, {-1}, {1})};
}

std::uint64_t ControlBenchmarkBytes(const ControlLearnerOptions& options) {
  const ObservationLayout layout(HalfCheetahSizes());
  return Replay::EstimateBytes(options.replay, layout.frames(), kActions, kNoReserve) +
         ControlLearner::EstimateBytes(options, {options.agent, layout, kActionElements});
}

double MeasureControlDecision(const AgentOptions& agent, int threads) {
  constexpr double kSeconds = 1;
  const EnvironmentSpec spec = HalfCheetahSizes();
  const ControlPlans plans(agent, ObservationLayout(spec), kActionElements);
  ControlPlayer player(plans.actor, spec, 1, threads);
  RandomStream random(1, "decisions");
  Parameters parameters(plans.actor);
  parameters.Initialise(random);
  const std::vector<float> observed(kObserved, 0.5F);
  std::vector<double> seconds;
  for (const Stopwatch total; total.Seconds() < kSeconds;) {
    const Stopwatch watch;
    player.Play(parameters, {.floats = observed}, 0, random);
    seconds.push_back(watch.Seconds());
  }
  return Median(seconds);
}

UpdateTiming MeasureControlUpdate(const ControlLearnerOptions& options, int updates) {
  const ObservationLayout layout(HalfCheetahSizes());
  const ControlPlans plans(options.agent, layout, kActionElements);
  Replay replay(options.replay, {options.agent.n_step, options.agent.discount}, layout.frames(),
                kActions, kNoReserve);
  FillWithNoise(options.replay.size, layout, replay);
  SgemmMeter meter(options.threads);
  meter.SampleAllSizes();

  ControlLearner learner(options, plans, layout, replay);
  learner.PretendLongRun();
  const int warm_up = 2 * options.control.policy_delay;  // the processor's caches
  for (int k = 0; k < warm_up; ++k) learner.Update(0);
  const UpdateTimes before = learner.times();
  const std::int64_t copies_before = learner.counts().copies;
  const double adds_before = learner.multiply_adds();
  const CriticHistory::Counts values_before = learner.cache_counts();
  double seconds = 0;
  constexpr int kStretch = 20;
  double timed = 0;  // updates
  while (timed < updates) {
    meter.Sample();
    const Stopwatch watch;
    for (int k = 0; k < kStretch; ++k) learner.Update(0);
    seconds += watch.Seconds();
    timed += kStretch;
  }
  const UpdateTimes after = learner.times();
  const double adds = learner.multiply_adds() - adds_before;
  const CriticHistory::Counts values = learner.cache_counts();

  double copy_seconds = 0;  // per update, unless the updates had copies among them
  if (options.agent.window() > 1 && learner.counts().copies == copies_before) {
    const Stopwatch copy_watch;
    learner.TakeCopy(0);
    copy_seconds =
        copy_watch.Seconds() / static_cast<double>(options.agent.target_interval_updates);
  }
  const double per_update = seconds / timed + copy_seconds;
  const auto asked = static_cast<double>(values.asked - values_before.asked);
  return {
      .ms_per_update = 1e3 * per_update,
      .gflops = 2e-9 * adds / seconds,
      .sgemm_gflops = meter.gflops(),
      .hit_rate =
          asked > 0 ? 1 - static_cast<double>(values.computed - values_before.computed) / asked : 0,
      .sampling_share = (after.sampling - before.sampling) / timed / per_update,
      .targets_share = ((after.targets - before.targets) / timed + copy_seconds) / per_update,
      .gradient_share = (after.gradient - before.gradient) / timed / per_update};
}

}  // namespace stableaa
