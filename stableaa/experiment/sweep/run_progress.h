// How far a training run has come, read from its newest checkpoint and metrics.csv while it may
// still be running. Changes nothing and takes no lock.
#ifndef STABLEAA_EXPERIMENT_SWEEP_RUN_PROGRESS_H_
#define STABLEAA_EXPERIMENT_SWEEP_RUN_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "stableaa/experiment/suite/suite.h"
#include "stableaa/rl/run/checkpoint_head.h"

namespace stableaa {

// From the last complete rows of metrics.csv; a row still being written is ignored.
struct RunMetrics {
  std::int64_t step = 0;
  double wall_seconds = 0;  // over all parts of the run
  double steps_per_second = 0;
  // Over the rows made while learning, evaluations and checkpoints included. 0: not known yet.
  double learning_steps_per_second = 0;
  std::optional<double> eval_return = {};  // of the last evaluation
  // The first evaluation that reached the requested return.
  std::optional<std::int64_t> reached_step = {};
  std::optional<double> reached_return = {};
};

struct MetricsQuestion {
  // The return to reach, and the last step whose rows count: rows beyond the last checkpoint will
  // be computed again.
  std::optional<double> eval_return = {};
  std::optional<std::int64_t> last_step = {};
  // Of a longer file, only the end is read.
  std::size_t max_bytes = std::size_t{64} << 20;
};

// All zero if the file does not exist or has no rows.
RunMetrics ReadRunMetrics(const std::filesystem::path& run, const MetricsQuestion& question = {});

// The head of the last checkpoint; nothing if none can be read.
std::optional<CheckpointHead> ReadRunCheckpoint(const std::filesystem::path& run);

// True if another process holds the run, or is about to create it.
bool RunIsLocked(const std::filesystem::path& run);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_RUN_PROGRESS_H_
