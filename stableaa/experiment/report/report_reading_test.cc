// Which runs a report finds, keeps, skips and rejects.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/experiment/report/report.h"
#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::report_reading_test {

namespace fs = std::filesystem;

TEST(FullReport, ShowsOnlyWhatItIsAskedFor) {
  const FolderOfRuns folder;
  WriteMixedFolder(folder / "runs");
  WriteContent(folder / "runs" / "sweep.json", R"({"runs": [
      {"name": "cart-d1", "status": "failed", "message": "of another"},
      {"name": "unknown", "status": "failed", "message": "no room"}]})");
  WriteRun(folder / "runs" / "cart-d1", "classic/cartpole", "dqn", 1, {1}, {"train.steps=9000"});
  const ReportSummary summary = WriteReport({.directories = {folder / "runs"},
                                             .out = folder / "report",
                                             .only = {{"preset", "stable-aa"},
                                                      {"env", "minatar/breakout"},
                                                      {"agent.eta", "0.1"},
                                                      {"agent.eta", "10"}}});
  EXPECT_EQ(summary.records.size(), 4U);
  ASSERT_EQ(summary.failed.size(), 1U) << "of cart-d1 it is known what it is";
  EXPECT_EQ(summary.failed[0].why, "no room");
  const std::string page = FileContent(summary.page);
  EXPECT_EQ(page.find("cartpole"), std::string::npos);
  EXPECT_NE(page.find("stable-aa, η = 10.0"), std::string::npos);
  EXPECT_EQ(page.find("η = 100.0"), std::string::npos);
  EXPECT_NE(
      RefusalOf(
          {.directories = {folder / "runs"}, .out = folder / "other", .only = {{"preset", "raa"}}})
          .find("train.preset is one of \"dqn\""),
      std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "other"));
}

// Changes the current directory for its lifetime.
class InDirectory {
 public:
  explicit InDirectory(const fs::path& directory) : former_(fs::current_path()) {
    fs::current_path(directory);
  }
  ~InDirectory() { fs::current_path(former_); }
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;

 private:
  fs::path former_;
};

TEST(FullReport, FindsTheSweepOfARunByWhateverNameTheRunHas) {
  const FolderOfRuns folder;
  WriteSweepWithReturn(folder / "runs");
  const fs::path run = folder / "runs" / "breakout-dqn-1";
  fs::create_directories(folder / "links");
  fs::create_directory_symlink(run, folder / "links" / "a");
  // A run moved to another disk.
  WriteSweepWithReturn(folder / "moved");
  fs::rename(folder / "moved" / "breakout-dqn-1", folder / "elsewhere");
  fs::create_directory_symlink(folder / "elsewhere", folder / "moved" / "breakout-dqn-1");
  const InDirectory in_run(run);
  for (const fs::path& name :
       {run, run / "", folder / "links" / "a", folder / "links", folder / "links" / "a" / "",
        fs::path("."), fs::path("../breakout-dqn-1/."), folder / "moved" / "breakout-dqn-1"}) {
    const ReportSummary summary = WriteReport({.directories = {name}, .out = folder / "report"});
    ASSERT_EQ(summary.records.size(), 1U);
    EXPECT_EQ(summary.records[0].Status(), "reached the suite's return") << name;
    EXPECT_EQ(summary.comparison.environments.at(0).steps.back(), 3000) << name;
    EXPECT_TRUE(summary.failed.empty()) << name << ": the others are not asked for";
  }
}

// The runs of a sweep whose suite had stop.steps = 3000 and now has 5000.
TEST(FullReport, ComparesAnExtendedSweepUpToItsNewEnd) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "early", "minatar/breakout", "dqn", 1, {1, 9}, {"train.steps=3000"});
  WriteRun(folder / "runs" / "last", "minatar/breakout", "dqn", 2, {1, 2, 9}, {"train.steps=3000"});
  WriteRun(folder / "runs" / "slow", "minatar/breakout", "dqn", 3, {1, 2, 3, 4, 5});
  WriteContent(folder / "runs" / "suite.toml", "[stop]\nsteps = 5000\neval_return = 8\n");
  WriteContent(folder / "runs" / "sweep.json", R"({"runs": [
      {"name": "early", "status": "done", "steps_wanted": 5000},
      {"name": "last", "status": "done", "steps_wanted": 5000},
      {"name": "slow", "status": "done", "steps_wanted": 5000}]})");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  const EnvironmentResults& results = summary.comparison.environments.at(0);
  EXPECT_EQ(results.steps.back(), 5000);
  EXPECT_EQ(results.variants.at(0).Values(&ComparedRun::final), (std::vector<double>{9, 9, 5}));
  EXPECT_EQ(results.variants.at(0).CarriedAt(5000), 2U);
}

// As other programs may write them.
TEST(FullReport, SaysWhichRunsHaveEvaluationsThatAreNoNumbers) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "good", "minatar/breakout", "dqn", 1, {1, 2});
  for (const char* const value : {"nan", "inf", "-inf"}) {
    const fs::path run = folder / "runs" / value;
    WriteRun(run, "minatar/breakout", "raa", 1, {1, 2});
    WriteContent(run / "metrics.csv", std::string("step,eval_return_mean,gain\n500,,nan\n1000,") +
                                          value + ",\n2000,2,\n");
  }
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  ASSERT_EQ(summary.comparison.left_out.size(), 3U);
  for (const LeftOutRun& run : summary.comparison.left_out) {
    EXPECT_EQ(run.why, "1 of 2 evaluations are no finite numbers, the first in step 1000");
  }
  EXPECT_NE(FileContent(summary.page).find("no finite numbers"), std::string::npos);
}

TEST(FullReport, ListsBrokenRunsOfAFolderAndRefusesOneThatIsNamed) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "good", "minatar/breakout", "dqn", 1, {1});
  WriteRun(folder / "runs" / "bad", "minatar/breakout", "dqn", 2, {1});
  WriteContent(folder / "runs" / "bad" / "metrics.csv", "step,x\n1\n");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  ASSERT_EQ(summary.failed.size(), 1U);
  EXPECT_NE(FileContent(summary.page).find("metrics.csv:2"), std::string::npos);
  const std::string refused =
      RefusalOf({.directories = {folder / "runs" / "bad"}, .out = folder / "second"});
  EXPECT_NE(refused.find("metrics.csv:2"), std::string::npos) << refused;
  EXPECT_FALSE(fs::exists(folder / "second"));
}

// As the shell expands `report SWEEP/*`.
TEST(FullReport, PassesOverWhatHoldsNoRun) {
  const FolderOfRuns folder;
  WriteRun(folder / "good", "minatar/breakout", "dqn", 1, {1});
  WriteRun(folder / "bad", "minatar/breakout", "dqn", 2, {1});
  WriteContent(folder / "bad" / "metrics.csv", "step,x\n1\n");
  WriteContent(folder / "sweep.json", R"({"runs": [{"name": "x", "status": "failed"},
                                                    {"name": "bad", "status": "failed"}]})");
  fs::create_directories(folder / "logs");
  ReportOptions options{
      .directories = {folder / "bad", folder / "good", folder / "logs", folder / "sweep.json"},
      .out = folder / "report"};
  const ReportSummary summary = WriteReport(options);
  EXPECT_EQ(summary.records.size(), 1U);
  ASSERT_EQ(summary.failed.size(), 1U) << "x was not asked for, bad is listed once";
  EXPECT_EQ(summary.failed[0].directory, (folder / "bad").string());
  options.directories.push_back(folder / "typo");
  EXPECT_NE(RefusalOf(options).find("typo"), std::string::npos);
  options.directories = {folder / "logs", folder / "sweep.json"};
  EXPECT_NE(RefusalOf(options).find("logs holds no run"), std::string::npos);
}

}  // namespace stableaa::report_reading_test
