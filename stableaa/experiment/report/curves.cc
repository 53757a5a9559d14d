// Learning curves, per environment and over all environments.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/experiment/report/figures.h"
#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

constexpr std::size_t kMostBands = 7;  // more would hide each other, and colours would repeat

struct EstimatedCurve {
  std::size_t variant = 0;
  std::string label;
  std::vector<Estimate> points = {};
};

std::vector<EstimatedCurve> EstimateCurves(const EnvironmentResults& results) {
  std::vector<EstimatedCurve> curves;
  for (const VariantRuns& variant : results.variants) {
    EstimatedCurve& curve =
        curves.emplace_back(EstimatedCurve{.variant = variant.variant, .label = variant.label});
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

// The variants in one figure, in order: all of them or, if there are too many, the presets with a
// single variant plus all variants of one other preset.
struct CurveGroup {
  std::string preset = {};  // that other preset; empty: all variants are shown
  std::string caption = {};
  std::vector<std::size_t> variants = {};

  bool HasBands() const { return variants.size() <= kMostBands; }
  std::string FileName(std::string_view kind, std::string_view of) const {
    return fmt::format("curve-{}-{}{}{}", kind, FileStem(of), preset.empty() ? "" : "-",
                       preset.empty() ? "" : FileStem(preset));
  }
};

// Of the variants of one environment, or of all.
std::vector<CurveGroup> CurveGroups(const Report& report, std::vector<std::size_t> shown) {
  std::map<std::string, std::vector<std::size_t>> by_preset;
  for (const std::size_t variant : shown) {
    by_preset[report.comparison.variants[variant].preset].push_back(variant);
  }
  const CurveGroup all{.variants = std::move(shown)};
  std::vector<std::size_t> alone;
  for (const std::size_t variant : all.variants) {
    if (by_preset.at(report.comparison.variants[variant].preset).size() == 1) {
      alone.push_back(variant);
    }
  }
  std::vector<CurveGroup> groups;
  for (const auto& [preset, variants] : by_preset) {
    if (variants.size() == 1) continue;
    CurveGroup& group = groups.emplace_back(
        CurveGroup{.preset = preset,
                   .caption = fmt::format(", {}{}", report.comparison.names.OfPreset(preset),
                                          alone.empty() ? "" : " beside presets of one variant"),
                   .variants = alone});
    group.variants.insert(group.variants.end(), variants.begin(), variants.end());
  }
  return all.HasBands() || groups.size() < 2 ? std::vector{all} : groups;
}

// With too many lines, bands would hide each other; curves.csv has them.
void SayIfBandsAreMissing(const std::vector<CurveGroup>& groups, ReportSection& section) {
  const std::string sentence = fmt::format(
      "Figures of more than {} variants have no bands, which would hide each other; curves.csv has "
      "them.",
      kMostBands);
  if (std::ranges::all_of(groups, &CurveGroup::HasBands)) return;
  if (std::ranges::find(section.paragraphs, sentence) == section.paragraphs.end()) {
    section.paragraphs.push_back(sentence);
  }
}

// A variant keeps its colour in all figures while there are enough colours, else within a group.
FigureLine LineOf(const Report& report, const CurveGroup& group, std::size_t place) {
  const std::size_t variant = group.variants[place];
  const bool has_own_colour = report.labels.size() <= kGnuplotColours;
  return {.label = report.labels[variant],
          .style = has_own_colour ? variant : place,
          .points = {},
          .colour = report.comparison.colours[variant]};
}

// Of those variants of the group that have curves.
std::vector<FigureLine> CurveLines(const Report& report, const std::vector<EstimatedCurve>& curves,
                                   const CurveGroup& group, const std::vector<double>& x,
                                   bool iqm) {
  std::vector<FigureLine> lines;
  for (std::size_t place = 0; place < group.variants.size(); ++place) {
    const auto curve = std::ranges::find(curves, group.variants[place], &EstimatedCurve::variant);
    if (curve == curves.end()) continue;
    FigureLine& line = lines.emplace_back(LineOf(report, group, place));
    line.label = curve->label;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Estimate& estimate = curve->points[i];
      line.points.push_back({x[i], iqm ? estimate.iqm : estimate.mean});
      if (!group.HasBands()) continue;
      line.points.back().interval = iqm ? estimate.interval : DeviationBand(estimate);
    }
  }
  return lines;
}

// What a figure shows of the runs.
std::string CurveText(bool has_intervals, bool iqm, bool has_bands) {
  if (!has_intervals) return "return of evaluations";
  return iqm ? fmt::format("interquartile mean{}",
                           has_bands ? " and its 95 % bootstrap interval" : "")
             : fmt::format("mean{} over runs", has_bands ? " ± standard deviation" : "");
}

void AddCurveFigures(const Report& report, const EnvironmentResults& results,
                     const std::vector<EstimatedCurve>& curves, const CurveGroup& group,
                     ReportSection& section) {
  const StepUnit unit = UnitOf(results.steps.back());
  std::vector<double> x;
  for (const std::int64_t step : results.steps) x.push_back(static_cast<double>(step) / unit.size);
  for (const bool iqm : {false, true}) {
    // With a single run, only its curve can be shown.
    if (iqm && !HaveIntervals(results)) continue;
    const std::string what = CurveText(HaveIntervals(results), iqm, group.HasBands());
    section.figures.push_back(
        Draw(LineFigure{.name = group.FileName(iqm ? "iqm" : "mean", results.env),
                        .caption = fmt::format("{}{}: {}; {}, evaluations up to step {}.{}",
                                               results.env, group.caption, what, RunsText(results),
                                               results.steps.back(), CarriedText(results)),
                        .title = results.env,
                        .x_label = unit.label,
                        .y_label = iqm ? "return, IQM" : "return",
                        .lines = CurveLines(report, curves, group, x, iqm)},
             report.style));
  }
}

std::vector<EstimatedCurve> SharedCurves(const Report& report, const std::vector<double>& shares) {
  std::vector<EstimatedCurve> curves;
  for (std::size_t v = 0; v < report.comparison.variants.size(); ++v) {
    EstimatedCurve& curve =
        curves.emplace_back(EstimatedCurve{.variant = v, .label = report.labels[v]});
    for (const double share : shares) {
      curve.points.push_back(EstimateOf(SharedReturns(report.comparison, v, share)));
    }
  }
  return curves;
}

void AddSharedFigures(const Report& report, const std::vector<double>& shares,
                      const std::vector<EstimatedCurve>& curves, const CurveGroup& group,
                      ReportSection& section) {
  std::vector<double> percent;
  for (const double share : shares) percent.push_back(100 * share);
  const std::size_t count = report.comparison.shared.size();
  for (const bool iqm : {false, true}) {
    const std::string what =
        iqm ? fmt::format("interquartile mean{}{}", group.HasBands() ? ", " : "",
                          group.HasBands() ? SharedIntervalText(report) : "")
            : fmt::format("mean{} over runs and environments",
                          group.HasBands() ? " ± standard deviation" : "");
    section.figures.push_back(
        Draw(LineFigure{.name = group.FileName(iqm ? "iqm" : "mean", "all"),
                        .caption = fmt::format("{} together{}: {}. Returns are {}.{}",
                                               SharedText(report), group.caption, what,
                                               ScaleText(report), SharedCarriedText(report)),
                        .title = fmt::format("{} environments", count),
                        .x_label = "% of the steps compared",
                        .y_label = iqm ? "normalised return, IQM" : "normalised return",
                        .lines = CurveLines(report, curves, group, percent, iqm)},
             report.style));
  }
}

std::vector<std::size_t> VariantsOf(const std::vector<EstimatedCurve>& curves) {
  std::vector<std::size_t> variants;
  for (const EstimatedCurve& curve : curves) variants.push_back(curve.variant);
  return variants;
}

// All environments side by side, as in the paper's Figure 1. `curves` has those of each.
void AddPanelFigures(const Report& report, const std::vector<std::vector<EstimatedCurve>>& curves,
                     const CurveGroup& group, ReportSection& section) {
  const std::vector<EnvironmentResults>& environments = report.comparison.environments;
  const bool has_intervals = std::ranges::any_of(environments, HaveIntervals);
  for (const bool iqm : {false, true}) {
    if (iqm && !has_intervals) continue;
    GridFigure figure{
        .name = fmt::format("curves-all{}{}{}", iqm ? "-iqm" : "", group.preset.empty() ? "" : "-",
                            group.preset.empty() ? "" : FileStem(group.preset)),
        .caption = fmt::format("{} environments side by side{}: {}; {}.{}{}", environments.size(),
                               group.caption, CurveText(has_intervals, iqm, group.HasBands()),
                               RunsText(environments), AllCarriedText(report).empty() ? "" : " ",
                               AllCarriedText(report)),
        .x_label = "steps",
        .y_label = iqm ? "return, IQM" : "return",
        .panels = {},
        .legend = {}};
    for (std::size_t e = 0; e < environments.size(); ++e) {
      const std::vector<double> steps(environments[e].steps.begin(), environments[e].steps.end());
      GridFigure::Panel panel{.title = environments[e].env,
                              .lines = CurveLines(report, curves[e], group, steps, iqm)};
      if (!panel.lines.empty()) figure.panels.push_back(std::move(panel));
    }
    for (std::size_t place = 0; place < group.variants.size(); ++place) {
      figure.legend.push_back(LineOf(report, group, place));
    }
    std::ranges::move(Draw(figure, report.style), std::back_inserter(section.figures));
  }
}

}  // namespace

void AddCurves(Report& report) {
  ReportSection section{.id = "curves", .title = "Learning curves"};
  std::vector<std::vector<EstimatedCurve>> curves_of;  // by environment
  for (const EnvironmentResults& results : report.comparison.environments) {
    curves_of.push_back(EstimateCurves(results));
  }
  if (curves_of.size() > 1) {
    std::vector<std::size_t> variants(report.comparison.variants.size());
    std::iota(variants.begin(), variants.end(), std::size_t{0});
    const std::vector<CurveGroup> groups = CurveGroups(report, std::move(variants));
    SayIfBandsAreMissing(groups, section);
    for (const CurveGroup& group : groups) AddPanelFigures(report, curves_of, group, section);
  }
  if (report.HasShared()) {
    const std::vector<double> shares = SharedShares(report.comparison);
    const std::vector<EstimatedCurve> curves = SharedCurves(report, shares);
    const std::vector<CurveGroup> groups = CurveGroups(report, VariantsOf(curves));
    SayIfBandsAreMissing(groups, section);
    for (const CurveGroup& group : groups) {
      AddSharedFigures(report, shares, curves, group, section);
    }
    std::string all = fmt::format("variant,share_of_steps,{},carried\n", kEstimateColumns);
    for (const EstimatedCurve& curve : curves) {
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const std::size_t carried = SharedCarried(report.comparison, curve.variant, shares[i]);
        all += CsvLine()
                   .Text(curve.label)
                   .Number(shares[i])
                   .Numbers(curve.points[i])
                   .Count(static_cast<std::int64_t>(carried));
      }
    }
    report.AddCsv("curves_all", all);
  }
  std::string csv = fmt::format("env,variant,step,{},carried\n", kEstimateColumns);
  for (std::size_t e = 0; e < curves_of.size(); ++e) {
    const EnvironmentResults& results = report.comparison.environments[e];
    const std::vector<EstimatedCurve>& curves = curves_of[e];
    const std::vector<CurveGroup> groups = CurveGroups(report, VariantsOf(curves));
    SayIfBandsAreMissing(groups, section);
    for (const CurveGroup& group : groups) {
      AddCurveFigures(report, results, curves, group, section);
    }
    for (const EstimatedCurve& curve : curves) {
      for (std::size_t i = 0; i < results.steps.size(); ++i) {
        const std::size_t carried = results.Find(curve.variant)->CarriedAt(results.steps[i]);
        csv += CsvLine()
                   .Text(results.env)
                   .Text(curve.label)
                   .Count(results.steps[i])
                   .Numbers(curve.points[i])
                   .Count(static_cast<std::int64_t>(carried));
      }
    }
  }
  report.AddCsv("curves", csv);
  report.content.sections.push_back(std::move(section));
}

}  // namespace stableaa
