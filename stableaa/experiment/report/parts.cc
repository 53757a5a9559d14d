#include "stableaa/experiment/report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace stableaa {

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

std::string SharedText(const Report& report) {
  const std::size_t count = report.comparison.shared.size();
  return count == report.comparison.environments.size()
             ? fmt::format("All {} environments", count)
             : fmt::format("The {} environments that have all variants", count);
}

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

bool SharedHaveIntervals(const Report& report) {
  return std::ranges::all_of(report.comparison.shared, [&report](std::size_t e) {
    return std::ranges::all_of(report.comparison.environments[e].variants,
                               [](const VariantRuns& variant) { return variant.runs.size() > 1; });
  });
}

std::string SharedIntervalText(const Report& report) {
  return SharedHaveIntervals(report) ? "with 95 % stratified bootstrap intervals"
                                     : "without intervals, for which there are too few runs";
}

std::string RunsText(const EnvironmentResults& results) { return RunsText({&results, 1}); }

std::string RunsText(std::span<const EnvironmentResults> environments) {
  std::set<std::size_t> counts;
  for (const EnvironmentResults& results : environments) {
    for (const VariantRuns& variant : results.variants) counts.insert(variant.runs.size());
  }
  return counts.size() == 1 ? fmt::format("{} each", Plural(*counts.begin(), "run"))
                            : fmt::format("{} to {} runs each", *counts.begin(), *counts.rbegin());
}

namespace {

struct CarriedCount {
  std::size_t carried = 0, runs = 0;

  void Add(const EnvironmentResults& results) {
    for (const VariantRuns& variant : results.variants) {
      carried += variant.CarriedAt(results.steps.back());
      runs += variant.runs.size();
    }
  }
  std::string Text() const {
    if (carried == 0) return "";
    return fmt::format(
        " {} of {} had reached the suite's stop.eval_return and ended before: carried forward, "
        "with the last evaluation standing for all later steps.",
        carried, Plural(runs, "run"));
  }
};

}  // namespace

std::string CarriedText(const EnvironmentResults& results) {
  CarriedCount count;
  count.Add(results);
  return count.Text();
}

std::string SharedCarriedText(const Report& report) {
  CarriedCount count;
  for (const std::size_t e : report.comparison.shared) {
    count.Add(report.comparison.environments[e]);
  }
  return count.Text();
}

std::string AllCarriedText(const Report& report) {
  CarriedCount count;
  for (const EnvironmentResults& results : report.comparison.environments) count.Add(results);
  const std::string text = count.Text();
  return text.empty() ? text : text.substr(1);
}

bool HaveIntervals(const EnvironmentResults& results) {
  return std::ranges::any_of(results.variants,
                             [](const VariantRuns& variant) { return variant.runs.size() > 1; });
}

}  // namespace stableaa
