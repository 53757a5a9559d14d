// The cost of the runs, what was run, and how the numbers are computed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/core/moments.h"
#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

std::string DescriptionOf(const RunRecord& record, const std::string& key) {
  const auto found = record.description.find(key);
  return found == record.description.end() ? "" : found->second;
}

struct Cost {
  double steps_per_second = 0;  // NaN if unknown
  double memory = 0;
};

// Over the whole run, including evaluations.
Cost CostOf(const RunRecord& record) {
  const double seconds = record.metrics.Last("wall_seconds");
  return {seconds > 0 ? record.metrics.Last("step") / seconds : std::nan(""),
          record.metrics.Last("wall_memory_bytes")};
}

double MeanOf(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : MomentsOf(values).mean;
}

}  // namespace

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
      const std::string count = DescriptionOf(*runs.runs.front().record, "parameters");
      table.rows.push_back({results.env, runs.label, ShownNumber(rate),
                            ShownNumber(1e6 / rate / 3600), ShownNumber(first / rate),
                            ShownNumber(memory / 1e6), count});
      csv += CsvLine()
                 .Text(results.env)
                 .Text(runs.label)
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

namespace {

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
                        "Keys in which runs differ, by environment and variant, apart from seeds, "
                        "steps, threads, and the intervals of logs, evaluations and checkpoints.",
                    .columns = {"key"},
                    .rows = {}};
  std::vector<const RunRecord*> examples;
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& runs : results.variants) {
      table.columns.push_back(fmt::format("{}: {}", results.env, runs.label));
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

// Where a key has a value: "a, b" for the variants, with their environments unless the value is the
// same in all of them.
std::string WhereText(const Report& report, const std::string& key, const std::string& value) {
  const auto has_value = [&](const VariantRuns& runs) {
    return runs.runs.front().record->settings.at(key) == value;
  };
  std::vector<std::string> places;
  std::set<std::size_t> told;
  for (std::size_t v = 0; v < report.labels.size(); ++v) {
    const bool everywhere =
        std::ranges::all_of(report.comparison.environments, [&](const EnvironmentResults& results) {
          const VariantRuns* const runs = results.Find(v);
          return runs == nullptr || has_value(*runs);
        });
    if (!everywhere) continue;
    places.push_back(report.labels[v]);
    told.insert(v);
  }
  for (const EnvironmentResults& results : report.comparison.environments) {
    std::vector<std::string> variants;
    bool is_whole = true;
    for (const VariantRuns& runs : results.variants) {
      if (told.contains(runs.variant)) continue;
      has_value(runs) ? variants.push_back(runs.label) : void(is_whole = false);
    }
    if (variants.empty()) continue;
    places.push_back(is_whole && told.empty()
                         ? results.env
                         : fmt::format("{} ({})", results.env, Joined(variants)));
  }
  std::string text;
  for (const std::string& place : places) text += (text.empty() ? "" : "; ") + place;
  return text;
}

// The same for people, who cannot read a column for each of many variants.
ReportTable ShownConfigurationTable(const Report& report, const ReportTable& whole) {
  ReportTable table{.caption = whole.caption, .columns = {"key", "value", "where"}, .rows = {}};
  for (const std::vector<std::string>& row : whole.rows) {
    std::vector<std::string> values;
    for (auto value = row.begin() + 1; value != row.end(); ++value) {
      if (std::ranges::find(values, *value) == values.end()) values.push_back(*value);
    }
    for (const std::string& value : values) {
      table.rows.push_back({row.front(), value, WhereText(report, row.front(), value)});
    }
  }
  return table;
}

ReportTable CommonConfigurationTable(const Report& report) {
  ReportTable table{.caption = "All keys whose value is the same in all runs.",
                    .columns = {"key", "value"},
                    .rows = {},
                    .folded = true};
  for (const std::string& key : EqualKeys(report.records)) {
    table.rows.push_back({key, report.records.front().settings.at(key)});
  }
  return table;
}

std::string TableCsv(const ReportTable& table) {
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
      for (const ComparedRun& run : runs.runs) labels[run.record] = runs.label;
    }
  }
  for (const LeftOutRun& run : report.comparison.left_out) labels[run.record] = run.variant;
  return labels;
}

// The runs that are carried forward, each with the step from which it is.
std::map<const RunRecord*, std::int64_t> CarriedRuns(const Report& report) {
  std::map<const RunRecord*, std::int64_t> carried;
  for (const EnvironmentResults& results : report.comparison.environments) {
    for (const VariantRuns& runs : results.variants) {
      for (const ComparedRun& run : runs.runs) {
        if (run.carried_from) carried[run.record] = *run.carried_from;
      }
    }
  }
  return carried;
}

void AddRunTable(Report& report, ReportSection& section) {
  const std::map<const RunRecord*, std::string> labels = LabelsOfRuns(report);
  std::map<const RunRecord*, std::string> left_out;
  for (const LeftOutRun& run : report.comparison.left_out) left_out[run.record] = run.why;
  const std::map<const RunRecord*, std::int64_t> carried = CarriedRuns(report);
  ReportTable table{.caption = "All runs that were read.",
                    .columns = {"environment", "variant", "seed", "step", "of", "status",
                                "left out because", "directory"},
                    .rows = {}};
  std::string csv =
      "env,variant,seed,step,steps,status,left_out,wall_seconds,version,compiler,machine,"
      "directory,carried_from\n";
  for (const RunRecord& record : report.records) {
    const TrainOptions& train = record.options.train;
    const std::string& variant = labels.at(&record);
    const auto why = left_out.find(&record);
    const std::string reason = why == left_out.end() ? "" : why->second;
    const auto since = carried.find(&record);
    const std::string carried_from =
        since == carried.end() ? std::string() : std::to_string(since->second);
    const std::string status =
        record.Status() +
        (carried_from.empty() ? "" : fmt::format(", carried forward from step {}", carried_from));
    table.rows.push_back({train.env, variant, std::to_string(train.seed),
                          ShownNumber(static_cast<double>(record.step)),
                          ShownNumber(static_cast<double>(train.steps)), status, reason,
                          record.directory.string()});
    csv += CsvLine()
               .Text(train.env)
               .Text(variant)
               .Text(std::to_string(train.seed))
               .Count(record.step)
               .Count(train.steps)
               .Text(record.Status())
               .Text(reason)
               .Number(record.metrics.Last("wall_seconds"))
               .Text(DescriptionOf(record, "version"))
               .Text(DescriptionOf(record, "compiler"))
               .Text(DescriptionOf(record, "machine"))
               .Text(record.directory.string())
               .Text(carried_from);
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

}  // namespace

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
  const ReportTable configuration = ConfigurationTable(report);
  ReportTable common = CommonConfigurationTable(report);
  report.AddCsv("configuration", TableCsv(configuration));
  report.AddCsv("configuration_common", TableCsv(common));
  if (!configuration.rows.empty()) {
    section.tables.push_back(ShownConfigurationTable(report, configuration));
  }
  section.tables.push_back(std::move(common));
  AddRunTable(report, section);
  report.content.sections.push_back(std::move(section));
}

void AddMethod(Report& report) {
  report.content.sections.push_back(
      {.id = "method",
       .title = "How the numbers are made",
       .paragraphs = {
           "One point of a curve is one evaluation: whole games with the weights of that step, in "
           "environments of their own. Runs of an environment are compared up to one step: the "
           "smallest last evaluation of the runs that have ended or, where no run of a variant "
           "has, the farthest of that variant's; runs that have not come so far are left out, and "
           "listed. A run that its suite ended because an evaluation had reached stop.eval_return "
           "does not count as that short: it is carried forward, its last evaluation standing for "
           "all later steps up to its planned end, and marked as such. A run that was ended "
           "because its minutes were over is not: the others are compared as far as it came.",
           "Curves are compared at the evaluations of the run that has the fewest; another run has "
           "there the value of its last evaluation at or before that step, and no number makes use "
           "of an evaluation after its step. Nothing is smoothed. All environments together are "
           "compared in the same way, at shares of the steps.",
           "IQM is the interquartile mean: the mean without the lowest and the highest quarter of "
           "the runs (of up to three runs, the mean). Intervals are 95 % percentile intervals of a "
           "bootstrap with 2000 resamples that draws runs within each environment (Agarwal et al. "
           "2021). With three runs such an interval is hardly more than their range: read it as a "
           "lower bound on what is not known.",
           "The uncertainty is that of seeds. It says nothing about other hyperparameters, other "
           "games or longer training."}});
}

}  // namespace stableaa
