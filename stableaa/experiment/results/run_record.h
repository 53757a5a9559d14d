// A run directory as a report reads it: what was run, how far it came, and its numbers. Nothing is
// changed and nothing is locked; the run may be going on meanwhile.
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
  std::vector<std::vector<double>> rows;  // by step, increasing
  // By column: the steps whose cell is not empty and holds no finite number.
  std::map<std::string, std::vector<std::int64_t>> not_finite = {};

  std::optional<std::size_t> Column(std::string_view name) const;
  // The last row's value; NaN if there is no row, no such column, or an empty cell.
  double Last(std::string_view column) const;
  // The rows in which the column has a number; no points if there is no such column.
  Curve CurveOf(std::string_view column) const;
};

// A last line without an end is still being written, and is left out. BadInput, naming the place
// ("runs/a/metrics.csv:7"), for anything else that a run does not write. An empty text has no rows.
MetricTable ParseMetrics(std::string_view text, const std::string& name);

struct RunRecord {
  std::filesystem::path directory;
  RunOptions options;
  std::map<std::string, std::string> settings = {};  // every key with its value as a TOML literal
  std::map<std::string, std::string> description =
      {};  // of run.json: version, machine, protocol, ...
  MetricTable metrics = {};
  Curve evaluations = {};  // mean return over steps
  std::int64_t step = 0;   // that the last checkpoint or row has seen
  bool diverged = false;
  // From its suite; set by whoever reads a sweep.
  bool ended_early = false;                // as the suite's stop rule asked for
  std::optional<double> stop_return = {};  // stop.eval_return
  std::int64_t suite_steps = 0;            // of this run, which may have grown since it was run

  bool complete() const { return step >= options.train.steps; }
  bool ended() const { return complete() || ended_early; }
  // A run that ended early is not run again when its suite's steps grow, so its own may be fewer.
  std::int64_t planned_steps() const;
  // True if it ended early because an evaluation was enough: such a run ends in the step of that
  // evaluation. One that went on, and whose minutes were over later, did not.
  bool reached_stop_return() const;
  // "complete", "reached the suite's return", "ended early, as the suite says", "diverged", "at 40
  // %".
  std::string Status() const;
  // What is wrong with its evaluations: "2 of 7 evaluations are no finite numbers, the first in
  // step 300"; empty if nothing is. Our own runs have none such.
  std::string EvaluationFault() const;
};

// BadInput, naming the file and what is wrong, if the directory holds no run or a broken one.
RunRecord ReadRun(const std::filesystem::path& directory);

// `path` itself if it is a run, else the runs below it, sorted: of a sweep, or of a folder of
// sweeps. Names that begin with a dot are passed over. BadInput if there is none.
std::vector<std::filesystem::path> FindRuns(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_RUN_RECORD_H_
