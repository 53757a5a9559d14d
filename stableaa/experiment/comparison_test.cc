#include "stableaa/experiment/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "stableaa/base/config.h"
#include "stableaa/base/error.h"

namespace stableaa {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Made {
  std::string env = "minatar/breakout", preset = "dueling-dqn";
  std::uint64_t seed = 1;
  std::vector<double> returns = {};  // of evaluations
  std::int64_t interval = 10;
  std::vector<std::string> settings = {};
  bool diverged = false;
};

RunRecord Make(const Made& made) {
  RunRecord record{.directory = made.preset + std::to_string(made.seed), .options = {}};
  Config config;
  Describe(config, record.options);
  LoadPreset(config, made.env, made.preset);
  for (const std::string& setting : made.settings) config.Set(setting);
  record.options.train.seed = made.seed;
  for (const ConfigKey& key : config.Keys()) record.settings[key.key] = key.value;
  std::int64_t step = 0;
  for (const double value : made.returns)
    record.evaluations.push_back({step += made.interval, value});
  record.step = step;
  record.diverged = made.diverged;
  return record;
}

std::vector<std::string> Labels(const Comparison& comparison) {
  std::vector<std::string> labels;
  for (const Variant& variant : comparison.variants) labels.push_back(variant.Label());
  return labels;
}

TEST(Variants, AreNamedByTheKeysInWhichRunsOfAPresetDiffer) {
  const std::vector<RunRecord> records = {
      Make({.preset = "stable-reg", .returns = {1}, .settings = {"agent.eta=10"}}),
      Make({.preset = "stable-reg", .returns = {1}, .settings = {"agent.eta=1"}}),
      Make({.preset = "stable-reg", .returns = {1}}),
      Make({.preset = "dueling-mellowmax", .returns = {1}, .settings = {"agent.omega=1"}}),
      Make({.preset = "dueling-mellowmax", .returns = {1}}),
      Make({.preset = "dqn", .returns = {1}})};
  EXPECT_EQ(Labels(Compare(records)),
            (std::vector<std::string>{"dqn", "dueling-mellowmax, ω = 1.0",
                                      "dueling-mellowmax, ω = 5.0", "stable-reg, η = 0.1",
                                      "stable-reg, η = 1.0", "stable-reg, η = 10.0"}))
      << "numbers in their order, not that of letters";
}

TEST(Variants, DoNotDifferBySeedStepsThreadsOrFamilyOfEnvironments) {
  const std::vector<RunRecord> records = {
      Make({.returns = {1}}),
      Make({.seed = 2,
            .returns = {1},
            .settings = {"train.steps=7", "train.threads=3", "eval.interval_steps=5",
                         "checkpoint.interval_steps=9", "train.log_interval_steps=3"}}),
      Make({.env = "classic/cartpole", .returns = {1}})};
  EXPECT_EQ(Labels(Compare(records)), std::vector<std::string>{"dueling-dqn"});
  const std::vector<std::string> keys = DifferingKeys(records);
  EXPECT_NE(std::ranges::find(keys, "optimizer.kind"), keys.end()) << "the families' values differ";
  EXPECT_EQ(std::ranges::find(keys, "train.seed"), keys.end());
}

TEST(Compare, EndsAtTheLastStepThatEveryVariantHas) {
  const std::vector<RunRecord> records = {
      Make({.seed = 1, .returns = {1, 2, 3, 4, 5, 6}}),
      Make({.seed = 2, .returns = {1, 2, 3, 4}}),
      Make({.seed = 3, .returns = {1, 2}}),
      Make({.preset = "raa", .seed = 1, .returns = {7, 8, 9, 10}}),
      Make({.preset = "raa", .seed = 2, .returns = {7, 8, 9, 10, 11}, .diverged = true}),
      Make({.preset = "raa", .seed = 3})};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.environments.size(), 1U);
  const EnvironmentResults& results = comparison.environments[0];
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{10, 20, 30, 40}));
  EXPECT_EQ(results.variants[0].runs.size(), 2U);
  EXPECT_EQ(results.variants[1].runs.size(), 1U);
  ASSERT_EQ(comparison.left_out.size(), 3U);
  EXPECT_EQ(comparison.left_out[0].why, "diverged after step 50");
  EXPECT_EQ(comparison.left_out[1].why, "has no evaluation yet");
  EXPECT_EQ(comparison.left_out[2].why, "evaluated up to step 20, compared at 40");
}

TEST(Compare, BringsCurvesOntoTheEvaluationsOfTheRunThatHasTheFewest) {
  const std::vector<RunRecord> records = {
      Make({.seed = 1, .returns = {0, 10, 20, 30, 40, 50}, .settings = {"train.steps=60"}}),
      Make({.seed = 2,
            .returns = {5, 8},
            .interval = 28,
            .settings = {"eval.interval_steps=28", "train.steps=56"}})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{28, 56}));
  EXPECT_EQ(results.variants[0].runs[0].returns, (std::vector<double>{18, 46}));
  EXPECT_EQ(results.variants[0].ReturnsAt(0), (std::vector<double>{18, 5}));
}

TEST(Compare, ScoresARunByItsOwnEvaluations) {
  std::vector<double> returns(20);
  std::iota(returns.begin(), returns.end(), 1);
  returns[4] = 100;
  const std::vector<RunRecord> records = {Make({.returns = returns})};
  const Comparison comparison = Compare(records, {.thresholds = {{"minatar/breakout", 19}}});
  const ComparedRun& run = comparison.environments[0].variants[0].runs[0];
  EXPECT_EQ(run.final, 19.5) << "steps 190 and 200; 180 is where the last tenth begins";
  EXPECT_EQ(run.best, 100);
  // The trapezoids of 1, 2, ..., 20, and the peak's triangle.
  EXPECT_NEAR(run.area, 10.5 + 95.0 / 19, 1e-12);
  EXPECT_EQ(run.steps_to_threshold, 50);
  EXPECT_EQ(Compare(records, {.thresholds = {{"minatar/breakout", 101}}})
                .environments[0]
                .variants[0]
                .runs[0]
                .steps_to_threshold,
            kInfinity);
}

TEST(Compare, RefusesAThresholdForWhatNobodyPlayed) {
  const std::vector<RunRecord> records = {Make({.returns = {1}})};
  try {
    Compare(records, {.thresholds = {{"minatar/breakuot", 1}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_STREQ(error.what(),
                 "a threshold for 'minatar/breakuot', which no run has; did you mean "
                 "'minatar/breakout'?");
  }
}

TEST(Compare, LeavesOutNoRunThatHasEnded) {
  std::vector<RunRecord> records = {
      Make({.seed = 1, .returns = {1, 2, 3, 4}, .settings = {"train.steps=40"}}),
      Make({.seed = 2, .returns = {1, 2}}), Make({.seed = 3, .returns = {1}}),
      Make({.preset = "raa", .seed = 1, .returns = {7, 8, 9}})};
  records[1].ended_early = true;  // as a suite's stop rule asks for
  const Comparison comparison = Compare(records, {.thresholds = {{"minatar/breakout", 4}}});
  const EnvironmentResults& results = comparison.environments.at(0);
  EXPECT_EQ(results.steps.back(), 20);
  EXPECT_EQ(results.variants[0].runs.size(), 2U);
  EXPECT_EQ(results.variants[0].runs[0].steps_to_threshold, 40) << "of the whole run";
  ASSERT_EQ(comparison.left_out.size(), 1U);
  EXPECT_EQ(comparison.left_out[0].variant, "dueling-dqn");
}

TEST(Compare, LeavesOutRunsThatAreFirstEvaluatedLater) {
  const std::vector<RunRecord> records = {
      Make({.returns = {1}, .settings = {"train.steps=10"}}),
      Make({.preset = "raa", .returns = {5}, .interval = 100, .settings = {"train.steps=100"}})};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.left_out.size(), 1U);
  EXPECT_EQ(comparison.left_out[0].why, "first evaluated in step 100, compared at 10");
  EXPECT_EQ(Labels(comparison), std::vector<std::string>{"dueling-dqn"});
}

TEST(Compare, TakesAreasOverTheSameSteps) {
  const std::vector<RunRecord> records = {
      Make({.seed = 1, .returns = {0, 10, 20, 30}, .settings = {"train.steps=40"}}),
      Make({.seed = 2, .returns = {10, 30}, .interval = 20, .settings = {"train.steps=40"}})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{20, 40}));
  EXPECT_EQ(results.variants[0].runs[0].area, 20);
  EXPECT_EQ(results.variants[0].runs[1].area, 20);
}

TEST(Compare, ADivergedRunDoesNotTakeTheSeedOfAGoodOne) {
  const std::vector<RunRecord> records = {Make({.returns = {1, 2}}),
                                          Make({.returns = {1, 2, 3}, .diverged = true})};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.environments.size(), 1U);
  EXPECT_EQ(comparison.environments[0].variants[0].runs[0].record, &records[0]);
}

TEST(Compare, KeepsTheFartherOfTwoRunsWithOneSeed) {
  std::vector<RunRecord> records = {Make({.returns = {1, 2}}), Make({.returns = {1, 2, 3}})};
  records[1].directory = "later";
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.environments[0].variants[0].runs.size(), 1U);
  EXPECT_EQ(comparison.environments[0].variants[0].runs[0].record, &records[1]);
  ASSERT_EQ(comparison.left_out.size(), 1U);
  EXPECT_EQ(comparison.left_out[0].why, "repeats later, configuration and seed");
}

TEST(Compare, ThinsOutVeryManyEvaluationsAndKeepsTheLast) {
  const std::vector<RunRecord> records = {Make({.returns = std::vector<double>(1234, 1.0)})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps.size(), 100U);
  EXPECT_EQ(results.steps.back(), 12340);
  EXPECT_TRUE(std::ranges::is_sorted(results.steps));
}

TEST(Scales, AreAPersonsForAtariAndTheReportsRangeElsewhere) {
  const std::vector<RunRecord> records = {Make({.env = "atari/pong", .returns = {-20.7, 14.6}}),
                                          Make({.env = "minatar/breakout", .returns = {2, 12}}),
                                          Make({.env = "classic/cartpole", .returns = {9, 9}})};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.environments.size(), 3U);
  const EnvironmentResults &pong = comparison.environments[0],
                           &cartpole = comparison.environments[1],
                           &breakout = comparison.environments[2];
  EXPECT_EQ(pong.scale.kind, Scale::Kind::kHuman);
  EXPECT_NEAR(pong.scale(14.6), 1, 1e-12);
  EXPECT_NEAR(pong.scale(-20.7), 0, 1e-12);
  EXPECT_EQ(pong.threshold, 14.6);
  EXPECT_EQ(cartpole.threshold, 475);
  EXPECT_EQ(cartpole.scale(9), 0) << "nothing to tell apart";
  EXPECT_EQ(breakout.scale(7), 0.5);
  EXPECT_EQ(breakout.threshold, 2 + 0.75 * 10);
}

TEST(SharedScores, AreOfEnvironmentsThatAllVariantsHave) {
  const std::vector<RunRecord> records = {
      Make({.env = "minatar/breakout", .returns = {0, 10}}),
      Make({.env = "minatar/asterix", .returns = {0, 4}}),
      Make({.env = "minatar/freeway", .returns = {0, 4}}),
      Make({.env = "minatar/breakout", .preset = "raa", .returns = {0, 5}}),
      Make({.env = "minatar/asterix", .preset = "raa", .returns = {1, 3}})};
  const Comparison comparison = Compare(records);
  EXPECT_EQ(comparison.shared, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(SharedScores(comparison, 0, &ComparedRun::final), (TaskScores{{1}, {1}}));
  EXPECT_EQ(SharedScores(comparison, 1, &ComparedRun::final), (TaskScores{{0.75}, {0.5}}));
  // Half of 20 steps is the first evaluation; three quarters lie between the two.
  EXPECT_EQ(FirstShare(comparison), 0.5);
  EXPECT_EQ(SharedReturns(comparison, 1, 0.5), (TaskScores{{0.25}, {0}}));
  EXPECT_EQ(SharedReturns(comparison, 1, 0.75), (TaskScores{{0.5}, {0.25}}));
}

TEST(Estimates, HaveNoIntervalForSingleRuns) {
  const Estimate one = EstimateOf({{3}, {5}});
  EXPECT_EQ(one.mean, 4);
  EXPECT_FALSE(one.interval);
  const Estimate three = EstimateOf({{1, 2, 6}});
  EXPECT_EQ(three.iqm, 3);
  EXPECT_NEAR(three.deviation, std::sqrt(7), 1e-12);
  ASSERT_TRUE(three.interval);
  EXPECT_LE(three.interval->low, 3);
  EXPECT_GE(three.interval->high, 3);
}

TEST(Estimates, MedianIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(MedianOf({{1, 8, 4, 2}}).median, 3);
  EXPECT_EQ(MedianOf({{1, 2, kInfinity, kInfinity}}).median, kInfinity);
}

TEST(Estimates, MedianOfStepsIsInfiniteWhereHalfOfTheRunsNeverArrive) {
  EXPECT_EQ(MedianOf({{10, kInfinity, 30}}).median, 30);
  EXPECT_EQ(MedianOf({{10, kInfinity, kInfinity}}).median, kInfinity);
  const MedianEstimate estimate = MedianOf({{10, kInfinity, 30}});
  ASSERT_TRUE(estimate.interval);
  EXPECT_EQ(estimate.interval->low, 10);
  EXPECT_EQ(estimate.interval->high, kInfinity);
}

}  // namespace
}  // namespace stableaa
