#include "stableaa/experiment/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "stableaa/base/csv_cells.h"
#include "stableaa/base/error.h"
#include "stableaa/base/moments.h"
#include "stableaa/base/nearest_name.h"
#include "stableaa/experiment/atari_scores.h"

namespace stableaa {
namespace {

// Bootstrap intervals are computed at each; more could not be told apart in a figure.
constexpr std::size_t kMostSteps = 100;
constexpr double kFinalShare = 0.9;
constexpr double kThresholdShare = 0.75;

constexpr auto kKeysOfNoMethod = std::to_array<std::string_view>(
    {"train.env", "train.preset", "train.seed", "train.steps", "train.threads",
     "train.log_interval_steps", "checkpoint.interval_steps", "eval.interval_steps", "env.python",
     "env.workers", "env.timeout_seconds"});

bool IsOfTheMethod(const std::string& key) {
  return std::ranges::find(kKeysOfNoMethod, key) == kKeysOfNoMethod.end();
}

bool IsEqualInAll(std::span<const RunRecord> records, const std::string& key) {
  return std::ranges::all_of(records, [&](const RunRecord& record) {
    return record.settings.at(key) == records.front().settings.at(key);
  });
}

std::string Unquoted(const std::string& literal) {
  return literal.size() >= 2 && literal.front() == '"' ? literal.substr(1, literal.size() - 2)
                                                       : literal;
}

// Numbers by size, all else by letters.
bool Precedes(const std::string& a, const std::string& b) {
  const std::optional<double> x = NumberOf(a), y = NumberOf(b);
  if (x && y && *x != *y) return *x < *y;
  return a < b;
}

// ---- Variants ----

using KeysByPreset = std::map<std::string, std::set<std::string>>;

// Of runs in one environment: what families of environments differ in makes no variant.
KeysByPreset KeysThatDiffer(std::span<const RunRecord> records) {
  std::map<std::pair<std::string, std::string>, const RunRecord*> first;
  KeysByPreset keys;
  for (const RunRecord& record : records) {
    const std::string& preset = record.options.train.preset;
    const RunRecord& other =
        *first.try_emplace({record.options.train.env, preset}, &record).first->second;
    for (const auto& [key, value] : record.settings) {
      if (IsOfTheMethod(key) && other.settings.at(key) != value) keys[preset].insert(key);
    }
  }
  return keys;
}

Variant VariantOf(const RunRecord& record, const KeysByPreset& keys) {
  Variant variant{.preset = record.options.train.preset};
  if (const auto own = keys.find(variant.preset); own != keys.end()) {
    for (const std::string& key : own->second) variant.values[key] = record.settings.at(key);
  }
  return variant;
}

// By preset, then by values.
bool ComesBefore(const Variant& a, const Variant& b) {
  if (a.preset != b.preset) return a.preset < b.preset;
  for (const auto& [key, value] : a.values) {
    const std::string& other = b.values.at(key);  // one preset, the same keys
    if (value != other) return Precedes(value, other);
  }
  return false;
}

// ---- One environment ----

struct Candidate {
  const RunRecord* record = nullptr;
  std::size_t variant = 0;
};

std::int64_t LastStep(const RunRecord& record) { return record.evaluations.back().step; }

// Leaves out those that `why_not` has an answer for.
void LeaveOut(std::vector<Candidate>& candidates, Comparison& comparison,
              const std::function<std::string(const Candidate&)>& why_not) {
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const std::string why = why_not(candidate);
    if (why.empty()) return false;
    comparison.left_out.push_back(
        {candidate.record, comparison.variants[candidate.variant].Label(), why});
    return true;
  });
}

// Of runs with one seed that stand for the same, the one with the latest evaluation stays.
void LeaveOutRepeated(std::vector<Candidate>& candidates, Comparison& comparison) {
  std::map<std::pair<std::size_t, std::uint64_t>, const RunRecord*> kept;
  const auto kept_for = [&kept](const Candidate& candidate) -> const RunRecord*& {
    return kept[{candidate.variant, candidate.record->options.train.seed}];
  };
  for (const Candidate& candidate : candidates) {
    const RunRecord*& best = kept_for(candidate);
    if (best == nullptr || LastStep(*candidate.record) > LastStep(*best)) best = candidate.record;
  }
  LeaveOut(candidates, comparison, [&](const Candidate& candidate) {
    const RunRecord* const other = kept_for(candidate);
    return candidate.record == other
               ? std::string()
               : fmt::format("repeats {}, configuration and seed", other->directory.string());
  });
}

std::int64_t ComparedStep(const std::vector<Candidate>& candidates) {
  std::map<std::size_t, std::int64_t> ended, farthest;  // by variant
  for (const Candidate& candidate : candidates) {
    const std::int64_t step = LastStep(*candidate.record);
    farthest[candidate.variant] = std::max(farthest[candidate.variant], step);
    if (!candidate.record->ended()) continue;
    const auto [place, is_new] = ended.try_emplace(candidate.variant, step);
    place->second = std::min(place->second, step);
  }
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [variant, step] : farthest) {
    const auto of_ended = ended.find(variant);
    smallest = std::min(smallest, of_ended == ended.end() ? step : of_ended->second);
  }
  return smallest;
}

// Those of the run with the fewest that all curves cover, thinned out if they are very many.
std::vector<std::int64_t> ComparedSteps(const std::vector<Candidate>& candidates,
                                        std::int64_t last) {
  std::int64_t first = 0;
  std::vector<std::int64_t> steps;
  for (const Candidate& candidate : candidates) {
    first = std::max(first, candidate.record->evaluations.front().step);
  }
  for (const Candidate& candidate : candidates) {
    std::vector<std::int64_t> own;
    for (const CurvePoint& point : candidate.record->evaluations) {
      if (point.step >= first && point.step < last) own.push_back(point.step);
    }
    own.push_back(last);
    if (steps.empty() || own.size() < steps.size()) steps = own;
  }
  if (steps.size() <= kMostSteps) return steps;
  std::vector<std::int64_t> thinned;
  for (std::size_t i = 0; i < kMostSteps; ++i) {
    thinned.push_back(steps[(i + 1) * steps.size() / kMostSteps - 1]);
  }
  return thinned;
}

std::span<const CurvePoint> UpTo(const Curve& curve, std::int64_t last) {
  const auto end = std::ranges::upper_bound(curve, last, {}, &CurvePoint::step);
  return {curve.begin(), end};
}

// From the first to the last of the steps, with the values there.
Curve Between(const Curve& curve, const std::vector<std::int64_t>& steps) {
  Curve part = {{steps.front(), ValueAt(curve, steps.front())}};
  for (const CurvePoint& point : curve) {
    if (point.step > steps.front() && point.step < steps.back()) part.push_back(point);
  }
  if (steps.size() > 1) part.push_back({steps.back(), ValueAt(curve, steps.back())});
  return part;
}

ComparedRun MakeComparedRun(const RunRecord& record, const std::vector<std::int64_t>& steps) {
  ComparedRun run{.record = &record};
  for (const std::int64_t step : steps) run.returns.push_back(ValueAt(record.evaluations, step));
  const std::span<const CurvePoint> curve = UpTo(record.evaluations, steps.back());
  std::vector<double> late = {run.returns.back()};
  run.best = run.returns.back();
  for (const CurvePoint& point : curve) {
    run.best = std::max(run.best, point.value);
    if (static_cast<double>(point.step) > kFinalShare * static_cast<double>(steps.back()) &&
        point.step < steps.back()) {
      late.push_back(point.value);
    }
  }
  run.final = MomentsOf(late).mean;
  run.area = MeanHeight(Between(record.evaluations, steps));
  return run;
}

template <typename Use>
void ForEachEvaluation(const EnvironmentResults& results, const Use& use) {
  for (const VariantRuns& variant : results.variants) {
    for (const ComparedRun& run : variant.runs) {
      for (const CurvePoint& point : UpTo(run.record->evaluations, results.steps.back())) {
        use(point.value);
      }
    }
  }
}

Scale ScaleOf(const EnvironmentResults& results) {
  if (const std::optional<AtariScores> known = FindAtariScores(results.env)) {
    return {.kind = Scale::Kind::kHuman, .low = known->random, .high = known->human};
  }
  Scale scale{.low = std::numeric_limits<double>::infinity(),
              .high = -std::numeric_limits<double>::infinity()};
  ForEachEvaluation(results, [&](double value) {
    scale.low = std::min(scale.low, value);
    scale.high = std::max(scale.high, value);
  });
  return scale;
}

struct Threshold {
  double value = 0;
  std::string source;
};

Threshold ThresholdOf(const EnvironmentResults& results, const ComparisonOptions& options) {
  if (const auto given = options.thresholds.find(results.env); given != options.thresholds.end()) {
    return {given->second, "as given"};
  }
  if (results.env == "classic/cartpole") return {475, "where Gymnasium calls it solved"};
  if (results.scale.kind == Scale::Kind::kHuman) return {results.scale.high, "a person's score"};
  double best = -std::numeric_limits<double>::infinity();
  for (const VariantRuns& variant : results.variants) {
    best = std::max(best, MomentsOf(variant.Values(&ComparedRun::final)).mean);
  }
  return {
      results.scale.low + kThresholdShare * (best - results.scale.low),
      "three quarters of the way from the smallest evaluation to the best variant's final mean"};
}

EnvironmentResults MakeResults(const std::string& env, const std::vector<Candidate>& candidates,
                               std::int64_t last, const ComparisonOptions& options) {
  EnvironmentResults results{.env = env, .steps = ComparedSteps(candidates, last)};
  std::map<std::size_t, std::vector<ComparedRun>> runs;
  for (const Candidate& candidate : candidates) {
    runs[candidate.variant].push_back(MakeComparedRun(*candidate.record, results.steps));
  }
  for (auto& [variant, its_runs] : runs) {
    std::ranges::sort(its_runs, {},
                      [](const ComparedRun& run) { return run.record->options.train.seed; });
    results.variants.push_back({variant, std::move(its_runs)});
  }
  results.scale = ScaleOf(results);
  const Threshold threshold = ThresholdOf(results, options);
  results.threshold = threshold.value;
  results.threshold_source = threshold.source;
  for (VariantRuns& variant : results.variants) {
    for (ComparedRun& run : variant.runs) {
      // Of the whole run: where runs end as soon as they reach it, the first would end all.
      run.steps_to_threshold = StepsToThreshold(run.record->evaluations, results.threshold);
    }
  }
  return results;
}

void AddEnvironment(const std::string& env, std::vector<Candidate> candidates,
                    const ComparisonOptions& options, Comparison& comparison) {
  LeaveOut(candidates, comparison, [](const Candidate& candidate) {
    if (candidate.record->diverged)
      return fmt::format("diverged after step {}", candidate.record->step);
    return std::string(candidate.record->evaluations.empty() ? "has no evaluation yet" : "");
  });
  LeaveOutRepeated(candidates, comparison);
  if (candidates.empty()) return;
  const std::int64_t last = ComparedStep(candidates);
  LeaveOut(candidates, comparison, [last](const Candidate& candidate) {
    const Curve& evaluations = candidate.record->evaluations;
    if (evaluations.back().step < last) {
      return fmt::format("evaluated up to step {}, compared at {}", evaluations.back().step, last);
    }
    return evaluations.front().step > last
               ? fmt::format("first evaluated in step {}, compared at {}", evaluations.front().step,
                             last)
               : std::string();
  });
  comparison.environments.push_back(MakeResults(env, candidates, last, options));
}

void CheckThresholds(const ComparisonOptions& options,
                     const std::map<std::string, std::vector<Candidate>>& by_env) {
  std::vector<std::string> names;
  for (const auto& [env, candidates] : by_env) names.push_back(env);
  for (const auto& [env, threshold] : options.thresholds) {
    if (!by_env.contains(env)) {
      throw BadInput(
          fmt::format("a threshold for '{}', which no run has{}", env, DidYouMean(env, names)));
    }
  }
}

// Those that are still named by a run; the numbers change with them.
void DropUnusedVariants(Comparison& comparison) {
  std::map<std::size_t, std::size_t> renumbered;
  std::vector<Variant> used;
  for (std::size_t v = 0; v < comparison.variants.size(); ++v) {
    const bool is_used = std::ranges::any_of(
        comparison.environments,
        [v](const EnvironmentResults& results) { return results.Find(v) != nullptr; });
    if (!is_used) continue;
    renumbered[v] = used.size();
    used.push_back(comparison.variants[v]);
  }
  for (EnvironmentResults& results : comparison.environments) {
    for (VariantRuns& runs : results.variants) runs.variant = renumbered.at(runs.variant);
  }
  comparison.variants = std::move(used);
}

}  // namespace

std::string KeySymbol(const std::string& key) {
  static const std::map<std::string, std::string> kSymbols = {
      {"agent.eta", "η"}, {"agent.omega", "ω"}, {"agent.targets", "m"}, {"agent.damping", "β"}};
  const auto symbol = kSymbols.find(key);
  return symbol != kSymbols.end() ? symbol->second : key.substr(key.rfind('.') + 1);
}

std::string Variant::Label() const {
  std::string label = preset;
  for (const auto& [key, value] : values) {
    label += fmt::format(", {} = {}", KeySymbol(key), Unquoted(value));
  }
  return label;
}

std::vector<double> VariantRuns::Values(double ComparedRun::*score) const {
  std::vector<double> values;
  for (const ComparedRun& run : runs) values.push_back(run.*score);
  return values;
}

std::vector<double> VariantRuns::ReturnsAt(std::size_t step_index) const {
  std::vector<double> values;
  for (const ComparedRun& run : runs) values.push_back(run.returns[step_index]);
  return values;
}

double Scale::operator()(double score) const {
  return high > low ? (score - low) / (high - low) : 0;
}

const VariantRuns* EnvironmentResults::Find(std::size_t variant) const {
  const auto found = std::ranges::find(variants, variant, &VariantRuns::variant);
  return found == variants.end() ? nullptr : &*found;
}

Comparison Compare(std::span<const RunRecord> records, const ComparisonOptions& options) {
  const KeysByPreset keys = KeysThatDiffer(records);
  Comparison comparison;
  for (const RunRecord& record : records) {
    const Variant variant = VariantOf(record, keys);
    if (std::ranges::find(comparison.variants, variant) == comparison.variants.end()) {
      comparison.variants.push_back(variant);
    }
  }
  std::ranges::sort(comparison.variants, ComesBefore);

  std::map<std::string, std::vector<Candidate>> by_env;
  for (const RunRecord& record : records) {
    const auto place = std::ranges::find(comparison.variants, VariantOf(record, keys));
    by_env[record.options.train.env].push_back(
        {&record, static_cast<std::size_t>(place - comparison.variants.begin())});
  }
  CheckThresholds(options, by_env);
  for (const auto& [env, candidates] : by_env) {
    AddEnvironment(env, candidates, options, comparison);
  }
  DropUnusedVariants(comparison);
  for (std::size_t e = 0; e < comparison.environments.size(); ++e) {
    if (comparison.environments[e].variants.size() == comparison.variants.size()) {
      comparison.shared.push_back(e);
    }
  }
  return comparison;
}

std::vector<std::string> DifferingKeys(std::span<const RunRecord> records) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : records.front().settings) {
    if (IsOfTheMethod(key) && !IsEqualInAll(records, key)) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> EqualKeys(std::span<const RunRecord> records) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : records.front().settings) {
    if (IsEqualInAll(records, key)) keys.push_back(key);
  }
  return keys;
}

// ---- Numbers with their uncertainty ----

namespace {

double MedianScore(const TaskScores& scores) {
  std::vector<double> all;
  for (const std::vector<double>& task : scores) all.insert(all.end(), task.begin(), task.end());
  std::ranges::sort(all);
  return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
}

double ReturnAfter(const std::vector<std::int64_t>& steps, const std::vector<double>& returns,
                   double share) {
  Curve curve;
  for (std::size_t i = 0; i < steps.size(); ++i) curve.push_back({steps[i], returns[i]});
  const double step = std::round(share * static_cast<double>(steps.back()));
  return ValueAt(curve, std::clamp(static_cast<std::int64_t>(step), steps.front(), steps.back()));
}

}  // namespace

bool HasSpread(const TaskScores& scores) {
  return std::ranges::all_of(scores, [](const auto& task) { return task.size() > 1; });
}

Estimate EstimateOf(const TaskScores& scores) {
  std::vector<double> all;
  for (const std::vector<double>& task : scores) all.insert(all.end(), task.begin(), task.end());
  const Moments moments = MomentsOf(all);
  Estimate estimate{.mean = moments.mean,
                    .deviation = moments.standard_deviation,
                    .iqm = InterquartileMean(all),
                    .runs = all.size()};
  if (HasSpread(scores)) {
    estimate.interval = StratifiedBootstrap(
        scores, [](const TaskScores& resampled) { return InterquartileMean(resampled); });
  }
  return estimate;
}

MedianEstimate MedianOf(const TaskScores& scores) {
  MedianEstimate estimate{.median = MedianScore(scores)};
  if (HasSpread(scores)) estimate.interval = StratifiedBootstrap(scores, MedianScore);
  return estimate;
}

TaskScores SharedScores(const Comparison& comparison, std::size_t variant,
                        double ComparedRun::*score) {
  TaskScores scores;
  for (const std::size_t e : comparison.shared) {
    const EnvironmentResults& results = comparison.environments[e];
    std::vector<double>& task = scores.emplace_back(results.Find(variant)->Values(score));
    std::ranges::transform(task, task.begin(), results.scale);
  }
  return scores;
}

double FirstShare(const Comparison& comparison) {
  double first = 0;
  for (const std::size_t e : comparison.shared) {
    const std::vector<std::int64_t>& steps = comparison.environments[e].steps;
    first = std::max(first, static_cast<double>(steps.front()) / static_cast<double>(steps.back()));
  }
  return first;
}

TaskScores SharedReturns(const Comparison& comparison, std::size_t variant, double share) {
  TaskScores scores;
  for (const std::size_t e : comparison.shared) {
    const EnvironmentResults& results = comparison.environments[e];
    std::vector<double>& task = scores.emplace_back();
    for (const ComparedRun& run : results.Find(variant)->runs) {
      task.push_back(results.scale(ReturnAfter(results.steps, run.returns, share)));
    }
  }
  return scores;
}

}  // namespace stableaa
