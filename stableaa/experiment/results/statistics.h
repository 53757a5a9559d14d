// What a handful of runs can tell about a method, after Agarwal et al. (2021), "Deep Reinforcement
// Learning at the Edge of the Statistical Precipice", whose library is rliable: interquartile means
// instead of means of few runs, intervals by a bootstrap that keeps environments apart, the
// probability that one method beats another, and performance profiles.
//
// Scores are given by task (environment): scores[task][run]. Tasks may have different numbers of
// runs, each at least one; rliable supports only equal numbers, for which all results agree with
// it. BadInput if there are no tasks or a task has no runs.
//
// A score may be infinite, such as the steps to a threshold that was never reached: means over it
// are then infinite, and so are the ends of intervals that fall among such means. A nan score makes
// every estimate and interval that includes it nan, so that a broken run cannot go unnoticed; only
// in a profile does it merely count as not above any threshold.
#ifndef STABLEAA_EXPERIMENT_RESULTS_STATISTICS_H_
#define STABLEAA_EXPERIMENT_RESULTS_STATISTICS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace stableaa {

using TaskScores = std::vector<std::vector<double>>;

// The mean of n sorted values without the first and the last floor(n / 4); for up to three values,
// their mean. The same as scipy.stats.trim_mean(values, 0.25). Needs at least one value.
double InterquartileMean(std::span<const double> values);

// Over the pooled runs of all tasks.
double InterquartileMean(const TaskScores& scores);
// The mean of the tasks' means: every task has the same weight, however many runs it has.
double Mean(const TaskScores& scores);

struct Interval {
  double low = 0;
  double high = 0;
};

struct BootstrapOptions {
  // How often the interval should contain the true value, in (0, 1). With few runs it does so less
  // often: ten runs of each of five tasks give 93 % instead of 95 %.
  double confidence = 0.95;
  // At least 1. Across seeds, the ends of the interval vary by 1.5 % of its width (one standard
  // deviation) with 2000, and by 0.3 % with rliable's 50000; the time grows in proportion.
  int resamples = 2000;
  std::uint64_t seed = 1;  // equal seeds give equal intervals

  void Validate() const;
};

// The percentile interval of `statistic` over resamples that draw, for each task, as many of its
// runs with replacement as it has: the quantiles (1 - confidence) / 2 and (1 + confidence) / 2,
// linearly interpolated between order statistics (numpy.percentile's default). A task with one run
// adds nothing to the width, so the interval is too narrow unless every task has several. With one
// run each it has no width and no meaning, and callers do not show it.
Interval StratifiedBootstrap(const TaskScores& scores,
                             const std::function<double(const TaskScores&)>& statistic,
                             const BootstrapOptions& options = {});

// P(X > Y) + P(X = Y) / 2 for a run of X and one of Y on the same task, averaged over the tasks:
// Mann-Whitney's U / (n m). BadInput if X and Y have different numbers of tasks.
double ProbabilityOfImprovement(const TaskScores& x, const TaskScores& y);
// Its interval; runs of X and Y are resampled independently.
Interval ProbabilityOfImprovementInterval(const TaskScores& x, const TaskScores& y,
                                          const BootstrapOptions& options = {});

// For each threshold, the share of runs with a larger score, averaged over the tasks.
std::vector<double> PerformanceProfile(const TaskScores& scores,
                                       std::span<const double> thresholds);
// One pointwise interval per threshold (not a band for the whole curve), from the same resamples.
std::vector<Interval> PerformanceProfileIntervals(const TaskScores& scores,
                                                  std::span<const double> thresholds,
                                                  const BootstrapOptions& options = {});

// ---- One learning curve: evaluations at increasing steps ----

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;

// The area under the line segments between the points, divided by the steps from the first to the
// last: the mean height. For a single point, its value. Needs at least one point.
double MeanHeight(std::span<const CurvePoint> curve);

// The first step whose value is at least `threshold`; infinity if there is none.
double StepsToThreshold(std::span<const CurvePoint> curve, double threshold);

// The value at `step`, linearly interpolated between the points around it; nan outside the curve.
double ValueAt(std::span<const CurvePoint> curve, std::int64_t step);

// The value of the last point at or before `step`, so that nothing later is used; nan before the
// first point.
double LastValue(std::span<const CurvePoint> curve, std::int64_t step);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_STATISTICS_H_
