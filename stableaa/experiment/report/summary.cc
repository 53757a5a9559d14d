// What a reader should know first: which variant leads where, and whether the runs can tell.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

constexpr std::size_t kFewRuns = 5;      // below this, intervals say little
constexpr std::size_t kFewVariants = 5;  // up to this many, all pairs are compared

// "IQM 8.1 [7.2, 8.9]"
struct Ranked {
  std::string label;
  Estimate estimate;
};

// Keeps sentences readable when many variants are compared.
std::string FirstOf(std::vector<std::string> variants) {
  constexpr std::size_t kMost = 4;
  if (variants.size() > kMost + 1) {
    const std::size_t more = variants.size() - kMost;
    variants.resize(kMost);
    variants.push_back(fmt::format("{} more", more));
  }
  return Joined(variants);
}

// Variants that lost runs to divergence; their scores come from the remaining runs.
std::string DivergedRuns(const Comparison& comparison) {
  std::map<std::string, int> counts;
  for (const LeftOutRun& run : comparison.left_out) {
    if (run.record->diverged) {
      ++counts[fmt::format("{} in {}", run.variant, run.record->options.train.env)];
    }
  }
  std::vector<std::string> words;
  for (const auto& [where, count] : counts) {
    words.push_back(fmt::format("{} of {}", Plural(static_cast<std::size_t>(count), "run"), where));
  }
  return Joined(words);
}

// "classic/cartpole has 2 of 9": such environments are compared separately.
std::string LackingVariants(const Comparison& comparison) {
  std::vector<std::string> words;
  for (const EnvironmentResults& results : comparison.environments) {
    if (results.variants.size() == comparison.variants.size()) continue;
    words.push_back(fmt::format("{} has {} of {}", results.env, results.variants.size(),
                                comparison.variants.size()));
  }
  return FirstOf(words);
}

// "; that of raa lies above that of dqn": among those behind the leader.
std::string ApartBehind(const std::vector<Ranked>& ranked) {
  std::string text;
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    std::vector<std::string> below;
    for (std::size_t j = i + 1; j < ranked.size(); ++j) {
      const std::optional<Interval>&high = ranked[i].estimate.interval,
            &low = ranked[j].estimate.interval;
      if (high && low && low->high < high->low) below.push_back(ranked[j].label);
    }
    if (!below.empty()) {
      text += fmt::format("; that of {} lies above that of {}", ranked[i].label, Joined(below));
    }
  }
  return text;
}

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
  if (!apart.empty()) text += fmt::format("; its interval lies above that of {}", FirstOf(apart));
  if (!overlapping.empty()) {
    text += fmt::format("; {} overlaps that of {}", apart.empty() ? "its interval" : "it",
                        FirstOf(overlapping));
  }
  if (!unknown.empty()) {
    text += fmt::format("; behind it {}, too few runs for intervals", FirstOf(unknown));
  }
  if (ranked.size() <= kFewVariants) text += ApartBehind(ranked);
  return text + ".";
}

}  // namespace

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
  if (const std::string lacking = LackingVariants(comparison); !lacking.empty()) {
    summary.push_back(fmt::format("Not every variant is in every environment: {}.", lacking));
  }
  if (const std::string diverged = DivergedRuns(comparison); !diverged.empty()) {
    summary.push_back(fmt::format("Diverged: {}. Scores are those of the other runs.", diverged));
  }
  if (std::string carried = AllCarriedText(report); !carried.empty()) {
    summary.push_back(std::move(carried));
  }
  if (comparison.variants.size() < 2) return;
  if (report.HasShared()) {
    std::vector<Ranked> ranked;
    for (std::size_t v = 0; v < report.labels.size(); ++v) {
      ranked.push_back({report.labels[v], EstimateOf(SharedScores(comparison, v, kFinal.field))});
    }
    summary.push_back(
        Verdict(fmt::format("{}, normalised", SharedText(report)), std::move(ranked)));
  }
  for (const EnvironmentResults& results : comparison.environments) {
    if (results.variants.size() < 2) continue;
    std::vector<Ranked> ranked;
    for (const VariantRuns& runs : results.variants) {
      ranked.push_back({runs.label, EstimateOf({runs.Values(kFinal.field)})});
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

}  // namespace stableaa
