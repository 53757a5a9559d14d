#include "stableaa/experiment/results/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "stableaa/core/error.h"
#include "stableaa/experiment/results/made_record_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::comparison_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> Labels(const Comparison& comparison) {
  std::vector<std::string> labels;
  for (const Variant& variant : comparison.variants) labels.push_back(variant.Label());
  return labels;
}

TEST(Variants, AreNamedByTheKeysInWhichRunsOfAPresetDiffer) {
  const std::vector<RunRecord> records = {
      MakeRecord({.preset = "stable-reg", .returns = {1}, .settings = {"agent.eta=10"}}),
      MakeRecord({.preset = "stable-reg", .returns = {1}, .settings = {"agent.eta=1"}}),
      MakeRecord({.preset = "stable-reg", .returns = {1}}),
      MakeRecord({.preset = "dueling-mellowmax", .returns = {1}, .settings = {"agent.omega=1"}}),
      MakeRecord({.preset = "dueling-mellowmax", .returns = {1}}),
      MakeRecord({.preset = "dqn", .returns = {1}})};
  EXPECT_EQ(Labels(Compare(records)),
            (std::vector<std::string>{"dqn", "dueling-mellowmax, ω = 1.0",
                                      "dueling-mellowmax, ω = 5.0", "stable-reg, η = 0.1",
                                      "stable-reg, η = 1.0", "stable-reg, η = 10.0"}))
      << "numbers in their order, not that of letters";
}

// Two presets of one variant and one of two, in two environments.
std::vector<RunRecord> SomeRecords() {
  std::vector<RunRecord> records;
  for (const char* const env : {"minatar/breakout", "minatar/freeway"}) {
    records.push_back(MakeRecord({.env = env, .preset = "dqn", .returns = {1}}));
    records.push_back(MakeRecord({.env = env, .preset = "raa", .returns = {1}}));
    for (const char* const eta : {"agent.eta=0.5", "agent.eta=1"}) {
      records.push_back(
          MakeRecord({.env = env, .preset = "stable-reg", .returns = {1}, .settings = {eta}}));
    }
  }
  return records;
}

TEST(Variants, StandInTheGivenOrder) {
  const std::vector<RunRecord> records = SomeRecords();
  const auto labels = [&](const std::string& order) {
    return Labels(Compare(records, {.order = {order}}));
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(labels("stable-reg, η = 1.0 , raa"),
            (Words{"stable-reg, η = 1.0", "raa", "dqn", "stable-reg, η = 0.5"}));
  EXPECT_EQ(labels("stable-reg,dqn"),
            (Words{"stable-reg, η = 0.5", "stable-reg, η = 1.0", "dqn", "raa"}))
      << "a preset is all of its variants";
  EXPECT_EQ(labels("stable-reg, η = 1.0,stable-reg,dqn")[1], "stable-reg, η = 0.5");
  const Comparison named =
      Compare(records, {.labels = {"raa=RAA, ours"}, .order = {"RAA, ours", "minatar/freeway"}});
  EXPECT_EQ(named.labels[0], "RAA, ours");
  EXPECT_EQ(named.environments[0].env, "minatar/freeway");
  EXPECT_EQ(named.environments[0].variants[0].label, "RAA, ours");
  for (const char* const wrong : {"", "dqn,", ",dqn", "dqn raa", "c51", "dqn,c51"}) {
    EXPECT_TRUE(MessageOf([&] { labels(wrong); }).starts_with("an order of '")) << wrong;
  }
  EXPECT_EQ(MessageOf([&] { labels("dqn,dqn"); }), "an order that has 'dqn' twice");
  EXPECT_NE(MessageOf([&] { labels("dqm"); }).find("did you mean 'dqn'?"), std::string::npos);
}

TEST(Variants, HaveTheGivenColours) {
  const std::vector<RunRecord> records = SomeRecords();
  const auto colours = [&](const std::vector<std::string>& rules) {
    return Compare(records, {.labels = {"raa=RAA"}, .colours = rules}).colours;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(colours({}), (Words{"", "", "", ""}));
  EXPECT_EQ(colours({"RAA=#00ff7F"}), (Words{"", "#00ff7F", "", ""}));
  for (const bool preset_first : {false, true}) {
    Words rules = {"stable-reg, η = 1.0=#222222", "stable-reg=#111111"};
    if (preset_first) std::ranges::reverse(rules);
    EXPECT_EQ(colours(rules), (Words{"", "", "#111111", "#222222"})) << "the variant's comes first";
  }
  for (const char* const wrong :
       {"raa=red", "raa=#12345", "raa=#12345g", "raa=#1234567", "raa=", "raa=#12\n456"}) {
    EXPECT_TRUE(MessageOf([&] {
                  colours({wrong});
                }).starts_with("the colour of 'raa': expected #rrggbb, found '"))
        << wrong;
  }
  EXPECT_EQ(MessageOf([&] { colours({"c51=#123456"}); }),
            "a colour for 'c51', expected one of 'RAA', 'dqn', 'raa', 'stable-reg', 'stable-reg, η "
            "= 0.5', 'stable-reg, η = 1.0'");
  EXPECT_EQ(MessageOf([&] { colours({"raa=#123456", "raa=#654321"}); }), "two colours for 'raa'");
}

TEST(Variants, DoNotDifferBySeedStepsThreadsOrFamilyOfEnvironments) {
  const std::vector<RunRecord> records = {
      MakeRecord({.returns = {1}}),
      MakeRecord({.seed = 2,
                  .returns = {1},
                  .settings = {"train.steps=7", "train.threads=3", "eval.interval_steps=5",
                               "checkpoint.interval_steps=9", "train.log_interval_steps=3"}}),
      MakeRecord({.env = "classic/cartpole", .returns = {1}})};
  EXPECT_EQ(Labels(Compare(records)), std::vector<std::string>{"dueling-dqn"});
  const std::vector<std::string> keys = DifferingKeys(records);
  EXPECT_NE(std::ranges::find(keys, "optimizer.kind"), keys.end()) << "the families' values differ";
  EXPECT_EQ(std::ranges::find(keys, "train.seed"), keys.end());
}

// Keys that vary only elsewhere are not part of the name.
TEST(Variants, AreNamedInAnEnvironmentByTheKeysThatVaryThere) {
  const std::vector<RunRecord> records = {
      MakeRecord({.preset = "stable-aa", .returns = {1}, .settings = {"agent.eta=1"}}),
      MakeRecord({.preset = "stable-aa", .returns = {1}, .settings = {"agent.eta=10"}}),
      MakeRecord({.preset = "raa", .returns = {1}}),
      MakeRecord({.env = "classic/cartpole",
                  .preset = "stable-aa",
                  .returns = {1},
                  .settings = {"agent.eta=1"}})};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.environments.size(), 2U);
  const EnvironmentResults &cartpole = comparison.environments[0],
                           &breakout = comparison.environments[1];
  ASSERT_EQ(cartpole.variants.size(), 1U);
  EXPECT_EQ(cartpole.variants[0].label, "stable-aa");
  ASSERT_EQ(breakout.variants.size(), 3U);
  EXPECT_EQ(breakout.variants[1].label, "stable-aa, η = 1.0");
  EXPECT_EQ(cartpole.variants[0].variant, breakout.variants[1].variant) << "the same method";
}

TEST(Variants, TakeTheNamesThatAreGiven) {
  const std::vector<RunRecord> records = {
      MakeRecord({.preset = "stable-aa", .returns = {1}, .settings = {"agent.eta=1"}}),
      MakeRecord({.preset = "stable-aa", .returns = {1}, .settings = {"agent.eta=10"}}),
      MakeRecord({.preset = "raa", .returns = {1}}),
      MakeRecord({.env = "classic/cartpole",
                  .preset = "stable-aa",
                  .returns = {1},
                  .settings = {"agent.eta=1"}})};
  const auto labels = [&records](const std::vector<std::string>& rules) {
    const Comparison comparison = Compare(records, {.labels = rules});
    std::vector<std::string> found;
    for (const EnvironmentResults& results : comparison.environments) {
      for (const VariantRuns& variant : results.variants) found.push_back(variant.label);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(labels({"stable-aa=Ours", "raa=x = y"}),
            (Names{"Ours", "x = y", "Ours, η = 1.0", "Ours, η = 10.0"}));
  EXPECT_EQ(labels({"stable-aa, η = 1.0=Ours (η = 1)"}),
            (Names{"Ours (η = 1)", "raa", "Ours (η = 1)", "stable-aa, η = 10.0"}));
  EXPECT_EQ(labels({"raa=\x1b]0;a\x07 \x7f\xc2\x9b\nb\xff"})[1], "]0;a b?");
  // U+202E and U+2066 change the text direction, U+2028 ends a line.
  EXPECT_EQ(labels({"raa=a\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8η\xc2"})[1], "aη?");
}

TEST(Variants, RefuseNamesThatMakeNoSense) {
  const std::vector<RunRecord> records = {MakeRecord({.preset = "dqn", .returns = {1}}),
                                          MakeRecord({.preset = "raa", .returns = {1}})};
  const auto refusal = [&records](const std::vector<std::string>& rules) -> std::string {
    return MessageOf([&] { Compare(records, {.labels = rules}); });
  };
  EXPECT_EQ(refusal({"dnq=x"}),
            "a label for 'dnq', expected one of 'dqn', 'raa'; did you mean 'dqn'?");
  EXPECT_EQ(refusal({"x"}), "a label for 'x', expected one of 'dqn', 'raa'");
  EXPECT_EQ(refusal({"dqn= \x01"}), "the label of 'dqn' is empty");
  EXPECT_EQ(refusal({"dqn=a", "dqn=b"}), "two labels for 'dqn'");
  EXPECT_EQ(refusal({"dqn=raa"}), "two variants in minatar/breakout would be called 'raa'");
}

TEST(Variants, HaveNamesWithoutControlCharacters) {
  RunRecord record = MakeRecord({.returns = {1}});
  record.options.train.preset = "a\x1b]0;b\n\xff";
  const std::vector<RunRecord> records = {record};
  EXPECT_EQ(Compare(records).environments[0].variants[0].label, "a\\u001B]0;b\\n?");
}

TEST(Compare, EndsAtTheLastStepThatEveryVariantHas) {
  const std::vector<RunRecord> records = {
      MakeRecord({.seed = 1, .returns = {1, 2, 3, 4, 5, 6}}),
      MakeRecord({.seed = 2, .returns = {1, 2, 3, 4}}),
      MakeRecord({.seed = 3, .returns = {1, 2}}),
      MakeRecord({.preset = "raa", .seed = 1, .returns = {7, 8, 9, 10}}),
      MakeRecord({.preset = "raa", .seed = 2, .returns = {7, 8, 9, 10, 11}, .diverged = true}),
      MakeRecord({.preset = "raa", .seed = 3})};
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
      MakeRecord({.seed = 1, .returns = {0, 10, 20, 30, 40, 50}, .settings = {"train.steps=60"}}),
      MakeRecord({.seed = 2,
                  .returns = {5, 8},
                  .interval = 28,
                  .settings = {"eval.interval_steps=28", "train.steps=56"}})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{28, 56}));
  // The run's evaluations at steps 20 and 50; those at 30 and 60 are not known yet.
  EXPECT_EQ(results.variants[0].runs[0].returns, (std::vector<double>{10, 40}));
  EXPECT_EQ(results.variants[0].ReturnsAt(0), (std::vector<double>{10, 5}));
}

// All numbers stay the same, whatever happens after the compared step.
TEST(Compare, UsesNoEvaluationAfterTheComparedStep) {
  const auto run_with_later = [](double later) {
    const std::vector<RunRecord> records = {
        MakeRecord({.seed = 1, .returns = {1, 2, 4, later, later}, .settings = {"train.steps=50"}}),
        MakeRecord(
            {.preset = "raa", .returns = {3}, .interval = 35, .settings = {"train.steps=35"}})};
    const EnvironmentResults results = Compare(records).environments.at(0);
    EXPECT_EQ(results.steps, std::vector<std::int64_t>{35});
    return results.variants.at(0).runs.at(0);
  };
  const ComparedRun run = run_with_later(500);
  EXPECT_EQ(run.returns, std::vector<double>{4}) << "that of step 30";
  EXPECT_EQ(run.final, 4) << "no evaluation in the last tenth: the last one before";
  EXPECT_EQ(run.best, 4);
  EXPECT_EQ(run.area, 4);
  const ComparedRun other = run_with_later(-500);
  EXPECT_EQ(other.final, run.final);
  EXPECT_EQ(other.best, run.best);
  EXPECT_EQ(other.area, run.area);
  EXPECT_FALSE(run.carried_from);
}

TEST(Compare, CarriesTheLastEvaluationOnInAnArea) {
  const std::vector<RunRecord> records = {
      MakeRecord({.seed = 1, .returns = {1, 2, 3}, .interval = 12, .settings = {"train.steps=36"}}),
      MakeRecord({.seed = 2, .returns = {0, 10, 20, 90}, .settings = {"train.steps=40"}})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{12, 24, 36}));
  // Straight lines from 2 at step 12 to 10 at step 20 and 20 at step 30, then constant to step 36.
  EXPECT_EQ(results.variants[0].runs[1].area, (8 * 6 + 10 * 15 + 6 * 20) / 24.0);
  EXPECT_EQ(results.variants[0].runs[0].area, 2);
}

TEST(Compare, ScoresARunByItsOwnEvaluations) {
  std::vector<double> returns(20);
  std::iota(returns.begin(), returns.end(), 1);
  returns[4] = 100;
  const std::vector<RunRecord> records = {MakeRecord({.returns = returns})};
  const Comparison comparison = Compare(records, {.thresholds = {{"minatar/breakout", 19}}});
  const ComparedRun& run = comparison.environments[0].variants[0].runs[0];
  EXPECT_EQ(run.final, 19.5) << "steps 190 and 200; 180 is where the last tenth begins";
  EXPECT_EQ(run.best, 100);
  // The trapezoids of 1, 2, ..., 20, plus the triangle of the peak.
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
  const std::vector<RunRecord> records = {MakeRecord({.returns = {1}})};
  EXPECT_EQ(MessageOf([&] {
              Compare(records, {.thresholds = {{"minatar/breakuot", 1}}});
            }),
            "a threshold for 'minatar/breakuot', which no run has; did you mean "
            "'minatar/breakout'?");
}

RunRecord StoppedAt(double stop_return, RunRecord record) {
  record.stop_return = stop_return;
  record.ended_early = true;
  return record;
}

// As left by a suite with stop.eval_return = 9: the fast runs have fewer evaluations.
TEST(Compare, CarriesRunsForwardThatReachedTheirSuitesReturn) {
  const std::vector<std::string> planned = {"train.steps=60"};
  std::vector<RunRecord> records = {
      StoppedAt(9, MakeRecord({.seed = 1, .returns = {1, 9}, .settings = planned})),
      MakeRecord({.seed = 2, .returns = {1, 2, 3, 4, 5, 6}, .settings = planned}),
      StoppedAt(9, MakeRecord({.preset = "raa", .returns = {4, 5, 6, 9.5}, .settings = planned}))};
  records[1].stop_return = 9;
  const Comparison comparison = Compare(records);
  EXPECT_TRUE(comparison.left_out.empty());
  const EnvironmentResults& results = comparison.environments.at(0);
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(results.threshold, 9);
  EXPECT_EQ(results.threshold_source, "stop.eval_return of the suite");
  const ComparedRun &fast = results.variants[0].runs[0], &slow = results.variants[0].runs[1],
                    &raa = results.variants[1].runs[0];
  EXPECT_EQ(fast.returns, (std::vector<double>{1, 9, 9, 9, 9, 9}));
  EXPECT_EQ(fast.final, 9);
  EXPECT_EQ(fast.area, (10 * 5 + 40 * 9) / 50.0);
  EXPECT_EQ(fast.steps_to_threshold, 20);
  EXPECT_EQ(fast.carried_from, 20);
  EXPECT_EQ(slow.final, 6);
  EXPECT_EQ(slow.steps_to_threshold, kInfinity);
  EXPECT_FALSE(slow.carried_from);
  EXPECT_EQ(raa.carried_from, 40);
  EXPECT_EQ(results.variants[0].CarriedAt(20), 0U) << "its own evaluation";
  EXPECT_EQ(results.variants[0].CarriedAt(30), 1U);
  EXPECT_EQ(Compare(records, {.thresholds = {{"minatar/breakout", 5}}}).environments[0].threshold,
            5);
}

TEST(Compare, ComparesRunsThatAllReachedTheirSuitesReturnAtThePlannedEnd) {
  const std::vector<std::string> planned = {"train.steps=100"};
  const std::vector<RunRecord> records = {
      StoppedAt(9, MakeRecord({.seed = 1, .returns = {9}, .settings = planned})),
      StoppedAt(9, MakeRecord({.seed = 2, .returns = {1, 2, 9}, .settings = planned}))};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{10, 20, 30, 100}));
  EXPECT_EQ(results.variants[0].Values(&ComparedRun::final), (std::vector<double>{9, 9}));
  EXPECT_EQ(results.variants[0].CarriedAt(100), 2U);
}

// Nobody knows how it would have continued.
TEST(Compare, CarriesNoRunForwardWhoseMinutesWereOver) {
  const std::vector<std::string> planned = {"train.steps=60"};
  const std::vector<RunRecord> records = {
      StoppedAt(9, MakeRecord({.seed = 1, .returns = {1, 2, 3}, .settings = planned})),
      StoppedAt(9, MakeRecord({.seed = 2, .returns = {1, 9}, .settings = planned})),
      MakeRecord({.seed = 3, .returns = {1, 2, 3, 4, 5, 6}, .settings = planned})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps.back(), 30);
  EXPECT_EQ(results.variants[0].Values(&ComparedRun::final), (std::vector<double>{3, 9, 3}));
  EXPECT_EQ(results.variants[0].CarriedAt(30), 1U);
}

// It went on after reaching the return, like a run of an earlier suite that had none.
TEST(Compare, CarriesNoRunForwardThatWentOnAfterItsSuitesReturn) {
  const std::vector<std::string> planned = {"train.steps=60"};
  std::vector<RunRecord> records = {
      StoppedAt(9, MakeRecord({.seed = 1, .returns = {1, 9, 2}, .settings = planned})),
      MakeRecord({.seed = 2, .returns = {1, 2, 3, 4, 5, 6}, .settings = planned})};
  EXPECT_EQ(records[0].Status(), "ended early, as the suite says");
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps.back(), 30);
  EXPECT_EQ(results.variants[0].CarriedAt(60), 0U);
  // Nor one that ended a few steps after such an evaluation, before the next.
  records[0] = StoppedAt(9, MakeRecord({.seed = 1, .returns = {1, 9}, .settings = planned}));
  EXPECT_EQ(Compare(records).environments.at(0).steps.back(), 60);
  records[0].step = 25;
  EXPECT_EQ(Compare(records).environments.at(0).steps.back(), 20);
}

// A run that ended early is not rerun when its suite's steps grow.
TEST(Compare, CarriesRunsForwardToTheEndThatTheirSuitePlansNow) {
  std::vector<RunRecord> records = {
      StoppedAt(9, MakeRecord({.seed = 1, .returns = {1, 9}, .settings = {"train.steps=30"}})),
      MakeRecord({.seed = 2, .returns = {1, 2, 3, 4, 5, 6}, .settings = {"train.steps=60"}})};
  EXPECT_EQ(Compare(records).environments.at(0).steps.back(), 30);
  records[0].suite_steps = 60;
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps.back(), 60);
  EXPECT_EQ(results.variants[0].Values(&ComparedRun::final), (std::vector<double>{9, 6}));
  EXPECT_EQ(results.variants[0].runs[0].carried_from, 20);
}

TEST(Compare, AsksForTheSmallestReturnOfSeveralSuites) {
  const std::vector<RunRecord> records = {StoppedAt(9, MakeRecord({.seed = 1, .returns = {9}})),
                                          StoppedAt(4, MakeRecord({.seed = 2, .returns = {4}}))};
  EXPECT_EQ(Compare(records).environments.at(0).threshold, 4);
}

TEST(Compare, LeavesOutRunsWithEvaluationsThatAreNoNumbers) {
  std::vector<RunRecord> records = {MakeRecord({.seed = 1, .returns = {1, 2}}),
                                    MakeRecord({.seed = 2, .returns = {1, 2}})};
  records[1].metrics.not_finite["eval_return_mean"] = {15, 18};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.left_out.size(), 1U);
  EXPECT_EQ(comparison.left_out[0].record, &records[1]);
  EXPECT_EQ(comparison.left_out[0].why,
            "2 of 4 evaluations are no finite numbers, the first in step 15");
}

TEST(Compare, LeavesOutNoRunThatHasEnded) {
  std::vector<RunRecord> records = {
      MakeRecord({.seed = 1, .returns = {1, 2, 3, 4}, .settings = {"train.steps=40"}}),
      MakeRecord({.seed = 2, .returns = {1, 2}}), MakeRecord({.seed = 3, .returns = {1}}),
      MakeRecord({.preset = "raa", .seed = 1, .returns = {7, 8, 9}})};
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
      MakeRecord({.returns = {1}, .settings = {"train.steps=10"}}),
      MakeRecord(
          {.preset = "raa", .returns = {5}, .interval = 100, .settings = {"train.steps=100"}})};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.left_out.size(), 1U);
  EXPECT_EQ(comparison.left_out[0].why, "first evaluated in step 100, compared at 10");
  EXPECT_EQ(Labels(comparison), std::vector<std::string>{"dueling-dqn"});
}

TEST(Compare, TakesAreasOverTheSameSteps) {
  const std::vector<RunRecord> records = {
      MakeRecord({.seed = 1, .returns = {0, 10, 20, 30}, .settings = {"train.steps=40"}}),
      MakeRecord({.seed = 2, .returns = {10, 30}, .interval = 20, .settings = {"train.steps=40"}})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps, (std::vector<std::int64_t>{20, 40}));
  EXPECT_EQ(results.variants[0].runs[0].area, 20);
  EXPECT_EQ(results.variants[0].runs[1].area, 20);
}

TEST(Compare, ADivergedRunDoesNotTakeTheSeedOfAGoodOne) {
  const std::vector<RunRecord> records = {MakeRecord({.returns = {1, 2}}),
                                          MakeRecord({.returns = {1, 2, 3}, .diverged = true})};
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.environments.size(), 1U);
  EXPECT_EQ(comparison.environments[0].variants[0].runs[0].record, &records[0]);
}

TEST(Compare, KeepsTheFartherOfTwoRunsWithOneSeed) {
  std::vector<RunRecord> records = {MakeRecord({.returns = {1, 2}}),
                                    MakeRecord({.returns = {1, 2, 3}})};
  records[1].directory = "later";
  const Comparison comparison = Compare(records);
  ASSERT_EQ(comparison.environments[0].variants[0].runs.size(), 1U);
  EXPECT_EQ(comparison.environments[0].variants[0].runs[0].record, &records[1]);
  ASSERT_EQ(comparison.left_out.size(), 1U);
  EXPECT_EQ(comparison.left_out[0].why, "repeats later, configuration and seed");
}

TEST(Compare, KeepsARunCarriedForwardRatherThanAnUnfinishedCopy) {
  const std::vector<std::string> planned = {"train.steps=60"};
  const auto kept = [](const std::vector<RunRecord>& records) {
    return Compare(records).environments.at(0).variants.at(0).runs.at(0).record - records.data();
  };
  const RunRecord carried = StoppedAt(9, MakeRecord({.returns = {1, 9}, .settings = planned}));
  const RunRecord unfinished = MakeRecord({.returns = {1, 2, 3}, .settings = planned});
  const RunRecord complete = MakeRecord({.returns = {1, 2, 3, 4, 5, 6}, .settings = planned});
  EXPECT_EQ(kept({carried, unfinished}), 0);
  EXPECT_EQ(kept({unfinished, carried}), 1);
  EXPECT_EQ(kept({carried, complete}), 1) << "as far, by evaluations of its own";
  const RunRecord ended = MakeRecord({.returns = {1, 2, 3}, .settings = {"train.steps=30"}});
  EXPECT_EQ(kept({unfinished, ended}), 1);
}

TEST(Compare, ThinsOutVeryManyEvaluationsAndKeepsTheLast) {
  const std::vector<RunRecord> records = {MakeRecord({.returns = std::vector<double>(1234, 1.0)})};
  const EnvironmentResults results = Compare(records).environments.at(0);
  EXPECT_EQ(results.steps.size(), 100U);
  EXPECT_EQ(results.steps.back(), 12340);
  EXPECT_TRUE(std::ranges::is_sorted(results.steps));
}

TEST(Scales, AreAPersonsForAtariAndTheReportsRangeElsewhere) {
  const std::vector<RunRecord> records = {
      MakeRecord({.env = "atari/pong", .returns = {-20.7, 14.6}}),
      MakeRecord({.env = "minatar/breakout", .returns = {2, 12}}),
      MakeRecord({.env = "classic/cartpole", .returns = {9, 9}})};
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
      MakeRecord({.env = "minatar/breakout", .returns = {0, 10}}),
      MakeRecord({.env = "minatar/asterix", .returns = {0, 4}}),
      MakeRecord({.env = "minatar/freeway", .returns = {0, 4}}),
      MakeRecord({.env = "minatar/breakout", .preset = "raa", .returns = {0, 5}}),
      MakeRecord({.env = "minatar/asterix", .preset = "raa", .returns = {1, 3}})};
  const Comparison comparison = Compare(records);
  EXPECT_EQ(comparison.shared, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(SharedScores(comparison, 0, &ComparedRun::final), (TaskScores{{1}, {1}}));
  EXPECT_EQ(SharedScores(comparison, 1, &ComparedRun::final), (TaskScores{{0.75}, {0.5}}));
  // Half of 20 steps is at the first evaluation; three quarters is between the two.
  EXPECT_EQ(SharedShares(comparison), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(SharedReturns(comparison, 1, 0.5), (TaskScores{{0.25}, {0}}));
  EXPECT_EQ(SharedReturns(comparison, 1, 0.75), SharedReturns(comparison, 1, 0.5));
}

TEST(SharedScores, AreComparedAtTheEvaluationsOfTheEnvironmentThatHasTheFewest) {
  const std::vector<RunRecord> records = {
      MakeRecord({.env = "minatar/breakout", .returns = {0, 1, 2, 3, 4, 5, 6, 7}}),
      MakeRecord({.env = "minatar/asterix", .returns = {0, 4}, .interval = 50}),
  };
  const Comparison comparison = Compare(records);
  EXPECT_EQ(SharedShares(comparison), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(SharedReturns(comparison, 0, 0.5), (TaskScores{{0}, {3.0 / 7}}));
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

// ---- Names that suites give ----

std::vector<RunRecord> Labelled(const std::vector<std::pair<std::string, std::string>>& runs) {
  std::vector<RunRecord> records;
  for (const auto& [eta, label] : runs) {
    records.push_back(MakeRecord({.preset = "raa",
                                  .seed = records.size(),
                                  .returns = {1, 2},
                                  .settings = {"agent.eta=" + eta}}));
    records.back().label = label;
  }
  return records;
}

TEST(SuiteNamesOfVariants, AreShownAndCanBeRenamed) {
  const auto records = Labelled({{"0.1", "weak"}, {"0.1", "weak"}, {"1", "strong"}, {"2", ""}});
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Compare(records).labels, (Texts{"weak", "strong", "raa, η = 2.0"}));
  EXPECT_EQ(Compare(records).environments[0].variants[0].label, "weak");
  EXPECT_EQ(Compare(records, {.labels = {"weak=Faint", "raa, η = 1.0=Firm"}}).labels,
            (Texts{"Faint", "Firm", "raa, η = 2.0"}));
}

TEST(SuiteNamesOfVariants, OfDrawsFollowThoseOfTheirSearch) {
  const auto records = Labelled({{"0.1", "weak, draw 2"}, {"1", "strong, draw 7"}});
  using Texts = std::vector<std::string>;
  ComparisonOptions options{.labels = {"weak=Faint"},
                            .colours = {"Faint=#123456", "strong=#abcdef"},
                            .order = {"strong,weak"},
                            .searched = {"weak", "strong"}};
  const Comparison comparison = Compare(records, options);
  EXPECT_EQ(comparison.labels, (Texts{"Faint, draw 2", "strong, draw 7"}));
  EXPECT_EQ(comparison.names.OfSuite("weak"), "Faint");
  EXPECT_EQ(comparison.names.OfSuite("strong"), "strong");
  EXPECT_EQ(comparison.given_colours.at("strong"), "#abcdef");
  EXPECT_EQ(comparison.given_order, (Texts{"strong", "weak"}));
  options.searched.clear();
  EXPECT_NE(MessageOf([&] { Compare(records, options); }).find("a label for 'weak'"),
            std::string::npos);
}

TEST(SuiteNamesOfVariants, AreLeftOutWhereTheyWouldMislead) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Compare(Labelled({{"0.1", "a"}, {"1", "a"}})).labels,
            (Texts{"raa, η = 0.1", "raa, η = 1.0"}));
  EXPECT_EQ(Compare(Labelled({{"0.1", "a"}, {"0.1", "b"}, {"1", "c"}})).labels,
            (Texts{"raa, η = 0.1", "c"}));
  EXPECT_EQ(Compare(Labelled({{"0.1", "raa, η = 1.0"}, {"1", ""}})).labels,
            (Texts{"raa, η = 0.1", "raa, η = 1.0"}));
}

}  // namespace stableaa::comparison_test
