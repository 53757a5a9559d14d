#include "stableaa/experiment/report/sections.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/experiment/report/report_parts_test.h"
#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::sections_test {

namespace fs = std::filesystem;

ReportContent ContentOf(const std::vector<MadeRun>& runs) {
  std::vector<RunRecord> records;
  for (const MadeRun& run : runs) records.push_back(MakeRecord(run));
  return MakeReportContent(records, Compare(records), {});
}

std::vector<std::string> SectionsOf(const ReportContent& content) {
  std::vector<std::string> ids;
  for (const ReportSection& section : content.sections) ids.push_back(section.id);
  return ids;
}

TEST(ReportSections, AreThoseThatHaveSomethingToShow) {
  EXPECT_EQ(SectionsOf(ContentOf({{.preset = "dqn", .returns = {1, 2}}})),
            (std::vector<std::string>{"curves", "scores", "cost", "runs", "method"}));
}

TEST(ReportSections, OfRunsThatMixAndVaryThereAreAll) {
  std::vector<MadeRun> runs;
  for (const char* const env : {"minatar/breakout", "minatar/freeway"}) {
    for (const char* const eta : {"agent.eta=1", "agent.eta=2"}) {
      runs.push_back({.env = env,
                      .preset = "stable-aa",
                      .returns = {1, 2},
                      .settings = {eta},
                      .metrics = "step,gain\n10,0.5\n"});
    }
  }
  EXPECT_EQ(SectionsOf(ContentOf(runs)),
            (std::vector<std::string>{"curves", "scores", "improvement", "profiles", "ablations",
                                      "mixing", "cost", "runs", "method"}));
}

TEST(ReportSections, FiguresOfOneStemKeepFilesOfTheirOwn) {
  const std::string same(100, 'x');
  const ReportContent content = ContentOf({{.preset = "stable-aa",
                                            .returns = {1},
                                            .settings = {"network.layers=" + same + "a"},
                                            .metrics = "step,gain\n10,0.5\n"},
                                           {.preset = "stable-aa",
                                            .returns = {1},
                                            .settings = {"network.layers=" + same + "b"},
                                            .metrics = "step,gain\n10,0.5\n"}});
  std::vector<std::string> names;
  for (const ReportSection& section : content.sections) {
    if (section.id != "mixing") continue;
    for (const ReportFigure& figure : section.figures) names.push_back(figure.name);
  }
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[1], names[0] + "-2");
}

TEST(FullReport, NamesFilesOfLongVariants) {
  const FolderOfRuns folder;
  for (const char* const path : {"a", "b"}) {
    WriteRun(folder / "runs" / path, "minatar/breakout", "stable-aa", 1, {1, 2},
             {"network.layers=" + std::string(300, *path)});
  }
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  EXPECT_EQ(NamesIn(folder / "report" / "figures").size(), 3 * summary.figures);
}

TEST(FullReport, ShowsRunsWithoutAnyEvaluation) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {});
  const ReportSummary summary =
      WriteReport({.directories = {folder / "run"}, .out = folder / "report"});
  EXPECT_EQ(summary.figures, 0U);
  EXPECT_NE(FileContent(summary.page).find("No run has an evaluation yet"), std::string::npos);
}

TEST(FullReport, SaysSoIfNoRunCanBeCompared) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {1, 2});
  WriteContent(folder / "run" / "metrics.csv", "step,eval_return_mean\n1000,1\n2000,inf\n");
  const std::string page =
      FileContent(WriteReport({.directories = {folder / "run"}, .out = folder / "report"}).page);
  EXPECT_EQ(page.find("No run has an evaluation yet"), std::string::npos);
  EXPECT_NE(page.find("No run can be compared: what was run, below, says why."), std::string::npos);
}

}  // namespace stableaa::sections_test
