// Final scores over the values of one key.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stableaa/base/csv_cells.h"
#include "stableaa/experiment/report_figures.h"
#include "stableaa/experiment/report_parts.h"

namespace stableaa {
namespace {

struct AblationLine {
  std::string preset, key;
  std::map<std::string, std::string> others;  // the values of the other keys that differ
  std::vector<std::size_t> variants;

  auto Tie() const { return std::tie(preset, key, others); }
};

// Every key of numbers, with the variants that differ in nothing else.
std::vector<AblationLine> AblationLines(const Report& report) {
  std::vector<AblationLine> lines;
  for (std::size_t v = 0; v < report.comparison.variants.size(); ++v) {
    const Variant& variant = report.comparison.variants[v];
    for (const auto& [key, value] : variant.values) {
      if (!NumberOf(value) || value.empty()) continue;
      AblationLine line{
          .preset = variant.preset, .key = key, .others = variant.values, .variants = {v}};
      line.others.erase(key);
      const auto same = std::ranges::find_if(
          lines, [&](const AblationLine& other) { return other.Tie() == line.Tie(); });
      same == lines.end() ? lines.push_back(line) : same->variants.push_back(v);
    }
  }
  std::erase_if(lines, [](const AblationLine& line) { return line.variants.size() < 2; });
  return lines;
}

std::string OthersText(const AblationLine& line) {
  const Variant others{.preset = "", .values = line.others};
  return others.Label();
}

}  // namespace

void AddAblations(Report& report) {
  const std::vector<AblationLine> all = AblationLines(report);
  if (all.empty()) return;
  ReportSection section{.id = "ablations",
                        .title = "Ablations",
                        .paragraphs = {"Final scores over the values of one key, all else equal; "
                                       "intervals are 95 % bootstrap intervals of the IQM."}};
  std::map<std::pair<std::string, std::string>, std::vector<const AblationLine*>> by_key;
  for (const AblationLine& line : all) by_key[{line.preset, line.key}].push_back(&line);
  std::string csv = fmt::format("preset,key,value,others,env,{}\n", kEstimateColumns);
  for (const auto& [preset_key, lines] : by_key) {
    const auto& [preset, key] = preset_key;
    for (const EnvironmentResults& results : report.comparison.environments) {
      LineFigure figure{
          .name = fmt::format("ablation-{}-{}-{}", FileStem(preset), FileStem(key),
                              FileStem(results.env)),
          .caption = fmt::format("{}, {}: final score over {} ({}), IQM with 95 % bootstrap "
                                 "interval; {}.",
                                 results.env, preset, KeySymbol(key), key, RunsText(results)),
          .title = fmt::format("{}, {}", preset, results.env),
          .x_label = fmt::format("{} ({})", KeySymbol(key), key),
          .y_label = "final return, IQM",
          .lines = {},
          .looks = LineFigure::Looks::kBars};
      double smallest = INFINITY, largest = 0;
      for (const AblationLine* line : lines) {
        FigureLine drawn{
            .label = preset + OthersText(*line), .style = figure.lines.size(), .points = {}};
        for (const std::size_t v : line->variants) {
          const VariantRuns* runs = results.Find(v);
          if (runs == nullptr) continue;
          const std::string& value = report.comparison.variants[v].values.at(key);
          const Estimate estimate = EstimateOf({runs->Values(kFinal.field)});
          drawn.points.push_back({*NumberOf(value), estimate.iqm, estimate.interval});
          smallest = std::min(smallest, *NumberOf(value));
          largest = std::max(largest, *NumberOf(value));
          csv += CsvLine()
                     .Text(preset)
                     .Text(key)
                     .Text(value)
                     .Text(OthersText(*line))
                     .Text(results.env)
                     .Numbers(estimate);
        }
        if (drawn.points.size() > 1) figure.lines.push_back(std::move(drawn));
      }
      figure.logarithmic_x = smallest > 0 && largest >= 10 * smallest;
      if (!figure.lines.empty()) section.figures.push_back(Draw(figure));
    }
  }
  report.AddCsv("ablations", csv);
  report.content.sections.push_back(std::move(section));
}

}  // namespace stableaa
