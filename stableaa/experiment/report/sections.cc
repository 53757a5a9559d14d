#include "stableaa/experiment/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "stableaa/experiment/report/parts.h"

namespace stableaa {

void MakeNamesUnique(ReportContent& content) {
  std::set<std::string> names;
  for (ReportSection& section : content.sections) {
    for (ReportFigure& figure : section.figures) {
      const std::string stem = figure.name;
      for (int i = 2; !names.insert(figure.name).second; ++i) {
        figure.name = fmt::format("{}-{}", stem, i);
      }
    }
  }
}

ReportContent MakeReportContent(std::span<const RunRecord> records, const Comparison& comparison,
                                const std::vector<FailedRun>& failed, const FigureStyle& style) {
  Report report{.records = records, .comparison = comparison, .style = style};
  AddSummary(report, failed);
  if (!comparison.environments.empty()) {
    AddCurves(report);
    AddScores(report);
    AddImprovements(report);
    AddProfiles(report);
    AddAblations(report);
    AddMixing(report);
    AddCost(report);
  } else {
    const bool is_early = std::ranges::all_of(records, [](const RunRecord& record) {
      return record.evaluations.empty() && record.EvaluationFault().empty() && !record.diverged;
    });
    report.content.summary.push_back(
        is_early ? "No run has an evaluation yet: there is nothing to compare."
                 : "No run can be compared: what was run, below, says why.");
  }
  AddWhatWasRun(report, failed);
  AddMethod(report);
  MakeNamesUnique(report.content);
  return std::move(report.content);
}

}  // namespace stableaa
