#include "stableaa/mdp/watch/solve_progress.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <string>

namespace stableaa::solve_progress_test {

TEST(SolveProgressShare, IsLogarithmicFromTheFirstGapToTheTolerance) {
  EXPECT_EQ(LogarithmicShare(1, 1, 1e-6), 0);
  EXPECT_NEAR(LogarithmicShare(1, 1e-3, 1e-6), 0.5, 1e-15);
  EXPECT_EQ(LogarithmicShare(1, 1e-6, 1e-6), 1);
  EXPECT_EQ(LogarithmicShare(1, 0, 1e-6), 1);
  EXPECT_EQ(LogarithmicShare(1, 50, 1e-6), 0);
  EXPECT_EQ(LogarithmicShare(1e-7, 1e-7, 1e-6), 1);
}

// What the terminal showed last.
class SolveProgressLine : public testing::Test {
 protected:
  ~SolveProgressLine() override { std::fclose(stream_); }

  std::string After(const std::vector<SolveStep>& steps) {
    double now = 0;
    SolveProgress progress({.label = "a.drn",
                            .mode = ProgressOptions::Mode::kTerminal,
                            .stream = stream_,
                            .columns = 100,
                            .clock = [&now] { return now; }},
                           0.9, 1e-6);
    for (const SolveStep& step : steps) {
      now += 1;
      progress.Add(step);
    }
    std::fflush(stream_);
    std::rewind(stream_);
    std::string text;
    for (int c = std::fgetc(stream_); c != EOF; c = std::fgetc(stream_)) {
      text += static_cast<char>(c);
    }
    return text.substr(text.rfind("\x1b[K") + 3);
  }

  std::FILE* stream_ = std::tmpfile();
};

TEST_F(SolveProgressLine, HasShareTimePassesAndTheGap) {
  const std::string line = After({{.iterations = 1, .lower = -1, .upper = 1},
                                  {.iterations = 12, .lower = -1e-3, .upper = 5e-4}});
  EXPECT_TRUE(line.starts_with("a.drn  50% |")) << line;
  EXPECT_NE(line.find("2.0s elapsed"), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("12 sweeps, gap 1.0e-03 → 1e-06")) << line;
}

TEST_F(SolveProgressLine, ShowsTheResidualWhereThereAreNoBounds) {
  const std::string line =
      After({{.iterations = 1, .residual = 0.1, .lower = kNothing, .upper = kNothing},
             {.iterations = 2, .residual = 1e-4, .lower = kNothing, .upper = kNothing}});
  EXPECT_TRUE(line.ends_with("2 sweeps, residual 1.0e-04")) << line;
  EXPECT_TRUE(line.starts_with("a.drn  50% |")) << line;  // 0.9 → 9e-4 → 1e-6
}

TEST_F(SolveProgressLine, SurvivesStepsThatTellNothing) {
  const std::string line = After({{.residual = kNothing, .lower = kNothing, .upper = kNothing}});
  EXPECT_TRUE(line.starts_with("a.drn   0% |")) << line;
}

}  // namespace stableaa::solve_progress_test
