// A report on any number of runs: one HTML page, its figures as SVG, PNG and PDF, its numbers as
// CSV.
//
//   OUT/index.html            the page; needs no other file
//   OUT/figures/NAME.svg, .png, .pdf
//   OUT/tables/NAME.csv
//
// Files are replaced one at a time, each atomically, the page last. Nothing else in OUT is touched.
#ifndef STABLEAA_EXPERIMENT_REPORT_REPORT_H_
#define STABLEAA_EXPERIMENT_REPORT_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "stableaa/experiment/report/sections.h"
#include "stableaa/experiment/results/comparison.h"
#include "stableaa/experiment/results/run_filter.h"

namespace stableaa {

struct ReportOptions {
  std::vector<std::filesystem::path> directories;  // runs, sweeps, or folders of them
  std::filesystem::path out = "report";
  std::string title = {};            // empty: the sweep's title, else the number of runs
  std::vector<RunFilter> only = {};  // empty: all runs
  ComparisonOptions comparison = {};
  FigureStyle style = {};  // FigureStyleOf makes others

  // Pictures (.svg, .png, .gif, .jpg, .webp) and texts (.txt, .csv, .md, .toml, .json) to show at
  // the top of the page, pictures first.
  struct Attachment {
    std::string caption;
    std::filesystem::path file;
  };
  std::vector<Attachment> attachments = {};
};

// Called while figures are drawn, which takes most of the time, with the number done and the total.
using ReportProgress = std::function<void(std::size_t, std::size_t)>;

// A figure that gnuplot could not draw.
struct MissingFigure {
  std::string name;
  std::string why;
};

struct ReportSummary {
  std::filesystem::path page;
  std::vector<RunRecord> records;
  Comparison comparison;  // borrows the records
  std::vector<FailedRun> failed;
  std::size_t figures = 0;
  std::vector<MissingFigure> missing = {};
};

// Throws BadInput if a named directory holds no run or a broken one, if no run is left, if OUT
// holds anything but a report, and if gnuplot is missing. A broken run below a named directory is
// listed as failed. A figure that gnuplot cannot draw does not end the report: the page and the
// summary say that it is missing.
ReportSummary WriteReport(const ReportOptions& options, const ReportProgress& progress = {});

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_REPORT_H_
