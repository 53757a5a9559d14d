#include "stableaa/mdp/formats/drn_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::drn_format_test {

constexpr std::string_view kHeader =
    "// Exported by storm\n"
    "@type: MDP\n"
    "@value_type: double\n"
    "@parameters\n"
    "\n"
    "@reward_models\n"
    "steps \n"
    "@nr_states\n"
    "2\n"
    "@nr_choices\n"
    "3\n"
    "@model\n";  // line 12
constexpr std::string_view kStates =
    "state 0 [0.5] init\n"
    "//[x=0]\n"
    "\taction 0 [1]\n"
    "\t\t0 : 0.5\n"
    "\t\t1 : 0.5\n"
    "\taction 1 [0]\n"
    "\t\t1 : 1\n"
    "state 1 done \"quoted label\"\n"
    "\taction 0 [-2]\n"
    "\t\t1 : 1\n";

std::string Small() { return fmt::format("{}{}", kHeader, kStates); }
Model Parse(std::string_view text) { return ParseDrnModel(text, "m.drn").model; }

std::string ErrorIn(std::string_view text) {
  return BadInputOf([&] { Parse(text); });
}
std::string ErrorInStates(std::string_view states) {
  return ErrorIn(fmt::format("{}{}", kHeader, states));
}
// The error in the small file with one part replaced.
std::string ErrorWith(std::string_view what, std::string_view by) {
  EXPECT_NE(Small().find(what), std::string::npos) << what;
  return ErrorIn(Replaced(Small(), what, by));
}

std::vector<double> Rewards(const Model& model) {
  return {model.rewards().begin(), model.rewards().end()};
}

TEST(DrnFormat, ReadsASmallModel) {
  const LoadedModel loaded = ParseDrnModel(Small(), "m.drn");
  const Model& model = loaded.model;
  EXPECT_EQ(model.states(), 2U);
  EXPECT_EQ(model.actions(0), 2U);
  EXPECT_EQ(model.actions(1), 1U);
  EXPECT_EQ(model.transitions(), 4U);
  EXPECT_EQ(model.column(2), 1U);
  EXPECT_EQ(model.probabilities()[0], .5);
  EXPECT_EQ(Rewards(model), (std::vector<double>{1.5, .5, -2}));
  EXPECT_TRUE(loaded.dropped.empty());
}

// "name: 0 2" for each label.
std::vector<std::string> Labels(const LoadedModel& loaded) {
  std::vector<std::string> labels;
  for (const StateLabel& label : loaded.annotations.labels) {
    labels.push_back(fmt::format("{}: {}", label.name, fmt::join(label.states, " ")));
  }
  return labels;
}

std::vector<std::string> ActionNamesOf(const LoadedModel& loaded) {
  std::vector<std::string> names;
  for (std::uint64_t row = 0; row < loaded.model.rows(); ++row) {
    names.emplace_back(loaded.annotations.actions.Of(row));
  }
  return names;
}

// Each with its rewards.
std::vector<std::string> RewardModels(const LoadedModel& loaded) {
  std::vector<std::string> models;
  for (const RewardStructure& structure : loaded.annotations.rewards) {
    models.push_back(fmt::format("{}: {}", structure.name, fmt::join(structure.rewards, " ")));
  }
  return models;
}

std::vector<std::uint64_t> Initial(const LoadedModel& loaded) {
  return {loaded.annotations.initial.begin(), loaded.annotations.initial.end()};
}

using Strings = std::vector<std::string>;

TEST(DrnFormat, KeepsLabelsInitialStatesAndNames) {
  const LoadedModel loaded = ParseDrnModel(Small(), "m.drn");
  EXPECT_EQ(Labels(loaded), (Strings{"done: 1", "quoted label: 1"}));
  EXPECT_EQ(Initial(loaded), std::vector<std::uint64_t>{0});
  EXPECT_EQ(RewardModels(loaded), Strings{"steps: 1.5 0.5 -2"});
  EXPECT_TRUE(loaded.annotations.actions.names.empty());
}

// One state with these labels after its number.
LoadedModel OneState(std::string_view rest, std::string_view action = "a") {
  return ParseDrnModel(fmt::format("@type: MDP\n@nr_states\n1\n@model\nstate 0 {}\n\taction {}\n"
                                   "\t\t0 : 1\n",
                                   rest, action),
                       "m.drn");
}

TEST(DrnFormat, LabelsAreWordsOrTextsInQuotes) {
  EXPECT_EQ(Labels(OneState("x x\t\"x\" y")), (Strings{"x: 0", "y: 0"}));
  EXPECT_EQ(Labels(OneState("\"a b\"\"//c\"d // e")), (Strings{"//c: 0", "a b: 0", "d: 0"}));
  EXPECT_EQ(Labels(OneState("!x {y} a//b")), (Strings{"!x: 0", "a//b: 0", "{y}: 0"}));
  EXPECT_EQ(Labels(OneState("\"[odd]\" q\"r \"!1\"")), (Strings{"!1: 0", "[odd]: 0", "q\"r: 0"}));
  EXPECT_EQ(Initial(OneState("a \"init\"")), std::vector<std::uint64_t>{0});
  EXPECT_EQ(BadInputOf([] { OneState("a [1]"); }), "m.drn:5: expected a label, found '[1]'");
  EXPECT_EQ(BadInputOf([] { OneState("\"\""); }),
            "m.drn:5: expected a label that is not empty, found '\"\"'");
}

// As Storm writes them, which has no quotes for them.
TEST(DrnFormat, ActionNamesGoUpToTheRewards) {
  const auto name = [](std::string_view action) {
    const LoadedModel loaded = OneState("", action);
    return fmt::format("{}|{}", loaded.annotations.actions.Of(0), loaded.model.rewards()[0]);
  };
  EXPECT_EQ(name("go [2]"), "go|2");
  EXPECT_EQ(name("a bc [2]"), "a bc|2");
  EXPECT_EQ(name("a  b\t[2] // go"), "a  b|2");
  EXPECT_EQ(name("a b // go"), "a b|0");
  EXPECT_EQ(name("q\"r[1 [2]"), "q\"r[1|2");
  EXPECT_EQ(name("[z] [2]"), "[z]|2");
  EXPECT_EQ(name("0 [2]"), "|2");
  EXPECT_EQ(name("1 [2]"), "1|2");
  EXPECT_EQ(name("00 [2]"), "00|2");
  EXPECT_EQ(name("__NOLABEL__ [2]"), "|2");
  EXPECT_EQ(BadInputOf([&] { name("a [2] b"); }),
            "m.drn:6: expected the end of the line, found 'b'");
}

TEST(DrnFormat, SeveralActionsOfAStateMayHaveOneName) {
  const LoadedModel loaded = ParseDrnModel(
      "@type: MDP\n@nr_states\n1\n@model\nstate 0\n\taction __NOLABEL__\n\t\t0 : 1\n\taction b\n"
      "\t\t0 : 1\n\taction a\n\t\t0 : 1\n\taction b\n\t\t0 : 1\n\taction 4\n\t\t0 : 1\n",
      "m.drn");
  EXPECT_EQ(ActionNamesOf(loaded), (Strings{"", "b", "a", "b", ""}));
  EXPECT_EQ(loaded.annotations.actions.names, (Strings{"b", "a"}));
}

TEST(DrnFormat, KeepsEveryRewardModelTheStatesPlusTheActions) {
  const LoadedModel loaded = ParseDrnModel(
      "@type: MDP\n@reward_models\ncost time\n@nr_states\n2\n@model\n"
      "state 0 [1, 2, 3]\n\taction go [4,5]\n\t\t1 : 1\n\taction __NOLABEL__\n\t\t0 : 1\n"
      "state 1 init goal\n\taction __NOLABEL__\n\t\t1 : 1\n",
      "m.drn");
  EXPECT_EQ(Rewards(loaded.model), (std::vector<double>{5, 1, 0}));
  // The name of the third is Storm's.
  EXPECT_EQ(RewardModels(loaded), (Strings{"cost: 5 1 0", "time: 7 2 0", "rew2: 3 3 0"}));
  EXPECT_EQ(Initial(loaded), std::vector<std::uint64_t>{1});
  EXPECT_TRUE(loaded.dropped.empty());
}

// As Storm 2.0 writes a model without a name beside others, first among them or not.
TEST(DrnFormat, ARewardModelWithoutANameKeepsItsPlace) {
  const auto models = [](const std::string& names, const std::string& rewards) {
    return RewardModels(ParseDrnModel("@type: MDP\n@reward_models\n" + names +
                                          "\n@nr_states\n1\n@model\nstate 0\n\taction 0 [" +
                                          rewards + "]\n\t\t0 : 1\n",
                                      "m.drn"));
  };
  EXPECT_EQ(models(" cost steps ", "3, 1, 2"), (Strings{"reward: 3", "cost: 1", "steps: 2"}));
  EXPECT_EQ(models("cost  steps ", "1, 3, 2"), (Strings{"cost: 1", "reward: 3", "steps: 2"}));
  EXPECT_EQ(models("cost steps  ", "1, 2, 3"), (Strings{"cost: 1", "steps: 2", "reward: 3"}));
  EXPECT_EQ(models(" reward ", "3, 1"), (Strings{"reward_: 3", "reward: 1"}));
  EXPECT_EQ(models(" ", "3"), Strings{"reward: 3"});
  // With as many rewards as names it is an indented list.
  EXPECT_EQ(models("  cost  steps ", "1, 2"), (Strings{"cost: 1", "steps: 2"}));
}

TEST(DrnFormat, RewardModelsMayBeNamedInVainOrBeginLate) {
  const LoadedModel loaded = ParseDrnModel(
      "@type: MDP\n@reward_models\nrew1 b // c\n@nr_states\n2\n@model\n"
      "state 0 [1]\n\taction 0\n\t\t1 : 1\n"
      "state 1\n\taction 0 [0, -0, 1/3]\n\t\t1 : 1\n",
      "m.drn");
  EXPECT_EQ(RewardModels(loaded), (Strings{"rew1: 1 0", "b: 0 -0", "rew2: 0 0.3333333333333333"}));
}

TEST(DrnFormat, BadRewardModelsAreNamedWithTheirLine) {
  EXPECT_EQ(ErrorWith("steps \n", "steps steps\n"), "m.drn:7: reward model 'steps' is named twice");
  std::string many = "0";
  for (std::size_t i = 1; i < kMostRewardStructures; ++i) many += ",0";
  EXPECT_EQ(ErrorWith("action 1 [0]", fmt::format("action 1 [{}]", many)), "");
  EXPECT_EQ(ErrorWith("action 1 [0]", fmt::format("action 1 [{},0]", many)),
            "m.drn:18: expected at most 100 reward models");
  std::string names;
  for (std::size_t i = 0; i <= kMostRewardStructures; ++i) names += fmt::format("r{} ", i);
  EXPECT_EQ(ErrorWith("steps \n", names + "\n"), "m.drn:7: expected at most 100 reward models");
  // Each is finite, but not their sum.
  EXPECT_EQ(ErrorWith("0 [0.5] init\n//[x=0]\n\taction 0 [1]",
                      "0 [0, 1e308] init\n//[x=0]\n\taction 0 [0, 1e308]"),
            "m.drn:15: state 0, action 0: expected a finite reward, found inf");
}

TEST(DrnFormat, WithoutRewardsAllAreZeroAndItSaysSo) {
  const LoadedModel loaded = ParseDrnModel(
      "@type: MDP\n@nr_states\n1\n@model\nstate 0 init\n\taction 0\n\t\t0 : 1\n", "m.drn");
  EXPECT_EQ(Rewards(loaded.model), std::vector<double>{0});
  EXPECT_EQ(loaded.dropped, std::vector<std::string>{"no rewards: the file has none"});
}

TEST(DrnFormat, AChainHasOneActionForEachState) {
  const Model model = Parse(
      "@type: DTMC\n@value_type: rational\n@nr_states\n2\n@nr_choices\n2\n@model\n"
      "state 0 [1/4] init\n\taction 0 [2]\n\t\t0 : 1/3\n\t\t1 : 2/3\n"
      "state 1 [3]\n\t1 : 1\n");
  EXPECT_EQ(model.rows(), 2U);
  EXPECT_EQ(model.probabilities()[0], 1.0 / 3);
  EXPECT_EQ(Rewards(model), (std::vector<double>{2.25, 3}));
  EXPECT_EQ(
      ErrorIn("@type: DTMC\n@nr_states\n1\n@model\nstate 0\n\taction 0\n\t\t0 : 1\n\taction 1\n"
              "\t\t0 : 1\n"),
      "m.drn:8: a DTMC has one action for each state");
}

TEST(DrnFormat, PlaceholdersStandForNumbers) {
  const Model model = Parse(
      "@type: MDP\n@placeholders\n$a : 0.25\n$b : 3/4\n@nr_states\n1\n@model\n"
      "state 0 [$b,$a]\n\taction 0 [$a]\n\t\t0 : $a\n\t\t0 : $b\n");
  EXPECT_EQ(Rewards(model), std::vector<double>{1});
  EXPECT_EQ(ErrorIn("@type: MDP\n@nr_states\n1\n@model\nstate 0\n\taction 0\n\t\t0 : $a\n"),
            "m.drn:7: expected a placeholder that @placeholders defines, found '$a'");
  EXPECT_EQ(ErrorIn("@placeholders\n$a : 1\n$a : 2\n"), "m.drn:3: $a is defined twice");
}

TEST(DrnFormat, LineEndsMarksAndCommentsChangeNothing) {
  const Model model = Parse(Small());
  EXPECT_EQ(Parse(Replaced(Small(), "\n", "\r\n")), model);
  EXPECT_EQ(Parse("\xEF\xBB\xBF" + Small()), model);
  EXPECT_EQ(Parse(Small().substr(0, Small().size() - 1)), model);
  EXPECT_EQ(Parse(Replaced(Small(), "\t", "")), model);
  EXPECT_EQ(Parse(Replaced(Small(), " : ", ":")), model);
  EXPECT_EQ(Parse(Replaced(Small(), "\t\t1 : 1\n", "\t\t1 : 1 // sure\n\n// more\n")), model);
  EXPECT_EQ(Parse(Replaced(Small(), "init\n", "init // first\n")), model);
  for (const char* line : {"@type: MDP", "@value_type: double", "@parameters", "@parameters\n",
                           "@reward_models", "steps ", "@nr_states", "@nr_states\n2", "@model"}) {
    EXPECT_EQ(Parse(Replaced(Small(), line, fmt::format("{} // comment", line))), model) << line;
  }
  EXPECT_EQ(Parse(Replaced(Small(), "\t\t0 : 0.5\n", "\t\t0 : 0.5//half\n\t // more\n")), model);
}

TEST(DrnFormat, FractionsMayBeOfAnyLength) {
  const std::string third = std::string(400, '3') + "/" + std::string(400, '9');
  const std::string rest = std::string(400, '6') + "/" + std::string(400, '9');
  const Model model = Parse(fmt::format(
      "@type: MDP\n@value_type: rational\n@placeholders\n$p : {0}\n@nr_states\n2\n@model\n"
      "state 0 [-{0}]\n\taction 0 [$p]\n\t\t0 : {0}\n\t\t1 : {1}\n\taction 1\n\t\t0 : $p\n"
      "\t\t1 : {1}\nstate 1\n\taction 0\n\t\t1 : 1\n",
      third, rest));
  EXPECT_EQ(model.probabilities()[0], 1.0 / 3);
  EXPECT_EQ(model.probabilities()[1], 2.0 / 3);
  EXPECT_EQ(model.probabilities()[2], 1.0 / 3);
  EXPECT_EQ(Rewards(model), (std::vector<double>{0, -1.0 / 3, 0}));
}

TEST(DrnFormat, WritesWhatStormReads) {
  const TemporaryFolder directory;
  const LoadedModel loaded = ParseDrnModel(Small(), "m.drn");
  WriteDrnModel(loaded.model, directory / "m.drn");
  const std::string plain =
      "// Exported by stableaa\n@type: MDP\n@parameters\n\n@reward_models\nreward\n@nr_states\n2\n"
      "@nr_choices\n3\n@model\n"
      "state 0 init\n\taction 0 [1.5]\n\t\t0 : 0.5\n\t\t1 : 0.5\n\taction 1 [0.5]\n\t\t1 : 1\n"
      "state 1\n\taction 0 [-2]\n\t\t1 : 1\n";
  EXPECT_EQ(ReadText(directory / "m.drn"), plain);
  WriteDrnModel(loaded.model, directory / "m.drn", loaded.annotations);
  EXPECT_EQ(ReadText(directory / "m.drn"), Replaced(Replaced(plain, "\nreward\n", "\nsteps\n"),
                                                    "state 1", "state 1 done \"quoted label\""));

  ModelAnnotations annotations;
  annotations.labels = {{"a", SharedArray<std::uint64_t>({0, 1})},
                        {"z", SharedArray<std::uint64_t>({1})}};
  annotations.initial = SharedArray<std::uint64_t>({1});
  annotations.rewards = {{"steps", SharedArray<double>({1.5, .5, -2})},
                         {"coins", SharedArray<double>({0, 1e-20, 3})}};
  annotations.actions = {{"go"}, SharedArray<std::uint32_t>({1, 0, 1})};
  EXPECT_TRUE(WriteDrnModel(loaded.model, directory / "m.drn", annotations).empty());
  EXPECT_EQ(ReadText(directory / "m.drn"),
            "// Exported by stableaa\n@type: MDP\n@parameters\n\n@reward_models\nsteps coins\n"
            "@nr_states\n2\n@nr_choices\n3\n@model\n"
            "state 0 a\n\taction go [1.5, 0]\n\t\t0 : 0.5\n\t\t1 : 0.5\n"
            "\taction __NOLABEL__ [0.5, 1e-20]\n\t\t1 : 1\n"
            "state 1 a init z\n\taction go [-2, 3]\n\t\t1 : 1\n");
}

TEST(DrnFormat, NamesAllThatItCannotHold) {
  const TemporaryFolder directory;
  const Model model = Parse(Small()).WithDiscount(0.5);
  ModelAnnotations annotations;
  annotations.labels = {{"nowhere", SharedArray<std::uint64_t>()},
                        {"q\"r", SharedArray<std::uint64_t>({1})}};
  annotations.rewards = {{"a b", SharedArray<double>({1.5, .5, -2})},
                         {"a_b", SharedArray<double>({1, 2, 3})},
                         {"//", SharedArray<double>({4, 5, 6})}};
  // The second action of state 0 is called 1, the others have a blank or are called so.
  annotations.actions = {{"a b", "1", "__NOLABEL__"}, SharedArray<std::uint32_t>({1, 2, 3})};
  EXPECT_EQ(WriteDrnModel(model, directory / "m.drn", annotations),
            (Strings{"the discount 0.5", "the name of reward structure 'a b', now a_b",
                     "the name of reward structure 'a_b', now a_b_",
                     "the name of reward structure '//', now _/", "label 'q\"r', which has a quote",
                     "label 'nowhere', which no state has",
                     "the names of 3 actions: blanks or a number"}));
  // As without names.
  EXPECT_NE(ReadText(directory / "m.drn").find("\taction 1 [0.5, 2, 5]"), std::string::npos);
  const LoadedModel loaded = ReadDrnModel(directory / "m.drn");
  EXPECT_EQ(loaded.model.WithDiscount(0.5), model);
  EXPECT_EQ(RewardModels(loaded), (Strings{"a_b: 1.5 0.5 -2", "a_b_: 1 2 3", "_/: 4 5 6"}));
  EXPECT_EQ(Labels(loaded), Strings());
  EXPECT_EQ(ActionNamesOf(loaded), (Strings{"", "", ""}));
}

TEST(DrnFormat, OtherKindsOfModelsAreRefused) {
  for (const char* type : {"CTMC", "Markov Automaton", "POMDP", "SMG", ""}) {
    EXPECT_EQ(ErrorWith("@type: MDP", fmt::format("@type: {}", type)),
              fmt::format("m.drn:2: expected a model of type MDP or DTMC, found '{}'", type));
  }
  EXPECT_EQ(ErrorWith("@value_type: double", "@value_type: double-interval"),
            "m.drn:3: expected values of type double or rational, found 'double-interval'");
  EXPECT_EQ(ErrorWith("@parameters\n\n", "@parameters\np q\n"),
            "m.drn:5: parametric models are not supported");
  for (const char* type : {"rational-interval", "parametric"}) {
    EXPECT_EQ(ErrorWith("@value_type: double", fmt::format("@value_type: {}", type)),
              fmt::format("m.drn:3: expected values of type double or rational, found '{}'", type));
  }
  EXPECT_EQ(ErrorWith("0 : 0.5", "0 : [0.4, 0.9]"),
            "m.drn:16: expected a probability, no interval and no expression, found '[0.4'");
  EXPECT_EQ(ErrorWith("0 : 0.5", "0 : (-1)*p+1"),
            "m.drn:16: expected a probability, no interval and no expression, found '(-1)*p+1'");
  EXPECT_EQ(ErrorInStates("state 0 {3} init\n"),
            "m.drn:13: expected no observation in an MDP, found '{3}'");
  EXPECT_EQ(ErrorInStates("state 0 !2 init\n"),
            "m.drn:13: expected no exit rate in an MDP, found '!2'");
}

TEST(DrnFormat, TheHeaderIsComplete) {
  EXPECT_EQ(ErrorIn(""), "m.drn:1: expected a section such as '@model', found the end of the file");
  EXPECT_EQ(ErrorWith("@type: MDP\n", ""), "m.drn:11: expected @type: before @model");
  EXPECT_EQ(ErrorWith("@nr_states\n2\n", ""), "m.drn:10: expected @nr_states before @model");
  EXPECT_EQ(ErrorWith("@nr_choices\n3\n", "@nr_states\n2\n"),
            "m.drn:10: @nr_states is given twice");
  EXPECT_EQ(ErrorWith("@nr_states\n2\n", "@nr_states\nmany\n"),
            "m.drn:9: expected the number of states, found 'many'");
  EXPECT_EQ(ErrorWith("@parameters", "@colour"),
            "m.drn:4: expected @type:, @value_type:, @parameters, @placeholders, @reward_models, "
            "@nr_states, @nr_choices or @model, found '@colour'");
}

TEST(DrnFormat, CountsInTheHeaderAreThoseOfTheFile) {
  EXPECT_EQ(ErrorWith("@nr_states\n2", "@nr_states\n3"),
            "m.drn:23: @nr_states is 3, but the file ends after 2 states");
  EXPECT_EQ(ErrorWith("@nr_states\n2", "@nr_states\n1000000000000000000"),
            "m.drn:23: @nr_states is 1000000000000000000, but the file ends after 2 states");
  EXPECT_EQ(ErrorWith("@nr_states\n2", "@nr_states\n1"),
            "m.drn:17: expected a next state below 1 (@nr_states), found 1");
  EXPECT_EQ(ErrorWith("@nr_choices\n3", "@nr_choices\n1000000000000000000"),
            "m.drn:23: @nr_choices is 1000000000000000000, but the file has 3 actions");
  EXPECT_EQ(ErrorIn("@type: MDP\n@nr_states\n0\n@model\nstate 0\n"),
            "m.drn:5: @nr_states is 0, found a state 0");
  EXPECT_EQ(ErrorIn("@type: MDP\n@nr_states\n0\n@model\n"), "m.drn:5: the model has no state");
}

TEST(DrnFormat, EveryBadLineIsNamed) {
  EXPECT_EQ(ErrorInStates("choice 0\n"),
            "m.drn:13: expected 'state', 'action' or a transition, found 'choice'");
  EXPECT_EQ(ErrorInStates("\taction 0\n"), "m.drn:13: expected a state before the first action");
  EXPECT_EQ(ErrorInStates("0 : 1\n"), "m.drn:13: expected 'state', found '0'");
  EXPECT_EQ(ErrorInStates("state 0\n0 : 1\n"),
            "m.drn:14: expected 'action' before the first transition, found '0'");
  EXPECT_EQ(ErrorInStates("state 1\n"),
            "m.drn:13: expected state 0; states are numbered 0, 1, 2, ..., in this order");
  EXPECT_EQ(ErrorInStates("state 0\nstate 1\n"),
            "m.drn:13: state 0 has no action; give it at least one");
  EXPECT_EQ(ErrorInStates("state 0 [1\n"), "m.drn:13: expected ']', found the end of the line");
  EXPECT_EQ(ErrorInStates("state 0 [x]\n"), "m.drn:13: expected a reward, found 'x]'");
  EXPECT_EQ(ErrorInStates("state 0 \"a\n"),
            "m.drn:13: expected a label with a closing quote, found '\"a'");
  EXPECT_EQ(ErrorWith("\taction 1 [0]", "\taction"),
            "m.drn:18: expected the name of the action, found the end of the line");
  EXPECT_EQ(ErrorWith("0 : 0.5", "0 0.5"), "m.drn:16: expected ':', found '0.5'");
  EXPECT_EQ(ErrorWith("0 : 0.5", "0 : -0.5"),
            "m.drn:16: expected a probability in [0, 1], found '-0.5'");
  EXPECT_EQ(ErrorWith("0 : 0.5", "0 : 0.5 0"), "m.drn:16: expected the end of the line, found '0'");
  EXPECT_EQ(ErrorWith("0 : 0.5", "0 : 0.25"),
            "m.drn:15: state 0, action 0: the probabilities sum to 0.75 instead of 1");
  EXPECT_EQ(ErrorWith("0 : 0.5", "1000000000000000000 : 0.5"),
            "m.drn:16: expected a next state below 2 (@nr_states), found 1000000000000000000");
}

TEST(DrnFormat, EveryTruncationIsAnError) {
  const std::string text = Small().substr(0, Small().size() - 1);
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(ErrorIn(text.substr(0, size)), "") << size;
  }
}

TEST(BenchDrnFormat, ReadsFast) {
  if (!kOptimised) GTEST_SKIP() << "not an optimised build";
  const TemporaryFolder directory;
  WriteDrnModel(LargeModel(70000), directory / "m.drn");
  EXPECT_LE(TimesTheYardstick({directory / "m.drn"}, kMostTimesTheYardstick,
                              [&] { return ReadDrnModel(directory / "m.drn"); }),
            kMostTimesTheYardstick);
}

}  // namespace stableaa::drn_format_test
