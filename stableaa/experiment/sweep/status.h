// What a sweep knows of its runs, and sweep.json, which tells others.
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
  kPending,  // not begun, or begun and to be resumed
  kRunning,
  kDone,
  kStopped,  // by Ctrl-C, with a checkpoint
  kFailed,
};

std::string_view Name(SweepState state);  // "pending", ...

struct SweepRun {
  const SuiteRun* run = nullptr;
  SweepState state = SweepState::kPending;
  std::int64_t steps = 0;                  // done, as far as is known
  double seconds = 0;                      // of all parts of the run
  double steps_per_second = 0;             // now
  std::optional<double> eval_return = {};  // of the last evaluation
  std::string message = {};                // why it failed, or ended before its last step

  std::int64_t StepsLeft() const;
  // The share of its steps that are done, in [0, 1].
  double Share() const;
};

struct SweepCounts {
  std::size_t pending = 0, running = 0, done = 0, stopped = 0, failed = 0;
};
SweepCounts Count(std::span<const SweepRun> runs);

// What a run will take, if that was measured (estimate.h).
struct RunEstimate {
  double seconds = 0;  // from now on
  double bytes = 0;    // of its directory in the end
};

// One run as a JSON object on one line: name, directory, env, preset, seed, values (of the axes
// besides), status, steps, steps_wanted, seconds, eval_return, message. With `planned` the status
// is that, and the estimate follows if there is one.
struct RunJsonOptions {
  std::filesystem::path directory = {};  // that the runs are in; empty: named relative to it
  bool planned = false;
  std::optional<RunEstimate> estimate = {};
};
std::string RunJson(const SweepRun& run, const RunJsonOptions& options);

// sweep.json: {"title": ..., "runs": [the objects of RunJson]}, as a whole or not at all.
// Directories are relative to the file.
void WriteSweepJson(const std::filesystem::path& file, const std::string& title,
                    std::span<const SweepRun> runs);

// What sweep.json says; missing texts are empty.
struct NotedRun {
  std::string status, message;
  std::optional<double> seconds = {};
  std::optional<std::int64_t> steps_wanted = {};
};
struct SweepNotes {
  std::string title;
  std::map<std::string, NotedRun> runs;  // by name
};
// Empty if there is no such file or no sweep has written it. Runs without a name are passed over.
SweepNotes ReadSweepJson(const std::filesystem::path& file);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_STATUS_H_
