// Final scores as a function of one key's value.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stableaa/base/text/csv_cells.h"
#include "stableaa/experiment/report/figures.h"
#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

struct AblationLine {
  std::string preset, key;
  std::map<std::string, std::string> others;  // the values of the other keys that differ
  std::vector<const VariantRuns*> variants;

  auto Tie() const { return std::tie(preset, key, others); }
};

// Each numeric key, with the variants that differ in nothing else in this environment.
std::vector<AblationLine> AblationLines(const EnvironmentResults& results) {
  std::vector<AblationLine> lines;
  for (const VariantRuns& runs : results.variants) {
    for (const auto& [key, value] : runs.here.values) {
      if (!NumberOf(value) || value.empty()) continue;
      AblationLine line{
          .preset = runs.here.preset, .key = key, .others = runs.here.values, .variants = {&runs}};
      line.others.erase(key);
      const auto same = std::ranges::find_if(
          lines, [&](const AblationLine& other) { return other.Tie() == line.Tie(); });
      same == lines.end() ? lines.push_back(line) : same->variants.push_back(&runs);
    }
  }
  std::erase_if(lines, [](const AblationLine& line) { return line.variants.size() < 2; });
  return lines;
}

std::string OthersText(const AblationLine& line) {
  const Variant others{.preset = "", .values = line.others};
  return others.Label();
}

// An axis with the values that were tried and no others: logarithmic if they span a decade, else
// linear; side by side in equal distances if two of them would be too close together there.
class ValueAxis {
 public:
  explicit ValueAxis(std::vector<double> values) : values_(std::move(values)) {
    std::ranges::sort(values_);
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    is_logarithmic_ = values_.front() > 0 && values_.back() >= 10 * values_.front();
    is_even_ = !HasRoom();
    is_logarithmic_ = is_logarithmic_ && !is_even_;
  }

  bool is_logarithmic() const { return is_logarithmic_; }
  double Place(double value) const {
    return is_even_ ? static_cast<double>(std::ranges::find(values_, value) - values_.begin() + 1)
                    : value;
  }
  std::vector<Tick> Ticks() const {
    std::vector<Tick> ticks;
    for (const double value : values_)
      ticks.push_back({Place(value), fmt::format("{:.6g}", value)});
    return ticks;
  }

 private:
  bool HasRoom() const {
    constexpr double kLeastShare = 0.09;  // of the axis between neighbours
    const auto place = [this](double value) { return is_logarithmic_ ? std::log(value) : value; };
    const double width = place(values_.back()) - place(values_.front());
    if (!std::isfinite(width)) return false;
    for (std::size_t i = 1; i < values_.size(); ++i) {
      if (place(values_[i]) - place(values_[i - 1]) < kLeastShare * width) return false;
    }
    return true;
  }

  std::vector<double> values_;
  bool is_logarithmic_ = false, is_even_ = false;
};

// One preset and key in one environment, with a line for each choice of the other keys.
ReportFigure AblationFigure(const Report& report, const EnvironmentResults& results,
                            const std::vector<const AblationLine*>& lines) {
  const std::string &preset = lines.front()->preset, &key = lines.front()->key;
  const std::string name = report.comparison.names.OfPreset(preset);
  LineFigure figure{
      .name =
          fmt::format("ablation-{}-{}-{}", FileStem(preset), FileStem(key), FileStem(results.env)),
      .caption = fmt::format("{}, {}: final score over {} ({}), IQM with 95 % bootstrap "
                             "interval; {}.{}",
                             results.env, name, KeySymbol(key), key, RunsText(results),
                             CarriedText(results)),
      .title = fmt::format("{}, {}", name, results.env),
      .x_label = fmt::format("{} ({})", KeySymbol(key), key),
      .y_label = "final return, IQM",
      .lines = {},
      .looks = LineFigure::Looks::kBars};
  std::vector<double> values;
  for (const AblationLine* line : lines) {
    for (const VariantRuns* runs : line->variants) {
      values.push_back(*NumberOf(runs->here.values.at(key)));
    }
  }
  const ValueAxis axis(std::move(values));
  figure.logarithmic_x = axis.is_logarithmic();
  figure.x_ticks = axis.Ticks();
  for (const AblationLine* line : lines) {
    FigureLine& drawn = figure.lines.emplace_back(
        FigureLine{.label = name + OthersText(*line), .style = figure.lines.size(), .points = {}});
    for (const VariantRuns* runs : line->variants) {
      const double value = *NumberOf(runs->here.values.at(key));
      const Estimate estimate = EstimateOf({runs->Values(kFinal.field)});
      drawn.points.push_back({axis.Place(value), estimate.iqm, estimate.interval});
    }
    // Values stand in the order of the variants, which the user may choose.
    std::ranges::sort(drawn.points, {}, &FigurePoint::x);
  }
  return Draw(figure, report.style);
}

std::string AblationCsv(const Report& report, const EnvironmentResults& results,
                        const std::vector<const AblationLine*>& lines) {
  std::string csv;
  for (const AblationLine* line : lines) {
    for (const VariantRuns* runs : line->variants) {
      csv += CsvLine()
                 .Text(report.comparison.names.OfPreset(line->preset))
                 .Text(line->key)
                 .Text(runs->here.values.at(line->key))
                 .Text(OthersText(*line))
                 .Text(results.env)
                 .Numbers(EstimateOf({runs->Values(kFinal.field)}));
    }
  }
  return csv;
}

}  // namespace

void AddAblations(Report& report) {
  ReportSection section{.id = "ablations",
                        .title = "Ablations",
                        .paragraphs = {"Final scores over the values of one key, all else equal; "
                                       "intervals are 95 % bootstrap intervals of the IQM."}};
  std::string csv = fmt::format("preset,key,value,others,env,{}\n", kEstimateColumns);
  for (const EnvironmentResults& results : report.comparison.environments) {
    const std::vector<AblationLine> all = AblationLines(results);
    std::map<std::pair<std::string, std::string>, std::vector<const AblationLine*>> by_key;
    for (const AblationLine& line : all) by_key[{line.preset, line.key}].push_back(&line);
    for (const auto& [preset_key, lines] : by_key) {
      section.figures.push_back(AblationFigure(report, results, lines));
      csv += AblationCsv(report, results, lines);
    }
  }
  if (section.figures.empty()) return;
  report.AddCsv("ablations", csv);
  report.content.sections.push_back(std::move(section));
}

}  // namespace stableaa
