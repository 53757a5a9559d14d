#include "stableaa/experiment/sweep/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/experiment/sweep/sweep_runs_test.h"

namespace stableaa::table_test {

class SweepTableTest : public ::testing::Test {
 protected:
  SuiteRuns four_{kFourRuns};
  std::vector<SweepRun>& runs_ = four_.runs;
};

TEST_F(SweepTableTest, TheTableHasTheRunsAtWorkAndASummary) {
  runs_[0].state = SweepState::kDone;
  for (const std::size_t i : {1, 2}) runs_[i].state = SweepState::kRunning;
  runs_[1].steps = 459;
  runs_[1].steps_per_second = 812;
  runs_[1].eval_return = 3.25;
  EXPECT_EQ(
      SweepRows(runs_, 4321, 79, 23),
      (std::vector<std::string>{"minatar-breakout-stable-aa-eta-2-1     45%    812/s  eval 3.25",
                                "minatar-breakout-stable-aa-eta-0.5-2    0%",
                                "1 of 4 done, 2 running, 1 waiting, 1h12m left"}));
  EXPECT_EQ(SweepSummary({}, std::nullopt), "0 of 0 done");
}

TEST_F(SweepTableTest, TheTableFitsAnyTerminal) {
  for (SweepRun& run : runs_) {
    run.state = SweepState::kRunning;
    run.steps_per_second = 12345;
    run.eval_return = -1234.5;
  }
  for (std::size_t columns = 1; columns < 90; ++columns) {
    for (std::size_t rows = 1; rows < 8; ++rows) {
      const std::vector<std::string> lines = SweepRows(runs_, 1e8, columns, rows);
      EXPECT_LE(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
      EXPECT_TRUE(lines.back().starts_with(std::string("0 of 4 done").substr(0, columns)));
      EXPECT_EQ(lines.size(), std::min<std::size_t>(rows, 5));
    }
  }
  EXPECT_EQ(SweepRows(runs_, {}, 80, 3)[1], "... and 3 more");
  // A long name shows its end, which distinguishes it.
  EXPECT_EQ(SweepRows(runs_, {}, 50, 9)[3], "..-stable-aa-eta-2-2    0%    12k/s  eval -1234");
}

TEST(SweepTableLines, LeavesTheCursorAtItsBeginning) {
  EXPECT_EQ(AsLiveLine({"a"}), "a\x1b[K\x1b[J\r");
  EXPECT_EQ(AsLiveLine({"a", "b", "c"}), "a\x1b[K\nb\x1b[K\nc\x1b[K\x1b[J\x1b[2A\r");
}

TEST_F(SweepTableTest, TheSummaryNamesOnlyWhatThereIs) {
  EXPECT_EQ(SweepSummary(runs_, std::nullopt), "0 of 4 done, 4 waiting");
  runs_[0].state = SweepState::kFailed;
  runs_[1].state = SweepState::kStopped;
  runs_[2].state = SweepState::kRunning;
  EXPECT_EQ(SweepSummary(runs_, 90),
            "0 of 4 done, 1 failed, 1 stopped, 1 running, 1 waiting, 1m30s left");
  for (SweepRun& run : runs_) run.state = SweepState::kDone;
  EXPECT_EQ(SweepSummary(runs_, std::nullopt), "4 of 4 done");
}

// Only complete runs show 100 %.
TEST_F(SweepTableTest, SharesAreRoundedDown) {
  runs_[0].state = SweepState::kRunning;
  for (const auto& [steps, shown] :
       std::vector<std::pair<int, std::string>>{{9, "  0%"}, {999, " 99%"}, {1000, "100%"}}) {
    runs_[0].steps = steps;
    EXPECT_EQ(SweepRows(runs_, {}, 80, 9).at(0), "minatar-breakout-stable-aa-eta-0.5-1  " + shown);
  }
}

}  // namespace stableaa::table_test
