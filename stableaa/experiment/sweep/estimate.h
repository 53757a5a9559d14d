// How much time and disk space a sweep will take, from a few seconds of real training.
//
// Runs that differ in more than the seed and the game within a family are variants. Up to six of
// them, those that differ most from one another, are measured: a process trains with the variant's
// options, but starts learning after a hundred steps, explores as it would in the end, shifts its
// target networks at least every 250 updates, and evaluates often, with two games each. As many are
// measured at once as the sweep will have jobs. Every other variant is assumed to be like the
// nearest measured one.
//
// Expect errors of up to a factor of two: the replay and the window of target networks are not as
// full as they will be, and agents that play well play longer games.
#ifndef STABLEAA_EXPERIMENT_SWEEP_ESTIMATE_H_
#define STABLEAA_EXPERIMENT_SWEEP_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/status.h"
#include "stableaa/experiment/sweep/training_process.h"

namespace stableaa {

struct EstimateOptions {
  TrainingCommand train = {};  // the sweep's
  int jobs = 1;
  double seconds = 2.5;  // of learning, for each variant
  // At most, until learning begins, as Python is slow to start, and again until there are enough
  // updates.
  double patience_seconds = 30;
  std::size_t max_variants = 6;
  // Besides the runs' own: those of a search's rungs to come, whoever will make them.
  std::int64_t later_steps = 0;
  // Polled while measuring; true ends it with WorkFailed("interrupted").
  std::function<bool()> interrupted = [] { return false; };
};

struct VariantSpeed {
  std::string name;  // "stable-aa, agent.eta 0.1, on minatar/breakout"
  double steps_per_second = 0;
  double evaluation_seconds = 0;  // of one evaluation
  double bytes = 0;               // of its directory, with a replay of `states` states
  double states = 0;
  double bytes_per_state = 0;
  double log_bytes_per_step = 0;
};

struct SweepEstimate {
  double seconds = 0;        // until all runs are complete
  double bytes = 0;          // of all runs in the end
  std::size_t variants = 0;  // variants in total
  std::vector<VariantSpeed> measured;
  std::vector<RunEstimate> runs;  // in the sweep's order; 0 seconds for completed ones
};

// Throws WorkFailed, with the reason, if a run cannot be measured. Leaves no files behind.
SweepEstimate EstimateSweep(std::span<const SweepRun> runs, const StopRules& stop,
                            const EstimateOptions& options);

// Seconds until the open runs of a sweep at work are complete, from how fast its runs have been
// learning so far: random play before learning says nothing. A run that does not know its rate yet
// is taken to be like the others. Nothing if no run knows.
std::optional<double> RemainingSeconds(std::span<const SweepRun> runs, const StopRules& stop,
                                       int jobs, std::int64_t later_steps = 0);

// ---- For tests ----

// The indices of at most `max` runs to measure: the first, then always the one that differs in most
// keys from its nearest so far. `nearest` gives, for each run, the position of the measured one
// that stands for it.
struct ChosenVariants {
  std::vector<std::size_t> runs;
  std::vector<std::size_t> nearest;
  std::size_t variants = 0;
};
ChosenVariants ChooseVariants(std::span<const SweepRun> runs, std::size_t max);

// The options that are measured in place of `options`.
RunOptions ScaledDown(const RunOptions& options);

// Reads the directory left by such a run; WorkFailed if it made too few steps.
VariantSpeed SpeedOf(const std::filesystem::path& directory);

// The total time if each of `jobs` processes takes the next run in order.
double ScheduleSeconds(std::span<const RunEstimate> runs, int jobs);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_ESTIMATE_H_
