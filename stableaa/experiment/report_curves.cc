// Learning curves: of each environment, and of all together.

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/experiment/report_figures.h"
#include "stableaa/experiment/report_parts.h"

namespace stableaa {
namespace {

constexpr int kSharedPoints = 50;
constexpr std::size_t kMostBands = 6;  // more would hide each other

struct EstimatedCurve {
  std::size_t variant = 0;
  std::vector<Estimate> points = {};
};

std::vector<EstimatedCurve> EstimateCurves(const EnvironmentResults& results) {
  std::vector<EstimatedCurve> curves;
  for (const VariantRuns& variant : results.variants) {
    EstimatedCurve& curve = curves.emplace_back(EstimatedCurve{.variant = variant.variant});
    for (std::size_t i = 0; i < results.steps.size(); ++i) {
      curve.points.push_back(EstimateOf({variant.ReturnsAt(i)}));
    }
  }
  return curves;
}

std::optional<Interval> DeviationBand(const Estimate& estimate) {
  if (std::isnan(estimate.deviation)) return std::nullopt;
  return Interval{estimate.mean - estimate.deviation, estimate.mean + estimate.deviation};
}

std::vector<FigureLine> CurveLines(const Report& report, const std::vector<EstimatedCurve>& curves,
                                   const std::vector<double>& x, bool iqm) {
  std::vector<FigureLine> lines;
  for (const EstimatedCurve& curve : curves) {
    FigureLine& line = lines.emplace_back(
        FigureLine{.label = report.labels[curve.variant], .style = curve.variant, .points = {}});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Estimate& estimate = curve.points[i];
      line.points.push_back({x[i], iqm ? estimate.iqm : estimate.mean});
      if (curves.size() > kMostBands) continue;
      line.points.back().interval = iqm ? estimate.interval : DeviationBand(estimate);
    }
  }
  return lines;
}

void AddCurveFigures(const Report& report, const EnvironmentResults& results,
                     const std::vector<EstimatedCurve>& curves, ReportSection& section) {
  const StepUnit unit = UnitOf(results.steps.back());
  std::vector<double> x;
  for (const std::int64_t step : results.steps) x.push_back(static_cast<double>(step) / unit.size);
  for (const bool iqm : {false, true}) {
    // Of one run there is nothing but its curve.
    if (iqm && !HaveIntervals(results)) continue;
    const bool bands = curves.size() <= kMostBands;
    const std::string_view what =
        !HaveIntervals(results) ? "return of evaluations"
        : iqm
            ? (bands ? "interquartile mean and its 95 % bootstrap interval" : "interquartile mean")
            : (bands ? "mean ± standard deviation over runs" : "mean over runs");
    section.figures.push_back(Draw(
        LineFigure{.name = fmt::format("curve-{}-{}", iqm ? "iqm" : "mean", FileStem(results.env)),
                   .caption = fmt::format("{}: {}; {}, evaluations up to step {}.", results.env,
                                          what, RunsText(results), results.steps.back()),
                   .title = results.env,
                   .x_label = unit.label,
                   .y_label = iqm ? "return, IQM" : "return",
                   .lines = CurveLines(report, curves, x, iqm)}));
  }
}

std::vector<EstimatedCurve> SharedCurves(const Report& report, const std::vector<double>& shares) {
  std::vector<EstimatedCurve> curves;
  for (std::size_t v = 0; v < report.comparison.variants.size(); ++v) {
    EstimatedCurve& curve = curves.emplace_back(EstimatedCurve{.variant = v});
    for (const double share : shares) {
      curve.points.push_back(EstimateOf(SharedReturns(report.comparison, v, share)));
    }
  }
  return curves;
}

void AddSharedFigures(const Report& report, const std::vector<double>& shares,
                      const std::vector<EstimatedCurve>& curves, ReportSection& section) {
  std::vector<double> percent;
  for (const double share : shares) percent.push_back(100 * share);
  const bool bands = curves.size() <= kMostBands;
  for (const bool iqm : {false, true}) {
    section.figures.push_back(Draw(LineFigure{
        .name = iqm ? "curve-iqm-all" : "curve-mean-all",
        .caption = fmt::format(
            "All {} environments together: {}. Returns are {}.", report.comparison.shared.size(),
            iqm ? "interquartile mean" + (bands ? ", " + SharedIntervalText(report) : "")
                : fmt::format("mean{} over runs and environments",
                              bands ? " ± standard deviation" : ""),
            ScaleText(report)),
        .title = fmt::format("{} environments", report.comparison.shared.size()),
        .x_label = "% of the steps compared",
        .y_label = iqm ? "normalised return, IQM" : "normalised return",
        .lines = CurveLines(report, curves, percent, iqm)}));
  }
}

}  // namespace

void AddCurves(Report& report) {
  ReportSection section{.id = "curves", .title = "Learning curves"};
  if (report.labels.size() > kMostBands) {
    section.paragraphs.push_back(
        "Figures of more than six variants have no bands, which would hide each other; curves.csv "
        "has them.");
  }
  std::string csv = fmt::format("env,variant,step,{}\n", kEstimateColumns);
  if (report.HasShared()) {
    std::vector<double> shares;
    for (int i = 1; i <= kSharedPoints; ++i)
      shares.push_back(static_cast<double>(i) / kSharedPoints);
    const std::vector<EstimatedCurve> curves = SharedCurves(report, shares);
    AddSharedFigures(report, shares, curves, section);
    std::string all = fmt::format("variant,share_of_steps,{}\n", kEstimateColumns);
    for (const EstimatedCurve& curve : curves) {
      for (std::size_t i = 0; i < shares.size(); ++i) {
        all +=
            CsvLine().Text(report.labels[curve.variant]).Number(shares[i]).Numbers(curve.points[i]);
      }
    }
    report.AddCsv("curves_all", all);
  }
  for (const EnvironmentResults& results : report.comparison.environments) {
    const std::vector<EstimatedCurve> curves = EstimateCurves(results);
    AddCurveFigures(report, results, curves, section);
    for (const EstimatedCurve& curve : curves) {
      for (std::size_t i = 0; i < results.steps.size(); ++i) {
        csv += CsvLine()
                   .Text(results.env)
                   .Text(report.labels[curve.variant])
                   .Count(results.steps[i])
                   .Numbers(curve.points[i]);
      }
    }
  }
  report.AddCsv("curves", csv);
  report.content.sections.push_back(std::move(section));
}

}  // namespace stableaa
