// How fast the whole loop is, and where its time goes.
#ifndef STABLEAA_RL_RUN_TRAIN_BENCHMARK_H_
#define STABLEAA_RL_RUN_TRAIN_BENCHMARK_H_

#include "stableaa/rl/run/run_options.h"

namespace stableaa {

struct TrainTiming {
  double steps_per_second = 0;
  // Shares of the time; they sum to 1.
  double environment = 0, acting = 0, sampling = 0, targets = 0, gradient = 0, other = 0;
};

// A real run in a temporary directory, without evaluations and checkpoints, that learns from its
// first thousand steps on and explores as it would at its end; timed for about `seconds` after
// that. Its replay and its window of target networks are then as full as such a run's: how much
// targets cost when both are full, MeasureUpdate tells (update_benchmark.h).
TrainTiming MeasureTraining(const RunOptions& options, double seconds = 10);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRAIN_BENCHMARK_H_
