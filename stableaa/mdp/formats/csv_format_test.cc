#include "stableaa/mdp/formats/csv_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::csv_format_test {

constexpr std::string_view kSmall =
    "s,a,next,p,r\n"
    "0,0,0,0.5,2\n"
    "0,0,1,0.5,2\n"
    "0,1,1,1,0.25\n"
    "1,0,1,1,-3\n";

Model Parse(std::string_view text) { return ParseCsvModel(text, "m.csv").model; }

std::string ErrorIn(std::string_view text) {
  return BadInputOf([&] { Parse(text); });
}
// The lines go after the header, which is line 1.
std::string ErrorInLines(std::string_view lines) {
  return ErrorIn(fmt::format("s,a,next,p,r\n{}", lines));
}

// Shuffles the lines after the header.
std::string Shuffled(const std::string& text, std::uint64_t seed) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text.substr(at, end + 1 - at));
  }
  RandomStream random(seed, "shuffle");
  for (std::size_t i = lines.size() - 1; i > 1; --i) std::swap(lines[i], lines[1 + random() % i]);
  std::string shuffled;
  for (const std::string& line : lines) shuffled += line;
  return shuffled;
}

TEST(CsvFormat, ReadsASmallModel) {
  const LoadedModel loaded = ParseCsvModel(kSmall, "m.csv");
  const Model& model = loaded.model;
  EXPECT_EQ(model.states(), 2U);
  EXPECT_EQ(model.actions(0), 2U);
  EXPECT_EQ(model.actions(1), 1U);
  EXPECT_EQ(model.transitions(), 4U);
  EXPECT_EQ(model.column(0), 0U);
  EXPECT_EQ(model.column(1), 1U);
  EXPECT_EQ(model.probabilities()[1], .5);
  EXPECT_EQ(model.rewards()[0], 2);
  EXPECT_EQ(model.rewards()[1], .25);
  EXPECT_EQ(model.rewards()[2], -3);
  EXPECT_FALSE(model.discount());
  EXPECT_TRUE(loaded.dropped.empty());
}

TEST(CsvFormat, LineEndsMarksCommentsAndBlanksChangeNothing) {
  const Model model = Parse(kSmall);
  const std::string text(kSmall);
  EXPECT_EQ(Parse(Replaced(text, "\n", "\r\n")), model);
  EXPECT_EQ(Parse("\xEF\xBB\xBF" + text), model);
  EXPECT_EQ(Parse(text.substr(0, text.size() - 1)), model);
  EXPECT_EQ(Parse(Replaced(text, ",", " ,\t")), model);
  EXPECT_EQ(Parse(Replaced(text, "\n", "\n\n# a comment\n  \n")), model);
  EXPECT_EQ(Parse("# first\n" + Replaced(text, "s,a,next,p,r", "S, A, Next, P, R")), model);
}

TEST(CsvFormat, LinesMayComeInAnyOrder) {
  const TemporaryFolder directory;
  const Model model = AwkwardModel(1, 50);
  WriteCsvModel(model, directory / "m.csv");
  const std::string text = ReadText(directory / "m.csv");
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(Parse(Shuffled(text, seed)), model);
  EXPECT_EQ(Parse("s,a,next,p,r\n0,0,0,.5,1\n0,1,0,1,2\n0,0,1,.5,1\n1,0,1,1,0\n").rows(), 3U);
}

TEST(CsvFormat, AnExpectedRewardIsTheMeanOfTheTransitions) {
  const Model model = Parse("s,a,next,p,r\n0,0,0,0.25,4\n0,0,1,0.75,8\n1,0,1,1,0\n");
  EXPECT_EQ(model.rewards()[0], 7);
  // An impossible transition does not count.
  EXPECT_EQ(Parse("s,a,next,p,r\n0,0,0,1,0.1\n0,0,0,0,1e300\n").rewards()[0], .1);
}

TEST(CsvFormat, ASumNearOneDividesTheRewardToo) {
  const Model model =
      Parse("s,a,next,p,r\n0,0,0,0.4999999999,2\n0,0,1,0.4999999999,4\n1,0,1,1,0\n");
  EXPECT_EQ(model.probabilities()[0], .5);
  EXPECT_DOUBLE_EQ(model.rewards()[0], 3);
}

TEST(CsvFormat, RepeatedTransitionsAreSummed) {
  const Model model = Parse("s,a,next,p,r\n0,0,0,0.25,4\n0,0,0,0.25,2\n0,0,0,0.5,1\n");
  EXPECT_EQ(model.transitions(), 1U);
  EXPECT_EQ(model.probabilities()[0], 1);
  EXPECT_EQ(model.rewards()[0], 2);
}

TEST(CsvFormat, WritesOneLineForEachTransition) {
  const TemporaryFolder directory;
  WriteCsvModel(Parse(kSmall), directory / "m.csv");
  EXPECT_EQ(ReadText(directory / "m.csv"), kSmall);
}

TEST(CsvFormat, TheHeaderIsNeeded) {
  EXPECT_EQ(ErrorIn(""), "m.csv:1: expected the header 's,a,next,p,r', found the end of the file");
  EXPECT_EQ(ErrorIn("# c\n0,0,0,1,0\n"),
            "m.csv:2: expected the header 's,a,next,p,r', found '0,0,0,1,0'");
  EXPECT_EQ(ErrorIn("s,a,next,p\n"),
            "m.csv:1: expected the header 's,a,next,p,r', found 's,a,next,p'");
  EXPECT_EQ(ErrorIn("s,a,next,p,r\n\n"), "m.csv:3: the model has no state");
}

TEST(CsvFormat, EveryBadValueIsNamedWithItsLine) {
  EXPECT_EQ(ErrorInLines("0,0,0,1,0\nx,0,0,1,0\n"), "m.csv:3: expected a state (s), found 'x'");
  EXPECT_EQ(ErrorInLines("-1,0,0,1,0\n"), "m.csv:2: expected a state (s), found '-1'");
  EXPECT_EQ(ErrorInLines("0,0.5,0,1,0\n"), "m.csv:2: expected an action (a), found '0.5'");
  EXPECT_EQ(ErrorInLines("0,0,,1,0\n"), "m.csv:2: expected a next state (next), found ','");
  EXPECT_EQ(ErrorInLines("0,0,0,-0.5,0\n"),
            "m.csv:2: expected a probability in [0, 1], found '-0.5'");
  EXPECT_EQ(ErrorInLines("0,0,0,1.5,0\n"),
            "m.csv:2: expected a probability in [0, 1], found '1.5'");
  EXPECT_EQ(ErrorInLines("0,0,0,nan,0\n"),
            "m.csv:2: expected a probability that is finite, found 'nan'");
  EXPECT_EQ(ErrorInLines("0,0,0,1,inf\n"),
            "m.csv:2: expected a reward (r) that is finite, found 'inf'");
  EXPECT_EQ(ErrorInLines("0,0,0,1,1e999\n"),
            "m.csv:2: expected a reward (r) that a double can hold, found '1e999'");
  EXPECT_EQ(ErrorInLines("0,0,0,1\n"), "m.csv:2: expected ',', found the end of the line");
  EXPECT_EQ(ErrorInLines("0,0,0,1,0,7\n"), "m.csv:2: expected the end of the line, found ','");
  EXPECT_EQ(ErrorInLines("0;0;0;1;0\n"), "m.csv:2: expected ',', found ';0;0;1;0'");
  EXPECT_EQ(ErrorInLines("0,0,0,1,0\n0,1,0"), "m.csv:3: expected ',', found the end of the file");
}

TEST(CsvFormat, ARowThatDoesNotSumToOneIsNamedWithItsFirstLine) {
  EXPECT_EQ(ErrorInLines("0,0,0,1,0\n0,1,0,0.5,0\n0,1,0,0.25,0\n"),
            "m.csv:3: state 0, action 1: the probabilities sum to 0.75 instead of 1");
  // For any order of lines.
  EXPECT_EQ(ErrorInLines("1,0,0,1,0\n0,1,0,0.5,0\n0,0,0,1,0\n\n0,1,0,0.25,0\n"),
            "m.csv:3: state 0, action 1: the probabilities sum to 0.75 instead of 1");
}

TEST(CsvFormat, StatesAndActionsHaveNoGaps) {
  EXPECT_EQ(
      ErrorInLines("0,0,0,1,0\n2,0,0,1,0\n"),
      "m.csv:3: there is a state 2 but no state 1; states are numbered 0, 1, 2, ..., and each "
      "has a line with s");
  EXPECT_EQ(
      ErrorInLines("1,0,0,1,0\n"),
      "m.csv:2: there is a state 1 but no state 0; states are numbered 0, 1, 2, ..., and each "
      "has a line with s");
  EXPECT_EQ(
      ErrorInLines("0,0,0,1,0\n0,2,0,1,0\n"),
      "m.csv:3: state 0 has an action 2 but no action 1; the actions of a state are numbered 0, "
      "1, 2, ...");
  EXPECT_EQ(
      ErrorInLines("0,0,0,1,0\n1,1,0,1,0\n"),
      "m.csv:3: state 1 has an action 1 but no action 0; the actions of a state are numbered 0, "
      "1, 2, ...");
}

TEST(CsvFormat, NextStatesAreStates) {
  EXPECT_EQ(ErrorInLines("0,0,0,1,0\n0,1,7,1,0\n1,0,0,1,0\n"),
            "m.csv:3: next state 7 has no action of its own; the states are 0 to 1");
}

TEST(CsvFormat, HugeNumbersReserveNothing) {
  EXPECT_EQ(
      ErrorInLines("0,0,0,1,0\n1000000000000000000,0,0,1,0\n"),
      "m.csv:3: there is a state 1000000000000000000 but no state 1; states are numbered 0, 1, "
      "2, ..., and each has a line with s");
  EXPECT_EQ(
      ErrorInLines("0,0,1000000000000000000,1,0\n"),
      "m.csv:2: next state 1000000000000000000 has no action of its own; the states are 0 to 0");
  EXPECT_NE(ErrorInLines("0,18446744073709551615,0,1,0\n"), "");
  EXPECT_NE(ErrorInLines("18446744073709551615,0,0,1,0\n"), "");
  EXPECT_EQ(ErrorInLines("18446744073709551616,0,0,1,0\n"),
            "m.csv:2: expected a state (s) below 2^64, found '18446744073709551616'");
}

TEST(CsvFormat, EveryTruncationIsAModelOrAnError) {
  for (std::size_t size = 0; size < kSmall.size(); ++size) {
    const std::string_view part = kSmall.substr(0, size);
    if (!Parses([&] { Parse(part); })) continue;
    // Only a text that ends after a whole value can pass for a file: CSV has no line count.
    EXPECT_TRUE(part.ends_with("1,0.25") || part.ends_with("-3") || part.ends_with('\n') ||
                part.ends_with("0.2") || part.ends_with("0.") || part.ends_with("1,0"))
        << part;
  }
}

TEST(CsvFormat, MissingFilesAndDirectoriesAreBadInput) {
  const TemporaryFolder directory;
  EXPECT_NE(BadInputOf([&] { ReadCsvModel(directory / "none.csv"); }), "");
  EXPECT_NE(BadInputOf([&] { ReadCsvModel(directory / ""); }), "");
  WriteText(directory / "m.csv", "s,a,next,p,r\n0,0,0,.5,0\n");
  EXPECT_EQ(BadInputOf([&] { ReadCsvModel(directory / "m.csv"); }),
            fmt::format("{}:2: state 0, action 0: the probabilities sum to 0.5 instead of 1",
                        (directory / "m.csv").string()));
}

TEST(BenchCsvFormat, ReadsFast) {
  if (!kOptimised) GTEST_SKIP() << "not an optimised build";
  const TemporaryFolder directory;
  WriteCsvModel(LargeModel(48000), directory / "m.csv");
  EXPECT_LE(TimesTheYardstick({directory / "m.csv"}, kMostTimesTheYardstick,
                              [&] { return ReadCsvModel(directory / "m.csv"); }),
            kMostTimesTheYardstick);
}

}  // namespace stableaa::csv_format_test
