// Measures how fast the whole loop is and where its time goes.
#ifndef STABLEAA_RL_RUN_TRAIN_BENCHMARK_H_
#define STABLEAA_RL_RUN_TRAIN_BENCHMARK_H_

#include "stableaa/rl/run/run_options.h"

namespace stableaa {

struct TrainTiming {
  double steps_per_second = 0;
  // Shares of the time; they sum to 1.
  double environment = 0, acting = 0, sampling = 0, targets = 0, gradient = 0, other = 0;
};

// Starts a real run in a temporary directory, without evaluations and checkpoints, that learns
// after its first thousand steps and explores as it would at its end, then times it for about
// `seconds`. Replay and target window are only as full as they are in such a run; MeasureUpdate
// (update_benchmark.h) shows what targets cost when both are full.
TrainTiming MeasureTraining(const RunOptions& options, double seconds = 10);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRAIN_BENCHMARK_H_
