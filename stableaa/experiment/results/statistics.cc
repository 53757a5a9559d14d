#include "stableaa/experiment/results/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"

namespace stableaa {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool HasNan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

void CheckTasks(const TaskScores& scores) {
  if (scores.empty()) throw BadInput("statistics need the scores of at least one task, found none");
  for (std::size_t task = 0; task < scores.size(); ++task) {
    if (scores[task].empty()) {
      throw BadInput(
          fmt::format("statistics need at least one run of each task, task {} of {} has none",
                      task + 1, scores.size()));
    }
  }
}

void CheckSameTasks(const TaskScores& x, const TaskScores& y) {
  CheckTasks(x);
  CheckTasks(y);
  if (x.size() != y.size()) {
    throw BadInput(fmt::format(
        "two methods are compared on the same tasks, found {} and {} of them", x.size(), y.size()));
  }
}

// The line from a at t = 0 to b at t = 1, for t < 1. If an end is infinite the line is infinite,
// where the formula would give inf - inf; between two infinities the nearer one wins.
double OnLine(double a, double b, double t) {
  if (t == 0) return a;
  if (std::isinf(a) && std::isinf(b)) return t < 0.5 ? a : b;
  if (std::isinf(a)) return a;
  return a + (b - a) * t;
}

double SortedQuantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  return OnLine(sorted[below], sorted[below + 1], place - std::floor(place));
}

Interval PercentileInterval(std::vector<double> estimates, double confidence) {
  if (HasNan(estimates)) return {kNan, kNan};
  std::ranges::sort(estimates);
  return {SortedQuantile(estimates, (1 - confidence) / 2),
          SortedQuantile(estimates, (1 + confidence) / 2)};
}

// Draws resamples, reusing the same memory.
class Resampler {
 public:
  Resampler(const TaskScores& scores, const BootstrapOptions& options, std::string_view stream)
      : scores_(scores), resample_(scores), random_(options.seed, stream) {}

  const TaskScores& Next() {
    for (std::size_t task = 0; task < scores_.size(); ++task) {
      const std::vector<double>& runs = scores_[task];
      for (double& drawn : resample_[task]) drawn = runs[random_.Below(runs.size())];
    }
    return resample_;
  }

 private:
  const TaskScores& scores_;
  TaskScores resample_;
  RandomStream random_;
};

double TaskImprovement(std::span<const double> x, std::span<const double> y) {
  if (HasNan(x) || HasNan(y)) return kNan;
  std::size_t halves = 0;
  for (const double a : x) {
    for (const double b : y) halves += (a > b ? 1U : 0U) + (a >= b ? 1U : 0U);
  }
  return static_cast<double>(halves) / (2 * static_cast<double>(x.size() * y.size()));
}

double ShareAbove(const TaskScores& scores, double threshold) {
  double sum = 0;
  for (const std::vector<double>& runs : scores) {
    const auto above = std::ranges::count_if(runs, [=](double run) { return run > threshold; });
    sum += static_cast<double>(above) / static_cast<double>(runs.size());
  }
  return sum / static_cast<double>(scores.size());
}

}  // namespace

double InterquartileMean(std::span<const double> values) {
  if (HasNan(values)) return kNan;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t cut = sorted.size() / 4;
  return MeanOf(std::span(sorted).subspan(cut, sorted.size() - 2 * cut));
}

double InterquartileMean(const TaskScores& scores) {
  CheckTasks(scores);
  std::vector<double> all;
  for (const std::vector<double>& runs : scores) all.insert(all.end(), runs.begin(), runs.end());
  return InterquartileMean(all);
}

double Mean(const TaskScores& scores) {
  CheckTasks(scores);
  double sum = 0;
  for (const std::vector<double>& runs : scores) sum += MeanOf(runs);
  return sum / static_cast<double>(scores.size());
}

void BootstrapOptions::Validate() const {
  if (!(confidence > 0 && confidence < 1)) {
    throw BadInput(
        fmt::format("the confidence of an interval must be in (0, 1), found {}", confidence));
  }
  if (resamples < 1) {
    throw BadInput(fmt::format("a bootstrap needs at least one resample, found {}", resamples));
  }
}

Interval StratifiedBootstrap(const TaskScores& scores,
                             const std::function<double(const TaskScores&)>& statistic,
                             const BootstrapOptions& options) {
  options.Validate();
  CheckTasks(scores);
  Resampler resampler(scores, options, "bootstrap");
  std::vector<double> estimates(static_cast<std::size_t>(options.resamples));
  for (double& estimate : estimates) estimate = statistic(resampler.Next());
  return PercentileInterval(std::move(estimates), options.confidence);
}

double ProbabilityOfImprovement(const TaskScores& x, const TaskScores& y) {
  CheckSameTasks(x, y);
  double sum = 0;
  for (std::size_t task = 0; task < x.size(); ++task) sum += TaskImprovement(x[task], y[task]);
  return sum / static_cast<double>(x.size());
}

Interval ProbabilityOfImprovementInterval(const TaskScores& x, const TaskScores& y,
                                          const BootstrapOptions& options) {
  options.Validate();
  CheckSameTasks(x, y);
  Resampler of_x(x, options, "bootstrap/x"), of_y(y, options, "bootstrap/y");
  std::vector<double> estimates(static_cast<std::size_t>(options.resamples));
  for (double& estimate : estimates) estimate = ProbabilityOfImprovement(of_x.Next(), of_y.Next());
  return PercentileInterval(std::move(estimates), options.confidence);
}

std::vector<double> PerformanceProfile(const TaskScores& scores,
                                       std::span<const double> thresholds) {
  CheckTasks(scores);
  std::vector<double> profile;
  for (const double threshold : thresholds) profile.push_back(ShareAbove(scores, threshold));
  return profile;
}

std::vector<Interval> PerformanceProfileIntervals(const TaskScores& scores,
                                                  std::span<const double> thresholds,
                                                  const BootstrapOptions& options) {
  options.Validate();
  CheckTasks(scores);
  Resampler resampler(scores, options, "bootstrap");
  std::vector<std::vector<double>> estimates(thresholds.size());
  for (int i = 0; i < options.resamples; ++i) {
    const std::vector<double> profile = PerformanceProfile(resampler.Next(), thresholds);
    for (std::size_t k = 0; k < profile.size(); ++k) estimates[k].push_back(profile[k]);
  }
  std::vector<Interval> intervals;
  for (std::vector<double>& of_threshold : estimates) {
    intervals.push_back(PercentileInterval(std::move(of_threshold), options.confidence));
  }
  return intervals;
}

double MeanHeight(std::span<const CurvePoint> curve) {
  if (curve.size() == 1) return curve.front().value;
  double area = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const auto width = static_cast<double>(curve[i].step - curve[i - 1].step);
    area += width * (curve[i].value + curve[i - 1].value) / 2;
  }
  return area / static_cast<double>(curve.back().step - curve.front().step);
}

double StepsToThreshold(std::span<const CurvePoint> curve, double threshold) {
  const auto reached = std::ranges::find_if(
      curve, [=](const CurvePoint& point) { return point.value >= threshold; });
  return reached == curve.end() ? kInfinity : static_cast<double>(reached->step);
}

double ValueAt(std::span<const CurvePoint> curve, std::int64_t step) {
  const auto after = std::ranges::upper_bound(curve, step, {}, &CurvePoint::step);
  if (after == curve.begin()) return kNan;
  const CurvePoint& before = *std::prev(after);
  if (before.step == step) return before.value;
  if (after == curve.end()) return kNan;
  return OnLine(
      before.value, after->value,
      static_cast<double>(step - before.step) / static_cast<double>(after->step - before.step));
}

double LastValue(std::span<const CurvePoint> curve, std::int64_t step) {
  const auto after = std::ranges::upper_bound(curve, step, {}, &CurvePoint::step);
  return after == curve.begin() ? kNan : std::prev(after)->value;
}

}  // namespace stableaa
