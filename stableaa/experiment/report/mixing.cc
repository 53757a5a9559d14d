// Mixing weights and gain over time.

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/moments.h"
#include "stableaa/experiment/report/figures.h"
#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

// The mean over the runs that have a value at that step.
std::vector<FigurePoint> MeanOver(const VariantRuns& runs, const std::string& column,
                                  std::int64_t last, double unit) {
  std::map<std::int64_t, std::vector<double>> values;
  for (const ComparedRun& run : runs.runs) {
    for (const CurvePoint& point : run.record->metrics.CurveOf(column)) {
      if (point.step <= last) values[point.step].push_back(point.value);
    }
  }
  std::vector<FigurePoint> points;
  for (const auto& [step, at_step] : values) {
    points.push_back({static_cast<double>(step) / unit, MomentsOf(at_step).mean});
  }
  return points;
}

bool Mixes(const VariantRuns& runs) {
  const MixerKind mixer = runs.runs.front().record->options.agent.mixer;
  return mixer != MixerKind::kSingle && mixer != MixerKind::kAverage;
}

std::string MixingCsv(const Report& report) {
  const std::vector<std::string> columns = {"gain", "gain_held_out", "tau_norm"};
  std::string csv = "env,variant,seed,step,gain,gain_held_out,tau_norm,alphas\n";
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& runs : results.variants) {
      if (!Mixes(runs)) continue;
      for (const ComparedRun& run : runs.runs) {
        const MetricTable& metrics = run.record->metrics;
        for (const std::vector<double>& row : metrics.rows) {
          CsvLine line;
          line.Text(results.env)
              .Text(runs.label)
              .Text(std::to_string(run.record->options.train.seed))
              .Number(row[*metrics.Column("step")]);
          for (const std::string& column : columns) {
            const auto at = metrics.Column(column);
            line.Number(at ? row[*at] : std::nan(""));
          }
          std::string alphas;
          for (int i = 1; const auto at = metrics.Column(fmt::format("alpha_{}", i)); ++i) {
            if (!std::isnan(row[*at]))
              alphas += fmt::format("{}{}", alphas.empty() ? "" : " ", row[*at]);
          }
          csv += line.Text(alphas);
        }
      }
    }
  }
  return csv;
}

// What is mixed, and what separates its generations.
std::string MixedThings(const RunOptions& options) {
  const int targets = options.agent.targets;
  if (!IsControl(options.agent.algorithm)) {
    return fmt::format("{} target networks (newest, and how many shifts older)", targets);
  }
  return fmt::format("{} critics (newest, and how many {} older)", targets,
                     options.control.window == WindowKind::kSpaced ? "copies" : "Polyak averages");
}

// Of continuous control: how far the weights are from equal ones, over the later half of the steps.
std::string SpreadText(const VariantRuns& runs, std::int64_t last) {
  std::vector<double> spreads;
  for (const ComparedRun& run : runs.runs) {
    for (const CurvePoint& point : run.record->metrics.CurveOf("alpha_spread")) {
      if (point.step > last / 2 && point.step <= last) spreads.push_back(point.value);
    }
  }
  if (spreads.empty()) return "";
  return fmt::format(
      " Mean of ‖α − 1/m‖ over the later half of the steps, 0 for equal weights: {:.2g}.",
      MomentsOf(spreads).mean);
}

// Nothing if metrics.csv has no weights or gains.
std::optional<ReportFigure> MixingFigure(const EnvironmentResults& results, const VariantRuns& runs,
                                         const FigureStyle& style) {
  const StepUnit unit = UnitOf(results.steps.back());
  const std::string& label = runs.label;
  PanelFigure::Panel weights{.title = "mixing weights α", .lines = {}};
  const RunOptions& options = runs.runs.front().record->options;
  const int targets = options.agent.targets;
  for (int i = 1; i <= targets; ++i) {
    std::vector<FigurePoint> points =
        MeanOver(runs, fmt::format("alpha_{}", i), results.steps.back(), unit.size);
    if (points.empty()) continue;
    weights.lines.push_back({.label = i == targets ? "newest" : fmt::format("{}", i - targets),
                             .style = static_cast<std::size_t>(targets - i),
                             .points = std::move(points)});
  }
  PanelFigure::Panel gain{.title = "gain", .lines = {}, .reference = 1};
  gain.lines.push_back({.label = "fitted",
                        .style = 0,
                        .points = MeanOver(runs, "gain", results.steps.back(), unit.size)});
  gain.lines.push_back(
      {.label = "held out",
       .style = 1,
       .points = MeanOver(runs, "gain_held_out", results.steps.back(), unit.size)});
  std::erase_if(gain.lines, [](const FigureLine& line) { return line.points.empty(); });
  std::vector<PanelFigure::Panel> panels;
  for (PanelFigure::Panel* panel : {&weights, &gain}) {
    if (!panel->lines.empty()) panels.push_back(std::move(*panel));
  }
  if (panels.empty()) return std::nullopt;
  return Draw(
      PanelFigure{
          .name = fmt::format("mixing-{}-{}", FileStem(results.env), FileStem(label)),
          .caption = fmt::format(
              "{}, {}: mixing weights of the {} and the gain, the mixed residual over the "
              "newest {}'s; means over {}{}.{}",
              results.env, label, MixedThings(options),
              IsControl(options.agent.algorithm) ? "critic" : "network",
              Plural(runs.runs.size(), "run"),
              runs.CarriedAt(results.steps.back()) == 0 ? ""
                                                        : ", or over those that have not ended",
              SpreadText(runs, results.steps.back())),
          .title = fmt::format("{}, {}", label, results.env),
          .x_label = unit.label,
          .panels = std::move(panels)},
      style);
}

}  // namespace

void AddMixing(Report& report) {
  ReportSection section{
      .id = "mixing",
      .title = "Mixing weights and gain",
      .paragraphs = {"A gain of 1 means that mixing changes nothing, below 1 that it lowers the "
                     "residual. Fitted: on the transitions that the weights come from; held out: "
                     "on transitions that the weights were not fitted to; "
                     "where that is above the fitted gain, weights fit the sample's noise."}};
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& runs : results.variants) {
      if (!Mixes(runs)) continue;
      if (auto figure = MixingFigure(results, runs, report.style)) {
        section.figures.push_back(std::move(*figure));
      }
    }
  }
  if (section.figures.empty()) return;
  report.AddCsv("mixing", MixingCsv(report));
  report.content.sections.push_back(std::move(section));
}

}  // namespace stableaa
