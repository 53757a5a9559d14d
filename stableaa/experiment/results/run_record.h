// A run directory as a report reads it: what was run, how far it got, and its numbers. Reading
// changes nothing and takes no lock; the run may still be going on.
#ifndef STABLEAA_EXPERIMENT_RESULTS_RUN_RECORD_H_
#define STABLEAA_EXPERIMENT_RESULTS_RUN_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/experiment/results/statistics.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// metrics.csv: a number per cell, NaN for an empty one.
struct MetricTable {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;  // in increasing order of steps
  // By column: the steps whose cell is neither empty nor a finite number.
  std::map<std::string, std::vector<std::int64_t>> not_finite = {};

  std::optional<std::size_t> Column(std::string_view name) const;
  // The last row's value; NaN if there is no row or column, or if the cell is empty.
  double Last(std::string_view column) const;
  // The rows in which the column has a number; empty if there is no such column.
  Curve CurveOf(std::string_view column) const;
};

// An unterminated last line is still being written, and is ignored. BadInput, naming the place
// ("runs/a/metrics.csv:7"), for anything else that no run writes. An empty text has no rows.
MetricTable ParseMetrics(std::string_view text, const std::string& name);

struct RunRecord {
  std::filesystem::path directory;
  RunOptions options;
  std::map<std::string, std::string> settings = {};  // every key with its value as a TOML literal
  std::map<std::string, std::string> description =
      {};  // from run.json: version, machine, protocol, ...
  MetricTable metrics = {};
  Curve evaluations = {};  // mean return over steps
  std::int64_t step = 0;   // of the last checkpoint or row
  bool diverged = false;
  // From its suite; set by the reader of a sweep.
  bool ended_early = false;                // by the suite's stop rule
  std::optional<double> stop_return = {};  // stop.eval_return
  std::int64_t suite_steps = 0;            // for this run; may have grown since it was run
  std::string label = {};                  // SuiteRun::label

  bool complete() const { return step >= options.train.steps; }
  bool ended() const { return complete() || ended_early; }
  // A run that ended early is not rerun when its suite's steps grow, so its own steps may be fewer.
  std::int64_t planned_steps() const;
  // True if it ended early because an evaluation was good enough: such a run ends at the step of
  // that evaluation. A run that went on and later ran out of minutes did not.
  bool reached_stop_return() const;
  // "complete", "reached the suite's return", "ended early, as the suite says", "diverged", "at 40
  // %".
  std::string Status() const;
  // What is wrong with its evaluations: "2 of 7 evaluations are no finite numbers, the first in
  // step 300"; empty if nothing. Our own runs have no such evaluations.
  std::string EvaluationFault() const;
};

// BadInput, naming the file and what is wrong, if the directory holds no run or a broken one.
RunRecord ReadRun(const std::filesystem::path& directory);

// `path` itself if it is a run, else the runs below it, sorted; `path` may be a sweep or a folder
// of sweeps. Skips names that begin with a dot. BadInput if there are no runs.
std::vector<std::filesystem::path> FindRuns(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_RUN_RECORD_H_
