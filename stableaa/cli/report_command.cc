// stableaa report: compares runs on one page with figures and tables.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/program.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/report/report.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestReason = 500;

struct ReportFlags {
  std::vector<std::string> directories;
  std::string out = "report";
  std::string title;
  std::vector<std::string> thresholds, attachments, only, labels, colours, order;
  std::string style, columns;
  bool json = false;
};

// "left=right", at the last =.
std::pair<std::string, std::string> Split(const std::string& text, const char* flag,
                                          const char* form) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    throw BadInput(fmt::format("{}: expected {}, found '{}'", flag, form, Shorten(text)));
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

ReportOptions Options(const ReportFlags& flags) {
  ReportOptions options{.directories = {flags.directories.begin(), flags.directories.end()},
                        .out = flags.out,
                        .title = flags.title,
                        .style = FigureStyleOf(flags.style, flags.columns)};
  for (const std::string& threshold : flags.thresholds) {
    const auto [env, value] = Split(threshold, "--threshold", "ENV=RETURN");
    const auto number = NumberOf(value);
    if (!number || !std::isfinite(*number)) {
      throw BadInput(
          fmt::format("--threshold {}: expected a number, found '{}'", env, Shorten(value)));
    }
    options.comparison.thresholds[env] = *number;
  }
  for (const std::string& filter : flags.only) {
    const std::size_t at = filter.find('=');  // values may contain more of these
    if (at == std::string::npos || at == 0) {
      throw BadInput(fmt::format("--only: expected KEY=VALUE, found '{}'", Shorten(filter)));
    }
    options.only.push_back({.key = filter.substr(0, at), .value = filter.substr(at + 1)});
  }
  for (const std::string& label : flags.labels) {
    Split(label, "--label", "VARIANT=TEXT");
    options.comparison.labels.push_back(label);
  }
  for (const std::string& colour : flags.colours) {
    Split(colour, "--color", "VARIANT=#rrggbb");
    options.comparison.colours.push_back(colour);
  }
  options.comparison.order = flags.order;
  for (const std::string& attachment : flags.attachments) {
    const auto [caption, file] = Split(attachment, "--attach", "CAPTION=FILE");
    options.attachments.push_back({.caption = caption, .file = file});
  }
  return options;
}

Json IntervalJson(const std::optional<Interval>& interval) {
  return interval ? Json::array({JsonNumber(interval->low), JsonNumber(interval->high)}) : Json();
}

Json EstimateJson(const Estimate& estimate) {
  return {{"mean", JsonNumber(estimate.mean)},
          {"std", JsonNumber(estimate.deviation)},
          {"iqm", JsonNumber(estimate.iqm)},
          {"interval", IntervalJson(estimate.interval)}};
}

Json VariantJson(const VariantRuns& runs, std::int64_t step) {
  Json seeds = Json::array();
  for (const ComparedRun& run : runs.runs) seeds.push_back(run.record->options.train.seed);
  const MedianEstimate steps = MedianOf({runs.Values(&ComparedRun::steps_to_threshold)});
  return {{"variant", runs.label},
          {"runs", runs.runs.size()},
          {"carried_forward", runs.CarriedAt(step)},
          {"seeds", seeds},
          {"final", EstimateJson(EstimateOf({runs.Values(&ComparedRun::final)}))},
          {"best", EstimateJson(EstimateOf({runs.Values(&ComparedRun::best)}))},
          {"area", EstimateJson(EstimateOf({runs.Values(&ComparedRun::area)}))},
          {"steps_to_threshold",
           {{"median", JsonNumber(steps.median)}, {"interval", IntervalJson(steps.interval)}}}};
}

void PrintJson(const ReportSummary& summary) {
  Json object = {{"page", summary.page.string()},    {"runs", summary.records.size()},
                 {"left_out", Json::array()},        {"failed", Json::array()},
                 {"missing_figures", Json::array()}, {"environments", Json::array()}};
  for (const LeftOutRun& run : summary.comparison.left_out) {
    object["left_out"].push_back({{"directory", run.record->directory.string()}, {"why", run.why}});
  }
  for (const FailedRun& run : summary.failed) {
    object["failed"].push_back({{"directory", run.directory}, {"why", run.why}});
  }
  for (const MissingFigure& figure : summary.missing) {
    object["missing_figures"].push_back({{"name", figure.name}, {"why", figure.why}});
  }
  for (const EnvironmentResults& results : summary.comparison.environments) {
    Json variants = Json::array();
    for (const VariantRuns& runs : results.variants) {
      variants.push_back(VariantJson(runs, results.steps.back()));
    }
    object["environments"].push_back({{"env", results.env},
                                      {"step", results.steps.back()},
                                      {"threshold", JsonNumber(results.threshold)},
                                      {"variants", variants}});
  }
  fmt::print("{}\n", JsonText(object));
}

std::string RunsText(const VariantRuns& runs, std::int64_t step) {
  const std::size_t carried = runs.CarriedAt(step);
  return fmt::format("{} run{}{}", runs.runs.size(), runs.runs.size() == 1 ? "" : "s",
                     carried == 0 ? "" : fmt::format(", {} carried forward", carried));
}

void PrintTable(const ReportSummary& summary) {
  std::size_t widest = 7;
  bool any_carried = false;
  for (const EnvironmentResults& results : summary.comparison.environments) {
    for (const VariantRuns& runs : results.variants) {
      widest = std::max(widest, runs.label.size());
      any_carried |= runs.CarriedAt(results.steps.back()) > 0;
    }
  }
  for (const EnvironmentResults& results : summary.comparison.environments) {
    fmt::print("{}, step {}\n", results.env, results.steps.back());
    for (const VariantRuns& runs : results.variants) {
      const Estimate final = EstimateOf({runs.Values(&ComparedRun::final)});
      fmt::print("  {:<{}}  {:>9}", runs.label, widest, ShownNumber(final.iqm));
      if (final.interval) {
        fmt::print("  [{}, {}]", ShownNumber(final.interval->low),
                   ShownNumber(final.interval->high));
      }
      fmt::print("  {}\n", RunsText(runs, results.steps.back()));
    }
  }
  if (!summary.comparison.environments.empty()) {
    fmt::print(
        "Final scores: IQM over runs, each by the mean of the evaluations in the last tenth of the "
        "steps; 95 % bootstrap interval.\n");
  }
  if (any_carried) {
    fmt::print(
        "Carried forward: runs that ended at the suite's stop.eval_return, by their last "
        "evaluation.\n");
  }
  fmt::print("{}\n", Shorten(summary.page.string(), std::string::npos));
}

void RunReport(const ReportFlags& flags) {
  const ReportOptions options = Options(flags);
  const InterruptGuard interrupt;
  Progress progress({.label = "report", .unit = "figures"});
  const ReportSummary summary = WriteReport(options, [&](std::size_t done, std::size_t) {
    interrupt.ThrowIfRequested();
    progress.Set(done);
  });
  for (const FailedRun& run : summary.failed) {
    LogWarning(fmt::format("{}: {}", ShownPath(run.directory), Shorten(run.why, kLongestReason)));
  }
  for (const LeftOutRun& run : summary.comparison.left_out) {
    if (run.record->EvaluationFault().empty()) continue;
    LogWarning(fmt::format("{}: {}", ShownPath(run.record->directory), run.why));
  }
  if (!summary.comparison.left_out.empty()) {
    LogInfo(fmt::format("{} of {} runs left out; the page says why",
                        summary.comparison.left_out.size(), summary.records.size()));
  }
  flags.json ? PrintJson(summary) : PrintTable(summary);
  if (summary.missing.empty()) return;
  for (const MissingFigure& figure : summary.missing) {
    LogWarning(fmt::format("no figure {}: {}", figure.name, figure.why));
  }
  throw WorkFailed(fmt::format("{} of {} figures could not be drawn; the page goes without",
                               summary.missing.size(), summary.missing.size() + summary.figures));
}

}  // namespace

void AddReportCommand(CLI::App& program) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* report =
      program.add_subcommand("report", "Compare runs: one page with figures, and tables");
  report
      ->add_option("DIR", flags->directories,
                   "Runs, sweeps, or folders of them; half-finished ones too")
      ->required();
  report
      ->add_option("--out", flags->out,
                   "Directory of the report: index.html, figures/, tables/ (default: report)")
      ->type_name("DIR");
  report->add_option("--title", flags->title, "Title of the page (default: the suite's)")
      ->type_name("TEXT");
  report
      ->add_option("--threshold", flags->thresholds,
                   "Return that 'steps to' asks for, by environment (default: stop.eval_return of "
                   "the suite, a person's score for Atari, 475 for CartPole, else 3/4 of the best "
                   "variant's)")
      ->type_name("ENV=RETURN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report
      ->add_option("--only", flags->only,
                   "Only runs with this value of a configuration key, or of env, preset, seed; "
                   "several values of one key are alternatives, several keys must all hold")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report
      ->add_option("--label", flags->labels,
                   "What a variant, by its label, or all of a preset is called in figures and "
                   "tables")
      ->type_name("VARIANT=TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report
      ->add_option("--color", flags->colours,
                   "Colour of a variant, by its label, or of all of a preset in figures (default: "
                   "the palette of Okabe and Ito)")
      ->type_name("VARIANT=#rrggbb")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report
      ->add_option("--order", flags->order,
                   "Variants, presets and environments that come first in figures and tables "
                   "(default: by name and value)")
      ->type_name("A,B,C")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report
      ->add_option("--style", flags->style,
                   "Size of figures: page (default), paper (84 or 174 mm wide, letters of 7.5 pt), "
                   "talk (slides of 16:9, letters of 18 pt)")
      ->type_name("page|paper|talk");
  report
      ->add_option("--columns", flags->columns,
                   "Width of all figures of --style paper: one column, 84 mm, or two, 174 mm "
                   "(default: two for more than two panels)")
      ->type_name("one|two");
  report
      ->add_option("--attach", flags->attachments,
                   "Show a picture or text on the page too: svg, png, gif, jpg, webp, txt, csv, "
                   "md, toml, json")
      ->type_name("CAPTION=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report->add_flag("--json", flags->json, "The scores as a JSON object");
  report->footer(
      "Needs gnuplot. Runs are grouped by environment, and there by the keys in which they "
      "differ.\n"
      "If a figure cannot be drawn the page goes without it, and the exit code is 1.\n"
      "Example: stableaa report runs/figure1 --out report\n"
      "         stableaa report runs/figure1 --out report --only preset=raa --label \"raa=RAA\"\n"
      "         stableaa report runs/figure1 --out figures --style paper --color "
      "\"raa=#D55E00\" --order raa\n");
  report->callback([flags] { RunReport(*flags); });
}

}  // namespace stableaa
