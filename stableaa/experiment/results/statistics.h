// What a handful of runs says about a method, after Agarwal et al. (2021), "Deep Reinforcement
// Learning at the Edge of the Statistical Precipice", whose library is rliable: interquartile means
// instead of means of few runs, intervals by a bootstrap that keeps environments apart, the
// probability that one method beats another, and performance profiles.
//
// Scores are given by task (environment): scores[task][run]. Tasks may have different numbers of
// runs, each at least one; rliable knows only equal numbers, for which all that follows is the same
// as there. BadInput for no task or one without runs.
//
// A score may be infinite, as the steps to a threshold that was never reached: means over it are
// then infinite, and so is an end of an interval that lies among such means. A score that is nan
// makes every estimate and interval nan that it takes part in, so that a broken run cannot pass
// unseen; only in a profile it just is not larger than any threshold.
#ifndef STABLEAA_EXPERIMENT_RESULTS_STATISTICS_H_
#define STABLEAA_EXPERIMENT_RESULTS_STATISTICS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace stableaa {

using TaskScores = std::vector<std::vector<double>>;

// The mean of what is left of n sorted values without the first and the last floor(n / 4); of one
// to three values their mean. As scipy.stats.trim_mean(values, 0.25). Needs at least one value.
double InterquartileMean(std::span<const double> values);

// Over the runs of all tasks together.
double InterquartileMean(const TaskScores& scores);
// The mean of the tasks' means: every task counts the same, however many runs it has.
double Mean(const TaskScores& scores);

struct Interval {
  double low = 0;
  double high = 0;
};

struct BootstrapOptions {
  // How often the interval should hold the true value, in (0, 1). With few runs it holds it less
  // often: ten runs of each of five tasks give 93 % instead of 95 %.
  double confidence = 0.95;
  // At least 1. From seed to seed the ends of the interval wander by 1.5 % of its width (one
  // standard deviation) with 2000, by 0.3 % with rliable's 50000; the time grows in proportion.
  int resamples = 2000;
  std::uint64_t seed = 1;  // equal seeds give equal intervals

  void Validate() const;
};

// The percentile interval of `statistic` over resamples that draw, for each task, as many of its
// runs with replacement as it has: the quantiles (1 - confidence) / 2 and (1 + confidence) / 2, on
// the straight line between the order statistics around them (numpy.percentile's default). A task
// with one run adds nothing to the width, so the interval is too narrow unless every task has
// several; with one run each it has no width at all and says nothing: callers show none then.
Interval StratifiedBootstrap(const TaskScores& scores,
                             const std::function<double(const TaskScores&)>& statistic,
                             const BootstrapOptions& options = {});

// P(X > Y) + P(X = Y) / 2 for a run of X and one of Y on the same task, averaged over the tasks:
// Mann-Whitney's U / (n m). Both have the same tasks; BadInput for different numbers of them.
double ProbabilityOfImprovement(const TaskScores& x, const TaskScores& y);
// Its interval; runs of X and of Y are resampled apart.
Interval ProbabilityOfImprovementInterval(const TaskScores& x, const TaskScores& y,
                                          const BootstrapOptions& options = {});

// For each threshold the share of runs, averaged over the tasks, whose score is larger.
std::vector<double> PerformanceProfile(const TaskScores& scores,
                                       std::span<const double> thresholds);
// One per threshold, each for itself (no band that holds the whole curve), from the same resamples.
std::vector<Interval> PerformanceProfileIntervals(const TaskScores& scores,
                                                  std::span<const double> thresholds,
                                                  const BootstrapOptions& options = {});

// ---- Of one learning curve: evaluations at increasing steps ----

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;

// Area under the straight lines between the points, divided by the steps between the first and the
// last one: the mean height. Of one point its value. Needs at least one point.
double MeanHeight(std::span<const CurvePoint> curve);

// The first step whose value is at least `threshold`; infinity if there is none.
double StepsToThreshold(std::span<const CurvePoint> curve, double threshold);

// The value at `step` on the straight line between the points around it; nan outside of the curve.
double ValueAt(std::span<const CurvePoint> curve, std::int64_t step);

// The value of the last point at or before `step`, so that nothing later is known; nan before the
// first.
double LastValue(std::span<const CurvePoint> curve, std::int64_t step);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_STATISTICS_H_
