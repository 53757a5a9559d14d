#include "stableaa/experiment/results/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "stableaa/base/config/toml_values.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/core/moments.h"
#include "stableaa/experiment/results/atari_scores.h"

namespace stableaa {
namespace {

// Each needs a bootstrap interval; a figure could not show more of them.
constexpr std::size_t kMostSteps = 100;
constexpr double kFinalShare = 0.9;
constexpr double kThresholdShare = 0.75;

constexpr auto kKeysOfNoMethod = std::to_array<std::string_view>(
    {"train.env", "train.preset", "train.seed", "train.steps", "train.threads",
     "train.log_interval_steps", "checkpoint.interval_steps", "checkpoint.keep_weights",
     "eval.interval_steps", "env.python", "env.workers", "env.timeout_seconds"});

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

// Numbers by value, everything else alphabetically.
bool Precedes(const std::string& a, const std::string& b) {
  const std::optional<double> x = NumberOf(a), y = NumberOf(b);
  if (x && y && *x != *y) return *x < *y;
  return a < b;
}

// ---- Variants ----

// The keys in which the runs of a preset differ within one environment. Differences between
// families of environments make no variants.
struct VaryingKeys {
  std::map<std::string, std::set<std::string>> anywhere;  // by preset
  std::map<std::pair<std::string, std::string>, std::set<std::string>> by_env_preset = {};

  explicit VaryingKeys(std::span<const RunRecord> records) {
    std::map<std::pair<std::string, std::string>, const RunRecord*> first;
    for (const RunRecord& record : records) {
      const TrainOptions& train = record.options.train;
      const RunRecord& other = *first.try_emplace({train.env, train.preset}, &record).first->second;
      for (const auto& [key, value] : record.settings) {
        if (!IsOfTheMethod(key) || other.settings.at(key) == value) continue;
        anywhere[train.preset].insert(key);
        by_env_preset[{train.env, train.preset}].insert(key);
      }
    }
  }

  // The same in all environments.
  Variant VariantOf(const RunRecord& record) const {
    return WithValues(record, anywhere, record.options.train.preset);
  }
  // Without the keys that do not vary in its environment.
  Variant VariantHere(const RunRecord& record) const {
    const TrainOptions& train = record.options.train;
    return WithValues(record, by_env_preset, std::pair(train.env, train.preset));
  }

 private:
  template <typename Keys, typename Place>
  static Variant WithValues(const RunRecord& record, const Keys& keys, const Place& place) {
    Variant variant{.preset = record.options.train.preset};
    if (const auto own = keys.find(place); own != keys.end()) {
      for (const std::string& key : own->second) variant.values[key] = record.settings.at(key);
    }
    return variant;
  }
};

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
  Variant here;
  std::string label;
};

std::int64_t LastStep(const RunRecord& record) { return record.evaluations.back().step; }

// The last step for which the run has a value: a run that reached its suite's return is carried
// forward to its planned end.
std::int64_t CountsUpTo(const RunRecord& record) {
  return record.reached_stop_return() ? std::max(LastStep(record), record.planned_steps())
                                      : LastStep(record);
}

// Leaves out the candidates for which `why_not` gives a reason.
void LeaveOut(std::vector<Candidate>& candidates, Comparison& comparison,
              const std::function<std::string(const Candidate&)>& why_not) {
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const std::string why = why_not(candidate);
    if (why.empty()) return false;
    comparison.left_out.push_back({candidate.record, candidate.label, why});
    return true;
  });
}

// Of runs with equal variant and seed, keeps the one that counts the farthest. Ties go to a run
// that has ended, then to the one with the latest evaluation.
void LeaveOutRepeated(std::vector<Candidate>& candidates, Comparison& comparison) {
  std::map<std::pair<std::size_t, std::uint64_t>, const RunRecord*> kept;
  const auto kept_for = [&kept](const Candidate& candidate) -> const RunRecord*& {
    return kept[{candidate.variant, candidate.record->options.train.seed}];
  };
  const auto worth = [](const RunRecord& record) {
    return std::tuple(CountsUpTo(record), record.ended(), LastStep(record));
  };
  for (const Candidate& candidate : candidates) {
    const RunRecord*& best = kept_for(candidate);
    if (best == nullptr || worth(*candidate.record) > worth(*best)) best = candidate.record;
  }
  LeaveOut(candidates, comparison, [&](const Candidate& candidate) {
    const RunRecord* const other = kept_for(candidate);
    return candidate.record == other
               ? std::string()
               : fmt::format("repeats {}, configuration and seed", ShownPath(other->directory));
  });
}

std::int64_t ComparedStep(const std::vector<Candidate>& candidates) {
  std::map<std::size_t, std::int64_t> ended, farthest;  // by variant
  for (const Candidate& candidate : candidates) {
    const std::int64_t step = CountsUpTo(*candidate.record);
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

// The evaluation steps of the run with the fewest, as far as all curves cover them, thinned out if
// there are very many. Runs carried forward have few only because they ended early; if all are, the
// one that ended last is used.
std::vector<std::int64_t> ComparedSteps(const std::vector<Candidate>& candidates,
                                        std::int64_t last) {
  std::int64_t first = 0, latest = 0;
  for (const Candidate& candidate : candidates) {
    first = std::max(first, candidate.record->evaluations.front().step);
    latest = std::max(latest, LastStep(*candidate.record));
  }
  std::vector<std::int64_t> steps;
  for (const Candidate& candidate : candidates) {
    if (LastStep(*candidate.record) < std::min(latest, last)) continue;
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

// Mean height between the first and the last of the steps; ignores anything after the last one.
double AreaBetween(std::span<const CurvePoint> seen, const std::vector<std::int64_t>& steps) {
  const bool has_ended = seen.back().step <= steps.front();
  Curve part = {{steps.front(), has_ended ? seen.back().value : ValueAt(seen, steps.front())}};
  for (const CurvePoint& point : seen) {
    if (point.step > steps.front() && point.step < steps.back()) part.push_back(point);
  }
  if (steps.size() > 1) part.push_back({steps.back(), seen.back().value});
  return MeanHeight(part);
}

ComparedRun MakeComparedRun(const RunRecord& record, const std::vector<std::int64_t>& steps) {
  ComparedRun run{.record = &record};
  for (const std::int64_t step : steps) run.returns.push_back(LastValue(record.evaluations, step));
  const std::span<const CurvePoint> seen = UpTo(record.evaluations, steps.back());
  std::vector<double> late;
  run.best = seen.back().value;
  for (const CurvePoint& point : seen) {
    run.best = std::max(run.best, point.value);
    if (static_cast<double>(point.step) > kFinalShare * static_cast<double>(steps.back())) {
      late.push_back(point.value);
    }
  }
  run.final = late.empty() ? seen.back().value : MomentsOf(late).mean;
  run.area = AreaBetween(seen, steps);
  if (LastStep(record) < steps.back()) run.carried_from = LastStep(record);
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
  std::optional<double> of_suites;
  for (const VariantRuns& variant : results.variants) {
    for (const ComparedRun& run : variant.runs) {
      const std::optional<double>& own = run.record->stop_return;
      // No run of that suite could reach more.
      if (own) of_suites = std::min(*own, of_suites.value_or(*own));
    }
  }
  if (of_suites) return {*of_suites, "stop.eval_return of the suite"};
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
  EnvironmentResults results{.env = Shorten(env, std::string::npos),
                             .steps = ComparedSteps(candidates, last)};
  std::map<std::size_t, VariantRuns> by_variant;
  for (const Candidate& candidate : candidates) {
    VariantRuns& variant = by_variant[candidate.variant];
    variant.variant = candidate.variant;
    variant.here = candidate.here;
    variant.label = candidate.label;
    variant.runs.push_back(MakeComparedRun(*candidate.record, results.steps));
  }
  for (auto& [number, variant] : by_variant) {
    std::ranges::sort(variant.runs, {},
                      [](const ComparedRun& run) { return run.record->options.train.seed; });
    results.variants.push_back(std::move(variant));
  }
  results.scale = ScaleOf(results);
  const Threshold threshold = ThresholdOf(results, options);
  results.threshold = threshold.value;
  results.threshold_source = threshold.source;
  for (VariantRuns& variant : results.variants) {
    for (ComparedRun& run : variant.runs) {
      // Over the whole run: if runs end as soon as they reach the threshold, the first to do so
      // would end the comparison for all.
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
    if (std::string fault = candidate.record->EvaluationFault(); !fault.empty()) return fault;
    return std::string(candidate.record->evaluations.empty() ? "has no evaluation yet" : "");
  });
  LeaveOutRepeated(candidates, comparison);
  if (candidates.empty()) return;
  const std::int64_t last = ComparedStep(candidates);
  LeaveOut(candidates, comparison, [last](const Candidate& candidate) {
    const Curve& evaluations = candidate.record->evaluations;
    if (CountsUpTo(*candidate.record) < last) {
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
      throw BadInput(fmt::format("a threshold for '{}', which no run has{}", Shorten(env),
                                 DidYouMean(env, names)));
    }
  }
}

// Keeps only the variants that some run still has, and renumbers them.
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

// ---- Names ----

// Invalid UTF-8 becomes '?'.
std::string WithoutControls(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0) {
      kept += '?';
    } else if (!IsControl(text)) {
      kept += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return kept;
}

std::string LabelOf(const std::string& preset, const std::map<std::string, std::string>& values) {
  std::string label = Shorten(preset, std::string::npos);
  for (const auto& [key, value] : values) {
    label += fmt::format(", {} = {}", KeySymbol(key), Unquoted(value));
  }
  return label;
}

// "'dqn', 'raa'"
std::string Quoted(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", Shorten(name));
  }
  return text;
}

// What suites call the variants, by their labels: only where an environment has no two variants of
// that name.
std::map<std::string, std::string> SuiteNames(std::span<const RunRecord> records,
                                              const VaryingKeys& keys) {
  std::map<std::string, std::set<std::string>> names;                           // by label
  std::map<std::pair<std::string, std::string>, std::set<std::string>> labels;  // by env and name
  for (const RunRecord& record : records) {
    const std::string label = keys.VariantOf(record).Label();
    const std::string name(Trim(WithoutControls(record.label)));
    names[label].insert(name.empty() ? label : name);
    labels[{record.options.train.env, name.empty() ? label : name}].insert(label);
  }
  std::set<std::string> ambiguous;
  for (const auto& [place, called] : labels) {
    if (called.size() > 1) ambiguous.insert(place.second);
  }
  std::map<std::string, std::string> unique;
  for (const auto& [label, called] : names) {
    const std::string& name = *called.begin();
    if (called.size() == 1 && name != label && !ambiguous.contains(name)) unique[label] = name;
  }
  return unique;
}

// With the labels used across all environments and those used in each one.
VariantNames NamesOf(std::span<const RunRecord> records, const VaryingKeys& keys,
                     const ComparisonOptions& options) {
  std::set<std::string> labels = options.searched, presets;
  for (const RunRecord& record : records) {
    labels.insert(keys.VariantOf(record).Label());
    labels.insert(keys.VariantHere(record).Label());
    presets.insert(Variant{.preset = record.options.train.preset}.Label());
  }
  return {options.labels, labels, presets, SuiteNames(records, keys)};
}

// ---- Colours and order ----

// What a name stands for.
using VariantsByName = std::map<std::string, std::vector<Variant>>;

VariantsByName NamedVariants(std::span<const RunRecord> records, const VaryingKeys& keys,
                             const VariantNames& names, const std::set<std::string>& searched) {
  VariantsByName named;
  // Figures of searches have these; none is compared.
  for (const std::string& name : searched) {
    named.try_emplace(name);
    named.try_emplace(names.OfSuite(name));
  }
  for (const RunRecord& record : records) {
    const Variant variant = keys.VariantOf(record), here = keys.VariantHere(record);
    const Variant preset{.preset = variant.preset};
    for (const Variant& called : {variant, here, preset}) {
      for (const std::string& name : {called.Label(), names.Of(called)}) {
        std::vector<Variant>& variants = named[name];
        if (std::ranges::find(variants, variant) == variants.end()) variants.push_back(variant);
      }
    }
  }
  return named;
}

[[noreturn]] void RefuseName(std::string_view of_what, const std::string& name,
                             const std::set<std::string>& known) {
  throw BadInput(fmt::format("{} '{}', expected one of {}{}", of_what, Shorten(name), Quoted(known),
                             DidYouMean(name, {known.begin(), known.end()})));
}

std::set<std::string> NamesIn(const VariantsByName& named) {
  std::set<std::string> names;
  for (const auto& [name, variants] : named) names.insert(name);
  return names;
}

bool IsColour(std::string_view text) {
  return text.size() == 7 && text[0] == '#' &&
         text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string_view::npos;
}

std::map<std::string, std::string> GivenColours(const VariantsByName& named,
                                                const ComparisonOptions& options) {
  std::map<std::string, std::string> given;
  for (const std::string& rule : options.colours) {
    const std::size_t at = std::min(rule.rfind('='), rule.size());
    const std::string name(Trim(rule.substr(0, at)));
    const std::string colour(at < rule.size() ? Trim(rule.substr(at + 1)) : "");
    if (!named.contains(name)) RefuseName("a colour for", name, NamesIn(named));
    if (!IsColour(colour)) {
      throw BadInput(fmt::format("the colour of '{}': expected #rrggbb, found '{}'", Shorten(name),
                                 Shorten(colour)));
    }
    if (!given.emplace(name, colour).second) {
      throw BadInput(fmt::format("two colours for '{}'", Shorten(name)));
    }
  }
  return given;
}

// By variant; empty where none is given.
std::vector<std::string> ColoursOf(const std::vector<Variant>& variants,
                                   const VariantsByName& named,
                                   const std::map<std::string, std::string>& given) {
  std::vector<std::string> colours(variants.size());
  std::vector<std::size_t> told_of(variants.size(), std::numeric_limits<std::size_t>::max());
  for (const auto& [name, colour] : given) {
    const std::vector<Variant>& called = named.at(name);
    for (const Variant& variant : called) {
      const auto place =
          static_cast<std::size_t>(std::ranges::find(variants, variant) - variants.begin());
      if (place == variants.size() || called.size() > told_of[place]) continue;
      colours[place] = colour;
      told_of[place] = called.size();  // the name of fewer variants says more
    }
  }
  return colours;
}

// The names in "A,B,C". Names may contain commas too: the longest known one wins.
std::vector<std::string> NamesInList(std::string_view list, const std::set<std::string>& known) {
  std::vector<std::string> names;
  for (bool has_more = true; has_more;) {
    list = Trim(list);
    std::string_view found, rest;
    for (const std::string& name : known) {
      if (!list.starts_with(name) || name.size() <= found.size()) continue;
      const std::string_view after = Trim(list.substr(name.size()));
      if (!after.empty() && after.front() != ',') continue;
      found = name;
      rest = after;
    }
    if (found.empty()) {
      RefuseName("an order of", std::string(Trim(list.substr(0, list.find(',')))), known);
    }
    names.emplace_back(found);
    has_more = !rest.empty();
    list = rest.substr(has_more ? 1 : 0);
  }
  return names;
}

// The names that come first, in their order.
std::vector<std::string> OrderedNames(const ComparisonOptions& options,
                                      const std::set<std::string>& known) {
  std::vector<std::string> ordered;
  for (const std::string& list : options.order) {
    for (std::string& name : NamesInList(list, known)) {
      if (std::ranges::find(ordered, name) != ordered.end()) {
        throw BadInput(fmt::format("an order that has '{}' twice", Shorten(name)));
      }
      ordered.push_back(std::move(name));
    }
  }
  return ordered;
}

// Moves these to the front; the others keep their order behind them.
template <typename Item>
void MoveToFront(const std::vector<Item>& first, std::vector<Item>& items) {
  std::ranges::stable_sort(items, {}, [&first](const Item& item) {
    return std::ranges::find(first, item) - first.begin();
  });
}

void RequireDifferentNames(const EnvironmentResults& results) {
  std::set<std::string> names;
  for (const VariantRuns& variant : results.variants) {
    if (!names.insert(variant.label).second) {
      throw BadInput(fmt::format("two variants in {} would be called '{}'", Shorten(results.env),
                                 Shorten(variant.label)));
    }
  }
}

}  // namespace

std::string KeySymbol(const std::string& key) {
  static const std::map<std::string, std::string> kSymbols = {
      {"agent.eta", "η"}, {"agent.omega", "ω"}, {"agent.targets", "m"}, {"agent.damping", "β"}};
  const auto symbol = kSymbols.find(key);
  return symbol != kSymbols.end() ? symbol->second : key.substr(key.rfind('.') + 1);
}

std::string Variant::Label() const { return LabelOf(preset, values); }

VariantNames::VariantNames(const std::vector<std::string>& rules,
                           const std::set<std::string>& labels,
                           const std::set<std::string>& presets,
                           const std::map<std::string, std::string>& of_suites)
    : of_suites_(of_suites) {
  std::set<std::string> known = labels;
  known.insert(presets.begin(), presets.end());
  for (const auto& [label, name] : of_suites) known.insert(name);
  for (const std::string& rule : rules) {
    // Labels and texts may contain '=' too: the longest existing label wins.
    std::size_t at = rule.rfind('=');
    while (at != std::string::npos && !known.contains(std::string(Trim(rule.substr(0, at))))) {
      at = at == 0 ? std::string::npos : rule.rfind('=', at - 1);
    }
    if (at == std::string::npos) {
      const std::string wanted = rule.substr(0, rule.find('='));
      throw BadInput(fmt::format("a label for '{}', expected one of {}{}", Shorten(wanted),
                                 Quoted(known), DidYouMean(wanted, {known.begin(), known.end()})));
    }
    const std::string variant(Trim(rule.substr(0, at)));
    const std::string text(Trim(WithoutControls(rule.substr(at + 1))));
    if (text.empty()) {
      throw BadInput(fmt::format("the label of '{}' is empty", Shorten(variant)));
    }
    if (!given_.emplace(variant, text).second) {
      throw BadInput(fmt::format("two labels for '{}'", Shorten(variant)));
    }
  }
}

std::string VariantNames::Of(const Variant& variant) const {
  const auto given = given_.find(variant.Label());
  if (given != given_.end()) return given->second;
  if (const auto of_suite = of_suites_.find(variant.Label()); of_suite != of_suites_.end()) {
    return OfSuite(of_suite->second);
  }
  return OfPreset(variant.preset) + LabelOf("", variant.values);
}

std::string VariantNames::OfSuite(const std::string& name) const {
  const auto given = given_.find(name);
  if (given != given_.end()) return given->second;
  const std::size_t draw = std::min(name.rfind(", draw "), name.size());
  const auto of_search = given_.find(name.substr(0, draw));
  return of_search == given_.end() ? name : of_search->second + name.substr(draw);
}

std::string VariantNames::OfPreset(const std::string& preset) const {
  const std::string label = LabelOf(preset, {});
  const auto given = given_.find(label);
  return given == given_.end() ? label : given->second;
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

std::size_t VariantRuns::CarriedAt(std::int64_t step) const {
  return static_cast<std::size_t>(std::ranges::count_if(runs, [step](const ComparedRun& run) {
    return run.carried_from && *run.carried_from < step;
  }));
}

double Scale::operator()(double score) const {
  return high > low ? (score - low) / (high - low) : 0;
}

const VariantRuns* EnvironmentResults::Find(std::size_t variant) const {
  const auto found = std::ranges::find(variants, variant, &VariantRuns::variant);
  return found == variants.end() ? nullptr : &*found;
}

Comparison Compare(std::span<const RunRecord> records, const ComparisonOptions& options) {
  const VaryingKeys keys(records);
  Comparison comparison;
  comparison.names = NamesOf(records, keys, options);
  for (const RunRecord& record : records) {
    const Variant variant = keys.VariantOf(record);
    if (std::ranges::find(comparison.variants, variant) == comparison.variants.end()) {
      comparison.variants.push_back(variant);
    }
  }
  std::ranges::sort(comparison.variants, ComesBefore);
  const VariantsByName named = NamedVariants(records, keys, comparison.names, options.searched);
  std::set<std::string> known = NamesIn(named);
  for (const RunRecord& record : records) known.insert(record.options.train.env);
  std::vector<Variant> first_variants;
  std::vector<std::string> envs, first_envs;
  comparison.given_order = OrderedNames(options, known);
  for (const std::string& name : comparison.given_order) {
    const auto variants = named.find(name);
    if (variants == named.end()) {
      first_envs.push_back(name);
      continue;
    }
    for (const Variant& variant : comparison.variants) {
      if (std::ranges::find(variants->second, variant) != variants->second.end()) {
        first_variants.push_back(variant);
      }
    }
  }
  MoveToFront(first_variants, comparison.variants);

  std::map<std::string, std::vector<Candidate>> by_env;
  for (const RunRecord& record : records) {
    const Variant variant = keys.VariantOf(record), here = keys.VariantHere(record);
    const auto place = std::ranges::find(comparison.variants, variant);
    // A name given to one of several variants still applies where it has no sibling.
    const bool is_named = comparison.names.HasLabel(variant.Label());
    by_env[record.options.train.env].push_back(
        {.record = &record,
         .variant = static_cast<std::size_t>(place - comparison.variants.begin()),
         .here = here,
         .label = comparison.names.Of(is_named ? variant : here)});
  }
  CheckThresholds(options, by_env);
  for (const auto& [env, candidates] : by_env) envs.push_back(env);
  MoveToFront(first_envs, envs);
  for (const std::string& env : envs) {
    AddEnvironment(env, by_env.at(env), options, comparison);
  }
  DropUnusedVariants(comparison);
  comparison.given_colours = GivenColours(named, options);
  comparison.colours = ColoursOf(comparison.variants, named, comparison.given_colours);
  for (const Variant& variant : comparison.variants) {
    comparison.labels.push_back(comparison.names.Of(variant));
  }
  if (!options.labels.empty()) {
    for (const EnvironmentResults& results : comparison.environments) {
      RequireDifferentNames(results);
    }
  }
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

std::int64_t StepAfter(const std::vector<std::int64_t>& steps, double share) {
  const double step = std::round(share * static_cast<double>(steps.back()));
  return std::clamp(static_cast<std::int64_t>(step), steps.front(), steps.back());
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

std::vector<double> SharedShares(const Comparison& comparison) {
  std::vector<double> fewest;
  double first = 0;
  for (const std::size_t e : comparison.shared) {
    std::vector<double> shares;
    const std::vector<std::int64_t>& steps = comparison.environments[e].steps;
    for (const std::int64_t step : steps) {
      shares.push_back(static_cast<double>(step) / static_cast<double>(steps.back()));
    }
    first = std::max(first, shares.front());
    if (fewest.empty() || shares.size() < fewest.size()) fewest = shares;
  }
  std::erase_if(fewest, [first](double share) { return share < first; });
  return fewest;
}

TaskScores SharedReturns(const Comparison& comparison, std::size_t variant, double share) {
  TaskScores scores;
  for (const std::size_t e : comparison.shared) {
    const EnvironmentResults& results = comparison.environments[e];
    const std::int64_t step = StepAfter(results.steps, share);
    std::vector<double>& task = scores.emplace_back();
    for (const ComparedRun& run : results.Find(variant)->runs) {
      task.push_back(results.scale(LastValue(run.record->evaluations, step)));
    }
  }
  return scores;
}

std::size_t SharedCarried(const Comparison& comparison, std::size_t variant, double share) {
  std::size_t carried = 0;
  for (const std::size_t e : comparison.shared) {
    const EnvironmentResults& results = comparison.environments[e];
    carried += results.Find(variant)->CarriedAt(StepAfter(results.steps, share));
  }
  return carried;
}

}  // namespace stableaa
