#include "stableaa/rl/run/train_benchmark.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa {

TrainTiming MeasureTraining(const RunOptions& options, double seconds) {
  constexpr std::int64_t kWarmUpSteps = 1000;
  constexpr std::int64_t kNever = std::int64_t{1} << 40;
  RunOptions run = options;
  run.train.steps = kNever;
  run.train.checkpoint_interval_steps = kNever;
  run.eval.interval_steps = 0;
  run.replay.start = std::min(run.replay.start, kWarmUpSteps);
  run.exploration.epsilon_start = run.exploration.epsilon_end;

  const TemporaryDirectory directory("stableaa-bench-");
  const std::unique_ptr<Trainer> trainer = Trainer::Start(directory.path() / "run", run);
  const InterruptGuard interrupt;  // so that the directory is removed
  const auto run_until = [&](const std::function<bool()>& enough) {
    trainer->Run({.stop = [&] { return enough() || interrupt.requested(); }});
    interrupt.ThrowIfRequested();
  };
  run_until([&] { return trainer->step() >= kWarmUpSteps; });
  const TrainTimes before = trainer->times();
  const std::int64_t steps_before = trainer->step();
  const Stopwatch watch;
  run_until([&] { return watch.Seconds() >= seconds; });
  const TrainTimes after = trainer->times();

  // The checkpoint at the end of Run comes from stopping, not from the loop.
  const double total = after.total - (after.checkpoint - before.checkpoint);
  TrainTiming timing{
      .steps_per_second = static_cast<double>(trainer->step() - steps_before) / total,
      .environment = (after.environment - before.environment) / total,
      .acting = (after.acting - before.acting) / total,
      .sampling = (after.sampling - before.sampling) / total,
      .targets = (after.targets - before.targets) / total,
      .gradient = (after.gradient - before.gradient) / total};
  timing.other =
      1 - timing.environment - timing.acting - timing.sampling - timing.targets - timing.gradient;
  return timing;
}

}  // namespace stableaa
