// The sections of a report, built from compared runs.
#ifndef STABLEAA_EXPERIMENT_REPORT_SECTIONS_H_
#define STABLEAA_EXPERIMENT_REPORT_SECTIONS_H_

#include <span>
#include <string>
#include <vector>

#include "stableaa/experiment/report/content.h"
#include "stableaa/experiment/report/figure_style.h"
#include "stableaa/experiment/results/comparison.h"

namespace stableaa {

// A run that could not be read, or that a sweep gave up on.
struct FailedRun {
  std::string directory;
  std::string why;
};

// Everything but the title and the attachments. Needs at least one record.
ReportContent MakeReportContent(std::span<const RunRecord> records, const Comparison& comparison,
                                const std::vector<FailedRun>& failed,
                                const FigureStyle& style = {});

// Gives figures with equal names distinct ones: NAME, NAME-2, ...
void MakeNamesUnique(ReportContent& content);

// For people: 0.123, 1.23, 12.3, 123, 12,345; "–" for NaN, "∞" for infinity.
std::string ShownNumber(double number);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_SECTIONS_H_
