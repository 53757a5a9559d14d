#include "stableaa/mdp/formats/prism_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::prism_format_test {

constexpr std::string_view kTransitions =
    "2 3 4\n"
    "0 0 0 0.5 left\n"
    "0 0 1 0.5 left\n"
    "0 1 1 1\n"
    "1 0 1 1 stay\n";
constexpr std::string_view kStateRewards = "2 1\n1 0.25\n";
constexpr std::string_view kTransitionRewards = "2 3 2\n0 0 1 4\n1 0 1 -3\n";

LoadedModel Load(std::string_view transitions, std::optional<std::string_view> state_rewards = {},
                 std::optional<std::string_view> transition_rewards = {}) {
  return ParsePrismModel({transitions, state_rewards, transition_rewards}, "m");
}

std::string ErrorIn(std::string_view transitions) {
  return BadInputOf([&] { Load(transitions); });
}
std::string ErrorInStateRewards(std::string_view text) {
  return BadInputOf([&] { Load(kTransitions, text); });
}
std::string ErrorInTransitionRewards(std::string_view text) {
  return BadInputOf([&] { Load(kTransitions, {}, text); });
}

std::vector<double> Rewards(const Model& model) {
  return {model.rewards().begin(), model.rewards().end()};
}

TEST(PrismFormat, ReadsASmallModel) {
  const LoadedModel loaded = Load(kTransitions, kStateRewards, kTransitionRewards);
  const Model& model = loaded.model;
  EXPECT_EQ(model.states(), 2U);
  EXPECT_EQ(model.actions(0), 2U);
  EXPECT_EQ(model.actions(1), 1U);
  EXPECT_EQ(model.transitions(), 4U);
  EXPECT_EQ(model.column(2), 1U);
  EXPECT_EQ(model.probabilities()[0], .5);
  EXPECT_EQ(Rewards(model), (std::vector<double>{2, 0, -2.75}));
  EXPECT_EQ(loaded.dropped, std::vector<std::string>{"action names"});
}

TEST(PrismFormat, WithoutRewardFilesAllRewardsAreZeroAndItSaysSo) {
  const LoadedModel loaded = Load("1 1 1\n0 0 0 1\n");
  EXPECT_EQ(Rewards(loaded.model), std::vector<double>{0});
  EXPECT_EQ(loaded.dropped, std::vector<std::string>{"no rewards: no .srew or .trew beside it"});
}

TEST(PrismFormat, AChainHasOneActionForEachState) {
  const Model model = Load("2 3\n0 0 1/3\n0 1 2/3\n1 1 1\n", "2 1\n0 1/4\n", "2 1\n0 1 3\n").model;
  EXPECT_EQ(model.rows(), 2U);
  EXPECT_EQ(model.probabilities()[0], 1.0 / 3);
  EXPECT_EQ(Rewards(model), (std::vector<double>{2.25, 0}));
}

TEST(PrismFormat, ReadsStormsVariety) {
  const Model model =
      Load("mdp\n0 0 0 0.5\n0 0 1 0.5\n0 1 1 1\n1 0 1 1\n", "1 0.25\n", "mdp\n0 0 1 4\n1 0 1 -3\n")
          .model;
  EXPECT_EQ(model, Load(kTransitions, kStateRewards, kTransitionRewards).model);
  EXPECT_EQ(Load("dtmc\n0 1 1\n1 1 1\n").model.rows(), 2U);
  EXPECT_EQ(ErrorIn("dtmc\n0 7 1\n1 1 1\n"), "m.tra:2: expected a next state below 2, found 7");
}

TEST(PrismFormat, LineEndsMarksAndCommentsChangeNothing) {
  const auto changed = [](auto change) {
    return Load(change(std::string(kTransitions)), change(std::string(kStateRewards)),
                change(std::string(kTransitionRewards)))
        .model;
  };
  const Model model = Load(kTransitions, kStateRewards, kTransitionRewards).model;
  EXPECT_EQ(changed([](std::string text) { return Replaced(text, "\n", "\r\n"); }), model);
  EXPECT_EQ(changed([](std::string text) { return "\xEF\xBB\xBF" + text; }), model);
  EXPECT_EQ(changed([](std::string text) { return text.substr(0, text.size() - 1); }), model);
  EXPECT_EQ(changed([](std::string text) { return "# Reward structure \"steps\"\n" + text; }),
            model);
  EXPECT_EQ(changed([](std::string text) { return Replaced(text, " ", "  "); }), model);
}

TEST(PrismFormat, RewardsOfARowMayComeInAnotherOrder) {
  const std::string_view transitions =
      "3 3 5\n0 0 2 0.5\n0 0 0 0.25\n0 0 1 0.25\n1 0 1 1\n2 0 2 1\n";
  EXPECT_EQ(Rewards(Load(transitions, {}, "3 3 3\n0 0 0 8\n0 0 1 4\n0 0 2 2\n").model),
            (std::vector<double>{4, 0, 0}));
  EXPECT_EQ(Rewards(Load(transitions, {}, "3 3 2\n0 0 1 4\n0 0 2 2\n").model),
            (std::vector<double>{2, 0, 0}));
}

TEST(PrismFormat, WritesWhatPrismWrites) {
  const TemporaryFolder directory;
  WritePrismModel(Load(kTransitions, kStateRewards, kTransitionRewards).model, directory / "m.tra");
  EXPECT_EQ(ReadText(directory / "m.tra"), "2 3 4\n0 0 0 0.5\n0 0 1 0.5\n0 1 1 1\n1 0 1 1\n");
  EXPECT_EQ(ReadText(directory / "m.trew"), "2 3 3\n0 0 0 2\n0 0 1 2\n1 0 1 -2.75\n");
}

TEST(PrismFormat, NamesTheFilesThatItDoesNotUse) {
  const TemporaryFolder directory;
  WriteText(directory / "m.tra", "1 1 1\n0 0 0 1\n");
  WriteText(directory / "m.srew", "1 1\n0 5\n");
  WriteText(directory / "m.lab", "0=\"init\"\n0: 0\n");
  WriteText(directory / "m.sta", "(x)\n0:(0)\n");
  const LoadedModel loaded = ReadPrismModel(directory / "m.tra");
  EXPECT_EQ(Rewards(loaded.model), std::vector<double>{5});
  EXPECT_EQ(loaded.dropped, (std::vector<std::string>{"state names in m.sta", "labels in m.lab"}));
}

TEST(PrismFormat, ReadsAndWritesFilesNamedInCapitals) {
  const TemporaryFolder directory;
  const Model model = Load(kTransitions, {}, kTransitionRewards).model;
  WritePrismModel(model, directory / "M.TRA");
  EXPECT_TRUE(std::filesystem::exists(directory / "M.TREW"));
  EXPECT_EQ(ReadPrismModel(directory / "M.TRA").model, model);
}

TEST(PrismFormat, DoesNotWriteBesideStateRewardsOfAnotherModel) {
  const TemporaryFolder directory;
  WriteText(directory / "m.srew", "1 1\n0 5\n");
  EXPECT_EQ(BadInputOf([&] { WritePrismModel(Load(kTransitions).model, directory / "m.tra"); }),
            fmt::format("cannot write {}: m.srew lies beside it and would be read with it; move it "
                        "away or choose another name",
                        (directory / "m.tra").string()));
  EXPECT_FALSE(std::filesystem::exists(directory / "m.tra"));
  EXPECT_FALSE(std::filesystem::exists(directory / "m.trew"));
  EXPECT_EQ(ReadText(directory / "m.srew"), "1 1\n0 5\n");
}

TEST(PrismFormat, TheHeaderIsNeeded) {
  EXPECT_EQ(
      ErrorIn(""),
      "m.tra:1: expected the numbers of states, choices and transitions, found the end of the "
      "file");
  EXPECT_EQ(ErrorIn("ctmc\n"),
            "m.tra:1: expected the numbers of states, choices and transitions, found 'ctmc'");
  EXPECT_EQ(ErrorIn("2\n"),
            "m.tra:1: expected the number of transitions, found the end of the line");
  EXPECT_EQ(ErrorIn("2 3 4 5\n"), "m.tra:1: expected the end of the line, found '5'");
  EXPECT_EQ(ErrorIn("0 0 0\n"), "m.tra:1: the model has no state");
  EXPECT_EQ(ErrorIn("mdp\n"), "m.tra:1: the model has no state");
}

TEST(PrismFormat, CountsInTheHeaderAreThoseOfTheFile) {
  const auto with_header = [](std::string_view header) {
    return fmt::format("{}\n0 0 0 0.5\n0 0 1 0.5\n0 1 1 1\n1 0 1 1\n", header);
  };
  EXPECT_EQ(ErrorIn(with_header("2 3 4")), "");
  EXPECT_EQ(ErrorIn(with_header("3 3 4")),
            "m.tra:6: the header says 3 states, but state 2 has no transition");
  EXPECT_EQ(ErrorIn(with_header("1 3 4")), "m.tra:3: expected a next state below 1, found 1");
  EXPECT_EQ(ErrorIn(with_header("2 4 4")), "m.tra:1: the header says 4 choices, found 3");
  EXPECT_EQ(ErrorIn(with_header("2 3 5")), "m.tra:1: the header says 5 transitions, found 4");
  EXPECT_EQ(ErrorIn("1 2 2\n0 0 0 1\n1 0 0 1\n"), "m.tra:1: the header says 1 states, found 2");
  EXPECT_EQ(ErrorIn(with_header("1000000000000000000 3 4")),
            "m.tra:6: the header says 1000000000000000000 states, but state 2 has no transition");
  EXPECT_EQ(ErrorIn(with_header("2 1000000000000000000 4")),
            "m.tra:1: the header says 1000000000000000000 choices, found 3");
  EXPECT_EQ(ErrorIn(with_header("2 3 1000000000000000000")),
            "m.tra:1: the header says 1000000000000000000 transitions, found 4");
}

TEST(PrismFormat, EveryBadValueIsNamedWithItsLine) {
  EXPECT_EQ(ErrorIn("1 1 1\n0 0 0 x\n"), "m.tra:2: expected a probability, found 'x'");
  EXPECT_EQ(ErrorIn("1 1 1\n0 0 0\n"),
            "m.tra:2: expected a probability, found the end of the line");
  EXPECT_EQ(ErrorIn("1 1 1\n0 0 0 1.5\n"),
            "m.tra:2: expected a probability in [0, 1], found '1.5'");
  EXPECT_EQ(ErrorIn("1 1 1\n0 0 0 [0.1,0.2]\n"), "m.tra:2: expected a probability, found '[0.1'");
  EXPECT_EQ(ErrorIn("1 1 1\n0 0 -1 1\n"), "m.tra:2: expected a next state, found '-1'");
  EXPECT_EQ(ErrorIn("1 1 1\n0 0 0 1 a b\n"), "m.tra:2: expected the end of the line, found 'b'");
  EXPECT_EQ(ErrorIn("2 2 3\n0 0 0 1\n1 0 0 0.5\n1 0 1 0.25\n"),
            "m.tra:3: state 1, action 0: the probabilities sum to 0.75 instead of 1");
}

TEST(PrismFormat, DeadlocksAndDisorderAreErrors) {
  EXPECT_EQ(
      ErrorIn("3 2 2\n0 0 0 1\n2 0 0 1\n"),
      "m.tra:3: found state 2, but state 1 has no transition (a deadlock); give it an action, "
      "such as a loop");
  EXPECT_EQ(ErrorIn("2 3 3\n0 0 0 1\n1 0 0 1\n0 1 0 1\n"),
            "m.tra:4: found state 0 after state 1; the lines must be ordered by state and choice");
  EXPECT_EQ(
      ErrorIn("1 2 2\n0 0 0 1\n0 2 0 1\n"),
      "m.tra:3: state 0: expected choice 1, found 2; the choices of a state are numbered 0, 1, "
      "2, ..., in this order");
  EXPECT_EQ(
      ErrorIn("1 2 2\n0 1 0 1\n0 0 0 1\n"),
      "m.tra:2: state 0: expected choice 0, found 1; the choices of a state are numbered 0, 1, "
      "2, ..., in this order");
}

TEST(PrismFormat, BadStateRewardsAreNamedWithTheirLine) {
  EXPECT_EQ(ErrorInStateRewards(""),
            "m.srew:1: expected the numbers of states and rewards, found the end of the file");
  EXPECT_EQ(ErrorInStateRewards("3 1\n1 1\n"), "m.srew:1: the header says 3 states, found 2");
  EXPECT_EQ(ErrorInStateRewards("2 2\n1 1\n"), "m.srew:1: the header says 2 rewards, found 1");
  EXPECT_EQ(ErrorInStateRewards("2 1\n7 1\n"), "m.srew:2: expected a state below 2, found 7");
  EXPECT_EQ(ErrorInStateRewards("2 2\n1 1\n0 1\n"),
            "m.srew:3: expected a state above 1, found 0; the states ascend");
  EXPECT_EQ(ErrorInStateRewards("2 2\n0 1\n0 1\n"),
            "m.srew:3: expected a state above 0, found 0; the states ascend");
  EXPECT_EQ(ErrorInStateRewards("2 1\n0 nan\n"),
            "m.srew:2: expected a reward that is finite, found 'nan'");
  EXPECT_EQ(ErrorInStateRewards("1000000000000000000 1\n0 1\n"),
            "m.srew:1: the header says 1000000000000000000 states, found 2");
}

TEST(PrismFormat, BadTransitionRewardsAreNamedWithTheirLine) {
  const std::string none =
      "no transition leads to state {}, or the lines are not ordered by state and choice";
  EXPECT_EQ(ErrorInTransitionRewards("2 3 1\n0 1 0 4\n"),
            "m.trew:2: state 0, choice 1: " + Replaced(none, "{}", "0"));
  EXPECT_EQ(ErrorInTransitionRewards("2 3 1\n0 7 1 4\n"),
            "m.trew:2: state 0, choice 7: " + Replaced(none, "{}", "1"));
  EXPECT_EQ(ErrorInTransitionRewards("2 3 1\n5 0 1 4\n"),
            "m.trew:2: state 5, choice 0: " + Replaced(none, "{}", "1"));
  EXPECT_EQ(ErrorInTransitionRewards("2 3 2\n1 0 1 4\n0 0 1 4\n"),
            "m.trew:3: state 0, choice 0: " + Replaced(none, "{}", "1"));
  EXPECT_EQ(ErrorInTransitionRewards("2 3 2\n0 1 1 4\n0 1 1 5\n"),
            "m.trew:3: state 0, choice 1: the reward of next state 1 is given twice");
  EXPECT_EQ(ErrorInTransitionRewards("2 3 5\n0 1 1 4\n"),
            "m.trew:1: the header says 5 rewards, found 1");
  EXPECT_EQ(ErrorInTransitionRewards("2 9 1\n0 1 1 4\n"),
            "m.trew:1: the header says 9 choices, found 3");
  EXPECT_EQ(ErrorInTransitionRewards("2 1\n0 1 4\n"),
            "m.trew:1: expected the number of rewards, found the end of the line");
}

TEST(PrismFormat, EveryTruncationOfTheTransitionsIsAnError) {
  // Without the last name, since a truncated name is still a name.
  const std::string text(kTransitions.substr(0, kTransitions.rfind(" stay")));
  EXPECT_EQ(ErrorIn(text), "");
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(ErrorIn(text.substr(0, size)), "") << size;
  }
  for (std::size_t size = 0; size + 2 < kTransitionRewards.size(); ++size) {
    EXPECT_NE(ErrorInTransitionRewards(kTransitionRewards.substr(0, size)), "") << size;
  }
}

TEST(BenchPrismFormat, ReadsFast) {
  if (!kOptimised) GTEST_SKIP() << "not an optimised build";
  const TemporaryFolder directory;
  WritePrismModel(LargeModel(40000), directory / "m.tra");
  EXPECT_LE(TimesTheYardstick({directory / "m.tra", directory / "m.trew"}, kMostTimesTheYardstick,
                              [&] { return ReadPrismModel(directory / "m.tra"); }),
            kMostTimesTheYardstick);
}

}  // namespace stableaa::prism_format_test
