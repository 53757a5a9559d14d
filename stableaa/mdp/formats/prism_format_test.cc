#include "stableaa/mdp/formats/prism_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  PrismTexts texts = {.transitions = transitions};
  if (state_rewards || transition_rewards) texts.rewards = {{state_rewards, transition_rewards}};
  return ParsePrismModel(texts, "m");
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

using Strings = std::vector<std::string>;

// "name: 0 2" for each label.
Strings Labels(const LoadedModel& loaded) {
  Strings labels;
  for (const StateLabel& label : loaded.annotations.labels) {
    labels.push_back(fmt::format("{}: {}", label.name, fmt::join(label.states, " ")));
  }
  return labels;
}

// Each with its rewards.
Strings RewardStructures(const LoadedModel& loaded) {
  Strings structures;
  for (const RewardStructure& structure : loaded.annotations.rewards) {
    structures.push_back(fmt::format("{}: {}", structure.name, fmt::join(structure.rewards, " ")));
  }
  return structures;
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
  EXPECT_TRUE(loaded.dropped.empty());
  EXPECT_TRUE(loaded.annotations.rewards.empty());  // they have no name
  EXPECT_TRUE(loaded.annotations.initial.empty());
  EXPECT_EQ(loaded.annotations.actions.names, (Strings{"left", "stay"}));
  EXPECT_EQ(loaded.annotations.actions.Of(0), "left");
  EXPECT_EQ(loaded.annotations.actions.Of(1), "");
  EXPECT_EQ(loaded.annotations.actions.Of(2), "stay");
}

// Markov chains may have a name for each transition.
TEST(PrismFormat, NamesOfTransitionsAreNoActionNames) {
  const LoadedModel loaded = Load("2 3\n0 0 1/3 a\n0 1 2/3 b\n1 1 1 c\n", "2 0\n");
  EXPECT_EQ(loaded.annotations.actions.names, Strings{"c"});
  EXPECT_EQ(loaded.dropped, Strings{"names of transitions"});
}

// ---- Reward structures ----

TEST(PrismFormat, TheFirstCommentsNameTheRewards) {
  for (const char* comment :
       {"# Reward structure \"steps\"\n# State rewards\n", "# Reward structure: \"steps\"\r\n",
        "# by hand\n# Reward structure \"steps\" \n"}) {
    const LoadedModel loaded = Load(kTransitions, comment + std::string(kStateRewards));
    EXPECT_EQ(RewardStructures(loaded), Strings{"steps: 0 0 0.25"}) << comment;
  }
  for (const char* comment : {"# Reward structure\n", "# Reward structure \"\"\n",
                              "# Reward structure steps\n", "# \"steps\"\n"}) {
    const LoadedModel loaded = Load(kTransitions, comment + std::string(kStateRewards));
    EXPECT_TRUE(loaded.annotations.rewards.empty()) << comment;
  }
}

TEST(PrismFormat, ReadsSeveralRewardStructures) {
  const LoadedModel loaded = ParsePrismModel(
      {.transitions = kTransitions,
       .rewards = {{"# Reward structure \"time\"\n2 1\n1 0.25\n", "2 3 1\n1 0 1 1\n"},
                   {{}, kTransitionRewards},
                   {"# Reward structure \"2\"\n2 0\n", {}}}},
      "m");
  EXPECT_EQ(RewardStructures(loaded), (Strings{"time: 0 0 1.25", "2_: 2 0 -3", "2: 0 0 0"}));
  EXPECT_EQ(Rewards(loaded.model), (std::vector<double>{0, 0, 1.25}));
}

std::string ErrorInRewards(const std::vector<PrismRewardTexts>& rewards) {
  return BadInputOf([&] {
    return ParsePrismModel({.transitions = kTransitions, .rewards = rewards, .numbered = true},
                           "m");
  });
}

TEST(PrismFormat, ErrorsInNumberedFilesAreNamed) {
  EXPECT_EQ(ErrorInRewards({{kStateRewards, {}}, {"2 1\n7 1\n", {}}}),
            "m2.srew:2: expected a state below 2, found 7");
  EXPECT_EQ(ErrorInRewards({{{}, "2 9 0\n"}}), "m1.trew:1: the header says 9 choices, found 3");
  const char* a = "# Reward structure \"a\"\n2 0\n";
  EXPECT_EQ(ErrorInRewards({{a, {}}, {a, {}}}),
            "m2.srew:1: reward structure 'a' is also that of m1");
  EXPECT_EQ(ErrorInRewards({{a, "# x\n# Reward structure \"b\"\n2 3 0\n"}}),
            "m1.trew:2: expected reward structure 'a' as in m1.srew, found 'b'");
  EXPECT_EQ(ErrorInRewards({{{}, "2 3 0\n"}, {"2 1\n1 1e308\n", "2 3 1\n1 0 1 1e308\n"}}),
            "m.tra:5: state 1, action 0: expected a finite reward, found inf");
}

TEST(PrismFormat, NumberedRewardsBelongToTheModelIfNoOtherHasThatName) {
  const TemporaryFolder directory;
  WriteText(directory / "m.tra", kTransitions);
  WriteText(directory / "m1.srew", kStateRewards);
  WriteText(directory / "m2.trew", kTransitionRewards);
  WriteText(directory / "m4.trew", kTransitionRewards);  // there is no 3
  EXPECT_EQ(RewardStructures(ReadPrismModel(directory / "m.tra")),
            (Strings{"1: 0 0 0.25", "2: 2 0 -3"}));
  WriteText(directory / "m2.tra", kTransitions);
  EXPECT_EQ(RewardStructures(ReadPrismModel(directory / "m.tra")), Strings{"1: 0 0 0.25"});
  WriteText(directory / "m.trew", kTransitionRewards);
  const LoadedModel loaded = ReadPrismModel(directory / "m.tra");
  EXPECT_TRUE(loaded.annotations.rewards.empty());
  EXPECT_EQ(Rewards(loaded.model), (std::vector<double>{2, 0, -3}));
}

TEST(PrismFormat, ThereIsALimitToTheNumberOfFiles) {
  const TemporaryFolder directory;
  WriteText(directory / "m.tra", kTransitions);
  for (std::size_t i = 1; i <= kMostRewardStructures + 1; ++i) {
    WriteText(directory / fmt::format("m{}.srew", i), kStateRewards);
  }
  EXPECT_EQ(BadInputOf([&] { ReadPrismModel(directory / "m.tra"); }),
            fmt::format("{}: expected at most 100 reward structures beside it",
                        (directory / "m.tra").string()));
}

// ---- Labels ----

LoadedModel WithLabels(std::string_view labels) {
  return ParsePrismModel({.transitions = kTransitions, .labels = labels}, "m");
}
std::string ErrorInLabels(std::string_view labels) {
  return BadInputOf([&] { WithLabels(labels); });
}

TEST(PrismFormat, ReadsLabels) {
  const LoadedModel loaded =
      WithLabels("# Labels\n0=\"init\" 1=\"deadlock\" 2=\"heads\" 3=\"two words\"\n\n1: 0 3 2\r\n");
  EXPECT_EQ(Labels(loaded), (Strings{"heads: 1", "two words: 1"}));
  ASSERT_EQ(loaded.annotations.initial.size(), 1U);
  EXPECT_EQ(loaded.annotations.initial[0], 1U);
}

TEST(PrismFormat, DeadlockCountsIfAStateHasIt) {
  EXPECT_EQ(Labels(WithLabels("0=\"init\" 1=\"deadlock\"\n0: 0\n")), Strings());
  EXPECT_EQ(Labels(WithLabels("0=\"init\" 1=\"deadlock\"\n0: 0 1\n1: 1\n")),
            Strings{"deadlock: 0 1"});
  EXPECT_EQ(Labels(WithLabels("0=\"none\"\n")), Strings{"none: "});
}

TEST(PrismFormat, ReadsStormsLabels) {
  const LoadedModel loaded = WithLabels("\n#DECLARATION\ninit a\nb c\n#END\n0 init a b\n1 a\n");
  EXPECT_EQ(Labels(loaded), (Strings{"a: 0 1", "b: 0", "c: "}));
  EXPECT_EQ(loaded.annotations.initial.size(), 1U);
  EXPECT_EQ(ErrorInLabels("#DECLARATION\na\n"),
            "m.lab:3: expected #END, found the end of the file");
  EXPECT_EQ(ErrorInLabels("#DECLARATION a #END\n0 b\n"),
            "m.lab:2: expected a label that is declared, found 'b'");
  EXPECT_EQ(ErrorInLabels("#DECLARATION a a #END\n"), "m.lab:1: label 'a' is declared twice");
}

TEST(PrismFormat, BadLabelsAreNamedWithTheirLine) {
  EXPECT_EQ(ErrorInLabels(""),
            "m.lab:1: expected the names of the labels, found the end of the file");
  EXPECT_EQ(ErrorInLabels("1=\"a\"\n"), "m.lab:1: expected label 0, found '1=\"a\"'");
  EXPECT_EQ(ErrorInLabels("0=a\n"), "m.lab:1: expected '\"', found 'a'");
  EXPECT_EQ(ErrorInLabels("0=\"a\n"),
            "m.lab:1: expected the name of the label with a closing quote, found '\"a'");
  EXPECT_EQ(ErrorInLabels("0=\"\"\n"), "m.lab:1: expected a label with a name");
  EXPECT_EQ(ErrorInLabels("0=\"a\" 1=\"a\"\n"), "m.lab:1: label 'a' is declared twice");
  EXPECT_EQ(ErrorInLabels("0=\"a\"\n2: 0\n"), "m.lab:2: expected a state below 2, found 2");
  EXPECT_EQ(ErrorInLabels("0=\"a\"\n1: 0\n0: 0\n"),
            "m.lab:3: expected a state above 1, found 0; the states ascend");
  EXPECT_EQ(ErrorInLabels("0=\"a\"\n1: 1\n"),
            "m.lab:2: expected the number of one of 1 labels, found '1'");
  EXPECT_EQ(ErrorInLabels("0=\"a\"\n1 0\n"), "m.lab:2: expected ':', found '0'");
  EXPECT_EQ(ErrorInLabels("0=\"a\"\n1: x\n"), "m.lab:2: expected the number of a label, found 'x'");
}

// ---- Models ----

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
  EXPECT_FALSE(std::filesystem::exists(directory / "m.lab"));
}

TEST(PrismFormat, WritesAnnotationsAsPrismDoes) {
  const TemporaryFolder directory;
  const Model model = Load(kTransitions, kStateRewards, kTransitionRewards).model;
  ModelAnnotations annotations;
  annotations.labels = {{"a", SharedArray<std::uint64_t>({0, 1})},
                        {"deadlock", SharedArray<std::uint64_t>({1})},
                        {"none", SharedArray<std::uint64_t>()}};
  annotations.initial = SharedArray<std::uint64_t>({1});
  annotations.rewards = {{"steps", SharedArray<double>({2, 0, -2.75})},
                         {"coins", SharedArray<double>({0, 1, 0})}};
  annotations.actions = {{"go"}, SharedArray<std::uint32_t>({1, 0, 1})};
  EXPECT_TRUE(WritePrismModel(model, directory / "m.tra", annotations).empty());
  EXPECT_EQ(ReadText(directory / "m.tra"),
            "2 3 4\n0 0 0 0.5 go\n0 0 1 0.5 go\n0 1 1 1\n1 0 1 1 go\n");
  EXPECT_EQ(ReadText(directory / "m1.trew"),
            "# Reward structure \"steps\"\n# Transition rewards\n2 3 3\n0 0 0 2\n0 0 1 2\n"
            "1 0 1 -2.75\n");
  EXPECT_EQ(ReadText(directory / "m2.trew"),
            "# Reward structure \"coins\"\n# Transition rewards\n2 3 1\n0 1 1 1\n");
  EXPECT_EQ(ReadText(directory / "m.lab"),
            "0=\"init\" 1=\"deadlock\" 2=\"a\" 3=\"none\"\n0: 2\n1: 0 1 2\n");
  EXPECT_TRUE(ReadPrismModel(directory / "m.tra").annotations == annotations);
}

TEST(PrismFormat, NamesAllThatItCannotHold) {
  const TemporaryFolder directory;
  const Model model = Load(kTransitions).model;
  ModelAnnotations annotations;
  annotations.labels = {{"q\"r", SharedArray<std::uint64_t>({0, 1})}};
  annotations.rewards = {{"\"", SharedArray<double>({0, 0, 0})},
                         {"b c", SharedArray<double>({0, 1, 0})}};
  annotations.actions = {{"go", "a b"}, SharedArray<std::uint32_t>({1, 0, 2})};
  EXPECT_EQ(WritePrismModel(model, directory / "m.tra", annotations),
            (Strings{"the name of reward structure '\"'", "label 'q\"r', which has a quote",
                     "action name 'a b'"}));
  const LoadedModel loaded = ReadPrismModel(directory / "m.tra");
  EXPECT_TRUE(loaded.model == model);
  EXPECT_EQ(RewardStructures(loaded), (Strings{"1: 0 0 0", "b c: 0 1 0"}));
  EXPECT_EQ(loaded.annotations.actions.names, Strings{"go"});
}

TEST(PrismFormat, NamesTheFilesThatItDoesNotUse) {
  const TemporaryFolder directory;
  WriteText(directory / "m.tra", "1 1 1\n0 0 0 1\n");
  WriteText(directory / "m.srew", "1 1\n0 5\n");
  WriteText(directory / "m.lab", "0=\"init\"\n0: 0\n");
  WriteText(directory / "m.sta", "(x)\n0:(0)\n");
  const LoadedModel loaded = ReadPrismModel(directory / "m.tra");
  EXPECT_EQ(Rewards(loaded.model), std::vector<double>{5});
  EXPECT_EQ(loaded.dropped, Strings{"state names in m.sta"});
  EXPECT_EQ(loaded.annotations.initial.size(), 1U);
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

TEST(PrismFormat, DoesNotWriteWhereFilesOfDifferentModelsWouldMix) {
  const Model model = Load(kTransitions).model;
  ModelAnnotations two;
  two.rewards = {{"a", SharedArray<double>({0, 0, 0})}, {"b", SharedArray<double>({0, 1, 0})}};
  const auto refused = [&](const char* neighbour, const ModelAnnotations& annotations) {
    const TemporaryFolder directory;
    WriteText(directory / neighbour, "text");
    const std::string message =
        BadInputOf([&] { return WritePrismModel(model, directory / "m.tra", annotations); });
    EXPECT_EQ(ReadText(directory / neighbour) == "text" || message.empty(), true) << neighbour;
    return Replaced(message, directory.path().string(), "D");
  };
  const std::string read =
      "cannot write D/m.tra: {} lies beside it and would be read with it; move "
      "it away or choose another name";
  EXPECT_EQ(refused("m.lab", {}), Replaced(read, "{}", "m.lab"));
  EXPECT_EQ(refused("m.trew", two), Replaced(read, "{}", "m.trew"));
  EXPECT_EQ(refused("m2.srew", two), Replaced(read, "{}", "m2.srew"));
  EXPECT_EQ(refused("m3.trew", two), Replaced(read, "{}", "m3.trew"));
  EXPECT_EQ(refused("m2.tra", two),
            "cannot write D/m.tra: its rewards would be read with m2.tra; choose another name");
  EXPECT_EQ(refused("m.trew", {}), "");
  EXPECT_EQ(refused("m1.trew", {}), "");
  EXPECT_EQ(refused("m2.trew", two), "");
  EXPECT_EQ(refused("m4.trew", two), "");
  EXPECT_EQ(refused("m2.tra", {}), "");
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
