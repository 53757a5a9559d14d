#include "stableaa/experiment/report/parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/experiment/report/report_parts_test.h"

namespace stableaa::parts_test {

TEST(ShownNumbers, HaveAboutThreeDigits) {
  EXPECT_EQ(ShownNumber(0), "0.000");
  EXPECT_EQ(ShownNumber(0.12345), "0.123");
  EXPECT_EQ(ShownNumber(-1.5), "-1.50");
  EXPECT_EQ(ShownNumber(9.999), "10.0");
  EXPECT_EQ(ShownNumber(99.96), "100");
  EXPECT_EQ(ShownNumber(1234567.8), "1,234,568");
  EXPECT_EQ(ShownNumber(-12345), "-12,345");
  EXPECT_EQ(ShownNumber(std::numeric_limits<double>::infinity()), "∞");
  EXPECT_EQ(ShownNumber(std::numeric_limits<double>::quiet_NaN()), "–");
}

TEST(ReportWords, CountAndJoin) {
  EXPECT_EQ(Plural(0, "run"), "0 runs");
  EXPECT_EQ(Plural(1, "run"), "1 run");
  EXPECT_EQ(Plural(2, "run"), "2 runs");
  EXPECT_EQ(Joined({}), "");
  EXPECT_EQ(Joined({"a"}), "a");
  EXPECT_EQ(Joined({"a", "b"}), "a and b");
  EXPECT_EQ(Joined({"a", "b", "c"}), "a, b and c");
}

TEST(ReportWords, EstimatesHaveTheirUncertaintyIfItIsKnown) {
  const Estimate one{.mean = 2, .deviation = std::nan(""), .iqm = 3, .runs = 1};
  EXPECT_EQ(ShownEstimate(one), "3.00");
  EXPECT_EQ(ShownMean(one), "2.00");
  const Estimate several{
      .mean = 2, .deviation = .5, .iqm = 3, .interval = Interval{-1, 12.5}, .runs = 4};
  EXPECT_EQ(ShownEstimate(several), "3.00 [-1.00, 12.5]");
  EXPECT_EQ(ShownMean(several), "2.00 ± 0.500");
}

TEST(ReportWords, RunsAreCountedPerVariant) {
  MadeReport report(std::vector<MadeRun>{{.preset = "dqn", .seed = 1, .returns = {1}},
                                         {.preset = "dqn", .seed = 2, .returns = {1}},
                                         {.preset = "dqn", .seed = 3, .returns = {1}},
                                         {.preset = "raa", .seed = 1, .returns = {1}}});
  const EnvironmentResults& results = report->comparison.environments.at(0);
  EXPECT_EQ(RunsText(results), "1 to 3 runs each");
  EXPECT_TRUE(HaveIntervals(results)) << "dqn has several runs";
  EXPECT_EQ(CarriedText(results), "");
  MadeReport equal(
      std::vector<MadeRun>{{.preset = "dqn", .returns = {1}}, {.preset = "raa", .returns = {1}}});
  EXPECT_EQ(RunsText(equal->comparison.environments.at(0)), "1 run each");
  EXPECT_FALSE(HaveIntervals(equal->comparison.environments.at(0)));
}

TEST(ReportWords, SharedEnvironmentsAreThoseOfAllVariants) {
  std::vector<MadeRun> runs;
  for (const char* const env : {"minatar/breakout", "minatar/freeway", "minatar/asterix"}) {
    for (const char* const preset : {"dqn", "raa"}) {
      runs.push_back({.env = env, .preset = preset, .seed = 1, .returns = {1}});
      runs.push_back({.env = env, .preset = preset, .seed = 2, .returns = {2}});
    }
  }
  MadeReport all(runs);
  EXPECT_TRUE(all->HasShared());
  EXPECT_EQ(SharedText(*all), "All 3 environments");
  EXPECT_TRUE(SharedHaveIntervals(*all));
  EXPECT_EQ(SharedIntervalText(*all), "with 95 % stratified bootstrap intervals");
  runs.pop_back();
  MadeReport one_run(runs);
  EXPECT_FALSE(SharedHaveIntervals(*one_run)) << "raa has one run in asterix";
  EXPECT_EQ(SharedIntervalText(*one_run), "without intervals, for which there are too few runs");
  runs.pop_back();
  MadeReport two(runs);
  EXPECT_EQ(SharedText(*two), "The 2 environments that have all variants");
  EXPECT_TRUE(SharedHaveIntervals(*two));
}

TEST(ReportWords, ScalesAreNamed) {
  const auto scale = [](const std::vector<std::string>& envs) {
    std::vector<MadeRun> runs;
    for (const std::string& env : envs) runs.push_back({.env = env, .returns = {1, 2}});
    MadeReport report(runs);
    return ScaleText(*report);
  };
  const std::string human = "human-normalised (0: random play, 1: a person)";
  const std::string range =
      "min–max normalised (0 and 1: the smallest and the largest evaluation in this report)";
  EXPECT_EQ(scale({"minatar/breakout", "minatar/freeway"}), range);
  EXPECT_EQ(scale({"atari/breakout", "atari/pong"}), human);
  EXPECT_EQ(scale({"atari/breakout", "minatar/freeway"}), "Atari " + human + ", others " + range);
}

// A run that ended at step 20 of 40 because an evaluation was good enough.
TEST(ReportWords, RunsCarriedForwardAreCounted) {
  const std::vector<std::string> planned = {"train.steps=40"};
  std::vector<RunRecord> records = {
      MakeRecord({.preset = "dqn", .seed = 1, .returns = {1, 9}, .settings = planned}),
      MakeRecord({.preset = "dqn", .seed = 2, .returns = {1, 2, 3, 4}, .settings = planned})};
  records[0].ended_early = true;
  records[0].stop_return = 8;
  MadeReport report(records);
  const std::string sentence =
      "1 of 2 runs had reached the suite's stop.eval_return and ended before: carried forward, "
      "with the last evaluation standing for all later steps.";
  EXPECT_EQ(CarriedText(report->comparison.environments.at(0)), " " + sentence);
  EXPECT_EQ(AllCarriedText(*report), sentence);
}

TEST(ReportCsv, LinesHaveTextNumbersAndGaps) {
  const std::string line = CsvLine()
                               .Text("a, \"b\"\n")
                               .Number(.1)
                               .Number(std::nan(""))
                               .Count(-3)
                               .Range(std::nullopt)
                               .Range(Interval{1, 2.5});
  EXPECT_EQ(line, "\"a, \"\"b\"\"\\n\",0.10000000000000001,,-3,,,1,2.5\n");
  const std::string numbers = CsvLine().Numbers(
      {.mean = 2, .deviation = std::nan(""), .iqm = 3, .interval = {}, .runs = 1});
  EXPECT_EQ(numbers, "1,2,,3,,\n");
  EXPECT_EQ(CountOf(std::string(kEstimateColumns), ","), CountOf(numbers, ","));
}

}  // namespace stableaa::parts_test
