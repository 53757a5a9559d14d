// Suites: what a file expands to, and the messages for faulty ones.

#include "stableaa/experiment/suite/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::suite_test {

namespace fs = std::filesystem;

std::vector<std::string> Names(const Suite& suite) {
  std::vector<std::string> names;
  for (const SuiteRun& run : suite.runs) names.push_back(run.name);
  return names;
}

// The options of `stableaa train --env E --preset P`, with `assignments` given by --set.
RunOptions Direct(const std::string& env, const std::string& preset,
                  const std::vector<std::string>& assignments) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, env, preset);
  for (const std::string& assignment : assignments) config.Set(assignment);
  return options;
}

// The message of the BadInput.
std::string Refused(const std::string& text) {
  return MessageOf([&] { ParseSuite(text, "my.toml"); });
}

void ExpectRefused(const std::string& text, const std::vector<std::string>& words) {
  const std::string message = Refused(text);
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos)
        << "expected '" << word << "' in: " << message << "\nfor: " << text;
  }
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

// ---- Expansion ----

TEST(Suite, AnEmptyFileIsOneRunAsTrainWouldMakeIt) {
  const Suite suite = ParseSuite("", "my.toml");
  ASSERT_EQ(suite.runs.size(), 1U);
  const RunOptions expected = Direct("minatar/breakout", "stable-aa", {"train.threads=1"});
  EXPECT_EQ(ToToml(suite.runs[0].options), ToToml(expected));
  EXPECT_EQ(suite.runs[0].name, "minatar-breakout-stable-aa-1");
  EXPECT_EQ(suite.runs[0].name, RunName(expected.train));
  EXPECT_TRUE(suite.runs[0].values.empty());
  EXPECT_EQ(suite.title, "");
}

TEST(Suite, AxesAreMultiplied) {
  const Suite suite = ParseSuite(R"(
title = "Two by three"
seeds = [4]
[axes]
env = ["classic/cartpole", "classic/acrobot"]
agent.eta = [0.1, 1.0, 0]
)",
                                 "my.toml");
  EXPECT_EQ(suite.title, "Two by three");
  EXPECT_EQ(Names(suite),
            (std::vector<std::string>{
                "classic-cartpole-stable-aa-eta-0.1-4", "classic-cartpole-stable-aa-eta-1-4",
                "classic-cartpole-stable-aa-eta-0-4", "classic-acrobot-stable-aa-eta-0.1-4",
                "classic-acrobot-stable-aa-eta-1-4", "classic-acrobot-stable-aa-eta-0-4"}));
  EXPECT_EQ(suite.runs[4].options.agent.eta, 1);
  EXPECT_EQ(suite.runs[4].options.train.env, "classic/acrobot");
  EXPECT_EQ(suite.runs[4].options.train.seed, 4U);
  EXPECT_EQ(suite.runs[4].values,
            (std::vector<std::pair<std::string, std::string>>{{"agent.eta", "1"}}));
}

TEST(Suite, ListsOfZipAdvanceTogetherAndMultiplyTheAxes) {
  const Suite suite = ParseSuite(R"(
[axes]
env = ["minatar/breakout", "minatar/freeway"]
[zip]
preset = ["stable-reg", "dueling-mellowmax", ""]
agent.eta = [0.5, "", ""]
agent.omega = ["", 10.0, ""]
)",
                                 "my.toml");
  EXPECT_EQ(
      Names(suite),
      (std::vector<std::string>{
          "minatar-breakout-stable-reg-eta-0.5-1", "minatar-breakout-dueling-mellowmax-omega-10-1",
          "minatar-breakout-stable-aa-1", "minatar-freeway-stable-reg-eta-0.5-1",
          "minatar-freeway-dueling-mellowmax-omega-10-1", "minatar-freeway-stable-aa-1"}));
  EXPECT_EQ(suite.runs[0].options.agent.eta, 0.5);
  EXPECT_EQ(suite.runs[1].options.agent.omega, 10);
  EXPECT_EQ(suite.runs[1].options.agent.eta, AgentOptions().eta) << "left to the preset";
  EXPECT_EQ(ToToml(suite.runs[2].options),
            ToToml(Direct("minatar/breakout", "stable-aa", {"train.threads=1"})));
  EXPECT_TRUE(suite.runs[2].values.empty());
}

TEST(Suite, AllOfTheFirstSeedComeFirst) {
  const std::string axes = "[axes]\npreset = [\"raa\", \"dqn\"]\n";
  const Suite listed = ParseSuite("seeds = [7, 3]\n" + axes, "my.toml");
  EXPECT_EQ(Names(listed),
            (std::vector<std::string>{"minatar-breakout-raa-7", "minatar-breakout-dqn-7",
                                      "minatar-breakout-raa-3", "minatar-breakout-dqn-3"}));
  const Suite counted = ParseSuite("seeds = 2\n" + axes, "my.toml");
  EXPECT_EQ(counted.seeds, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(Names(counted),
            (std::vector<std::string>{"minatar-breakout-raa-1", "minatar-breakout-dqn-1",
                                      "minatar-breakout-raa-2", "minatar-breakout-dqn-2"}));
}

TEST(Suite, SeedsHave64Bits) {
  const Suite suite =
      ParseSuite("seeds = [0, 9223372036854775807, \"18446744073709551615\"]", "my.toml");
  EXPECT_EQ(suite.runs[2].options.train.seed, ~std::uint64_t{0});
  EXPECT_EQ(suite.runs[2].name, "minatar-breakout-stable-aa-18446744073709551615");
}

TEST(Suite, WholeNumbersMayHaveAnExponent) {
  EXPECT_EQ(ParseSuite("seeds = [1e1, 2]", "my.toml").seeds, (std::vector<std::uint64_t>{10, 2}));
  const Suite suite = ParseSuite("seeds = 2e0\nthreads = 1e0\nstop.steps = 1e3", "my.toml");
  EXPECT_EQ(suite.seeds, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(suite.runs[0].options.train.steps, 1000);
}

TEST(Suite, LaterSourcesWin) {
  const Suite suite = ParseSuite(R"(
preset = "raa"
env = "classic/cartpole"
threads = 2
stop.steps = 1_234
[set]
agent.damping = 0.3   # over the preset
replay.start = 77     # over the family
[axes]
agent.eta = [0.7]     # over the preset
)",
                                 "my.toml");
  ASSERT_EQ(suite.runs.size(), 1U);
  const RunOptions expected = Direct("classic/cartpole", "raa",
                                     {"agent.damping=0.3", "replay.start=77", "agent.eta=0.7",
                                      "train.steps=1234", "train.threads=2"});
  EXPECT_EQ(ToToml(suite.runs[0].options), ToToml(expected));
  EXPECT_EQ(expected.replay.size, 50'000) << "of the family";
}

TEST(Suite, EachEnvironmentHasTheDefaultsOfItsFamily) {
  const Suite suite =
      ParseSuite("[axes]\nenv = [\"Atari/Pong\", \"classic/cartpole\"]\n", "my.toml");
  EXPECT_EQ(suite.runs[0].options.replay.size, 1'000'000);
  EXPECT_EQ(suite.runs[0].options.train.env, "atari/pong");
  EXPECT_EQ(suite.runs[0].name, "atari-pong-stable-aa-1");
  EXPECT_EQ(suite.runs[1].options.replay.size, 50'000);
}

TEST(Suite, EnvironmentAndItsOptionsCanBothBeAxes) {
  const Suite suite = ParseSuite(R"(
[axes]
train.env = ["atari/pong", "atari/breakout"]
env.protocol = ["authors", "machado"]
)",
                                 "my.toml");
  EXPECT_EQ(Names(suite),
            (std::vector<std::string>{"atari-pong-stable-aa-protocol-authors-1",
                                      "atari-pong-stable-aa-protocol-machado-1",
                                      "atari-breakout-stable-aa-protocol-authors-1",
                                      "atari-breakout-stable-aa-protocol-machado-1"}));
}

TEST(Suite, AxesCanHaveListsTextsAndBooleans) {
  const Suite suite = ParseSuite(R"(
env = "classic/cartpole"
[axes]
network.hidden = [[16], [32, 8]]
agent.weights.safeguard = [true]
agent.backup = ["dynamic-boltzmann"]
)",
                                 "my.toml");
  EXPECT_EQ(
      Names(suite),
      (std::vector<std::string>{
          "classic-cartpole-stable-aa-hidden-16-safeguard-true-backup-dynamic-boltzmann-1",
          "classic-cartpole-stable-aa-hidden-32-8-safeguard-true-backup-dynamic-boltzmann-1"}));
  EXPECT_EQ(suite.runs[1].options.agent.hidden, (std::vector<double>{32, 8}));
}

TEST(Suite, ArgumentsOfEnvironmentsAreSetByMemberAndAsAWhole) {
  const Suite suite = ParseSuite(R"(
env = "gymnasium/FrozenLake-v1"
[set.env.kwargs]
is_slippery = false
deep = {x = 1}
[axes]
env.kwargs.map_name = ["4x4", "8x8"]
)",
                                 "my.toml");
  ASSERT_EQ(suite.runs.size(), 2U);
  EXPECT_EQ(suite.runs[0].options.env.kwargs,
            R"({"deep":{"x":1},"is_slippery":false,"map_name":"4x4"})");
  EXPECT_EQ(suite.runs[1].options.env.kwargs,
            R"({"deep":{"x":1},"is_slippery":false,"map_name":"8x8"})");
  const Suite whole = ParseSuite(
      "env = \"gymnasium/FrozenLake-v1\"\naxes.env.kwargs = [{}, {size = 5}]\n", "my.toml");
  ASSERT_EQ(whole.runs.size(), 2U);
  EXPECT_EQ(whole.runs[0].options.env.kwargs, "{}");
  EXPECT_EQ(whole.runs[1].options.env.kwargs, R"({"size":5})");
  ExpectRefused("[set]\nagent = {}\n", {"my.toml:2", "agent", "a table"});
  ExpectRefused("[axes]\nagent.eta = [{}]\n", {"my.toml:2", "agent.eta", "a table"});
  ExpectRefused("[set]\nenv.kwargs.x = nan\n", {"my.toml:2: env.kwargs.x", "nan"});
}

TEST(Suite, StopRulesAreKept) {
  const Suite suite =
      ParseSuite("[stop]\nsteps = 5\neval_return = 475\nminutes = 0.5\n", "my.toml");
  EXPECT_EQ(suite.stop.eval_return, 475);
  EXPECT_EQ(suite.stop.minutes, 0.5);
  EXPECT_EQ(suite.runs[0].options.train.steps, 5);
}

TEST(Suite, ThreadsCanBeChangedForAllRuns) {
  Suite suite = ParseSuite("seeds = 3", "my.toml");
  suite.SetThreads(4);
  for (const SuiteRun& run : suite.runs) EXPECT_EQ(run.options.train.threads, 4);
}

// ---- Axes of tables ----

TEST(SuiteTables, SetSeveralKeysAtOnce) {
  const Suite suite = ParseSuite(R"(
env = "classic/cartpole"
[axes]
agent.omega = [5.0, 10.0]
variant = [
  { label = "DQN", preset = "dqn" },
  { label = "mixed, m=3", preset = "stable-aa", "agent.targets" = 3, agent.eta = 0.5 },
  { agent.weights = { safeguard = true, batch = 64 } },
]
)",
                                 "my.toml");
  EXPECT_EQ(
      Names(suite),
      (std::vector<std::string>{
          "classic-cartpole-dqn-omega-5-DQN-1", "classic-cartpole-stable-aa-omega-5-mixed-m-3-1",
          "classic-cartpole-stable-aa-omega-5-batch-64-safeguard-true-1",
          "classic-cartpole-dqn-omega-10-DQN-1", "classic-cartpole-stable-aa-omega-10-mixed-m-3-1",
          "classic-cartpole-stable-aa-omega-10-batch-64-safeguard-true-"
          "1"}));
  EXPECT_EQ(
      ToToml(suite.runs[4].options),
      ToToml(Direct("classic/cartpole", "stable-aa",
                    {"agent.omega=10", "agent.targets=3", "agent.eta=0.5", "train.threads=1"})));
  EXPECT_EQ(suite.runs[2].options.agent.weights.batch, 64);
  EXPECT_EQ(suite.runs[4].values, (std::vector<std::pair<std::string, std::string>>{
                                      {"agent.omega", "10"}, {"variant", "mixed, m=3"}}));
  EXPECT_EQ(suite.runs[4].label, "omega 10, mixed, m=3");
  EXPECT_EQ(suite.axes[1].values[2], "batch 64, safeguard true");
}

TEST(SuiteTables, ThatSetTheEnvironmentAreRunThere) {
  const Suite suite = ParseSuite(R"(
[[axes.case]]
env = "classic/cartpole"
preset = "dqn"
[[axes.case]]
train.env = "minatar/asterix"
)",
                                 "my.toml");
  ASSERT_EQ(suite.runs.size(), 2U);
  EXPECT_EQ(suite.runs[0].options.train.env, "classic/cartpole");
  EXPECT_EQ(suite.runs[1].options.train.env, "minatar/asterix");
  EXPECT_EQ(suite.runs[1].options.train.preset, "stable-aa");
}

TEST(SuiteTables, LabelsWithEqualLettersStillMakeLastingNames) {
  const auto names = [](const std::string& first, const std::string& second) {
    return Names(ParseSuite("axes.v = [" + first + ", " + second + "]", "my.toml"));
  };
  const std::string a = "{label = \"±\", agent.eta = 1}", b = "{label = \"=\", agent.eta = 2}";
  EXPECT_NE(names(a, b)[0], names(a, b)[1]);
  EXPECT_EQ(names(a, b)[0], names(b, a)[1]);
}

TEST(SuiteTables, MistakesAreNamed) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"v = [{agent.etaa = 1}]", {"my.toml:2", "'agent.etaa'", "'agent.eta'"}},
           {"v = [{agent.eta = -1}]", {"agent.eta = -1", "range"}},
           {"v = [{preset = \"dqm\"}]", {"no preset 'dqm'", "'dqn'"}},
           {"v = [{env = 3}]", {"env wants a string"}},
           {"v = [{train.seed = 3}]", {"train.seed", "'seeds'"}},
           {"v = [{agent.eta = 1}, 3]", {"axes.v wants tables only", "the integer 3"}},
           {"v = [{label = 3}]", {"label wants a string"}},
           {"v = [{label = \"\"}]", {"label wants printable text"}},
           {"v = [{label = \"a\\u001b\"}]", {"label wants printable text"}},
           {"v = [{label = \"a\"}, {label = \"a\", agent.eta = 1}]", {"label 'a' twice"}},
           {"v = [{agent.eta = 1, \"agent.eta\" = 2}]", {"sets agent.eta twice"}},
           {"agent = [{eta = 1}]", {"axes.agent", "a name of its own"}},
           {"agent.v = [{eta = 1}]", {"axes.agent.v", "a name of its own"}},
           {"v = [{agent.eta = 1}]\nagent.eta = [2]", {"my.toml:3: agent.eta stands in line 2"}},
           {"v = [{agent.eta = 1}]\nw = [{agent.eta = 2}]", {"my.toml:3: agent.eta stands"}},
           {"v = [{preset = \"dqn\"}]\npreset = [\"raa\"]", {"my.toml:3: preset stands"}},
       }) {
    ExpectRefused("[axes]\n" + text, words);
  }
}

// ---- Presets from files ----

TEST(SuitePresets, FilesLieBesideTheSuite) {
  const FolderOfRuns folder;
  fs::create_directories(folder / "deep/other");
  WriteContent(folder / "deep/mine.toml", "preset = \"raa\"\n[agent]\neta = 0.7\n");
  WriteContent(folder / "deep/suite.toml",
               "env = \"classic/cartpole\"\naxes.preset = [\"mine.toml\", \"dqn\"]\n");
  const Suite suite = ReadSuite(folder / "deep/suite.toml");
  EXPECT_EQ(Names(suite),
            (std::vector<std::string>{"classic-cartpole-mine-1", "classic-cartpole-dqn-1"}));
  EXPECT_EQ(suite.runs[0].options.train.preset, "mine");
  EXPECT_EQ(suite.runs[0].options.agent.eta, 0.7);
  EXPECT_EQ(suite.runs[0].options.agent.mixer, MixerKind::kRaa);
  WriteContent(folder / "deep/mine.toml", "[agent]\n\netaa = 0.7\n");
  const std::string message = MessageOf([&] { ReadSuite(folder / "deep/suite.toml"); });
  EXPECT_NE(message.find("suite.toml:2: "), std::string::npos) << message;
  EXPECT_NE(message.find("mine.toml:3: unknown key 'agent.etaa'"), std::string::npos) << message;
  WriteContent(folder / "deep/suite.toml", "axes.preset = [\"mine.toml\", \"other/mine.toml\"]\n");
  WriteContent(folder / "deep/mine.toml", "");
  WriteContent(folder / "deep/other/mine.toml", "");
  EXPECT_NE(MessageOf([&] { ReadSuite(folder / "deep/suite.toml"); }).find("both be called 'mine'"),
            std::string::npos);
}

// ---- Overrides ----

Suite Overridden(const std::string& text, const std::vector<std::string>& assignments) {
  SuiteContext context;
  for (const std::string& assignment : assignments) {
    context.overrides.push_back(ConfigSource::FromOverride(assignment));
  }
  return ParseSuite(text, "my.toml", context);
}

TEST(SuiteOverrides, WinOverTheSuite) {
  const Suite suite = Overridden(
      "env = \"minatar/asterix\"\nstop.steps = 9\nset.agent.eta = 1\naxes.agent.omega = [1, 2]\n",
      {"agent.eta=2", "train.steps=77", "train.env=classic/cartpole", "train.preset=raa"});
  ASSERT_EQ(suite.runs.size(), 2U);
  EXPECT_EQ(ToToml(suite.runs[1].options),
            ToToml(Direct("classic/cartpole", "raa",
                          {"agent.eta=2", "agent.omega=2", "train.steps=77", "train.threads=1"})));
  EXPECT_EQ(suite.runs[1].name, "classic-cartpole-raa-omega-2-1");
  EXPECT_TRUE(suite.text.ends_with("# and over it: --set train.preset=raa\n")) << suite.text;
  EXPECT_EQ(Names(ParseSuite(suite.text, "again.toml")).size(), 2U);
}

TEST(SuiteOverrides, OfKeysOfEnvironmentsAreTakenWhereTheEnvironmentVaries) {
  const Suite suite = Overridden("axes.env = [\"minatar/asterix\", \"minatar/breakout\"]\n",
                                 {"env.max_episode_steps=80", "env.num_envs=4"});
  ASSERT_EQ(suite.runs.size(), 2U);
  EXPECT_EQ(suite.runs[1].options.env.max_episode_steps, 80);
  EXPECT_EQ(suite.runs[1].options.env.num_envs, 4);
}

TEST(SuiteOverrides, OfWhatVariesAreRefused) {
  const std::string text = R"(
axes.agent.eta = [1, 2]
axes.v = [{preset = "dqn", agent.damping = 0.5}]
search.draws = 2
search.ranges.agent.omega = {low = 1, high = 2}
)";
  for (const auto& [assignment, word] : std::vector<std::pair<std::string, std::string>>{
           {"agent.eta=3", "agent.eta varies in the suite, my.toml:2"},
           {"agent.damping=0", "agent.damping varies in the suite, my.toml:3"},
           {"train.preset=raa", "preset varies in the suite, my.toml:3"},
           {"agent.omega=3", "agent.omega varies in the suite, my.toml:4"},
           {"train.seed=3", "'seeds' says it"},
           {"train.threads=3", "'threads' says it"},
           {"agent.etaa=3", "did you mean 'agent.eta'"},
           {"train.env=minatar/breakou", "minatar/breakout"}}) {
    const std::string message = MessageOf([&, &one = assignment] { Overridden(text, {one}); });
    EXPECT_TRUE(message.starts_with("--set " + assignment)) << message;
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

// ---- Names ----

TEST(SuiteNames, DifferentRunsNeverShareOne) {
  const Suite suite = ParseSuite(R"(
seeds = 2
[zip]
env.python = ["a/b", "a+b", "a b"]
agent.n_step = [1, 2, 1]
)",
                                 "my.toml");
  const std::vector<std::string> names = Names(suite);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 6U);
  EXPECT_EQ(names[0], "minatar-breakout-stable-aa-python-a-b-n_step-1-1");
  EXPECT_EQ(names[2], "minatar-breakout-stable-aa-python-a-b-n_step-1-1-2");
  EXPECT_EQ(names[5], "minatar-breakout-stable-aa-python-a-b-n_step-1-2-2");
}

// Suites get edited, and their runs must still be found.
TEST(SuiteNames, DoNotDependOnTheOtherRuns) {
  const std::string path(300, 'x');
  const auto names = [&](const std::string& first, const std::string& second) {
    return Names(ParseSuite(
        "[axes]\nenv.python = [\"" + path + first + "\", \"" + path + second + "\"]\n", "my.toml"));
  };
  const std::vector<std::string> one = names("a", "b"), other = names("b", "a");
  EXPECT_NE(one[0], one[1]);
  EXPECT_EQ(one[0], other[1]);
  EXPECT_EQ(one[1], other[0]);
}

TEST(SuiteNames, AreFitForFiles) {
  TrainOptions train;
  train.env = "gymnasium/some module:Id-v0/../x";
  train.preset = "péché";
  const std::string long_text(1000, 'x');
  for (const std::string& name : {RunName(train), RunName(train, long_text)}) {
    EXPECT_LE(name.size(), 210U);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789._-"),
              std::string::npos)
        << name;
    EXPECT_TRUE(name.starts_with("gymnasium-some-module-Id-v0-..-x-p-ch-")) << name;
    EXPECT_TRUE(name.ends_with("-1"));
  }
}

// ---- Errors ----

TEST(SuiteErrors, NameTheLineAndWhatWasMeant) {
  const std::string two_lines = "# comment\n\n";
  struct Case {
    std::string text;
    std::vector<std::string> words;
  };
  for (const Case& c : std::vector<Case>{
           {"titel = \"x\"", {"unknown key 'titel'", "did you mean 'title'"}},
           {"[axis]\nenv = [\"minatar/breakout\"]", {"axis.env"}},
           {"[stop]\nstep = 3", {"my.toml:4", "stop.step", "did you mean 'stop.steps'"}},
           {"agent.eta = 3", {"agent.eta", "[set] or [axes]"}},
           {"title = 3", {"title wants a string", "the integer 3"}},
           {"preset = \"stabel-aa\"", {"there is no preset 'stabel-aa'", "'stable-aa'"}},
           {"env = \"minatar/brekout\"", {"no environment", "'minatar/breakout'"}},
           {"env = [\"minatar/breakout\"]", {"env wants a string", "a list"}},
           {"seeds = []", {"seeds", "none"}},
           {"seeds = [1, 2, 1]", {"seeds has 1 twice"}},
           {"seeds = 0", {"seeds wants", "the integer 0"}},
           {"seeds = [-1]", {"seeds wants", "-1"}},
           {"seeds = [1.5]", {"seeds wants", "1.5"}},
           {"seeds = [\"1x\"]", {"seeds wants", "1x"}},
           {"seeds = \"three\"", {"seeds wants", "three"}},
           {"threads = 0", {"threads wants", "[1, 1024]"}},
           {"threads = true", {"threads wants"}},
           {"set = 3", {"set wants a table"}},
           {"axes = []", {"axes wants a table"}},
           {"[set]\nagent.etta = 1", {"my.toml:4", "unknown key 'agent.etta'", "'agent.eta'"}},
           {"[set]\nagent.eta = -1", {"my.toml:4", "agent.eta = -1", "range"}},
           {"[set]\ncheckpoint.keep_weights = \"sometimes\"",
            {"my.toml:4: checkpoint.keep_weights: expected none"}},
           {"[axes]\nenv.wrappers = [[\"TimeLimit(5\"]]", {"my.toml:4: env.wrappers: expected"}},
           {"[set]\nagent.omega = \"0.1\"", {"my.toml:4", "agent.omega wants a real number"}},
           {"[set]\nagent.eta = true",
            {"my.toml:4", "agent.eta wants a real number or a schedule"}},
           {"[axes]\nagent.eta = [1, \"linear(1, -1, 50)\"]",
            {"my.toml:4", "agent.eta: expected values in [0, 1000000], found -1.0 at step 50"}},
           {"[set]\nagent.mixer = 3", {"my.toml:4", "agent.mixer wants a string"}},
           {"[set]\nnetwork.layers = 3", {"my.toml:4", "network.layers wants a string"}},
           {"[set]\nnetwork.hidden = 3", {"my.toml:4", "network.hidden wants a list"}},
           {"[set]\nagent = 3", {"my.toml:4", "agent is a table"}},
           {"[set]\nagent.eta = 1979-05-27", {"my.toml:4", "agent.eta wants a value", "a date"}},
           {"[set]\ntrain.preset = \"dqn\"", {"my.toml:4", "preset", "above all tables"}},
           {"[set]\nenv = \"atari/pong\"", {"my.toml:4", "env", "above all tables"}},
           {"[set]\ntrain.seed = 3", {"my.toml:4", "train.seed", "'seeds'"}},
           {"[set]\ntrain.steps = 3", {"my.toml:4", "train.steps", "[stop] steps"}},
           {"[axes]\ntrain.threads = [1, 2]", {"my.toml:4", "train.threads", "'threads'"}},
           {"[axes]\n\"agent.eta\" = [1]", {"my.toml:4", "without quotes"}},
           {"[axes]\nagent.eta = 0.1", {"my.toml:4", "axes.agent.eta wants a list of values"}},
           {"[axes]\nagent.eta = []", {"my.toml:4", "axes.agent.eta", "none"}},
           {"[zip]\nagent.eta = []", {"my.toml:4", "zip.agent.eta", "none"}},
           {"[axes]\nagent.eta = [0.1, -3.0]", {"my.toml:4", "agent.eta = -3.0", "range"}},
           {"[axes]\nagent.eta = [0.1, true]", {"my.toml:4", "the boolean true"}},
           {"[axes]\nenv = [\"minatar/breakout\", \"minatar/pong\"]",
            {"my.toml:4", "minatar/pong"}},
           {"[axes]\nenv = [1]", {"my.toml:4", "env wants a string"}},
           {"[axes]\npreset = [\"raa\", \"rab\"]", {"my.toml:4", "'rab'", "'raa'"}},
           {"[zip]\nagent.eta = [1, 2]\nagent.omega = [1, 2, 3]",
            {"my.toml:5", "agent.omega has 3 values", "agent.eta has 2"}},
           {"[axes]\nagent.eta = [1]\n[zip]\nagent.eta = [2]",
            {"my.toml:6", "agent.eta stands in line 4"}},
           {"[set]\nagent.eta = 1\n[axes]\nagent.eta = [2]",
            {"my.toml:6", "agent.eta stands in line 4"}},
           {"[axes]\nenv = [\"atari/pong\"]\ntrain.env = [\"atari/pong\"]",
            {"my.toml:5", "env stands in line 4"}},
           {"[stop]\nsteps = -1", {"my.toml:4", "train.steps = -1"}},
           {"[stop]\nsteps = 1.5e0", {"my.toml:4", "train.steps wants an integer"}},
           {"[stop]\neval_return = inf", {"my.toml:4", "stop.eval_return wants a number"}},
           {"[stop]\nminutes = 0", {"my.toml:4", "stop.minutes wants a number above 0"}},
           {"seeds = [1", {"my.toml:3"}},
       }) {
    std::vector<std::string> words = c.words;
    if (!words[0].starts_with("my.toml")) words.insert(words.begin(), "my.toml:");
    ExpectRefused(two_lines + c.text, words);
  }
  EXPECT_TRUE(Refused("\n\ntitle = 3").starts_with("my.toml:3: "));
}

TEST(SuiteErrors, OptionsThatMakeNoSenseTogetherAreNamedWithTheRun) {
  ExpectRefused(
      "env = \"classic/cartpole\"\n[axes]\nreplay.size = [100, 5]\n[set]\nagent.n_step = 9",
      {"my.toml", "classic-cartpole-stable-aa-size-5-1", "replay.size"});
  ExpectRefused("axes.env = [\"classic/cartpole\", \"classic/pendulum\"]",
                {"my.toml: classic-pendulum-stable-aa-1: ", "continuous actions"});
  ExpectRefused("set.network.layers = \"conv(16,3,1) foo(\"", {"my.toml", "foo"});
  ExpectRefused("[stop]\neval_return = 3\n[set]\neval.interval_steps = 0",
                {"my.toml", "stop.eval_return", "eval.interval_steps"});
}

TEST(SuiteErrors, EqualRunsAreRefused) {
  ExpectRefused("[axes]\nagent.eta = [1, 0.5, 1.0]",
                {"my.toml", "combinations 1 and 3", "minatar-breakout-stable-aa-eta-1"});
  ExpectRefused("[axes]\npreset = [\"raa\", \"raa\"]", {"combinations 1 and 2"});
  // 0.1 is the preset's value.
  ExpectRefused("[zip]\nagent.eta = [0.1, \"\"]", {"combinations 1 and 2"});
}

TEST(SuiteErrors, TooManyRunsAreRefusedBeforeTheyAreMade) {
  std::string seeds = "0";
  for (int seed = 1; seed < 200; ++seed) seeds += fmt::format(", {}", seed);
  std::string values = "0.0";
  for (int i = 1; i < 200; ++i) values += fmt::format(", {}.0", i);
  ExpectRefused(fmt::format("seeds = [{}]\n[axes]\nagent.eta = [{}]\nagent.omega = [{}]", seeds,
                            values, values),
                {"my.toml", "more than 10000 runs"});
  EXPECT_EQ(ParseSuite("seeds = 10000", "my.toml").runs.size(), kMaxSuiteRuns);
  ExpectRefused("seeds = 10001", {"10000"});
  ExpectRefused("seeds = 5001\n[axes]\nagent.eta = [1, 2]", {"more than 10000 runs"});
}

TEST(SuiteErrors, AMissingFileIsNamed) { EXPECT_THROW(ReadSuite("/no/such/suite.toml"), Error); }

// ---- The suites that come with the program ----

TEST(SuiteConfigs, AllCanBeRead) {
  int count = 0;
  for (const char* const folder : {"paper", "minatar", "search", "control"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(STABLEAA_CONFIGS_PATH) / folder)) {
      SCOPED_TRACE(entry.path());
      const Suite suite = ReadSuite(entry.path());
      EXPECT_NE(suite.title, "");
      EXPECT_GE(suite.seeds.size(), 3U);
      ++count;
      // The head of the file says how to run it by name.
      const std::string path =
          fmt::format("configs/{}/{}", folder, entry.path().filename().string());
      EXPECT_NE(suite.text.find("stableaa sweep " + path), std::string::npos);
      EXPECT_NE(suite.text.find(fmt::format("# Time: {} runs", suite.runs.size())),
                std::string::npos);
    }
  }
  EXPECT_EQ(count, 12);
}

TEST(SuiteConfigs, FiguresOfThePaperAreAsPublished) {
  std::set<std::string> games;
  for (const int figure : {1, 3, 4, 5, 6}) {
    const Suite suite =
        ReadSuite(fmt::format("{}/paper/figure{}.toml", STABLEAA_CONFIGS_PATH, figure));
    EXPECT_EQ(suite.runs.size(), 36U);
    for (const SuiteRun& run : suite.runs) games.insert(run.options.train.env);
  }
  EXPECT_EQ(games.size(), 20U);
  const Suite ablation = ReadSuite(std::string(STABLEAA_CONFIGS_PATH) + "/paper/figure2.toml");
  EXPECT_EQ(ablation.runs.size(), 48U);
  for (const SuiteRun& run : ablation.runs) {
    EXPECT_EQ(run.options.agent.weights.refresh, WeightRefresh::kUpdate);
    EXPECT_EQ(run.options.env.protocol, EnvironmentOptions::Protocol::kAuthors);
    EXPECT_EQ(run.options.eval.interval_steps, 10'000);
    EXPECT_EQ(run.options.train.steps, 10'000'000);
  }
}

TEST(SuiteConfigs, ThoseOfContinuousControlCompareWindowsAndRules) {
  using Kind = std::pair<MixerKind, WindowKind>;
  for (const auto& [file, runs, steps] :
       {std::tuple("pendulum", 35U, 20'000), std::tuple("mujoco", 40U, 100'000)}) {
    SCOPED_TRACE(file);
    const Suite suite = ReadSuite(fmt::format("{}/control/{}.toml", STABLEAA_CONFIGS_PATH, file));
    EXPECT_EQ(suite.runs.size(), runs);
    std::set<Kind> of_td3;
    for (const SuiteRun& run : suite.runs) {
      EXPECT_EQ(run.options.train.steps, steps);
      EXPECT_TRUE(IsControl(run.options.agent.algorithm));
      if (run.options.agent.algorithm != AgentAlgorithm::kTd3) continue;
      const bool is_single = run.options.agent.mixer == MixerKind::kSingle;
      of_td3.insert(
          {run.options.agent.mixer, is_single ? WindowKind::kSpaced : run.options.control.window});
    }
    EXPECT_EQ(of_td3, (std::set<Kind>{{MixerKind::kSingle, WindowKind::kSpaced},
                                      {MixerKind::kRaa, WindowKind::kConsecutive},
                                      {MixerKind::kStable, WindowKind::kConsecutive},
                                      {MixerKind::kStable, WindowKind::kSpaced}}));
  }
  // Those of Pendulum are tuned for it.
  const Suite pendulum = ReadSuite(std::string(STABLEAA_CONFIGS_PATH) + "/control/pendulum.toml");
  for (const SuiteRun& run : pendulum.runs) {
    EXPECT_EQ(run.options.optimizer.learning_rate.At(0), 1e-3);
    EXPECT_EQ(run.options.replay.start, 1000);
  }
}

TEST(SuiteConfigs, FigureOneOnMinatarIsWhatTrainMakesByHand) {
  const Suite suite = ReadSuite(std::string(STABLEAA_CONFIGS_PATH) + "/minatar/figure1.toml");
  ASSERT_EQ(suite.runs.size(), 45U);
  const RunOptions by_hand =
      Direct("minatar/breakout", "raa",
             {"exploration.epsilon_steps=50000", "eval.interval_steps=5000",
              "checkpoint.interval_steps=25000", "train.seed=2", "train.steps=100000"});
  const auto found = std::ranges::find(suite.runs, "minatar-breakout-raa-2", &SuiteRun::name);
  ASSERT_NE(found, suite.runs.end());
  EXPECT_EQ(Fingerprint(found->options), Fingerprint(by_hand));
  EXPECT_EQ(found->options.train.steps, by_hand.train.steps);
}

}  // namespace stableaa::suite_test
