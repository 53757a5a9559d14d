#include "stableaa/experiment/results/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/sweep/run_progress.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestMetrics = std::size_t{1} << 30;
constexpr std::size_t kLargestDescription = std::size_t{1} << 20;
constexpr std::int64_t kLargestStep = std::int64_t{1} << 40;  // as train.steps
constexpr std::string_view kEvaluationColumn = "eval_return_mean";
constexpr int kDeepestRun = 6;  // folders below the one that is searched

void RequireNextStep(const MetricTable& table, std::size_t step_column, const std::string& place) {
  const double step = table.rows.back()[step_column];
  const double before = table.rows.size() > 1 ? table.rows[table.rows.size() - 2][step_column] : -1;
  if (!(step > before && step <= static_cast<double>(kLargestStep) && step == std::floor(step))) {
    throw BadInput(
        fmt::format("{}: expected a step after {}, found {}", place, std::max(before, 0.0), step));
  }
}

void AddRow(const std::string& line, const std::string& place, std::size_t step_column,
            MetricTable& table) {
  std::vector<std::string> cells;
  if (!SplitLine(line, cells) || cells.size() != table.columns.size()) {
    throw BadInput(fmt::format("{}: expected {} cells as in the first line, found {}", place,
                               table.columns.size(), cells.size()));
  }
  std::vector<double> row;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::optional<double> number = NumberOf(cells[c]);
    if (!number) {
      throw BadInput(fmt::format("{}: expected a number for {}, found '{}'", place,
                                 Shorten(table.columns[c]), Shorten(cells[c])));
    }
    row.push_back(*number);
  }
  table.rows.push_back(row);
  RequireNextStep(table, step_column, place);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (cells[c].empty() || std::isfinite(row[c])) continue;
    table.not_finite[table.columns[c]].push_back(static_cast<std::int64_t>(row[step_column]));
  }
}

std::map<std::string, std::string> Settings(const RunOptions& options) {
  std::map<std::string, std::string> settings;
  for (const ConfigKey& key : AllKeys(options)) settings[key.key] = key.value;
  return settings;
}

// True if there is a file. BadInput for anything that is not a regular file, such as a pipe, which
// could block.
bool HasFile(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return false;
  if (!fs::is_regular_file(status)) {
    throw BadInput(fmt::format("expected a regular file: {}", ShownPath(path)));
  }
  return true;
}

// Only text and numbers; a run is valid without this file.
std::map<std::string, std::string> ReadDescription(const fs::path& path) {
  std::map<std::string, std::string> description;
  if (!HasFile(path)) return description;
  const auto json = nlohmann::json::parse(ReadTextFile(path, kLargestDescription), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) {
    LogWarning(
        fmt::format("{}: expected a JSON object; the report goes without it", ShownPath(path)));
    return description;
  }
  for (const auto& [key, value] : json.items()) {
    if (value.is_string()) description[key] = value.get<std::string>();
    if (value.is_number()) description[key] = value.dump();
  }
  return description;
}

// Nothing if no checkpoint can be read.
std::optional<CheckpointHead> CheckpointOf(const fs::path& directory) {
  if (!HasFile(directory / "checkpoint" / "state.bin")) return std::nullopt;
  const std::optional<CheckpointHead> checkpoint = ReadRunCheckpoint(directory);
  const bool is_step = checkpoint && checkpoint->step >= 0 && checkpoint->step <= kLargestStep;
  return is_step ? checkpoint : std::nullopt;
}

// Intact files agree with the checkpoint; BadInput otherwise. Half of a config.toml is still a
// valid one, of another experiment, and half of a metrics.csv is that of a shorter run.
void RequireAgreement(const RunRecord& run, const CheckpointHead& checkpoint, double last_row) {
  const auto version = run.description.find("version");
  const bool is_ours = version == run.description.end() || version->second == LibraryVersion();
  if (is_ours && checkpoint.fingerprint != Fingerprint(run.options)) {
    throw BadInput(
        fmt::format("{} is not the configuration that the run's checkpoint was made with",
                    ShownPath(run.directory / "config.toml")));
  }
  const std::int64_t missing =
      checkpoint.step - run.options.train.log_interval_steps - (run.options.env.num_envs - 1);
  if (static_cast<double>(missing) > (std::isnan(last_row) ? 0 : last_row)) {
    throw BadInput(fmt::format("{} ends in step {:.0f}, the run's checkpoint is of step {}",
                               ShownPath(run.directory / "metrics.csv"),
                               std::isnan(last_row) ? 0 : last_row, checkpoint.step));
  }
}

bool IsRun(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / "config.toml", error);
}

void AddRunsBelow(const fs::path& folder, int depth, std::vector<fs::path>& runs) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code ignored;
    if (path.filename().string().starts_with('.') || !fs::is_directory(path, ignored)) continue;
    if (IsRun(path)) {
      runs.push_back(path);
    } else if (depth > 1 && !fs::is_symlink(path, ignored)) {
      AddRunsBelow(path, depth - 1, runs);
    }
  }
  if (error) {
    throw BadInput(
        fmt::format("cannot read the directory '{}': {}", ShownPath(folder), error.message()));
  }
}

}  // namespace

std::optional<std::size_t> MetricTable::Column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

double MetricTable::Last(std::string_view column) const {
  const std::optional<std::size_t> at = Column(column);
  return at && !rows.empty() ? rows.back()[*at] : std::numeric_limits<double>::quiet_NaN();
}

Curve MetricTable::CurveOf(std::string_view column) const {
  Curve curve;
  const std::optional<std::size_t> steps = Column("step"), values = Column(column);
  if (!steps || !values) return curve;
  for (const std::vector<double>& row : rows) {
    if (std::isfinite(row[*values])) {
      curve.push_back({static_cast<std::int64_t>(row[*steps]), row[*values]});
    }
  }
  return curve;
}

MetricTable ParseMetrics(std::string_view text, const std::string& name) {
  MetricTable table;
  std::size_t line_number = 0, step_column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    const std::string line(text.substr(at, end - at));
    const std::string place = fmt::format("{}:{}", name, ++line_number);
    at = end + 1;
    if (line_number == 1) {
      if (!SplitLine(line, table.columns) || !table.Column("step")) {
        throw BadInput(fmt::format("{}: expected names of columns, 'step' among them, found '{}'",
                                   place, Shorten(line)));
      }
      step_column = *table.Column("step");
      continue;
    }
    AddRow(line, place, step_column, table);
  }
  return table;
}

std::int64_t RunRecord::planned_steps() const {
  RunOptions whole = options;
  whole.train.steps = std::max(options.train.steps, suite_steps);
  return whole.last_step();
}

bool RunRecord::reached_stop_return() const {
  return ended_early && stop_return && !evaluations.empty() &&
         evaluations.back().value >= *stop_return && evaluations.back().step == step;
}

std::string RunRecord::EvaluationFault() const {
  const auto steps = metrics.not_finite.find(std::string(kEvaluationColumn));
  if (steps == metrics.not_finite.end()) return {};
  return fmt::format("{} of {} evaluations are no finite numbers, the first in step {}",
                     steps->second.size(), steps->second.size() + evaluations.size(),
                     steps->second.front());
}

std::string RunRecord::Status() const {
  if (diverged) return "diverged";
  if (reached_stop_return()) return "reached the suite's return";
  if (complete()) return "complete";
  if (ended_early) return "ended early, as the suite says";
  return fmt::format(
      "at {:.0f} %",
      std::floor(100.0 * static_cast<double>(step) /
                 static_cast<double>(std::max<std::int64_t>(1, options.train.steps))));
}

RunRecord ReadRun(const fs::path& directory) {
  std::error_code error;
  if (!IsRun(directory)) {
    throw BadInput(fmt::format("{} holds no run: there is no config.toml", ShownPath(directory)));
  }
  RunRecord run{.directory = directory, .options = ReadRunOptions(directory / "config.toml")};
  run.settings = Settings(run.options);
  run.description = ReadDescription(directory / "run.json");
  // Read before metrics.csv, which a running trainer writes first.
  const std::optional<CheckpointHead> checkpoint = CheckpointOf(directory);
  const fs::path metrics = directory / "metrics.csv";
  if (HasFile(metrics)) {
    run.metrics = ParseMetrics(ReadTextFile(metrics, kLargestMetrics), ShownPath(metrics));
  }
  run.evaluations = run.metrics.CurveOf(kEvaluationColumn);
  const double last_row = run.metrics.Last("step");
  if (checkpoint) {
    RequireAgreement(run, *checkpoint, last_row);
    run.step = checkpoint->step;
  }
  if (!std::isnan(last_row)) run.step = std::max(run.step, static_cast<std::int64_t>(last_row));
  run.diverged = !run.complete() && fs::exists(directory / "diverged.npz", error);
  return run;
}

std::vector<fs::path> FindRuns(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    throw BadInput(fmt::format("expected a directory of runs, found {}: {}",
                               fs::exists(path, error) ? "a file" : "nothing", ShownPath(path)));
  }
  if (IsRun(path)) return {path};
  std::vector<fs::path> runs;
  AddRunsBelow(path, kDeepestRun, runs);
  if (runs.empty()) {
    throw BadInput(fmt::format("{} holds no run: no config.toml there or below", ShownPath(path)));
  }
  std::ranges::sort(runs);
  return runs;
}

}  // namespace stableaa
