// What a sweep knows about its runs, and sweep.json, which records it.
#ifndef STABLEAA_EXPERIMENT_SWEEP_STATUS_H_
#define STABLEAA_EXPERIMENT_SWEEP_STATUS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/experiment/suite/suite.h"

namespace stableaa {

enum class SweepState {
  kPending,  // not started, or started and to be resumed
  kRunning,
  kDone,
  kStopped,  // by Ctrl-C, with a checkpoint
  kFailed,
};

std::string_view Name(SweepState state);  // "pending", ...

struct SweepRun {
  const SuiteRun* run = nullptr;
  SweepState state = SweepState::kPending;
  std::int64_t steps = 0;                       // made so far, as far as known
  double seconds = 0;                           // over all parts of the run
  double steps_per_second = 0;                  // currently
  double learning_steps_per_second = 0;         // evaluations included; 0: not known yet
  std::optional<double> eval_return = {};       // of the last evaluation
  std::string message = {};                     // why it failed, or ended before its last step
  std::optional<std::int64_t> rung_steps = {};  // fewer than all, for a draw of a search

  // Where it ends for now.
  std::int64_t StepsWanted() const;
  std::int64_t StepsLeft() const;
  // The share of its steps made so far, in [0, 1].
  double Share() const;
};

struct SweepCounts {
  std::size_t pending = 0, running = 0, done = 0, stopped = 0, failed = 0;
};
SweepCounts Count(std::span<const SweepRun> runs);

// What a run will take, if measured (estimate.h).
struct RunEstimate {
  double seconds = 0;  // from now on
  double bytes = 0;    // final size of its directory
};

// One run as a JSON object on one line: name, directory, env, preset, seed, values (of the other
// axes and of a search), label and draw (if it has one), status, steps, steps_wanted, seconds,
// eval_return, message. With `planned`, the status is "planned", and the estimate follows if there
// is one.
struct RunJsonOptions {
  std::filesystem::path directory = {};  // that holds the runs; empty: paths are relative to it
  bool planned = false;
  std::optional<RunEstimate> estimate = {};
};
std::string RunJson(const SweepRun& run, const RunJsonOptions& options);

// Writes sweep.json atomically: {"title": ..., "runs": [the objects of RunJson]}. Directories are
// relative to the file.
void WriteSweepJson(const std::filesystem::path& file, const std::string& title,
                    std::span<const SweepRun> runs);

// What sweep.json says about a run; missing texts are empty.
struct NotedRun {
  std::string status, message, label;
  std::optional<double> seconds = {};
  std::optional<std::int64_t> steps_wanted = {};
};
struct SweepNotes {
  std::string title;
  std::map<std::string, NotedRun> runs;  // by name
};
// Empty if the file does not exist or no sweep wrote it. Skips runs without a name.
SweepNotes ReadSweepJson(const std::filesystem::path& file);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_STATUS_H_
