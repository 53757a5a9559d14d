#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/experiment/report/parts.h"
#include "stableaa/experiment/report/report_parts_test.h"
#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::scores_test {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

// ---- Scores ----

// Steps 10 and 20: the final score is that of step 20 alone, the area is the mean of both.
const std::vector<MadeRun> kRuns = {{.preset = "dqn", .seed = 1, .returns = {1, 3}},
                                    {.preset = "dqn", .seed = 2, .returns = {3, 7}},
                                    {.preset = "raa", .seed = 1, .returns = {2.5, 2}}};

TEST(ReportScores, AreFinalBestAreaAndStepsToAReturn) {
  MadeReport report(kRuns, {.thresholds = {{"minatar/breakout", 3}}});
  AddScores(*report);
  // √8, 3/√2; dqn reaches 3 at steps 20 and 10, raa never.
  EXPECT_EQ(report.Csv("scores"),
            "env,variant,score,runs,mean,std,iqm,low,high,median,median_low,median_high,carried\n"
            "minatar/breakout,dqn,final,2,5,2.8284271247461903,5,3,7,,,,0\n"
            "minatar/breakout,dqn,best,2,5,2.8284271247461903,5,3,7,,,,0\n"
            "minatar/breakout,dqn,area,2,3.5,2.1213203435596424,3.5,2,5,,,,0\n"
            "minatar/breakout,dqn,steps_to_3,2,,,,,,15,10,20,0\n"
            "minatar/breakout,raa,final,1,2,,2,,,,,,0\n"
            "minatar/breakout,raa,best,1,2.5,,2.5,,,,,,0\n"
            "minatar/breakout,raa,area,1,2.25,,2.25,,,,,,0\n"
            "minatar/breakout,raa,steps_to_3,1,,,,,,inf,,,0\n");
  ASSERT_EQ(report.Section("scores").tables.size(), 1U);
  const ReportTable& table = report.Section("scores").tables[0];
  EXPECT_EQ(table.caption,
            "minatar/breakout, 1 to 2 runs each, compared at step 20. The return to reach: 3.00, "
            "as given.");
  EXPECT_EQ(table.columns.back(), "steps to 3.00 (runs)");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0], (Row{"dqn", "5.00 [3.00, 7.00]", "5.00 ± 2.83", "5.00 [3.00, 7.00]",
                                "3.50 [2.00, 5.00]", "15.0 [10.0, 20.0] (2 of 2)"}));
  EXPECT_EQ(table.rows[1], (Row{"raa", "2.00", "2.00", "2.50", "2.25", "∞ (0 of 1)"}));
  EXPECT_TRUE(report.FigureNames().empty()) << "one environment alone needs no figure";
}

// Two environments whose evaluations span [0, 10] and [100, 200].
const std::vector<MadeRun> kTwoEnvironments = {
    {.env = "minatar/breakout", .preset = "dqn", .returns = {0, 10}},
    {.env = "minatar/breakout", .preset = "raa", .returns = {0, 5}},
    {.env = "minatar/freeway", .preset = "dqn", .returns = {100, 200}},
    {.env = "minatar/freeway", .preset = "raa", .returns = {100, 125}}};

TEST(ReportScores, EnvironmentsTogetherAreNormalised) {
  MadeReport report(kTwoEnvironments);
  AddScores(*report);
  const std::string& csv = report.Csv("scores");
  EXPECT_TRUE(Holds(csv, "\nall (normalised),dqn,final,2,1,0,1,,,,,,0\n")) << csv;
  // ½ and ¼; the curves begin at 0.
  EXPECT_TRUE(Holds(csv, "\nall (normalised),raa,final,2,0.375,0.17677669529663689,0.375,,,,,,0\n"))
      << csv;
  EXPECT_TRUE(Holds(csv, "\nall (normalised),raa,area,2,0.1875,")) << csv;
  const ReportSection& section = report.Section("scores");
  ASSERT_EQ(section.tables.size(), 3U);
  EXPECT_EQ(section.tables[0].rows[1], (Row{"raa", "0.375", "0.375 ± 0.177", "0.375", "0.188"}));
  ASSERT_EQ(section.figures.size(), 1U);
  EXPECT_EQ(section.figures[0].name, "final-all");
  // The first row is at the top.
  EXPECT_TRUE(Holds(section.figures[0].picture.script, "\n2 1 1 1 0x")) << "dqn";
  EXPECT_TRUE(Holds(section.figures[0].picture.script, "\n1 0.375 0.375 0.375 0x")) << "raa";
}

// ---- The probability of improvement ----

TEST(ReportImprovements, CountWinsAndHalfTheTies) {
  MadeReport report(std::vector<MadeRun>{{.preset = "dqn", .seed = 1, .returns = {3}},
                                         {.preset = "dqn", .seed = 2, .returns = {7}},
                                         {.preset = "raa", .seed = 1, .returns = {3}}});
  AddImprovements(*report);
  // 3 against 3 and 7: half a win out of two.
  EXPECT_EQ(report.Csv("improvement"),
            "env,x,y,probability,low,high\nminatar/breakout,raa,dqn,0.25,,\n");
  const ReportSection& section = report.Section("improvement");
  ASSERT_EQ(section.tables.size(), 1U);
  EXPECT_EQ(section.tables[0].rows, (std::vector<Row>{{"raa > dqn", "0.25", ""}}));
  ASSERT_EQ(section.figures.size(), 1U);
  EXPECT_TRUE(Holds(section.figures[0].picture.script, "\n1 0.25 0.25 0.25 0x"));
  EXPECT_TRUE(Holds(section.figures[0].picture.script, "set xrange [0:1]\n"));
  EXPECT_TRUE(Holds(section.figures[0].picture.script, "set arrow from 0.5, "));
}

TEST(ReportImprovements, HaveIntervalsWhereBothHaveSeveralRuns) {
  MadeReport report(std::vector<MadeRun>{{.preset = "dqn", .seed = 1, .returns = {1}},
                                         {.preset = "dqn", .seed = 2, .returns = {2}},
                                         {.preset = "raa", .seed = 1, .returns = {3}},
                                         {.preset = "raa", .seed = 2, .returns = {4}}});
  AddImprovements(*report);
  EXPECT_EQ(report.Section("improvement").tables.at(0).rows,
            (std::vector<Row>{{"raa > dqn", "1.00", "[1.00, 1.00]"}}));
}

TEST(ReportImprovements, TellEveryPairOnceAndAllEnvironmentsFirst) {
  std::vector<MadeRun> runs = kTwoEnvironments;
  runs.push_back({.env = "minatar/breakout", .preset = "stable-aa", .returns = {0, 7}});
  runs.push_back({.env = "minatar/freeway", .preset = "stable-aa", .returns = {100, 110}});
  MadeReport report(runs);
  AddImprovements(*report);
  // Breakout: 10, 5, 7; Freeway: 200, 125, 110.
  EXPECT_EQ(report.Csv("improvement"),
            "env,x,y,probability,low,high\n"
            "all,raa,dqn,0,,\n"
            "all,stable-aa,dqn,0,,\n"
            "all,stable-aa,raa,0.5,,\n"
            "minatar/breakout,raa,dqn,0,,\n"
            "minatar/breakout,stable-aa,dqn,0,,\n"
            "minatar/breakout,stable-aa,raa,1,,\n"
            "minatar/freeway,raa,dqn,0,,\n"
            "minatar/freeway,stable-aa,dqn,0,,\n"
            "minatar/freeway,stable-aa,raa,0,,\n");
  EXPECT_EQ(report.Section("improvement").tables.size(), 3U);
}

TEST(ReportImprovements, OneVariantHasNobodyToBeat) {
  MadeReport report(std::vector<MadeRun>{{.returns = {1}}});
  AddImprovements(*report);
  EXPECT_FALSE(report.HasSection("improvement"));
}

// ---- Profiles ----

TEST(ReportProfiles, AreTheSharesOfRunsAboveAThreshold) {
  MadeReport report(kTwoEnvironments);
  AddProfiles(*report);
  const std::string& csv = report.Csv("profiles");
  EXPECT_EQ(CountOf(csv, "\n"), 1U + 2 * 101);
  // raa has ½ and ¼.
  for (const char* const line :
       {"dqn,0,1,,", "dqn,0.98999999999999999,1,,", "dqn,1,0,,", "raa,0.23999999999999999,1,,",
        "raa,0.25,0.5,,", "raa,0.48999999999999999,0.5,,", "raa,0.5,0,,"}) {
    EXPECT_EQ(CountOf(csv, std::string("\n") + line + "\n"), 1U) << line;
  }
  EXPECT_EQ(report.FigureNames(), std::vector<std::string>{"profile"});
  const std::string& script = report.Figure("profile").picture.script;
  EXPECT_NE(script.find("set yrange [0:1]\n"), std::string::npos) << script;
  EXPECT_NE(script.find("'1' 1)"), std::string::npos) << "ticks of the whole range: " << script;
}

TEST(ReportProfiles, NeedSeveralEnvironments) {
  MadeReport report(kRuns);
  AddProfiles(*report);
  EXPECT_FALSE(report.HasSection("profiles"));
}

// ---- Runs carried forward ----

// As left by a sweep whose suite ends runs at a given return.
TEST(FullReport, CarriesRunsForwardThatReachedTheirSuitesReturn) {
  const FolderOfRuns folder;
  const std::vector<std::string> planned = {"train.steps=5000"};
  WriteRun(folder / "runs" / "fast", "minatar/breakout", "dqn", 1, {1, 9}, planned);
  WriteRun(folder / "runs" / "slow", "minatar/breakout", "dqn", 2, {1, 2, 3, 4, 5}, planned);
  WriteRun(folder / "runs" / "raa", "minatar/breakout", "raa", 1, {1, 2, 3, 8.5}, planned);
  WriteContent(folder / "runs" / "suite.toml", "title = \"t\"\n[stop]\neval_return = 8\n");
  WriteContent(folder / "runs" / "sweep.json", R"({"runs": [
      {"name": "fast", "status": "done"}, {"name": "slow", "status": "done"},
      {"name": "raa", "status": "done"}]})");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  EXPECT_TRUE(summary.comparison.left_out.empty());
  const std::string page = FileContent(summary.page);
  EXPECT_NE(page.find("compared at step 5000. The return to reach: 8.00, stop.eval_return of the "
                      "suite. 2 of 3 runs had reached the suite's stop.eval_return"),
            std::string::npos);
  EXPECT_NE(page.find(">1 of 2, from step 2,000</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>reached the suite's return, carried forward from step 2000</td>"),
            std::string::npos);
  const fs::path tables = folder / "report" / "tables";
  const std::string curves = FileContent(tables / "curves.csv");
  EXPECT_NE(curves.find("\nminatar/breakout,dqn,2000,2,5.5,"), std::string::npos) << curves;
  EXPECT_NE(curves.find("\nminatar/breakout,dqn,5000,2,7,"), std::string::npos) << curves;
  EXPECT_NE(curves.find("\nminatar/breakout,raa,5000,1,8.5,,8.5,,,1\n"), std::string::npos)
      << curves;
  const std::string scores = FileContent(tables / "scores.csv");
  EXPECT_NE(scores.find("\nminatar/breakout,raa,final,1,8.5,,8.5,,,,,,1\n"), std::string::npos)
      << scores;
  EXPECT_NE(scores.find("\nminatar/breakout,raa,steps_to_8,1,,,,,,4000,,,1\n"), std::string::npos)
      << scores;
  const std::string runs = FileContent(tables / "runs.csv");
  EXPECT_NE(runs.find(",2000\n"), std::string::npos) << runs;
}

TEST(FullReport, SaysWhereFinalScoresAreThoseOfRunsCarriedForward) {
  const FolderOfRuns folder;
  WriteSweepWithReturn(folder / "runs");
  const std::string page =
      FileContent(WriteReport({.directories = {folder / "runs"}, .out = folder / "report"}).page);
  const std::string two = "2 of 8 runs had reached the suite's stop.eval_return and ended before",
                    one = "1 of 4 runs had reached the suite's stop.eval_return and ended before";
  EXPECT_EQ(CountOf(SummaryOf(page), "<li>" + two), 1U) << SummaryOf(page);
  for (const char* const name : {"final-all", "improvement", "profile"}) {
    const std::size_t at = page.find("<figure id=\"figure-" + std::string(name));
    ASSERT_NE(at, std::string::npos) << name;
    const std::string figure = page.substr(at, page.find("</figure>", at) - at);
    EXPECT_EQ(CountOf(figure.substr(figure.find("<figcaption>")), two), 1U) << name;
  }
  EXPECT_NE(page.find("how likely X has the larger final score. " + two), std::string::npos);
  EXPECT_EQ(CountOf(page, "how likely X has the larger final score. " + one), 2U);
}

}  // namespace stableaa::scores_test
