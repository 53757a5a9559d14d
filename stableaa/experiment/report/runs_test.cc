#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/experiment/report/parts.h"
#include "stableaa/experiment/report/report_parts_test.h"
#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::runs_test {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

// ---- Cost ----

TEST(ReportCost, IsTheMeanOverRuns) {
  const std::string header = "step,wall_seconds,wall_memory_bytes\n";
  MadeReport report(std::vector<MadeRun>{
      {.preset = "dqn",
       .seed = 1,
       .returns = {1},
       .metrics = header + "5,1,5\n10,2,3000000\n",
       .description = {{"parameters", "77"}}},
      {.preset = "dqn", .seed = 2, .returns = {1}, .metrics = header + "10,0.4,5000000\n"},
      {.preset = "raa", .returns = {1}, .metrics = header + "10,1,\n"},
      {.preset = "stable-aa", .returns = {1}}});
  AddCost(*report);
  // 5 and 25 steps per second average 15; 10 for raa; nothing is known about stable-aa.
  EXPECT_EQ(report.Csv("cost"),
            "env,variant,runs,steps_per_second,hours_per_million_steps,memory_bytes,parameters\n"
            "minatar/breakout,dqn,2,15,18.518518518518519,4000000,77\n"
            "minatar/breakout,raa,1,10,27.777777777777779,,\n"
            "minatar/breakout,stable-aa,1,,,,\n");
  ASSERT_EQ(report.Section("cost").tables.size(), 1U);
  EXPECT_EQ(report.Section("cost").tables[0].rows,
            (std::vector<Row>{{"minatar/breakout", "dqn", "15.0", "18.5", "1.00", "4.00", "77"},
                              {"minatar/breakout", "raa", "10.0", "27.8", "1.50", "–", ""},
                              {"minatar/breakout", "stable-aa", "–", "–", "–", "–", ""}}));
}

// ---- What was run ----

TEST(ReportRuns, EveryRunIsListedWithWhatBecameOfIt) {
  const std::vector<std::string> steps = {"train.steps=20"};
  MadeReport report(std::vector<MadeRun>{
      {.preset = "dqn",
       .seed = 1,
       .returns = {1, 2},
       .settings = steps,
       .metrics = "step,wall_seconds\n20,2.5\n",
       .description = {{"version", "9.9"}, {"compiler", "cc"}, {"machine", "m, \"x\""}}},
      {.preset = "dqn", .seed = 2, .returns = {1}, .settings = steps},
      {.preset = "raa", .seed = 1, .returns = {1, 2}, .settings = steps, .diverged = true}});
  AddWhatWasRun(*report, {});
  EXPECT_EQ(report.Csv("runs"),
            "env,variant,seed,step,steps,status,left_out,wall_seconds,version,compiler,machine,"
            "directory,carried_from\n"
            "minatar/breakout,dqn,1,20,20,complete,,2.5,9.9,cc,\"m, \"\"x\"\"\",dqn1,\n"
            "minatar/breakout,dqn,2,10,20,at 50 %,\"evaluated up to step 10, compared at "
            "20\",,,,,dqn2,\n"
            "minatar/breakout,raa,1,20,20,diverged,diverged after step 20,,,,,raa1,\n");
  const ReportTable& table = report.Section("runs").tables.back();
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[1], (Row{"minatar/breakout", "dqn", "2", "10.0", "20.0", "at 50 %",
                                "evaluated up to step 10, compared at 20", "dqn2"}));
}

TEST(ReportRuns, FailuresAreListed) {
  MadeReport report(std::vector<MadeRun>{{.returns = {1}}});
  AddWhatWasRun(*report, {{"runs/a", "no room"}, {"runs/b", "killed"}});
  const ReportSection& section = report.Section("runs");
  EXPECT_EQ(std::ranges::count(section.paragraphs, "2 runs failed or could not be read."), 1);
  const auto failures = std::ranges::find(section.tables, "Failures.", &ReportTable::caption);
  ASSERT_NE(failures, section.tables.end());
  EXPECT_EQ(failures->rows, (std::vector<Row>{{"runs/a", "no room"}, {"runs/b", "killed"}}));

  MadeReport well(std::vector<MadeRun>{{.returns = {1}}});
  AddWhatWasRun(*well, {});
  EXPECT_EQ(std::ranges::count(well.Section("runs").paragraphs, "No run failed."), 1);
}

TEST(ReportRuns, ProtocolsAndMachinesAreNamedOnce) {
  const std::vector<std::string> games = {"eval.episodes=7", "eval.epsilon=0.25"};
  MadeReport report(std::vector<MadeRun>{
      {.env = "minatar/breakout",
       .returns = {1},
       .settings = games,
       .description =
           {{"protocol", "sticky"}, {"version", "1"}, {"compiler", "cc"}, {"machine", "two"}}},
      {.env = "minatar/freeway",
       .returns = {1},
       .settings = games,
       .description = {
           {"protocol", "sticky"}, {"version", "2"}, {"compiler", "cc"}, {"machine", "two"}}}});
  AddWhatWasRun(*report, {});
  const std::vector<std::string>& paragraphs = report.Section("runs").paragraphs;
  ASSERT_GE(paragraphs.size(), 2U);
  EXPECT_EQ(paragraphs[0],
            "Protocol of minatar/breakout and minatar/freeway: sticky; evaluations: 7 games, ε = "
            "0.25. Returns are sums of unclipped rewards over whole games.");
  EXPECT_EQ(paragraphs[1], "stableaa 1 and 2; cc; two.");
}

// ---- Configurations ----

TEST(FullReport, TellsEveryKeyOnce) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "a", "minatar/breakout", "dqn", 1, {1});
  WriteRun(folder / "runs" / "b", "minatar/breakout", "dqn", 2, {1, 2}, {"agent.discount=0.5"});
  WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  const fs::path tables = folder / "report" / "tables";
  const std::string differ = FileContent(tables / "configuration.csv");
  const std::string common = FileContent(tables / "configuration_common.csv");
  EXPECT_EQ(CountOf(differ, "\n"), 2U) << differ;
  EXPECT_NE(differ.find("\nagent.discount,0.5,0.99\n"), std::string::npos) << differ;
  RunOptions options;
  Config config;
  Describe(config, options);
  for (const ConfigKey& key : config.Keys()) {
    const bool is_free = key.key == "train.seed" || key.key == "train.steps";
    EXPECT_EQ(CountOf("\n" + differ + common, "\n" + key.key + ","), is_free ? 0U : 1U) << key.key;
  }
}

}  // namespace stableaa::runs_test
