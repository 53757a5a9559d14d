#include "stableaa/mdp/watch/solve_trace.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "stableaa/base/text/csv_cells.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::solve_trace_test {

constexpr char kHeader[] =
    "run,iterations,seconds,residual,lower,upper,inner_iterations,accelerated,plain,rejected,"
    "restarts,qr_solves\n";

class SolveTraceFile : public testing::Test {
 protected:
  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }
  void SetContent(const std::string& content) const {
    std::ofstream(path_, std::ios::binary) << content;
  }

  const TemporaryFolder directory_;
  const std::filesystem::path path_ = directory_ / "t.csv";
};

TEST_F(SolveTraceFile, HasALinePerStepWithEmptyCellsForWhatIsNotThere) {
  const AcceleratorStatistics statistics{.steps = 9,
                                         .accelerated = 3,
                                         .plain_no_window = 1,
                                         .plain_interval = 1,
                                         .plain_weights = 1,
                                         .rejected = 2,
                                         .restarts_scheduled = 1,
                                         .restarts_growth = 1,
                                         .restarts_range = 2,
                                         .qr_solves = 5};
  SolveTraceWriter writer(path_, {}, "vi grid.drn");
  writer.Add({.iterations = 1.5, .seconds = 0.25, .residual = 8, .lower = -2, .upper = 4});
  writer.Add({.iterations = 2,
              .inner_iterations = 7,
              .seconds = 0.5,
              .residual = 4,
              .lower = kNothing,
              .upper = kNothing,
              .acceleration = &statistics});
  EXPECT_FALSE(std::filesystem::exists(path_));
  writer.Commit();
  EXPECT_EQ(Content(), std::string(kHeader) +
                           "vi grid.drn,1.5,0.25,8,-2,4,0,,,,,\n"
                           "vi grid.drn,2,0.5,4,,,7,3,3,2,4,5\n");
}

TEST_F(SolveTraceFile, IsReadBackAsCurves) {
  SolveTraceWriter writer(path_, {}, "a, \"b\"");
  writer.Add({.iterations = 1, .seconds = 0.25, .residual = 8, .lower = -2, .upper = 4});
  writer.Add(
      {.iterations = 2, .seconds = 0.5, .residual = 4, .lower = kNothing, .upper = kNothing});
  writer.Commit();
  const SolveTrace trace = ReadTrace(path_);
  EXPECT_EQ(trace.text, Content());
  ASSERT_EQ(trace.curves.size(), 1U);
  EXPECT_EQ(trace.curves[0].label, "a, \"b\"");
  ASSERT_EQ(trace.curves[0].points.size(), 2U);
  EXPECT_EQ(trace.curves[0].points[0].seconds, 0.25);
  EXPECT_EQ(trace.curves[0].points[0].error, 4);
  EXPECT_EQ(trace.curves[0].points[0].residual, 8);
  EXPECT_TRUE(std::isnan(trace.curves[0].points[1].error));
}

TEST_F(SolveTraceFile, KeepsFormerRunsToTheByte) {
  const std::string former = std::string(kHeader) + "old,1,1,1,-1,1,0,,,,,\n";
  SetContent(former);
  SolveTraceWriter writer(path_, ReadTrace(path_), "new");
  writer.Add({.iterations = 1});
  writer.Commit();
  EXPECT_EQ(Content(), former + "new,1,0,0,0,0,0,,,,,\n");
  EXPECT_EQ(ReadTrace(path_).curves.size(), 2U);
}

TEST_F(SolveTraceFile, ThatIsMissingOrEmptyHasNoRuns) {
  EXPECT_EQ(ReadTrace(path_).text, "");
  SetContent("");
  EXPECT_TRUE(ReadTrace(path_).curves.empty());
}

// Without a writer, opening it would wait forever.
TEST_F(SolveTraceFile, ThatIsAPipeIsNotAddedTo) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(MessageOf([&] { ReadTrace(path_); }),
            path_.string() + ": expected a regular file to add to");
}

TEST_F(SolveTraceFile, OfAnotherKindIsAnErrorWithTheLine) {
  for (const auto& [content, line] : std::vector<std::pair<std::string, int>>{
           {"state,value\n0,1\n", 1},
           {"\n", 1},
           {std::string(kHeader) + "a,1,1\n", 2},
           {std::string(kHeader) + "a,1,1,1,1,1,1,,,,,\na,1,1,x,1,1,1,,,,,\n", 3},
           {std::string(kHeader) + "\"a,1,1,1,1,1,1,,,,,\n", 2}}) {
    SetContent(content);
    const std::string message = MessageOf([&] { ReadTrace(path_); });
    EXPECT_TRUE(message.starts_with(path_.string() + ":" + std::to_string(line) + ": ")) << message;
    EXPECT_EQ(Content(), content);
  }
}

TEST(SolveCurveLabel, IsNumberedIfItIsTaken) {
  EXPECT_EQ(UnusedLabel("vi a", {}), "vi a");
  EXPECT_EQ(UnusedLabel("vi a", {{"vi a", {}}}), "vi a #2");
  EXPECT_EQ(UnusedLabel("vi a", {{"vi a", {}}, {"vi a #2", {}}}), "vi a #3");
}

TEST(SolveCurveRecorder, KeepsFewPointsOfManySpreadOverTheRunAndAlwaysTheLast) {
  for (const std::size_t steps : {0UL, 1UL, 2UL, 1999UL, 2000UL, 2001UL, 100'003UL}) {
    CurveRecorder recorder("run");
    for (std::size_t i = 1; i <= steps; ++i) recorder.Add({.seconds = static_cast<double>(i)});
    const SolveCurve curve = recorder.Finish();
    ASSERT_LE(curve.points.size(), CurveRecorder::kMost);
    if (steps == 0) {
      EXPECT_TRUE(curve.points.empty());
      continue;
    }
    EXPECT_EQ(curve.points.front().seconds, 1);
    EXPECT_EQ(curve.points.back().seconds, static_cast<double>(steps));
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const double gap = curve.points[i].seconds - curve.points[i - 1].seconds;
      EXPECT_GT(gap, 0);
      EXPECT_LE(gap, 1 + 4.0 * static_cast<double>(steps) / CurveRecorder::kMost);
    }
  }
}

TEST(CsvCells, SurviveQuotesAndCommas) {
  std::vector<std::string> cells;
  for (const std::string text : {"", "a", "a,b", "\"", "a \"b\", c", ",", "\"\""}) {
    ASSERT_TRUE(SplitLine(TextCell(text) + ",x," + TextCell(text), cells)) << text;
    EXPECT_EQ(cells, (std::vector<std::string>{text, "x", text}));
  }
  for (const std::string line : {"\"a", "a\"b\"", "\"a\"b", "\"a\" ,b"}) {
    EXPECT_FALSE(SplitLine(line, cells)) << line;
  }
}

TEST(CsvCells, NumbersReadBackToTheSameBits) {
  for (const double number : {0.1, -1e-300, 5e-324, 1e308, 0.0}) {
    EXPECT_EQ(NumberOf(NumberCell(number)), number);
  }
  EXPECT_EQ(NumberCell(kNothing), "");
  EXPECT_TRUE(std::isnan(*NumberOf("")));
  for (const std::string text : {"x", "1x", " 1", "1 ", "--1"}) {
    EXPECT_FALSE(NumberOf(text).has_value()) << text;
  }
}

}  // namespace stableaa::solve_trace_test
