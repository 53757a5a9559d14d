// Scores, probability of improvement and performance profiles.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/experiment/report/figures.h"
#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

constexpr int kProfilePoints = 101;

std::string ThresholdCell(const VariantRuns& variant) {
  const std::vector<double> steps = variant.Values(&ComparedRun::steps_to_threshold);
  const auto reached =
      std::ranges::count_if(steps, [](double step) { return std::isfinite(step); });
  const MedianEstimate median = MedianOf({steps});
  return fmt::format("{}{} ({} of {})", ShownNumber(median.median), ShownInterval(median.interval),
                     reached, steps.size());
}

// "2 of 3, from step 1,200": from when on their last evaluations stand for later ones.
std::string CarriedCell(const VariantRuns& variant) {
  std::set<std::int64_t> steps;
  std::size_t count = 0;
  for (const ComparedRun& run : variant.runs) {
    if (!run.carried_from) continue;
    ++count;
    steps.insert(*run.carried_from);
  }
  const auto shown = [](std::int64_t step) { return ShownNumber(static_cast<double>(step)); };
  if (count == 0) return "";
  return fmt::format("{} of {}, from step {}{}", count, variant.runs.size(), shown(*steps.begin()),
                     steps.size() > 1 ? fmt::format(" to {}", shown(*steps.rbegin())) : "");
}

ReportTable ScoreTable(const EnvironmentResults& results) {
  const std::string carried = CarriedText(results);
  ReportTable table{
      .caption = fmt::format("{}, {}, compared at step {}. The return to reach: {}, {}.{}",
                             results.env, RunsText(results), results.steps.back(),
                             ShownNumber(results.threshold), results.threshold_source, carried),
      .columns = {"variant", "final, IQM [95 %]", "final, mean ± std", "best, IQM [95 %]",
                  "area, IQM [95 %]",
                  fmt::format("steps to {} (runs)", ShownNumber(results.threshold))},
      .rows = {}};
  for (const VariantRuns& variant : results.variants) {
    const Estimate final = EstimateOf({variant.Values(kFinal.field)});
    table.rows.push_back({variant.label, ShownEstimate(final), ShownMean(final),
                          ShownEstimate(EstimateOf({variant.Values(kBest.field)})),
                          ShownEstimate(EstimateOf({variant.Values(kArea.field)})),
                          ThresholdCell(variant)});
    if (!carried.empty()) table.rows.back().push_back(CarriedCell(variant));
  }
  if (!carried.empty()) table.columns.push_back("carried forward");
  return table;
}

ReportTable SharedScoreTable(const Report& report) {
  ReportTable table{.caption = fmt::format("{} together. Scores are {}.{}", SharedText(report),
                                           ScaleText(report), SharedCarriedText(report)),
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
      fmt::format("env,variant,score,{},median,median_low,median_high,carried\n", kEstimateColumns);
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& variant : results.variants) {
      const auto line = [&](std::string_view score) {
        return CsvLine().Text(results.env).Text(variant.label).Text(score);
      };
      const auto carried = static_cast<std::int64_t>(variant.CarriedAt(results.steps.back()));
      for (const Score& score : {kFinal, kBest, kArea}) {
        csv += line(score.name)
                   .Numbers(EstimateOf({variant.Values(score.field)}))
                   .Text("")
                   .Range(std::nullopt)
                   .Count(carried);
      }
      const MedianEstimate median = MedianOf({variant.Values(&ComparedRun::steps_to_threshold)});
      csv += line(fmt::format("steps_to_{:.6g}", results.threshold))
                 .Count(static_cast<std::int64_t>(variant.runs.size()))
                 .Text("")
                 .Text("")
                 .Text("")
                 .Range(std::nullopt)
                 .Number(median.median)
                 .Range(median.interval)
                 .Count(carried);
    }
  }
  for (std::size_t v = 0; report.HasShared() && v < report.labels.size(); ++v) {
    const std::size_t carried = SharedCarried(report.comparison, v, 1);
    for (const Score& score : {kFinal, kBest, kArea}) {
      csv += CsvLine()
                 .Text("all (normalised)")
                 .Text(report.labels[v])
                 .Text(score.name)
                 .Numbers(EstimateOf(SharedScores(report.comparison, v, score.field)))
                 .Text("")
                 .Range(std::nullopt)
                 .Count(static_cast<std::int64_t>(carried));
    }
  }
  return csv;
}

void AddScoreFigure(const Report& report, ReportSection& section) {
  if (!report.HasShared()) return;
  IntervalFigure figure{
      .name = "final-all",
      .caption = fmt::format("{} together, final scores: interquartile mean, {}. Scores are {}.{}",
                             SharedText(report), SharedIntervalText(report), ScaleText(report),
                             SharedCarriedText(report)),
      .title = "Final score",
      .x_label = "normalised score, IQM",
      .rows = {}};
  for (std::size_t v = 0; v < report.labels.size(); ++v) {
    const Estimate estimate = EstimateOf(SharedScores(report.comparison, v, kFinal.field));
    figure.rows.push_back(
        {report.labels[v], estimate.iqm, estimate.interval, v, report.comparison.colours[v]});
  }
  section.figures.push_back(Draw(figure, report.style));
}

}  // namespace

void AddScores(Report& report) {
  ReportSection section{
      .id = "scores",
      .title = "Scores",
      .paragraphs = {
          "Final: mean of the evaluations in the last tenth of the steps compared, or the last one "
          "before it where there is none. Best: the largest evaluation, which favours many and "
          "noisy ones. Area: the mean height of the straight lines between a run's evaluations, "
          "the last one carried on to the step compared. None of these looks at evaluations after "
          "that step. Steps to a return: of the first evaluation that reaches it, in the whole "
          "run, also beyond the step compared; the median over runs, ∞ where at least half do not, "
          "be it that their suite ended them before; how many do stands in brackets."}};
  AddScoreFigure(report, section);
  if (report.HasShared()) section.tables.push_back(SharedScoreTable(report));
  for (const EnvironmentResults& results : report.comparison.environments) {
    section.tables.push_back(ScoreTable(results));
  }
  report.AddCsv("scores", ScoreCsv(report));
  report.content.sections.push_back(std::move(section));
}

namespace {

// How often x beats y, by their names in that environment; `style` is the colour of x.
struct Improvement {
  std::string env, x, y;
  std::size_t style = 0;
  double probability = 0;
  std::optional<Interval> interval = {};
};

Improvement Computed(Improvement improvement, const TaskScores& of_x, const TaskScores& of_y) {
  improvement.probability = ProbabilityOfImprovement(of_x, of_y);
  if (HasSpread(of_x) && HasSpread(of_y)) {
    improvement.interval = ProbabilityOfImprovementInterval(of_x, of_y);
  }
  return improvement;
}

// Each pair once, starting with the shared environments together.
std::vector<Improvement> Improvements(const Report& report) {
  const Comparison& comparison = report.comparison;
  std::vector<Improvement> improvements;
  for (std::size_t y = 0; report.HasShared() && y < report.labels.size(); ++y) {
    for (std::size_t x = y + 1; x < report.labels.size(); ++x) {
      improvements.push_back(Computed(
          {.env = "all", .x = report.labels[x], .y = report.labels[y], .style = x},
          SharedScores(comparison, x, kFinal.field), SharedScores(comparison, y, kFinal.field)));
    }
  }
  for (const EnvironmentResults& results : comparison.environments) {
    for (std::size_t b = 0; b < results.variants.size(); ++b) {
      for (std::size_t a = b + 1; a < results.variants.size(); ++a) {
        const VariantRuns &x = results.variants[a], &y = results.variants[b];
        improvements.push_back(
            Computed({.env = results.env, .x = x.label, .y = y.label, .style = x.variant},
                     {x.Values(kFinal.field)}, {y.Values(kFinal.field)}));
      }
    }
  }
  return improvements;
}

// "all" stands for the shared environments together.
std::string CarriedTextOf(const Report& report, const std::string& env) {
  if (env == "all") return SharedCarriedText(report);
  const auto& environments = report.comparison.environments;
  const auto results = std::ranges::find(environments, env, &EnvironmentResults::env);
  return results == environments.end() ? std::string() : CarriedText(*results);
}

ReportTable ImprovementTable(const Report& report, const std::string& env) {
  return {.caption = fmt::format("{}: how likely X has the larger final score.{}",
                                 env == "all" ? SharedText(report) + " together" : env,
                                 CarriedTextOf(report, env)),
          .columns = {"X > Y", "P(X > Y)", "95 %"},
          .rows = {}};
}

}  // namespace

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
  IntervalFigure figure{
      .name = "improvement",
      .caption =
          "Probability that X has the larger final score, with 95 % stratified bootstrap "
          "intervals where there are runs enough.",
      .title = "X over Y",
      .x_label = "P(X > Y)",
      .rows = {},
      .reference = 0.5};
  std::string csv = "env,x,y,probability,low,high\n", env_of_table;
  const std::string drawn = report.HasShared()     ? "all"
                            : improvements.empty() ? ""
                                                   : improvements.front().env;
  for (const Improvement& pair : improvements) {
    const std::string label = fmt::format("{} > {}", pair.x, pair.y);
    if (pair.env != env_of_table) section.tables.push_back(ImprovementTable(report, pair.env));
    env_of_table = pair.env;
    section.tables.back().rows.push_back(
        {label, fmt::format("{:.2f}", pair.probability),
         pair.interval ? fmt::format("[{:.2f}, {:.2f}]", pair.interval->low, pair.interval->high)
                       : ""});
    csv += CsvLine()
               .Text(pair.env)
               .Text(pair.x)
               .Text(pair.y)
               .Number(pair.probability)
               .Range(pair.interval);
    if (pair.env == drawn) {
      figure.rows.push_back({label, pair.probability, pair.interval, pair.style,
                             report.comparison.colours[pair.style]});
    }
  }
  if (!figure.rows.empty() && figure.rows.size() <= 30) {
    figure.caption +=
        fmt::format(" {}.{}", drawn == "all" ? SharedText(report) + " together" : drawn,
                    CarriedTextOf(report, drawn));
    section.figures.push_back(Draw(figure, report.style));
  }
  report.AddCsv("improvement", csv);
  report.content.sections.push_back(std::move(section));
}

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
  LineFigure figure{.name = "profile",
                    .caption = fmt::format(
                        "Performance profile: the share of runs whose final score is above a "
                        "threshold, {}. Scores are {}.{}",
                        SharedIntervalText(report), ScaleText(report), SharedCarriedText(report)),
                    .title = "Performance profile",
                    .x_label = "threshold (normalised score)",
                    .y_label = "share of runs above it",
                    .lines = {},
                    .y_range = Interval{0, 1}};
  std::string csv = "variant,threshold,share,low,high\n";
  for (std::size_t v = 0; v < report.labels.size(); ++v) {
    const TaskScores scores = SharedScores(report.comparison, v, kFinal.field);
    const std::vector<double> shares = PerformanceProfile(scores, thresholds);
    std::vector<std::optional<Interval>> intervals(thresholds.size());
    if (SharedHaveIntervals(report)) {
      std::ranges::copy(PerformanceProfileIntervals(scores, thresholds), intervals.begin());
    }
    FigureLine& line =
        figure.lines.emplace_back(FigureLine{.label = report.labels[v],
                                             .style = v,
                                             .points = {},
                                             .colour = report.comparison.colours[v]});
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
       .figures = {Draw(figure, report.style)}});
}

}  // namespace stableaa
