// How long a sweep will take and how much room on disk, from a few seconds of the real thing.
//
// Runs that differ in more than seed and game of the same family are variants. At most six of them,
// those that differ most from one another, are measured: a process trains with the variant's
// options, but learns after a hundred steps, explores as it would in the end, shifts its target
// networks every 250 updates at most, evaluates often and two games at a time. As many are measured
// at once as the sweep will have jobs. All other variants are taken to be like the nearest one.
//
// Expect errors of up to a factor of two: replay and window of target networks are not as full as
// they will be, and agents that play well play longer games.
#ifndef STABLEAA_EXPERIMENT_SWEEP_ESTIMATE_H_
#define STABLEAA_EXPERIMENT_SWEEP_ESTIMATE_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/status.h"
#include "stableaa/experiment/sweep/training_process.h"

namespace stableaa {

struct EstimateOptions {
  TrainingCommand train = {};  // as of the sweep
  int jobs = 1;
  double seconds = 2.5;          // of learning, for each variant
  double patience_seconds = 30;  // for the first update; Python takes its time
  std::size_t max_variants = 6;
  // Asked while it measures; true ends that with WorkFailed("interrupted").
  std::function<bool()> interrupted = [] { return false; };
};

struct VariantSpeed {
  std::string name;  // "stable-aa, agent.eta 0.1, on minatar/breakout"
  double steps_per_second = 0;
  double evaluation_seconds = 0;  // of one evaluation
  double bytes = 0;               // of the directory, with a replay of `states` states
  double states = 0;
  double bytes_per_state = 0;
  double log_bytes_per_step = 0;
};

struct SweepEstimate {
  double seconds = 0;        // until all runs are done
  double bytes = 0;          // of all runs in the end
  std::size_t variants = 0;  // that there are
  std::vector<VariantSpeed> measured;
  std::vector<RunEstimate> runs;  // in the order of the sweep's; 0 seconds for those that are done
};

// WorkFailed, with the reason, if a run cannot be measured. Leaves no files behind.
SweepEstimate EstimateSweep(std::span<const SweepRun> runs, const StopRules& stop,
                            const EstimateOptions& options);

// ---- For tests ----

// Numbers of runs to measure, at most `max`: the first one, then always the one that differs in
// most keys from its nearest so far. `nearest` tells for each run the position of the one that
// stands for it.
struct ChosenVariants {
  std::vector<std::size_t> runs;
  std::vector<std::size_t> nearest;
  std::size_t variants = 0;
};
ChosenVariants ChooseVariants(std::span<const SweepRun> runs, std::size_t max);

// What is measured in place of a run of `options`.
RunOptions ScaledDown(const RunOptions& options);

// From the directory that such a run has left; WorkFailed if it made too few steps.
VariantSpeed SpeedOf(const std::filesystem::path& directory);

// When `jobs` processes take the next run each, in order.
double ScheduleSeconds(std::span<const RunEstimate> runs, int jobs);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_ESTIMATE_H_
