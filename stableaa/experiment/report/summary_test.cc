#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/experiment/report/parts.h"
#include "stableaa/experiment/report/report_parts_test.h"

namespace stableaa::summary_test {

// Two runs with one evaluation each: their range is the interval.
std::vector<MadeRun> Two(const std::string& preset, double first, double second,
                         const std::string& env = "minatar/breakout") {
  return {{.env = env, .preset = preset, .seed = 1, .returns = {first}},
          {.env = env, .preset = preset, .seed = 2, .returns = {second}}};
}

std::vector<MadeRun> operator+(std::vector<MadeRun> a, const std::vector<MadeRun>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<std::string> SummaryOf(const std::vector<MadeRun>& runs,
                                   const std::vector<FailedRun>& failed = {}) {
  MadeReport report(runs);
  AddSummary(*report, failed);
  return report.summary();
}

const std::string kFew =
    "Brackets are 95 % bootstrap intervals of the IQM. With 2 runs a variant they are hardly more "
    "than the range of what was seen.";

// Wherever intervals do not overlap, including those behind the leader.
TEST(ReportSummary, TellsFirstWhoIsAhead) {
  EXPECT_EQ(SummaryOf(Two("dueling-dqn", 6, 7) + Two("raa", 1, 2) + Two("dqn", 5, 9)),
            (std::vector<std::string>{
                "6 runs in 1 environment, 3 variants.",
                "minatar/breakout: dqn has the largest final score, 7.00 [5.00, 9.00]; its "
                "interval lies above that of raa (1.50 [1.00, 2.00]); it overlaps that of "
                "dueling-dqn (6.50 [6.00, 7.00]); that of dueling-dqn lies above that of raa.",
                kFew}));
}

TEST(ReportSummary, OfSingleRunsNothingIsKnownOfIntervals) {
  EXPECT_EQ(SummaryOf({{.preset = "dqn", .returns = {1}}, {.preset = "raa", .returns = {2}}}),
            (std::vector<std::string>{
                "2 runs in 1 environment, 2 variants.",
                "minatar/breakout: raa has the largest final score, 2.00; behind it dqn (1.00), "
                "too few runs for intervals.",
                "Brackets are 95 % bootstrap intervals of the IQM. With 1 run a variant they are "
                "hardly more than the range of what was seen."}));
}

TEST(ReportSummary, FiveRunsNeedNoWarning) {
  std::vector<MadeRun> runs;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    for (const char* const preset : {"dqn", "raa"}) {
      runs.push_back({.preset = preset, .seed = seed, .returns = {static_cast<double>(seed)}});
    }
  }
  for (const std::string& sentence : SummaryOf(runs)) EXPECT_FALSE(Holds(sentence, "Brackets"));
}

TEST(ReportSummary, OneVariantIsNotCompared) {
  EXPECT_EQ(SummaryOf(Two("dqn", 1, 2)),
            std::vector<std::string>{"2 runs in 1 environment, 1 variant."});
}

TEST(ReportSummary, AllEnvironmentsComeFirst) {
  const std::vector<std::string> summary =
      SummaryOf(Two("dqn", 0, 10) + Two("raa", 4, 6) + Two("dqn", 0, 100, "minatar/freeway") +
                Two("raa", 20, 40, "minatar/freeway"));
  ASSERT_EQ(summary.size(), 5U);
  // Normalised, dqn has 0, 1, 0, 1 and raa .4, .6, .2, .4. The interquartile means are .5 and .4.
  EXPECT_TRUE(summary[1].starts_with(
      "All 2 environments, normalised: dqn has the largest final score, 0.500 ["))
      << summary[1];
  EXPECT_TRUE(Holds(summary[1], "raa (0.400 [")) << summary[1];
  EXPECT_TRUE(summary[2].starts_with("minatar/breakout: ")) << summary[2];
  EXPECT_TRUE(summary[3].starts_with("minatar/freeway: dqn has")) << summary[3];
}

TEST(ReportSummary, SaysWhatIsMissing) {
  std::vector<MadeRun> runs =
      Two("dqn", 1, 2) + Two("raa", 1, 2) + Two("dqn", 1, 2, "minatar/freeway");
  runs.push_back({.preset = "raa", .seed = 3, .returns = {1}, .diverged = true});
  const std::vector<std::string> summary = SummaryOf(runs, {{"x", "no room"}});
  ASSERT_GE(summary.size(), 3U);
  EXPECT_EQ(summary[0],
            "7 runs in 2 environments, 2 variants; 1 left out, 1 failed (see what was run).");
  EXPECT_EQ(summary[1], "Not every variant is in every environment: minatar/freeway has 1 of 2.");
  EXPECT_EQ(summary[2],
            "Diverged: 1 run of raa in minatar/breakout. Scores are those of the other runs.");
}

}  // namespace stableaa::summary_test
