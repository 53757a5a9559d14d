#include "stableaa/mdp/watch/solve_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::solve_output_test {

class SolveOutput : public testing::Test {
 protected:
  std::string Read(const std::string& name) const {
    std::ifstream file(directory_ / name, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }

  std::filesystem::path File(const std::string& content) const {
    const std::filesystem::path path = directory_ / "policy.csv";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // The error message without the leading path.
  std::string PolicyError(const std::string& content) const {
    const std::filesystem::path path = File(content);
    const std::string message = MessageOf([&] { ReadPolicy(path, model_); });
    EXPECT_TRUE(message.starts_with(path.string() + ":")) << message;
    return message.substr(std::min(message.size(), path.string().size() + 1));
  }

  const TemporaryFolder directory_;
  // Three states with two actions each.
  const Model model_ = GenerateModel({.kind = "chain", .states = 3});
};

Solution ThreeValues() {
  Solution solution;
  solution.values = {0.1, -1.0 / 3, 1e300};
  solution.policy = {1, 0, 4294967295};
  solution.lower = -0.5;
  solution.upper = 0.25;
  return solution;
}

TEST_F(SolveOutput, ValuesAndPolicyHaveALinePerStateAndReadBackToTheSameBits) {
  SolutionFiles files({.values = directory_ / "v.csv", .policy = directory_ / "p.csv"});
  EXPECT_FALSE(std::filesystem::exists(directory_ / "v.csv"));
  files.Write(ThreeValues());
  EXPECT_EQ(Read("v.csv"),
            "state,value\n0,0.10000000000000001\n1,-0.33333333333333331\n"
            "2,1.0000000000000001e+300\n");
  EXPECT_EQ(Read("p.csv"), "state,action\n0,1\n1,0\n2,4294967295\n");
  EXPECT_EQ(std::strtod("-0.33333333333333331", nullptr), -1.0 / 3);
}

TEST_F(SolveOutput, BoundsAreAroundTheValuesAndRoundedOutwards) {
  SolutionFiles files({.bounds = directory_ / "b.csv"});
  files.Write(ThreeValues());
  std::istringstream lines(Read("b.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "state,lower,upper");
  for (std::size_t s = 0; s < 3; ++s) {
    std::getline(lines, line);
    unsigned long long state = 9;
    double lower = 0;
    double upper = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%llu,%lf,%lf", &state, &lower, &upper), 3) << line;
    EXPECT_EQ(state, s);
    // In long double the sums are exact enough to show the rounding.
    const long double value = ThreeValues().values[s];
    EXPECT_LT(lower, value - 0.5L);
    EXPECT_GT(upper, value + 0.25L);
    EXPECT_NEAR(lower, static_cast<double>(value - 0.5L), 1e-15 * std::abs(lower));
  }
}

TEST_F(SolveOutput, BoundsWithoutACertificateAreEmpty) {
  Solution solution = ThreeValues();
  solution.lower = solution.upper = std::numeric_limits<double>::quiet_NaN();
  SolutionFiles files({.bounds = directory_ / "b.csv"});
  files.Write(solution);
  EXPECT_EQ(Read("b.csv"), "state,lower,upper\n0,,\n1,,\n2,,\n");
}

TEST_F(SolveOutput, APathThatCannotBeWrittenToIsAnErrorBeforeTheSolve) {
  EXPECT_THROW(SolutionFiles({.values = directory_ / "missing" / "v.csv"}), Error);
}

TEST_F(SolveOutput, AreGoneIfNothingIsWritten) {
  { SolutionFiles files({.values = directory_ / "v.csv"}); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(SolveOutput, ManyStatesAreWrittenWhole) {
  Solution solution;
  solution.values.assign(200'000, 0.1);
  SolutionFiles files({.values = directory_ / "v.csv"});
  files.Write(solution);
  const std::string text = Read("v.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 200'001);
  EXPECT_TRUE(text.ends_with("\n199999,0.10000000000000001\n"));
}

TEST_F(SolveOutput, APolicyThatWasWrittenIsReadBack) {
  Solution solution;
  solution.policy = {1, 0, 1};
  SolutionFiles files({.policy = directory_ / "p.csv"});
  files.Write(solution);
  EXPECT_EQ(ReadPolicy(directory_ / "p.csv", model_), solution.policy);
}

TEST_F(SolveOutput, APolicyMayHaveAnyOrderBlanksEmptyLinesAndNoLastLineEnd) {
  const std::vector<std::uint32_t> expected = {0, 1, 1};
  EXPECT_EQ(ReadPolicy(File("state,action\r\n2,1\r\n\r\n0 , 0\r\n1,1"), model_), expected);
}

TEST_F(SolveOutput, MistakesInAPolicyAreErrorsWithTheLine) {
  EXPECT_EQ(PolicyError(""), "1: expected the header state,action, found the end of the file");
  EXPECT_EQ(PolicyError("0,1\n"), "1: expected the header state,action");
  EXPECT_EQ(PolicyError("state,action\n0,0\n3,0\n"), "3: expected a state below 3, found 3");
  EXPECT_EQ(PolicyError("state,action\n0,0\n1,2\n"),
            "3: expected an action of state 1, below 2, found 2");
  EXPECT_EQ(PolicyError("state,action\n0,0\n1,1\n0,1\n"), "4: state 0 has an action already");
  EXPECT_TRUE(PolicyError("state,action\n0,0\n2,1\n")
                  .ends_with("expected an action for each of the 3 states, found 2: the first "
                             "without one is state 1"));
  for (const std::string line : {"x,0", "0,-1", "0;1", "0,1,2", "0", "0,1.5", "-1,0", "0x1,0", ",",
                                 "99999999999999999999999,0", "0,99999999999999999999999"}) {
    EXPECT_TRUE(PolicyError("state,action\n" + line + "\n").starts_with("2: ")) << line;
  }
}

TEST_F(SolveOutput, APolicyFileThatIsMissingIsAnErrorWithItsName) {
  EXPECT_THROW(ReadPolicy(directory_ / "none.csv", model_), Error);
}

}  // namespace stableaa::solve_output_test
