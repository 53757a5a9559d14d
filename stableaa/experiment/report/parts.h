// What the sections of a report share: the report under construction, and how numbers are written.
#ifndef STABLEAA_EXPERIMENT_REPORT_PARTS_H_
#define STABLEAA_EXPERIMENT_REPORT_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/base/text/csv_cells.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/experiment/report/content.h"
#include "stableaa/experiment/report/figure_style.h"
#include "stableaa/experiment/report/sections.h"
#include "stableaa/experiment/results/comparison.h"

namespace stableaa {

struct Score {
  std::string_view name;  // in CSV files
  double ComparedRun::*field;
};
inline constexpr Score kFinal = {"final", &ComparedRun::final};
inline constexpr Score kBest = {"best", &ComparedRun::best};
inline constexpr Score kArea = {"area", &ComparedRun::area};

// The report under construction.
struct Report {
  std::span<const RunRecord> records;
  const Comparison& comparison;
  const std::vector<std::string>& labels = comparison.labels;  // for all environments together
  ReportContent content = {};
  FigureStyle style = {};

  bool HasShared() const { return comparison.shared.size() > 1; }
  void AddCsv(std::string name, std::string text) {
    content.csv_files.push_back({std::move(name), std::move(text)});
  }
};

// Each adds its section and CSV files if it has anything to show.
void AddSummary(Report& report, const std::vector<FailedRun>& failed);  // summary.cc
void AddCurves(Report& report);                                         // curves.cc
void AddScores(Report& report);                                         // scores.cc
void AddImprovements(Report& report);
void AddProfiles(Report& report);
void AddAblations(Report& report);  // ablations.cc
void AddMixing(Report& report);     // mixing.cc
void AddCost(Report& report);       // runs.cc
void AddWhatWasRun(Report& report, const std::vector<FailedRun>& failed);
void AddMethod(Report& report);

// ---- Words ----

// "1 run", "3 runs".
std::string Plural(std::size_t count, std::string_view noun);
// "a, b and c"
std::string Joined(const std::vector<std::string>& words);
// " [7.20, 8.90]", or nothing.
std::string ShownInterval(const std::optional<Interval>& interval);
// "8.10 [7.20, 8.90]": the IQM.
std::string ShownEstimate(const Estimate& estimate);
// "8.10 ± 0.71"
std::string ShownMean(const Estimate& estimate);
// "All 3 environments", or "The 2 environments that have all variants".
std::string SharedText(const Report& report);
// How scores are normalised across environments.
std::string ScaleText(const Report& report);
// True if every variant has more than one run in every shared environment.
bool SharedHaveIntervals(const Report& report);
// "with 95 % stratified bootstrap intervals", or that there are too few runs for any.
std::string SharedIntervalText(const Report& report);
// "3 runs each"
std::string RunsText(const EnvironmentResults& results);
std::string RunsText(std::span<const EnvironmentResults> environments);
// " 2 of 6 runs had reached their suite's stop.eval_return before: ...", or nothing.
std::string CarriedText(const EnvironmentResults& results);
std::string SharedCarriedText(const Report& report);
// The same for all environments, as a sentence of its own.
std::string AllCarriedText(const Report& report);
// True if some variant has more than one run.
bool HaveIntervals(const EnvironmentResults& results);

// ---- CSV ----

// One line of a CSV file.
class CsvLine {
 public:
  // Escapes control characters, including newlines, as JSON does.
  CsvLine& Text(std::string_view text) {
    return Add(TextCell(Shorten(text, std::string_view::npos)));
  }
  CsvLine& Number(double number) { return Add(NumberCell(number)); }
  CsvLine& Count(std::int64_t count) { return Add(std::to_string(count)); }
  CsvLine& Range(const std::optional<Interval>& interval) {
    Add(interval ? NumberCell(interval->low) : "");
    return Add(interval ? NumberCell(interval->high) : "");
  }
  CsvLine& Numbers(const Estimate& estimate) {
    return Count(static_cast<std::int64_t>(estimate.runs))
        .Number(estimate.mean)
        .Number(estimate.deviation)
        .Number(estimate.iqm)
        .Range(estimate.interval);
  }
  operator std::string() const { return line_ + "\n"; }

 private:
  CsvLine& Add(const std::string& cell) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += cell;
    return *this;
  }

  std::string line_;
  bool first_ = true;
};

// The columns of CsvLine::Numbers.
inline constexpr std::string_view kEstimateColumns = "runs,mean,std,iqm,low,high";

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_PARTS_H_
