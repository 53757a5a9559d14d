#include "stableaa/rl/control/control_benchmark.h"

#include <gtest/gtest.h>

#include "stableaa/rl/control/control_run_test.h"

namespace stableaa::control_benchmark_test {

using control_run_test::ControlRun;
using control_run_test::SmallControl;

ControlLearnerOptions Options(WindowKind window) {
  ControlLearnerOptions options = SmallControl(AgentAlgorithm::kTd3);
  options.agent.mixer = MixerKind::kStable;
  options.control.window = window;
  options.replay.size = 2000;
  return options;
}

TEST(ControlBenchmark, HitsGrowWithTheIntervalBetweenCopies) {
  ControlLearnerOptions options = Options(WindowKind::kSpaced);
  options.agent.target_interval_updates = 50;
  const UpdateTiming seldom = MeasureControlUpdate(options, 40);
  options.agent.target_interval_updates = 500;
  const UpdateTiming often = MeasureControlUpdate(options, 40);
  EXPECT_GT(seldom.hit_rate, 0);
  EXPECT_LT(seldom.hit_rate, often.hit_rate);
  EXPECT_LT(often.hit_rate, 1);
  EXPECT_GT(often.ms_per_update, 0);
  EXPECT_GT(often.gflops, 0);
  EXPECT_NEAR(often.sampling_share + often.targets_share + often.gradient_share, 1, .1);
}

TEST(ControlBenchmark, ConsecutiveAveragesHaveNothingToHit) {
  EXPECT_EQ(MeasureControlUpdate(Options(WindowKind::kConsecutive), 20).hit_rate, 0);
}

// A long run, pretended and real: about as many values are found in the cache half way between two
// copies.
TEST(ControlBenchmark, ReachesTheHitRateOfARealRun) {
  ControlLearnerOptions options = Options(WindowKind::kSpaced);
  options.agent.target_interval_updates = 60;
  options.agent.weights.batch = 1;  // of which the real run caches values too
  options.replay.size = 400;
  const double pretended = MeasureControlUpdate(options, 20).hit_rate;

  options.replay.size = 514;  // as many transitions: episodes of the real run end every 3.5 steps
  ControlRun run(options);
  for (int k = 0; k < 500; ++k) run.Step();
  for (int k = 0; k < 6 * 60 + 30; ++k) run.learner.Update(run.step);
  const CriticHistory::Counts before = run.learner.cache_counts();
  for (int k = 0; k < 20; ++k) run.learner.Update(run.step);
  const CriticHistory::Counts after = run.learner.cache_counts();
  const double real = 1 - static_cast<double>(after.computed - before.computed) /
                              static_cast<double>(after.asked - before.asked);
  EXPECT_NEAR(pretended, real, .07);
}

}  // namespace stableaa::control_benchmark_test
