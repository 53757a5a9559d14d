#include "stableaa/experiment/results/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/testing/message.h"

namespace stableaa::statistics_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Statistic = double (*)(const TaskScores&);
constexpr Statistic kIqm = &InterquartileMean;

// Task t has runs[t] runs, normally distributed around 10 t.
TaskScores NormalScores(std::uint64_t seed, const std::vector<int>& runs) {
  RandomStream random(seed, "test/scores");
  TaskScores scores;
  for (std::size_t task = 0; task < runs.size(); ++task) {
    scores.emplace_back();
    for (int run = 0; run < runs[task]; ++run) {
      scores.back().push_back(10 * static_cast<double>(task) + random.Normal());
    }
  }
  return scores;
}

TaskScores Transformed(TaskScores scores, const std::function<double(double)>& map) {
  for (auto& runs : scores) std::ranges::transform(runs, runs.begin(), map);
  return scores;
}

// ---- Interquartile mean and mean

TEST(InterquartileMean, OfFewValuesIsKnown) {
  EXPECT_EQ(InterquartileMean(std::vector<double>{7}), 7);
  EXPECT_EQ(InterquartileMean(std::vector<double>{1, 100}), 50.5);
  EXPECT_EQ(InterquartileMean(std::vector<double>{1, 2, 9}), 4);
  EXPECT_EQ(InterquartileMean(std::vector<double>{100, 2, 1, 3}), 2.5);         // of 2 and 3
  EXPECT_EQ(InterquartileMean(std::vector<double>{9, 1, 2, 3, 100}), 14. / 3);  // of 2, 3 and 9
  EXPECT_EQ(InterquartileMean(std::vector<double>{8, 7, 6, 5, 4, 3, 2, 100}), 5.5);
}

TEST(InterquartileMean, LeavesOutAQuarterAtEachEndHoweverFarItIs) {
  const std::vector<double> tame = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<double> wild = tame;
  wild[0] = -1e300, wild[1] = -kInfinity, wild[6] = 1e300, wild[7] = kInfinity;
  EXPECT_EQ(InterquartileMean(wild), InterquartileMean(tame));
}

TEST(InterquartileMean, MovesAndScalesWithTheScores) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TaskScores scores = NormalScores(seed, {3, 7, 10, static_cast<int>(seed)});
    const double iqm = InterquartileMean(scores);
    const auto moved = Transformed(scores, [](double s) { return s + 1000; });
    EXPECT_NEAR(InterquartileMean(moved), iqm + 1000, 1e-10);
    const auto scaled = Transformed(scores, [](double s) { return 4 * s; });
    EXPECT_EQ(InterquartileMean(scaled), 4 * iqm);
    const auto mirrored = Transformed(scores, [](double s) { return -s; });
    EXPECT_NEAR(InterquartileMean(mirrored), -iqm, 1e-12);
  }
}

TEST(InterquartileMean, LiesBetweenTheLowerAndTheUpperQuartile) {
  const TaskScores scores = NormalScores(3, {25, 40, 11});
  std::vector<double> all;
  for (const auto& runs : scores) all.insert(all.end(), runs.begin(), runs.end());
  std::ranges::sort(all);
  EXPECT_GT(InterquartileMean(scores), all[all.size() / 4]);
  EXPECT_LT(InterquartileMean(scores), all[all.size() - 1 - all.size() / 4]);
}

TEST(InterquartileMean, PoolsTheRunsOfAllTasks) {
  EXPECT_EQ(InterquartileMean(TaskScores{{1, 2}, {100, 3}}), 2.5);
  EXPECT_EQ(InterquartileMean(TaskScores{{100}, {1, 2, 3}}), 2.5);
}

TEST(Estimates, DoNotDependOnTheOrderOfRuns) {
  TaskScores x = NormalScores(5, {10, 4, 1, 13}), y = NormalScores(6, {7, 4, 2, 13});
  const std::vector<double> thresholds = {-1, 0, 0.5, 10, 20, 31};
  const double iqm = InterquartileMean(x), mean = Mean(x), better = ProbabilityOfImprovement(x, y);
  const std::vector<double> profile = PerformanceProfile(x, thresholds);
  RandomStream random(1, "test");
  for (int trial = 0; trial < 10; ++trial) {
    for (auto& runs : x) random.Shuffle(std::span(runs));
    for (auto& runs : y) random.Shuffle(std::span(runs));
    EXPECT_EQ(InterquartileMean(x), iqm);
    EXPECT_NEAR(Mean(x), mean, 1e-13);
    EXPECT_EQ(ProbabilityOfImprovement(x, y), better);
    EXPECT_EQ(PerformanceProfile(x, thresholds), profile);
  }
}

TEST(Mean, CountsEveryTaskTheSame) {
  EXPECT_EQ(Mean({{1, 2, 3, 94}}), 25);
  EXPECT_EQ(Mean({{1, 2, 3}, {10}}), 6);  // the mean over all runs is 4
}

TEST(Estimates, OfInfiniteScoresAreInfinite) {
  // Steps to a threshold that two of four runs never reach.
  const TaskScores steps = {{100, 200, kInfinity, kInfinity}};
  EXPECT_EQ(Mean(steps), kInfinity);
  EXPECT_EQ(InterquartileMean(steps), kInfinity);
  EXPECT_EQ(InterquartileMean(TaskScores{{100, 200, 300, kInfinity}}), 250);
  EXPECT_EQ(ProbabilityOfImprovement(steps, {{50, 150, kInfinity}}), 8. / 12);
}

TEST(Estimates, OfNanAreNan) {
  const TaskScores broken = {{1, 2, 3, 4}, {1, kNan, 3, 4}}, sound = {{1, 2}, {3, 4}};
  EXPECT_TRUE(std::isnan(Mean(broken)));
  EXPECT_TRUE(std::isnan(InterquartileMean(broken)));
  EXPECT_TRUE(std::isnan(ProbabilityOfImprovement(broken, sound)));
  EXPECT_TRUE(std::isnan(ProbabilityOfImprovement(sound, broken)));
  EXPECT_TRUE(std::isnan(ProbabilityOfImprovementInterval(broken, sound).low));
  const Interval interval = StratifiedBootstrap(broken, kIqm);
  EXPECT_TRUE(std::isnan(interval.low));
  EXPECT_TRUE(std::isnan(interval.high));
}

TEST(InterquartileMean, OfNanIsNanEvenWhereItWouldBeLeftOut) {
  for (std::size_t place = 0; place < 8; ++place) {
    std::vector<double> values = {5, 3, 8, 1, 2, 7, 6, 4};
    values[place] = kNan;
    EXPECT_TRUE(std::isnan(InterquartileMean(values))) << place;
  }
}

// ---- Bootstrap

TEST(StratifiedBootstrap, ContainsTheEstimateAndIsReproducible) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const TaskScores scores = NormalScores(seed, {10, 10, 10, 10, 10});
    const double iqm = InterquartileMean(scores);
    const Interval interval = StratifiedBootstrap(scores, kIqm, {.seed = seed});
    EXPECT_LT(interval.low, iqm);
    EXPECT_GT(interval.high, iqm);
    const Interval again = StratifiedBootstrap(scores, kIqm, {.seed = seed});
    EXPECT_EQ(again.low, interval.low);
    EXPECT_EQ(again.high, interval.high);
    const Interval other = StratifiedBootstrap(scores, kIqm, {.seed = seed + 100});
    EXPECT_NE(other.low, interval.low);
    EXPECT_NEAR(other.low, interval.low, 0.15 * (interval.high - interval.low));
    EXPECT_NEAR(other.high, interval.high, 0.15 * (interval.high - interval.low));
  }
}

TEST(StratifiedBootstrap, IsWiderForMoreConfidenceAndNarrowerForMoreRuns) {
  const auto width = [](int runs, double confidence) {
    const TaskScores scores = NormalScores(2, {runs, runs});
    const Interval interval = StratifiedBootstrap(scores, Mean, {.confidence = confidence});
    return interval.high - interval.low;
  };
  EXPECT_LT(width(20, 0.5), width(20, 0.9));
  EXPECT_LT(width(20, 0.9), width(20, 0.99));
  // Sixteen times the runs give a quarter of the width, within the deviation of both samples (10
  // %).
  EXPECT_NEAR(width(40, 0.95) / width(640, 0.95), 4, 1);
}

TEST(StratifiedBootstrap, OfEqualScoresHasNoWidth) {
  for (const Statistic statistic : {kIqm, Statistic{&Mean}}) {
    const TaskScores scores = {{0.1, 0.1, 0.1}, {0.1, 0.1, 0.1, 0.1}};
    const Interval interval = StratifiedBootstrap(scores, statistic);
    EXPECT_EQ(interval.low, statistic(scores));
    EXPECT_EQ(interval.high, statistic(scores));
  }
}

// Runs stay in their task: with tasks that differ from each other but not within, nothing is left
// to chance.
TEST(StratifiedBootstrap, NeverMixesTasks) {
  const TaskScores scores = {{1, 1, 1}, {1000, 1000}, {-5}};
  const Interval interval = StratifiedBootstrap(
      scores, [&](const TaskScores& resample) { return resample == scores ? 1. : 0.; });
  EXPECT_EQ(interval.low, 1);
}

TEST(StratifiedBootstrap, DrawsEveryRunOfATaskEquallyOftenAndApartFromTheOthers) {
  const TaskScores scores = {{0, 1, 2}, {0, 1, 2, 3, 4}};
  std::vector<std::vector<int>> first(3, std::vector<int>(5));  // by first run drawn in a task
  std::vector<std::vector<int>> within(3, std::vector<int>(3));
  constexpr int kDraws = 30000;
  StratifiedBootstrap(
      scores,
      [&](const TaskScores& drawn) {
        EXPECT_EQ(drawn[0].size(), 3U);
        EXPECT_EQ(drawn[1].size(), 5U);
        ++first[static_cast<std::size_t>(drawn[0][0])][static_cast<std::size_t>(drawn[1][0])];
        ++within[static_cast<std::size_t>(drawn[0][1])][static_cast<std::size_t>(drawn[0][2])];
        return 0.;
      },
      {.resamples = kDraws});
  // 24 binomial counts within five and a half deviations: a false alarm for one seed in a million.
  const auto expect_even = [](const std::vector<std::vector<int>>& counts, double cells) {
    const double expected = kDraws / cells;
    for (const auto& row : counts) {
      for (const int count : row) EXPECT_NEAR(count, expected, 5.5 * std::sqrt(expected));
    }
  };
  expect_even(first, 15);
  expect_even(within, 9);
}

// The quantiles of 0, 1, ..., 4 and of two values, computed by hand.
TEST(StratifiedBootstrap, TakesQuantilesOnTheLineBetweenOrderStatistics) {
  double next = 5;
  const auto countdown = [&](const TaskScores&) { return --next; };
  const Interval half = StratifiedBootstrap({{0}}, countdown, {.confidence = 0.7, .resamples = 5});
  EXPECT_NEAR(half.low, 0.15 * 4, 1e-14);
  EXPECT_NEAR(half.high, 0.85 * 4, 1e-14);
  next = 3;
  const Interval two = StratifiedBootstrap({{0}}, countdown, {.confidence = 0.5, .resamples = 2});
  EXPECT_EQ(two.low, 1.25);
  EXPECT_EQ(two.high, 1.75);
  next = 8;
  const Interval one = StratifiedBootstrap({{0}}, countdown, {.resamples = 1});
  EXPECT_EQ(one.low, 7);
  EXPECT_EQ(one.high, 7);
}

TEST(StratifiedBootstrap, IsNanIfOneResampleIs) {
  for (int broken = 0; broken < 5; ++broken) {
    int next = 0;
    const Interval interval = StratifiedBootstrap(
        {{0}}, [&](const TaskScores&) { return next++ == broken ? kNan : next; },
        {.confidence = 0.5, .resamples = 5});
    EXPECT_TRUE(std::isnan(interval.low)) << broken;
    EXPECT_TRUE(std::isnan(interval.high)) << broken;
  }
}

TEST(StratifiedBootstrap, HasInfiniteEndsAmongInfiniteEstimatesAndNeverNan) {
  const auto quantiles = [](std::vector<double> estimates, double confidence) {
    std::size_t next = 0;
    return StratifiedBootstrap(
        {{0}}, [&](const TaskScores&) { return estimates[next++]; },
        {.confidence = confidence, .resamples = static_cast<int>(estimates.size())});
  };
  const double inf = kInfinity;
  const auto expect = [](const Interval& interval, double low, double high) {
    EXPECT_EQ(interval.low, low);
    EXPECT_EQ(interval.high, high);
  };
  expect(quantiles({inf, inf, inf}, 0.95), inf, inf);
  expect(quantiles({1, inf, 2, inf, 3}, 0.5), 2, inf);   // at places 1 and 3
  expect(quantiles({1, 2, 3, 4, inf}, 0.5), 2, 4);       // exactly at 4: not on the way to inf
  expect(quantiles({1, 2, 3, 4, inf}, 0.75), 1.5, inf);  // at places 0.5 and 3.5
  expect(quantiles({-inf, 2, 3, 4, 5}, 0.75), -inf, 4.5);
  expect(quantiles({-inf, inf}, 0.95), -inf, inf);
  const TaskScores steps = {{100, 200, 300, 400, 500, kInfinity, kInfinity, kInfinity}};
  const Interval interval = StratifiedBootstrap(steps, kIqm);
  EXPECT_GT(interval.low, 100);
  EXPECT_LT(interval.low, 500);
  EXPECT_EQ(interval.high, kInfinity);
}

// Five tasks around 0, 10, ..., 40 with ten runs each. Apart from the error of few resamples, the
// interval of the mean is mean ± 1.96 √0.9 standard errors with 45 degrees of freedom, which
// contains the true mean in 93.0 % of all cases; a NumPy simulation with 300 resamples gives 92.5
// %. The count is binomial, and its five deviations (a false alarm for one seed in a million) are
// smaller than the error of 85 % or 99 % intervals, or of resamples that mix tasks.
TEST(StratifiedBootstrap, HoldsTheTrueMeanAsOftenAsTheorySays) {
  constexpr int kTrials = 2000;
  constexpr double kCoverage = 0.925;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(trial);
    const Interval interval = StratifiedBootstrap(NormalScores(seed, {10, 10, 10, 10, 10}), Mean,
                                                  {.resamples = 300, .seed = seed});
    held += interval.low <= 20 && 20 <= interval.high ? 1 : 0;
  }
  const double deviation = std::sqrt(kTrials * kCoverage * (1 - kCoverage));
  EXPECT_NEAR(held, kTrials * kCoverage, 5 * deviation);
}

TEST(StratifiedBootstrap, RefusesWhatMakesNoSense) {
  const TaskScores scores = {{1, 2}};
  for (const double confidence : {0., 1., -0.5, 95., kNan}) {
    ExpectBadInput([&] { StratifiedBootstrap(scores, Mean, {.confidence = confidence}); },
                   "confidence");
  }
  ExpectBadInput([&] { StratifiedBootstrap(scores, Mean, {.resamples = 0}); }, "resample");
  ExpectBadInput([] { StratifiedBootstrap({}, Mean); }, "at least one task");
  ExpectBadInput([] { StratifiedBootstrap({{1}, {}}, Mean); }, "task 2 of 2");
  ExpectBadInput([] { Mean({{}}); }, "task 1 of 1");
  ExpectBadInput([] { InterquartileMean(TaskScores{}); }, "at least one task");
  ExpectBadInput([] { PerformanceProfile({}, {}); }, "at least one task");
  ExpectBadInput([] { ProbabilityOfImprovement({{1}}, {{1}, {2}}); }, "1 and 2");
  ExpectBadInput([] { ProbabilityOfImprovementInterval({{1}}, {{1}, {2}}); }, "1 and 2");
}

// ---- Probability of improvement

TEST(ProbabilityOfImprovement, OfFewRunsIsKnown) {
  EXPECT_EQ(ProbabilityOfImprovement({{2}}, {{1}}), 1);
  EXPECT_EQ(ProbabilityOfImprovement({{1}}, {{2}}), 0);
  EXPECT_EQ(ProbabilityOfImprovement({{1, 3}}, {{2, 4}}), 0.25);
  EXPECT_EQ(ProbabilityOfImprovement({{1, 3, 5}}, {{0, 4}}), 4. / 6);
}

TEST(ProbabilityOfImprovement, CountsTiesHalf) {
  EXPECT_EQ(ProbabilityOfImprovement({{7, 7, 7}}, {{7, 7}}), 0.5);
  EXPECT_EQ(ProbabilityOfImprovement({{1, 2}}, {{2, 3}}), 0.125);
  EXPECT_EQ(ProbabilityOfImprovement({{kInfinity}}, {{kInfinity, 3}}), 0.75);
}

TEST(ProbabilityOfImprovement, AveragesOverTasksWhateverTheirRuns) {
  EXPECT_EQ(ProbabilityOfImprovement({{2, 2, 2, 2}, {1}}, {{1, 1}, {2, 3, 4}}), 0.5);
  EXPECT_EQ(ProbabilityOfImprovement({{2}, {2}, {1}, {2}}, {{1}, {1}, {1}, {3}}), 2.5 / 4);
}

TEST(ProbabilityOfImprovement, OfBothWaysIsOneTogether) {
  RandomStream random(4, "test");
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    // Rounded to create ties.
    const auto rounded = [](double s) { return std::round(2 * s) / 2; };
    const TaskScores x = Transformed(NormalScores(seed, {5, 1, 12}), rounded);
    const TaskScores y = Transformed(NormalScores(seed + 1000, {8, 3, 2}), rounded);
    EXPECT_NEAR(ProbabilityOfImprovement(x, y) + ProbabilityOfImprovement(y, x), 1, 1e-15);
    EXPECT_EQ(ProbabilityOfImprovement(x, x), 0.5);
  }
}

TEST(ProbabilityOfImprovement, OnlyComparesSoThatIncreasingMapsLeaveItUnchanged) {
  const TaskScores x = NormalScores(1, {9, 9}), y = NormalScores(2, {9, 9});
  const auto cube = [](double s) { return s * s * s; };
  EXPECT_EQ(ProbabilityOfImprovement(x, y),
            ProbabilityOfImprovement(Transformed(x, cube), Transformed(y, cube)));
}

TEST(ProbabilityOfImprovementInterval, ContainsTheEstimateWithinZeroAndOne) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const TaskScores x = NormalScores(seed, {10, 6, 10}), y = NormalScores(seed + 99, {10, 10, 4});
    const double better = ProbabilityOfImprovement(x, y);
    const Interval interval = ProbabilityOfImprovementInterval(x, y);
    EXPECT_LT(interval.low, better);
    EXPECT_GT(interval.high, better);
    EXPECT_GE(interval.low, 0);
    EXPECT_LE(interval.high, 1);
  }
}

TEST(ProbabilityOfImprovementInterval, OfSeparateScoresHasNoWidth) {
  const Interval interval = ProbabilityOfImprovementInterval({{5, 6, 7}}, {{1, 2, 3, 4}});
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 1);
}

// Runs of X and Y are drawn independently: drawn in pairs, equal scores would tie in all resamples.
TEST(ProbabilityOfImprovementInterval, OfAMethodWithItselfIsWideAroundOneHalf) {
  const Interval interval = ProbabilityOfImprovementInterval({{1, 2}}, {{1, 2}});
  // P(X = (1, 1), Y = (2, 2)) = 1/16 is more than 2.5 %.
  EXPECT_EQ(interval.low, 0);
  EXPECT_EQ(interval.high, 1);
}

// ---- Performance profiles

TEST(PerformanceProfile, IsTheShareOfRunsAbove) {
  const TaskScores scores = {{1, 2, 3, 4}};
  const std::vector<double> thresholds = {0, 1, 1.5, 3.9, 4, 5};
  EXPECT_EQ(PerformanceProfile(scores, thresholds),
            (std::vector<double>{1, 0.75, 0.75, 0.25, 0, 0}));
  EXPECT_TRUE(PerformanceProfile(scores, {}).empty());
}

TEST(PerformanceProfile, CountsEveryTaskTheSame) {
  const std::vector<double> thresholds = {5};
  EXPECT_EQ(PerformanceProfile({{6, 6, 6, 6}, {1, 9}, {1}}, thresholds),
            (std::vector<double>{0.5}));  // the share over all runs is 5/7
}

TEST(PerformanceProfile, NeverRises) {
  const TaskScores scores = NormalScores(8, {10, 3, 1, 17});
  std::vector<double> thresholds = {-kInfinity};
  for (double threshold = -5; threshold < 40; threshold += 0.1) thresholds.push_back(threshold);
  thresholds.push_back(kInfinity);
  const std::vector<double> profile = PerformanceProfile(scores, thresholds);
  EXPECT_TRUE(std::ranges::is_sorted(profile, std::greater<>()));
  EXPECT_EQ(profile.front(), 1);
  EXPECT_EQ(profile.back(), 0);
}

TEST(PerformanceProfile, HasNanRunsBelowEveryThreshold) {
  const std::vector<double> thresholds = {-kInfinity, 0};
  EXPECT_EQ(PerformanceProfile({{kNan, 1, kInfinity, -kInfinity}}, thresholds),
            (std::vector<double>{0.5, 0.5}));
}

TEST(PerformanceProfileIntervals, ContainTheProfileAndFallWithIt) {
  const TaskScores scores = NormalScores(8, {10, 10, 10});
  std::vector<double> thresholds;
  for (double threshold = -4; threshold < 25; threshold += 0.25) thresholds.push_back(threshold);
  const std::vector<double> profile = PerformanceProfile(scores, thresholds);
  const std::vector<Interval> intervals = PerformanceProfileIntervals(scores, thresholds);
  ASSERT_EQ(intervals.size(), thresholds.size());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    EXPECT_LE(intervals[i].low, profile[i]) << thresholds[i];
    EXPECT_GE(intervals[i].high, profile[i]) << thresholds[i];
    EXPECT_GE(intervals[i].low, 0);
    EXPECT_LE(intervals[i].high, 1);
    if (i == 0) continue;
    EXPECT_LE(intervals[i].low, intervals[i - 1].low);
    EXPECT_LE(intervals[i].high, intervals[i - 1].high);
  }
  EXPECT_EQ(intervals.front().low, 1);
  EXPECT_EQ(intervals.back().high, 0);
}

TEST(PerformanceProfileIntervals, AreTheBootstrapOfEachThreshold) {
  const TaskScores scores = NormalScores(9, {10, 5});
  const std::vector<double> thresholds = {-0.5, 0.2, 10};
  const BootstrapOptions options = {.confidence = 0.8, .resamples = 500, .seed = 7};
  const std::vector<Interval> intervals = PerformanceProfileIntervals(scores, thresholds, options);
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const auto share = [&](const TaskScores& resample) {
      return PerformanceProfile(resample, std::span(&thresholds[i], 1)).front();
    };
    const Interval expected = StratifiedBootstrap(scores, share, options);
    EXPECT_EQ(intervals[i].low, expected.low);
    EXPECT_EQ(intervals[i].high, expected.high);
  }
}

// ---- Curves

TEST(MeanHeight, OfFewPointsIsKnown) {
  EXPECT_EQ(MeanHeight(Curve{{100, 7}}), 7);
  EXPECT_EQ(MeanHeight(Curve{{0, 0}, {10, 2}}), 1);
  EXPECT_EQ(MeanHeight(Curve{{0, 0}, {10, 2}, {40, 2}}), (10 + 60) / 40.);
  EXPECT_EQ(MeanHeight(Curve{{1000, 4}, {2000, 4}, {2001, 4}}), 4);
}

TEST(MeanHeight, IsUnchangedByPointsOnItsLinesAndByMovedSteps) {
  const Curve curve = {{0, 1}, {100, 5}, {200, -3}};
  const Curve refined = {{0, 1}, {25, 2}, {100, 5}, {150, 1}, {200, -3}};
  const Curve moved = {{5000, 1}, {5100, 5}, {5200, -3}};
  EXPECT_EQ(MeanHeight(refined), MeanHeight(curve));
  EXPECT_EQ(MeanHeight(moved), MeanHeight(curve));
}

TEST(StepsToThreshold, IsTheFirstStepThatReachesIt) {
  const Curve curve = {{100, 1}, {200, 5}, {300, 2}, {400, 6}};
  EXPECT_EQ(StepsToThreshold(curve, 0), 100);
  EXPECT_EQ(StepsToThreshold(curve, 5), 200);
  EXPECT_EQ(StepsToThreshold(curve, 5.5), 400);
  EXPECT_EQ(StepsToThreshold(curve, 7), kInfinity);
  EXPECT_EQ(StepsToThreshold({}, 0), kInfinity);
  EXPECT_EQ(StepsToThreshold(Curve{{1, kNan}, {2, 3}}, 3), 2);
}

TEST(LastValue, KnowsNothingOfLaterPoints) {
  const Curve curve = {{100, 1}, {200, 5}};
  EXPECT_TRUE(std::isnan(LastValue(curve, 99)));
  EXPECT_EQ(LastValue(curve, 100), 1);
  EXPECT_EQ(LastValue(curve, 199), 1);
  EXPECT_EQ(LastValue(curve, 200), 5);
  EXPECT_EQ(LastValue(curve, 1000), 5);
  EXPECT_TRUE(std::isnan(LastValue({}, 0)));
}

TEST(ValueAt, IsOnTheLineBetweenPointsAndNanOutside) {
  const Curve curve = {{100, 1}, {200, 5}, {400, 3}};
  EXPECT_EQ(ValueAt(curve, 100), 1);
  EXPECT_EQ(ValueAt(curve, 125), 2);
  EXPECT_EQ(ValueAt(curve, 200), 5);
  EXPECT_EQ(ValueAt(curve, 350), 3.5);
  EXPECT_EQ(ValueAt(curve, 400), 3);
  EXPECT_TRUE(std::isnan(ValueAt(curve, 99)));
  EXPECT_TRUE(std::isnan(ValueAt(curve, 401)));
  EXPECT_TRUE(std::isnan(ValueAt({}, 0)));
  EXPECT_EQ(ValueAt(Curve{{3, 8}}, 3), 8);
}

TEST(Curves, WithInfiniteValuesGiveNoNan) {
  const Curve curve = {{0, 1}, {10, kInfinity}, {20, kInfinity}, {30, 2}};
  EXPECT_EQ(ValueAt(curve, 0), 1);
  EXPECT_EQ(ValueAt(curve, 5), kInfinity);
  EXPECT_EQ(ValueAt(curve, 15), kInfinity);
  EXPECT_EQ(ValueAt(curve, 30), 2);
  EXPECT_EQ(MeanHeight(curve), kInfinity);
  EXPECT_EQ(StepsToThreshold(curve, 1e308), 10);
}

// ---- Speed

// The defaults, 2000 resamples; measured: 3 ms and 2 ms. The best of some tries, each shorter than
// what a busy machine gives a program at a time.
TEST(BenchStatistics, AnIntervalTakesMilliseconds) {
  const TaskScores x = NormalScores(1, {10, 10, 10, 10, 10});
  const TaskScores y = NormalScores(2, {10, 10, 10, 10, 10});
  constexpr double kBar = 0.025;
  const auto best_seconds = [&](const std::function<void()>& work) {
    double best = kInfinity;
    for (int attempt = 0; attempt < 20 && best >= kBar; ++attempt) {
      const Stopwatch watch;
      work();
      best = std::min(best, watch.Seconds());
    }
    return best;
  };
  EXPECT_LT(best_seconds([&] { StratifiedBootstrap(x, kIqm); }), kBar);
  EXPECT_LT(best_seconds([&] { ProbabilityOfImprovementInterval(x, y); }), kBar);
}

}  // namespace stableaa::statistics_test
