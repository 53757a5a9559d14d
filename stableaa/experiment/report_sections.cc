#include "stableaa/experiment/report_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "stableaa/base/csv_cells.h"
#include "stableaa/base/moments.h"
#include "stableaa/experiment/report_figures.h"

namespace stableaa {
namespace {

constexpr int kProfilePoints = 101;
constexpr int kSharedPoints = 50;
constexpr std::size_t kFewRuns = 5;  // below which intervals say little

// ---- Words and cells ----

std::string Plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string ShownInterval(const std::optional<Interval>& interval) {
  return interval
             ? fmt::format(" [{}, {}]", ShownNumber(interval->low), ShownNumber(interval->high))
             : "";
}

std::string ShownEstimate(const Estimate& estimate) {
  return ShownNumber(estimate.iqm) + ShownInterval(estimate.interval);
}

std::string ShownMean(const Estimate& estimate) {
  return std::isnan(estimate.deviation)
             ? ShownNumber(estimate.mean)
             : fmt::format("{} ± {}", ShownNumber(estimate.mean), ShownNumber(estimate.deviation));
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

// One line of a CSV file.
class CsvLine {
 public:
  CsvLine& Text(std::string_view text) { return Add(TextCell(text)); }
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

constexpr std::string_view kEstimateColumns = "runs,mean,std,iqm,low,high";

// ---- What all sections share ----

struct Score {
  std::string_view name;  // in CSV files
  double ComparedRun::*field;
};
constexpr Score kFinal = {"final", &ComparedRun::final};
constexpr Score kBest = {"best", &ComparedRun::best};
constexpr Score kArea = {"area", &ComparedRun::area};

struct Report {
  std::span<const RunRecord> records;
  const Comparison& comparison;
  std::vector<std::string> labels = {};  // of the variants
  ReportContent content = {};

  bool HasShared() const { return comparison.shared.size() > 1; }
  void AddCsv(std::string name, std::string text) {
    content.csv_files.push_back({std::move(name), std::move(text)});
  }
};

std::string ScaleText(const Report& report) {
  std::set<Scale::Kind> kinds;
  for (const std::size_t e : report.comparison.shared) {
    kinds.insert(report.comparison.environments[e].scale.kind);
  }
  const std::string human = "human-normalised (0: random play, 1: a person)";
  const std::string range =
      "min–max normalised (0 and 1: the smallest and the largest evaluation in this report)";
  if (kinds.size() > 1) return fmt::format("Atari {}, others {}", human, range);
  return kinds.contains(Scale::Kind::kHuman) ? human : range;
}

std::string RunsText(const EnvironmentResults& results) {
  std::set<std::size_t> counts;
  for (const VariantRuns& variant : results.variants) counts.insert(variant.runs.size());
  return counts.size() == 1 ? fmt::format("{} each", Plural(*counts.begin(), "run"))
                            : fmt::format("{} to {} runs each", *counts.begin(), *counts.rbegin());
}

bool HaveIntervals(const EnvironmentResults& results) {
  return std::ranges::any_of(results.variants,
                             [](const VariantRuns& variant) { return variant.runs.size() > 1; });
}

// ---- Learning curves ----

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
      line.points.push_back({x[i], iqm ? estimate.iqm : estimate.mean,
                             iqm ? estimate.interval : DeviationBand(estimate)});
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
    const std::string_view what = !HaveIntervals(results) ? "return of evaluations"
                                  : iqm ? "interquartile mean and its 95 % bootstrap interval"
                                        : "mean ± standard deviation over runs";
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
  for (const bool iqm : {false, true}) {
    section.figures.push_back(Draw(LineFigure{
        .name = iqm ? "curve-iqm-all" : "curve-mean-all",
        .caption = fmt::format("All {} environments together: {}. Returns are {}.",
                               report.comparison.shared.size(),
                               iqm ? "interquartile mean and its 95 % stratified bootstrap interval"
                                   : "mean ± standard deviation over runs and environments",
                               ScaleText(report)),
        .title = fmt::format("{} environments", report.comparison.shared.size()),
        .x_label = "% of the steps compared",
        .y_label = iqm ? "normalised return, IQM" : "normalised return",
        .lines = CurveLines(report, curves, percent, iqm)}));
  }
}

void AddCurves(Report& report) {
  ReportSection section{.id = "curves", .title = "Learning curves"};
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

// ---- Scores ----

std::string ThresholdCell(const VariantRuns& variant) {
  const std::vector<double> steps = variant.Values(&ComparedRun::steps_to_threshold);
  const auto reached =
      std::ranges::count_if(steps, [](double step) { return std::isfinite(step); });
  const MedianEstimate median = MedianOf({steps});
  return fmt::format("{}{} ({} of {})", ShownNumber(median.median), ShownInterval(median.interval),
                     reached, steps.size());
}

ReportTable ScoreTable(const Report& report, const EnvironmentResults& results) {
  ReportTable table{.caption = fmt::format("{}, {}, compared at step {}.", results.env,
                                           RunsText(results), results.steps.back()),
                    .columns = {"variant", "final, IQM [95 %]", "final, mean ± std",
                                "best, IQM [95 %]", "area, IQM [95 %]",
                                fmt::format("steps to {} (runs)", ShownNumber(results.threshold))},
                    .rows = {}};
  for (const VariantRuns& variant : results.variants) {
    const Estimate final = EstimateOf({variant.Values(kFinal.field)});
    table.rows.push_back({report.labels[variant.variant], ShownEstimate(final), ShownMean(final),
                          ShownEstimate(EstimateOf({variant.Values(kBest.field)})),
                          ShownEstimate(EstimateOf({variant.Values(kArea.field)})),
                          ThresholdCell(variant)});
  }
  return table;
}

ReportTable SharedScoreTable(const Report& report) {
  ReportTable table{.caption = fmt::format("All {} environments together. Scores are {}.",
                                           report.comparison.shared.size(), ScaleText(report)),
                    .columns = {"variant", "final, IQM [95 %]", "final, mean ± std",
                                "best, IQM [95 %]", "area, IQM [95 %]"},
                    .rows = {}};
  for (std::size_t v = 0; v < report.labels.size(); ++v) {
    const auto estimate = [&](const Score& score) {
      return EstimateOf(SharedScores(report.comparison, v, score.field));
    };
    const Estimate final = estimate(kFinal);
    table.rows.push_back({report.labels[v], ShownEstimate(final), ShownMean(final),
                          ShownEstimate(estimate(kBest)), ShownEstimate(estimate(kArea))});
  }
  return table;
}

std::string ScoreCsv(const Report& report) {
  std::string csv =
      fmt::format("env,variant,score,{},median,median_low,median_high\n", kEstimateColumns);
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& variant : results.variants) {
      const auto line = [&](std::string_view score) {
        return CsvLine().Text(results.env).Text(report.labels[variant.variant]).Text(score);
      };
      for (const Score& score : {kFinal, kBest, kArea}) {
        csv += line(score.name)
                   .Numbers(EstimateOf({variant.Values(score.field)}))
                   .Text("")
                   .Range(std::nullopt);
      }
      const MedianEstimate median = MedianOf({variant.Values(&ComparedRun::steps_to_threshold)});
      csv += line(fmt::format("steps_to_{}", results.threshold))
                 .Count(static_cast<std::int64_t>(variant.runs.size()))
                 .Text("")
                 .Text("")
                 .Text("")
                 .Range(std::nullopt)
                 .Number(median.median)
                 .Range(median.interval);
    }
  }
  for (std::size_t v = 0; report.HasShared() && v < report.labels.size(); ++v) {
    for (const Score& score : {kFinal, kBest, kArea}) {
      csv += CsvLine()
                 .Text("all (normalised)")
                 .Text(report.labels[v])
                 .Text(score.name)
                 .Numbers(EstimateOf(SharedScores(report.comparison, v, score.field)))
                 .Text("")
                 .Range(std::nullopt);
    }
  }
  return csv;
}

void AddScoreFigure(const Report& report, ReportSection& section) {
  if (!report.HasShared()) return;
  IntervalFigure figure{
      .name = "final-all",
      .caption = fmt::format("Final scores over all {} environments: interquartile mean and 95 % "
                             "stratified bootstrap interval. Scores are {}.",
                             report.comparison.shared.size(), ScaleText(report)),
      .title = "Final score",
      .x_label = "normalised score, IQM",
      .rows = {}};
  for (std::size_t v = 0; v < report.labels.size(); ++v) {
    const Estimate estimate = EstimateOf(SharedScores(report.comparison, v, kFinal.field));
    figure.rows.push_back({report.labels[v], estimate.iqm, estimate.interval, v});
  }
  section.figures.push_back(Draw(figure));
}

void AddScores(Report& report) {
  ReportSection section{
      .id = "scores",
      .title = "Scores",
      .paragraphs = {
          "Final: mean of the evaluations in the last tenth of the steps compared. Best: the "
          "largest "
          "evaluation, which favours many and noisy ones. Area: the curve's mean height. Steps to "
          "a "
          "return: of the first evaluation that reaches it, the median over runs, ∞ where at "
          "least half do not; how many do stands in brackets."}};
  AddScoreFigure(report, section);
  if (report.HasShared()) section.tables.push_back(SharedScoreTable(report));
  for (const EnvironmentResults& results : report.comparison.environments) {
    section.tables.push_back(ScoreTable(report, results));
  }
  report.AddCsv("scores", ScoreCsv(report));
  report.content.sections.push_back(std::move(section));
}

// ---- Probability of improvement ----

struct Improvement {
  std::string env;
  std::size_t x = 0, y = 0;
  double probability = 0;
  std::optional<Interval> interval = {};
};

Improvement ImprovementOf(const std::string& env, std::size_t x, std::size_t y,
                          const TaskScores& of_x, const TaskScores& of_y) {
  const auto repeated = [](const TaskScores& scores) {
    return std::ranges::all_of(scores, [](const auto& task) { return task.size() > 1; });
  };
  Improvement improvement{
      .env = env, .x = x, .y = y, .probability = ProbabilityOfImprovement(of_x, of_y)};
  if (repeated(of_x) && repeated(of_y)) {
    improvement.interval = ProbabilityOfImprovementInterval(of_x, of_y);
  }
  return improvement;
}

// Every pair once, over all environments first.
std::vector<Improvement> Improvements(const Report& report) {
  const Comparison& comparison = report.comparison;
  std::vector<Improvement> improvements;
  for (std::size_t y = 0; report.HasShared() && y < report.labels.size(); ++y) {
    for (std::size_t x = y + 1; x < report.labels.size(); ++x) {
      improvements.push_back(ImprovementOf("all", x, y, SharedScores(comparison, x, kFinal.field),
                                           SharedScores(comparison, y, kFinal.field)));
    }
  }
  for (const EnvironmentResults& results : comparison.environments) {
    for (std::size_t b = 0; b < results.variants.size(); ++b) {
      for (std::size_t a = b + 1; a < results.variants.size(); ++a) {
        improvements.push_back(ImprovementOf(results.env, results.variants[a].variant,
                                             results.variants[b].variant,
                                             {results.variants[a].Values(kFinal.field)},
                                             {results.variants[b].Values(kFinal.field)}));
      }
    }
  }
  return improvements;
}

void AddImprovements(Report& report) {
  if (report.labels.size() < 2) return;
  const std::vector<Improvement> improvements = Improvements(report);
  ReportSection section{
      .id = "improvement",
      .title = "Probability of improvement",
      .paragraphs = {"How often a run of X has a larger final score than a run of Y in the same "
                     "environment, ties counting half: Mann–Whitney's U / (n m), averaged over "
                     "environments, with 95 % stratified bootstrap intervals. An interval that "
                     "holds ½ leaves open which one is better."}};
  ReportTable table{.caption = "P(X > Y), final scores.",
                    .columns = {"environment", "X", "Y", "P(X > Y)", "95 %"},
                    .rows = {}};
  IntervalFigure figure{.name = "improvement",
                        .caption =
                            "Probability that X has the larger final score, with 95 % "
                            "stratified bootstrap intervals.",
                        .title = "X over Y",
                        .x_label = "P(X > Y)",
                        .rows = {},
                        .reference = 0.5};
  std::string csv = "env,x,y,probability,low,high\n";
  const std::string drawn = report.HasShared()     ? "all"
                            : improvements.empty() ? ""
                                                   : improvements.front().env;
  for (const Improvement& pair : improvements) {
    const std::string &x = report.labels[pair.x], &y = report.labels[pair.y];
    table.rows.push_back(
        {pair.env, x, y, fmt::format("{:.2f}", pair.probability),
         pair.interval ? fmt::format("[{:.2f}, {:.2f}]", pair.interval->low, pair.interval->high)
                       : ""});
    csv += CsvLine().Text(pair.env).Text(x).Text(y).Number(pair.probability).Range(pair.interval);
    if (pair.env == drawn) {
      figure.rows.push_back(
          {fmt::format("{} > {}", x, y), pair.probability, pair.interval, pair.x});
    }
  }
  if (!figure.rows.empty() && figure.rows.size() <= 30) {
    figure.caption += drawn == "all" ? " All environments together." : fmt::format(" {}.", drawn);
    section.figures.push_back(Draw(figure));
  }
  section.tables.push_back(std::move(table));
  report.AddCsv("improvement", csv);
  report.content.sections.push_back(std::move(section));
}

// ---- Performance profiles ----

void AddProfiles(Report& report) {
  if (!report.HasShared()) return;
  double largest = 0, smallest = 0;
  for (std::size_t v = 0; v < report.labels.size(); ++v) {
    for (const auto& task : SharedScores(report.comparison, v, kFinal.field)) {
      largest = std::max(largest, std::ranges::max(task));
      smallest = std::min(smallest, std::ranges::min(task));
    }
  }
  std::vector<double> thresholds;
  for (int i = 0; i < kProfilePoints; ++i) {
    thresholds.push_back(smallest + (largest - smallest) * i / (kProfilePoints - 1));
  }
  LineFigure figure{
      .name = "profile",
      .caption = fmt::format("Performance profile: the share of runs whose final score is above a "
                             "threshold, with 95 % stratified bootstrap intervals. Scores are {}.",
                             ScaleText(report)),
      .title = "Performance profile",
      .x_label = "threshold (normalised score)",
      .y_label = "share of runs above it",
      .lines = {},
      .extra = "set yrange [0:1]\n"};
  std::string csv = "variant,threshold,share,low,high\n";
  for (std::size_t v = 0; v < report.labels.size(); ++v) {
    const TaskScores scores = SharedScores(report.comparison, v, kFinal.field);
    const std::vector<double> shares = PerformanceProfile(scores, thresholds);
    const std::vector<Interval> intervals = PerformanceProfileIntervals(scores, thresholds);
    FigureLine& line =
        figure.lines.emplace_back(FigureLine{.label = report.labels[v], .style = v, .points = {}});
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
      line.points.push_back({thresholds[i], shares[i], intervals[i]});
      csv += CsvLine()
                 .Text(report.labels[v])
                 .Number(thresholds[i])
                 .Number(shares[i])
                 .Range(intervals[i]);
    }
  }
  report.AddCsv("profiles", csv);
  report.content.sections.push_back(
      {.id = "profiles",
       .title = "Performance profiles",
       .paragraphs = {"A curve that lies above another everywhere belongs to the better variant; "
                      "where curves cross, the answer depends on what counts."},
       .figures = {Draw(figure)}});
}

// ---- Ablations ----

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

// ---- Mixing weights ----

// The mean over the runs that have a value there.
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
              .Text(report.labels[runs.variant])
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

ReportFigure MixingFigure(const Report& report, const EnvironmentResults& results,
                          const VariantRuns& runs) {
  const StepUnit unit = UnitOf(results.steps.back());
  const std::string& label = report.labels[runs.variant];
  PanelFigure::Panel weights{.y_label = "mixing weight α", .lines = {}};
  const int targets = runs.runs.front().record->options.agent.targets;
  for (int i = 1; i <= targets; ++i) {
    std::vector<FigurePoint> points =
        MeanOver(runs, fmt::format("alpha_{}", i), results.steps.back(), unit.size);
    if (points.empty()) continue;
    weights.lines.push_back({.label = i == targets ? "newest" : fmt::format("{}", i - targets),
                             .style = static_cast<std::size_t>(targets - i),
                             .points = std::move(points)});
  }
  PanelFigure::Panel gain{.y_label = "gain", .lines = {}, .reference = 1};
  gain.lines.push_back({.label = "fitted",
                        .style = 0,
                        .points = MeanOver(runs, "gain", results.steps.back(), unit.size)});
  gain.lines.push_back(
      {.label = "held out",
       .style = 1,
       .points = MeanOver(runs, "gain_held_out", results.steps.back(), unit.size)});
  std::erase_if(gain.lines, [](const FigureLine& line) { return line.points.empty(); });
  return Draw(PanelFigure{
      .name = fmt::format("mixing-{}-{}", FileStem(results.env), FileStem(label)),
      .caption =
          fmt::format("{}, {}: mixing weights of the {} target networks (newest, and how many "
                      "shifts older) and "
                      "the gain, the mixed residual over the newest network's; means over {}.",
                      results.env, label, targets, Plural(runs.runs.size(), "run")),
      .title = fmt::format("{}, {}", label, results.env),
      .x_label = unit.label,
      .panels = {std::move(weights), std::move(gain)}});
}

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
      if (Mixes(runs)) section.figures.push_back(MixingFigure(report, results, runs));
    }
  }
  if (section.figures.empty()) return;
  report.AddCsv("mixing", MixingCsv(report));
  report.content.sections.push_back(std::move(section));
}

// ---- Cost ----

struct Cost {
  double steps_per_second = 0;  // NaN if it is not known
  double memory = 0;
};

// Of the whole run, evaluations included.
Cost CostOf(const RunRecord& record) {
  const MetricTable& metrics = record.metrics;
  const auto last = [&](std::string_view column) {
    const auto at = metrics.Column(column);
    return at && !metrics.rows.empty() ? metrics.rows.back()[*at] : std::nan("");
  };
  const double seconds = last("wall_seconds");
  return {seconds > 0 ? last("step") / seconds : std::nan(""), last("wall_memory_bytes")};
}

double MeanOf(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : MomentsOf(values).mean;
}

void AddCost(Report& report) {
  ReportSection section{
      .id = "cost",
      .title = "Throughput and cost",
      .paragraphs = {"Of whole runs, evaluations included, as they happened to be run: other work "
                     "on the machine slows them down, and two runs side by side share its memory. "
                     "Compare presets only where they ran under equal conditions."}};
  ReportTable table{.caption = "Means over runs.",
                    .columns = {"environment", "variant", "steps/s", "hours per million steps",
                                "time against the first", "memory, MB", "parameters"},
                    .rows = {}};
  std::string csv =
      "env,variant,runs,steps_per_second,hours_per_million_steps,memory_bytes,parameters\n";
  for (const EnvironmentResults& results : report.comparison.environments) {
    double first = std::nan("");
    for (const VariantRuns& runs : results.variants) {
      std::vector<double> rates, memories;
      for (const ComparedRun& run : runs.runs) {
        const Cost cost = CostOf(*run.record);
        if (std::isfinite(cost.steps_per_second)) rates.push_back(cost.steps_per_second);
        if (std::isfinite(cost.memory)) memories.push_back(cost.memory);
      }
      const double rate = MeanOf(rates), memory = MeanOf(memories);
      if (runs.variant == results.variants.front().variant) first = rate;
      const auto& description = runs.runs.front().record->description;
      const auto parameters = description.find("parameters");
      const std::string count = parameters == description.end() ? "" : parameters->second;
      table.rows.push_back({results.env, report.labels[runs.variant], ShownNumber(rate),
                            ShownNumber(1e6 / rate / 3600), ShownNumber(first / rate),
                            ShownNumber(memory / 1e6), count});
      csv += CsvLine()
                 .Text(results.env)
                 .Text(report.labels[runs.variant])
                 .Count(static_cast<std::int64_t>(runs.runs.size()))
                 .Number(rate)
                 .Number(1e6 / rate / 3600)
                 .Number(memory)
                 .Text(count);
    }
  }
  section.tables.push_back(std::move(table));
  report.AddCsv("cost", csv);
  report.content.sections.push_back(std::move(section));
}

// ---- What was run ----

std::string DescriptionOf(const RunRecord& record, const std::string& key) {
  const auto found = record.description.find(key);
  return found == record.description.end() ? "" : found->second;
}

std::vector<std::string> Values(std::span<const RunRecord> records, const std::string& key) {
  std::set<std::string> values;
  for (const RunRecord& record : records) {
    const std::string value = DescriptionOf(record, key);
    if (!value.empty()) values.insert(value);
  }
  return {values.begin(), values.end()};
}

ReportTable ConfigurationTable(const Report& report) {
  ReportTable table{.caption =
                        "Keys in which runs differ, by environment and variant; all others are "
                        "equal in all runs (config.toml of a run has every key).",
                    .columns = {"key"},
                    .rows = {}};
  std::vector<const RunRecord*> examples;
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& runs : results.variants) {
      table.columns.push_back(fmt::format("{}: {}", results.env, report.labels[runs.variant]));
      examples.push_back(runs.runs.front().record);
    }
  }
  for (const std::string& key : DifferingKeys(report.records)) {
    std::vector<std::string> row = {key};
    for (const RunRecord* example : examples) row.push_back(example->settings.at(key));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string ConfigurationCsv(const ReportTable& table) {
  std::string csv;
  const auto add = [&csv](const std::vector<std::string>& cells) {
    CsvLine line;
    for (const std::string& cell : cells) line.Text(cell);
    csv += line;
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  return csv;
}

std::map<const RunRecord*, std::string> LabelsOfRuns(const Report& report) {
  std::map<const RunRecord*, std::string> labels;
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& runs : results.variants) {
      for (const ComparedRun& run : runs.runs) labels[run.record] = report.labels[runs.variant];
    }
  }
  return labels;
}

void AddRunTable(Report& report, ReportSection& section) {
  const std::map<const RunRecord*, std::string> labels = LabelsOfRuns(report);
  std::map<const RunRecord*, std::string> left_out;
  for (const LeftOutRun& run : report.comparison.left_out) left_out[run.record] = run.why;
  ReportTable table{.caption = "All runs that were read.",
                    .columns = {"environment", "variant", "seed", "step", "of", "status",
                                "left out because", "directory"},
                    .rows = {}};
  std::string csv =
      "env,variant,seed,step,steps,status,left_out,wall_seconds,version,compiler,machine,"
      "directory\n";
  for (const RunRecord& record : report.records) {
    const TrainOptions& train = record.options.train;
    const auto label = labels.find(&record);
    const std::string variant = label == labels.end() ? train.preset : label->second;
    const auto why = left_out.find(&record);
    const std::string reason = why == left_out.end() ? "" : why->second;
    table.rows.push_back({train.env, variant, std::to_string(train.seed),
                          ShownNumber(static_cast<double>(record.step)),
                          ShownNumber(static_cast<double>(train.steps)), record.Status(), reason,
                          record.directory.string()});
    const auto wall = record.metrics.Column("wall_seconds");
    csv += CsvLine()
               .Text(train.env)
               .Text(variant)
               .Text(std::to_string(train.seed))
               .Count(record.step)
               .Count(train.steps)
               .Text(record.Status())
               .Text(reason)
               .Number(wall && !record.metrics.rows.empty() ? record.metrics.rows.back()[*wall]
                                                            : std::nan(""))
               .Text(DescriptionOf(record, "version"))
               .Text(DescriptionOf(record, "compiler"))
               .Text(DescriptionOf(record, "machine"))
               .Text(record.directory.string());
  }
  section.tables.push_back(std::move(table));
  report.AddCsv("runs", csv);
}

void AddFailures(const std::vector<FailedRun>& failed, ReportSection& section) {
  if (failed.empty()) {
    section.paragraphs.push_back("No run failed.");
    return;
  }
  section.paragraphs.push_back(
      fmt::format("{} failed or could not be read.", Plural(failed.size(), "run")));
  ReportTable table{.caption = "Failures.", .columns = {"directory", "why"}, .rows = {}};
  for (const FailedRun& run : failed) table.rows.push_back({run.directory, run.why});
  section.tables.push_back(std::move(table));
}

void AddWhatWasRun(Report& report, const std::vector<FailedRun>& failed) {
  ReportSection section{.id = "runs", .title = "What was run"};
  std::map<std::string, std::set<std::string>> protocols;
  for (const RunRecord& record : report.records) {
    const EvaluationOptions& eval = record.options.eval;
    protocols[fmt::format("{}; evaluations: {} games, ε = {}", DescriptionOf(record, "protocol"),
                          eval.episodes, eval.epsilon)]
        .insert(record.options.train.env);
  }
  for (const auto& [protocol, envs] : protocols) {
    section.paragraphs.push_back(
        fmt::format("Protocol of {}: {}. Returns are sums of unclipped rewards over whole games.",
                    Joined({envs.begin(), envs.end()}), protocol));
  }
  section.paragraphs.push_back(fmt::format(
      "stableaa {}; {}; {}.", Joined(Values(report.records, "version")),
      Joined(Values(report.records, "compiler")), Joined(Values(report.records, "machine"))));
  AddFailures(failed, section);
  ReportTable configuration = ConfigurationTable(report);
  report.AddCsv("configuration", ConfigurationCsv(configuration));
  if (!configuration.rows.empty()) section.tables.push_back(std::move(configuration));
  AddRunTable(report, section);
  report.content.sections.push_back(std::move(section));
}

void AddMethod(Report& report) {
  report.content.sections.push_back(
      {.id = "method",
       .title = "How the numbers are made",
       .paragraphs = {
           "One point of a curve is one evaluation: whole games with the weights of that step, in "
           "environments of their own. Runs of an environment are compared up to the last step "
           "that "
           "every variant has an evaluation for; runs that have not come so far are left out, and "
           "listed. Curves are brought onto common steps by straight lines. Nothing is smoothed.",
           "IQM is the interquartile mean: the mean without the lowest and the highest quarter of "
           "the runs (of up to three runs, the mean). Intervals are 95 % percentile intervals of a "
           "bootstrap with 2000 resamples that draws runs within each environment (Agarwal et al. "
           "2021). With three runs such an interval is hardly more than their range: read it as a "
           "lower bound on what is not known.",
           "The uncertainty is that of seeds. It says nothing about other hyperparameters, other "
           "games or longer training."}});
}

// ---- The summary ----

// "IQM 8.1 [7.2, 8.9]"
struct Ranked {
  std::string label;
  Estimate estimate;
};

std::string Verdict(const std::string& where, std::vector<Ranked> ranked) {
  std::ranges::stable_sort(ranked, std::ranges::greater{},
                           [](const Ranked& one) { return one.estimate.iqm; });
  const Ranked& best = ranked.front();
  std::vector<std::string> overlapping, apart, unknown;
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    const std::optional<Interval>&ours = best.estimate.interval, &its = ranked[i].estimate.interval;
    const std::string shown =
        fmt::format("{} ({})", ranked[i].label, ShownEstimate(ranked[i].estimate));
    if (!ours || !its) {
      unknown.push_back(shown);
    } else {
      (its->high < ours->low ? apart : overlapping).push_back(shown);
    }
  }
  std::string text = fmt::format("{}: {} has the largest final score, {}", where, best.label,
                                 ShownEstimate(best.estimate));
  if (!apart.empty()) text += fmt::format("; its interval lies above that of {}", Joined(apart));
  if (!overlapping.empty()) text += fmt::format("; it overlaps that of {}", Joined(overlapping));
  if (!unknown.empty()) {
    text += fmt::format("; behind it {}, too few runs for intervals", Joined(unknown));
  }
  return text + ".";
}

void AddSummary(Report& report, const std::vector<FailedRun>& failed) {
  std::vector<std::string>& summary = report.content.summary;
  const Comparison& comparison = report.comparison;
  summary.push_back(fmt::format("{} in {}, {}{}.", Plural(report.records.size(), "run"),
                                Plural(comparison.environments.size(), "environment"),
                                Plural(comparison.variants.size(), "variant"),
                                comparison.left_out.empty() && failed.empty()
                                    ? std::string()
                                    : fmt::format("; {} left out, {} failed (see what was run)",
                                                  comparison.left_out.size(), failed.size())));
  if (comparison.variants.size() < 2) return;
  if (report.HasShared()) {
    std::vector<Ranked> ranked;
    for (std::size_t v = 0; v < report.labels.size(); ++v) {
      ranked.push_back({report.labels[v], EstimateOf(SharedScores(comparison, v, kFinal.field))});
    }
    summary.push_back(
        Verdict(fmt::format("All {} environments, normalised", comparison.shared.size()),
                std::move(ranked)));
  }
  for (const EnvironmentResults& results : comparison.environments) {
    if (results.variants.size() < 2) continue;
    std::vector<Ranked> ranked;
    for (const VariantRuns& runs : results.variants) {
      ranked.push_back({report.labels[runs.variant], EstimateOf({runs.Values(kFinal.field)})});
    }
    summary.push_back(Verdict(results.env, std::move(ranked)));
  }
  std::size_t fewest = kFewRuns;
  for (const EnvironmentResults& results : comparison.environments) {
    for (const VariantRuns& runs : results.variants) fewest = std::min(fewest, runs.runs.size());
  }
  if (fewest < kFewRuns) {
    summary.push_back(fmt::format(
        "Brackets are 95 % bootstrap intervals of the IQM. With {} a variant they are hardly more "
        "than the range of what was seen.",
        Plural(fewest, "run")));
  }
}

// Names of files stay apart even where stems fall together.
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

}  // namespace

std::string ShownNumber(double number) {
  if (std::isnan(number)) return "–";
  if (std::isinf(number)) return number > 0 ? "∞" : "-∞";
  const double size = std::abs(number);
  if (size >= 1e15) return fmt::format("{:.3g}", number);
  if (size < 99.95) return fmt::format("{:.{}f}", number, size < 0.9995 ? 3 : size < 9.995 ? 2 : 1);
  const std::string digits = fmt::format("{:.0f}", size);
  std::string shown = number < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) shown += ',';
    shown += digits[i];
  }
  return shown;
}

ReportContent MakeReportContent(std::span<const RunRecord> records, const Comparison& comparison,
                                const std::vector<FailedRun>& failed) {
  Report report{.records = records, .comparison = comparison};
  for (const Variant& variant : comparison.variants) report.labels.push_back(variant.Label());
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
    report.content.summary.push_back("No run has an evaluation yet: there is nothing to compare.");
  }
  AddWhatWasRun(report, failed);
  AddMethod(report);
  MakeNamesUnique(report.content);
  return std::move(report.content);
}

}  // namespace stableaa
