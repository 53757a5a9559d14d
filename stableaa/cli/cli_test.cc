// The program as its users meet it: a process with arguments, two streams and an exit code.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/base/machine.h"
#include "stableaa/cli/run_program_test.h"

namespace stableaa::cli_test {

const std::vector<Arguments>& Commands() {
  static const std::vector<Arguments> commands = {{},
                                                  {"bench"},
                                                  {"bench", "act"},
                                                  {"bench", "anderson"},
                                                  {"bench", "env"},
                                                  {"bench", "nn"},
                                                  {"bench", "nn-check"},
                                                  {"bench", "replay"},
                                                  {"bench", "solve"},
                                                  {"bench", "train"},
                                                  {"bench", "update"},
                                                  {"config"},
                                                  {"config", "keys"},
                                                  {"config", "show"},
                                                  {"env"},
                                                  {"env", "list"},
                                                  {"env", "rollout"},
                                                  {"eval"},
                                                  {"mdp"},
                                                  {"mdp", "convert"},
                                                  {"mdp", "generate"},
                                                  {"mdp", "info"},
                                                  {"play"},
                                                  {"report"},
                                                  {"solve"},
                                                  {"sweep"},
                                                  {"theory"},
                                                  {"train"},
                                                  {"completion"},
                                                  {"completion", "bash"}};
  return commands;
}

// ---- Version, help, usage ----

TEST(Program, PrintsItsVersion) {
  EXPECT_EQ(ExpectOutput(Stableaa({"--version"})), "stableaa " STABLEAA_VERSION "\n");
}

TEST(Program, VersionAsJsonIsOneObjectThatAlsoNamesCompilerAndMachine) {
  const std::string out = ExpectOutput(Stableaa({"--version", "--json"}));
  EXPECT_EQ(Lines(out).size(), 1U);
  const auto object = nlohmann::json::parse(out);
  EXPECT_EQ(Fields(object), (std::set<std::string>{"name", "version", "compiler", "machine"}));
  EXPECT_EQ(object["name"], "stableaa");
  EXPECT_EQ(object["version"], STABLEAA_VERSION);
  EXPECT_NE(object["compiler"], "");
  EXPECT_NE(object["machine"], "");
}

TEST(Program, HelpOfEveryCommandGoesToStdoutWithAnExample) {
  for (const Arguments& command : Commands()) {
    for (const std::string flag : {"--help", "-h"}) {
      Arguments arguments = command;
      arguments.push_back(flag);
      const std::string help = ExpectOutput(Stableaa(arguments));
      EXPECT_TRUE(help.find("Example: ") != std::string::npos ||
                  help.find("Examples: ") != std::string::npos)
          << help;
    }
  }
}

TEST(Program, HelpListsEveryCommandThatIsTestedHere) {
  for (const Arguments& command : Commands()) {
    if (command.empty()) continue;
    const Arguments parent(command.begin(), command.end() - 1);
    Arguments arguments = parent;
    arguments.push_back("--help");
    EXPECT_NE(Stableaa(arguments).out.find("\n  " + command.back() + " "), std::string::npos)
        << command.back();
  }
}

TEST(Program, ExamplesOfTheHelpAreAccepted) {
  for (const std::string arguments :
       {"config show --preset stable-aa", "config keys --json", "completion bash",
        "config show --preset stable-aa --env minatar/breakout", "env list --json",
        "bench env minatar/breakout --seconds 0.05"}) {
    std::istringstream words(arguments);
    Arguments split;
    for (std::string word; words >> word;) split.push_back(word);
    EXPECT_EQ(Stableaa(split).exit_code, 0) << arguments;
  }
}

TEST(Program, NoCommandIsAnError) {
  EXPECT_EQ(ExpectError(Stableaa({}), 2), "no command given; see 'stableaa --help'");
}

TEST(Program, UnknownCommandsAreNamedWithWhatWasProbablyMeant) {
  EXPECT_EQ(ExpectError(Stableaa({"benhc"}), 2), "unknown command 'benhc'; did you mean 'bench'?");
  EXPECT_EQ(ExpectError(Stableaa({"xyzzy"}), 2), "unknown command 'xyzzy'; see 'stableaa --help'");
  EXPECT_EQ(ExpectError(Stableaa({"bench", "andersen"}), 2),
            "unknown command 'bench andersen'; did you mean 'anderson'?");
  EXPECT_EQ(ExpectError(Stableaa({"config", "xyzzy"}), 2),
            "unknown command 'config xyzzy'; see 'stableaa config --help'");
}

TEST(Program, IncompleteCommandsAreErrors) {
  for (const std::string command : {"bench", "config", "completion", "mdp"}) {
    EXPECT_NE(ExpectError(Stableaa({command}), 2).find("see 'stableaa " + command + " --help'"),
              std::string::npos);
  }
}

TEST(Program, UnknownOptionsAndArgumentsAreErrors) {
  for (Arguments command : Commands()) {
    command.push_back("--bogus");
    EXPECT_NE(ExpectError(Stableaa(command), 2), "");
  }
  EXPECT_NE(ExpectError(Stableaa({"bench", "anderson", "--bogus"}), 2)
                .find("--bogus; see 'stableaa bench anderson --help'"),
            std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"config", "show", "more"}), 2).find("more"), std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"config", "show", "--set"}), 2).find("--set"), std::string::npos);
}

TEST(Program, WhatIsUnknownIsAnErrorBesideHelpToo) {
  EXPECT_EQ(ExpectError(Stableaa({"NONSENSE", "--help"}), 2),
            "unknown command 'NONSENSE'; see 'stableaa --help'");
  EXPECT_EQ(ExpectError(Stableaa({"benhc", "-h"}), 2),
            "unknown command 'benhc'; did you mean 'bench'?");
  EXPECT_EQ(ExpectError(Stableaa({"bench", "NONSENSE", "--help"}), 2),
            "unknown command 'bench NONSENSE'; see 'stableaa bench --help'");
  for (const Arguments& arguments :
       std::vector<Arguments>{{"--help", "NONSENSE"},
                              {"bench", "--help", "NONSENSE"},
                              {"train", "--help", "NONSENSE"},
                              {"train", "NONSENSE", "--help"},
                              {"config", "show", "--help", "NONSENSE"}}) {
    EXPECT_NE(ExpectError(Stableaa(arguments), 2).find("NONSENSE"), std::string::npos);
  }
  for (Arguments command : Commands()) {
    command.insert(command.end(), {"--nonsense", "--help"});
    EXPECT_NE(ExpectError(Stableaa(command), 2).find("--nonsense"), std::string::npos);
  }
}

// ---- Numbers ----

TEST(Program, WholeNumbersMayHaveAnExponentAndSeparators) {
  for (const std::string n : {"1000", "1e3", "1_000", "+1.0e3"}) {
    const auto object = nlohmann::json::parse(
        ExpectOutput(Stableaa({"bench", "anderson", "--n", n, "--threads", "1e0", "--json"})));
    EXPECT_EQ(object["n"], 1000) << n;
  }
}

// Every integer flag of every command.
TEST(Program, OtherNumbersAreErrorsThatNameTheRange) {
  const std::vector<std::pair<Arguments, std::string>> flags = {
      {{"bench", "act"}, "--threads"},
      {{"bench", "anderson"}, "--n"},
      {{"bench", "anderson"}, "--threads"},
      {{"bench", "env"}, "--num-envs"},
      {{"bench", "nn"}, "--batch"},
      {{"bench", "nn"}, "--threads"},
      {{"bench", "nn-check"}, "--threads"},
      {{"bench", "replay"}, "--frames"},
      {{"bench", "solve"}, "--threads"},
      {{"bench", "train"}, "--threads"},
      {{"bench", "update"}, "--threads"},
      {{"env", "rollout", "minatar/breakout"}, "--episodes"},
      {{"env", "rollout", "minatar/breakout"}, "--max-episode-steps"},
      {{"env", "rollout", "minatar/breakout"}, "--seed"},
      {{"eval", "nowhere"}, "--episodes"},
      {{"eval", "nowhere"}, "--seed"},
      {{"mdp", "convert", "a.drn", "b.drn"}, "--threads"},
      {{"mdp", "generate", "grid", "-o", "nowhere.drn"}, "--seed"},
      {{"mdp", "info", "a.drn"}, "--threads"},
      {{"play", "nowhere"}, "--episodes"},
      {{"play", "nowhere"}, "--seed"},
      {{"play", "nowhere"}, "--steps"},
      {{"solve", "a.drn"}, "--evaluation-sweeps"},
      {{"solve", "a.drn"}, "--max-iterations"},
      {{"solve", "a.drn"}, "--memory"},
      {{"solve", "a.drn"}, "--threads"},
      {{"sweep", "a.toml"}, "--jobs"},
      {{"sweep", "a.toml"}, "--threads"},
      {{"theory"}, "--seed"},
      {{"theory"}, "--trials"},
      {{"train"}, "--end-with-parent"},
      {{"train"}, "--seed"},
      {{"train"}, "--steps"},
      {{"train"}, "--threads"}};
  const auto expect_refused = [](Arguments arguments, const std::string& flag,
                                 const std::string& number) {
    arguments.insert(arguments.end(), {flag, number});
    const std::string message = ExpectError(Stableaa(arguments), 2);
    EXPECT_TRUE(message.starts_with(flag + ": expected a whole number in [")) << message;
    EXPECT_NE(message.find("found " + number + "; see 'stableaa "), std::string::npos) << message;
  };
  for (const auto& [command, flag] : flags) expect_refused(command, flag, "1.5e0");
  for (const std::string number : {"1e-3", "1e30", "1__0", "_1", "1_", "0x10", "many"}) {
    expect_refused({"train"}, "--steps", number);
  }
  for (const std::string number : {"1.5e0", "1e-3", "1e30", "1__0", "-1"}) {
    EXPECT_NE(
        ExpectError(
            Stableaa({"mdp", "generate", "garnet", "-o", "nowhere.drn", "--states=" + number}), 2)
            .find("--states"),
        std::string::npos);
  }
}

TEST(Program, FlagsThatWouldBeIgnoredAreErrors) {
  EXPECT_NE(ExpectError(Stableaa({"--json"}), 2).find("--version"), std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"--json", "config", "keys"}), 2), "");
  EXPECT_NE(ExpectError(Stableaa({"--version", "config", "keys"}), 2), "");
  EXPECT_NE(ExpectError(Stableaa({"config", "keys", "--json", "--markdown"}), 2), "");
}

TEST(Program, OutputThatCannotBeWrittenIsAFailure) {
  for (const Arguments& command :
       std::vector<Arguments>{{"--version"},
                              {"--help"},
                              {"config", "keys"},
                              {"config", "show"},
                              {"completion", "bash"},
                              {"bench", "anderson", "--n", "100", "--threads", "1", "--json"}}) {
    EXPECT_EQ(ExpectError(Stableaa(command, "/dev/full"), 1),
              "cannot write the output: No space left on device");
    EXPECT_EQ(ExpectError(Stableaa(command, "-"), 1),
              "cannot write the output: Bad file descriptor");
  }
}

// ---- config ----

std::vector<nlohmann::json> Keys() {
  std::vector<nlohmann::json> keys;
  for (const std::string& line : Lines(ExpectOutput(Stableaa({"config", "keys", "--json"})))) {
    keys.push_back(nlohmann::json::parse(line));
  }
  return keys;
}

TEST(ConfigKeys, AsJsonHaveOneObjectPerLine) {
  const auto keys = Keys();
  EXPECT_GT(keys.size(), 10U);
  for (const auto& key : keys) {
    auto fields = Fields(key);
    EXPECT_EQ(fields.erase("choices"), key["type"] == "choice" ? 1U : 0U);
    EXPECT_EQ(fields, (std::set<std::string>{"key", "type", "default", "range", "meaning"}));
    EXPECT_FALSE(key["default"].is_null()) << key;
    EXPECT_NE(key["meaning"], "") << key;
  }
}

TEST(ConfigKeys, AsTextHaveTypeRangeAndDefault) {
  const std::string text = ExpectOutput(Stableaa({"config", "keys"}));
  for (const auto& key : Keys()) {
    const std::string name = key["key"];
    const std::size_t at = text.find(name + " = ");
    ASSERT_NE(at, std::string::npos) << name;
    const std::string entry = text.substr(at, text.find("\nanderson.", at) - at);
    const std::size_t value = name.size() + 3;
    EXPECT_EQ(nlohmann::json::parse(entry.substr(value, entry.find('\n') - value)), key["default"]);
    for (const char* field : {"type", "range", "meaning"}) {
      EXPECT_NE(entry.find(key[field]), std::string::npos) << name << ' ' << field;
    }
  }
}

TEST(ConfigKeys, TheManualHasThisTable) {
  std::ifstream file(STABLEAA_DOCS_PATH "/configuration.md");
  ASSERT_TRUE(file) << "docs/configuration.md is missing";
  std::stringstream manual;
  manual << file.rdbuf();
  const std::string begin = "<!-- keys: begin -->\n";
  const std::string end = "<!-- keys: end -->\n";
  const std::size_t from = manual.str().find(begin);
  const std::size_t to = manual.str().find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  EXPECT_EQ(manual.str().substr(from + begin.size(), to - from - begin.size()),
            ExpectOutput(Stableaa({"config", "keys", "--markdown"})))
      << "paste the output of 'stableaa config keys --markdown' between the two marks";
}

class ConfigShow : public testing::Test {
 protected:
  ConfigShow() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cli_test.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    directory_ = pattern;
  }
  ~ConfigShow() override { std::filesystem::remove_all(directory_); }

  std::string File(const std::string& content) {
    const std::string path = directory_ / "my.toml";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static nlohmann::json Show(Arguments arguments) {
    arguments.insert(arguments.begin(), {"config", "show", "--json"});
    return nlohmann::json::parse(ExpectOutput(Stableaa(arguments)));
  }

  std::filesystem::path directory_;
};

TEST_F(ConfigShow, ReadsItsOwnOutputBack) {
  for (const Arguments& set : std::vector<Arguments>{
           {},
           {"--set", "anderson.memory=8"},
           {"--set", "anderson.eta=1e-300", "--set", "anderson.weights=raa", "--set",
            "anderson.safeguard=false", "--set", "anderson.damping=0.1"}}) {
    Arguments arguments = {"config", "show"};
    arguments.insert(arguments.end(), set.begin(), set.end());
    const std::string shown = ExpectOutput(Stableaa(arguments));
    EXPECT_EQ(ExpectOutput(Stableaa({"config", "show", "--config", File(shown)})), shown);
  }
}

TEST_F(ConfigShow, ShowsEveryKey) {
  const auto shown = Show({});
  for (const auto& key : Keys()) EXPECT_EQ(shown[key["key"]], key["default"]);
  EXPECT_EQ(shown.size(), Keys().size());
}

TEST_F(ConfigShow, SetWinsOverConfigWhereverItStandsAndTheLastSetWins) {
  const std::string file = File("[anderson]\nmemory = 3\ndamping = 0.5\n");
  EXPECT_EQ(Show({"--config", file})["anderson.memory"], 3);
  const Arguments before = {"--set", "anderson.memory=4", "--config", file};
  const Arguments after = {"--config", file, "--set", "anderson.memory=4"};
  for (const Arguments& arguments : {before, after}) {
    const auto shown = Show(arguments);
    EXPECT_EQ(shown["anderson.memory"], 4);
    EXPECT_EQ(shown["anderson.damping"], 0.5);
  }
  EXPECT_EQ(Show({"--set", "anderson.memory=4", "--set", "anderson.memory=6"})["anderson.memory"],
            6);
}

TEST_F(ConfigShow, AFileThatCannotBeReadIsAnErrorWithItsName) {
  const std::string missing = directory_ / "missing.toml";
  for (const std::string& path : {missing, directory_.string()}) {
    const std::string message = ExpectError(Stableaa({"config", "show", "--config", path}), 2);
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
  EXPECT_EQ(ExpectError(Stableaa({"config", "show", "--config", ""}), 2),
            "expected a configuration file, found an empty path");
}

TEST_F(ConfigShow, AMistakeInAFileIsAnErrorWithTheLine) {
  using namespace std::string_literals;
  for (const std::string& content : {
           "# first line\n[anderson\nmemory = 5\n"s,                          // truncated table
           "[anderson]\nmemory ="s,                                           // truncated value
           "[anderson]\nmemory = 99999999999999999999999999999999999999\n"s,  // beyond any integer
           "[anderson]\nmemory = 2147483648\n"s,
           "[anderson]\ndamping = 1e999\n"s,
           "[anderson]\nmemory = -1\n"s,
           "[anderson]\nmemory = \"five\"\n"s,
           "[anderson]\nmemroy = 5\n"s,
           "\n\x7f"
           "ELF\x02\x01\x00\x00\xff\xfe"s,
           "\n\x00\x00\x00\x00"s,
       }) {
    const std::string path = File(content);
    for (const Arguments& command :
         {Arguments{"config", "show"}, Arguments{"bench", "anderson", "--n", "10"}}) {
      Arguments arguments = command;
      arguments.insert(arguments.end(), {"--config", path});
      const std::string message = ExpectError(Stableaa(arguments), 2);
      EXPECT_TRUE(message.starts_with(path + ":2:")) << message;
    }
  }
}

TEST_F(ConfigShow, ReadsAPipeOnce) {
  const std::string file = File("train.env = \"classic/cartpole\"\nagent.n_step = 3\n");
  const std::string show =
      STABLEAA_PROGRAM_PATH " config show --json --config <(cat '" + file + "')";
  const auto shown = nlohmann::json::parse(ExpectOutput(RunCommand({"bash", "-c", show})));
  EXPECT_EQ(shown["train.env"], "classic/cartpole");
  EXPECT_EQ(shown["agent.n_step"], 3);
  EXPECT_EQ(shown["optimizer.kind"], "adam");  // of the family
  const std::string endless = STABLEAA_PROGRAM_PATH " config show --config <(yes '#')";
  EXPECT_NE(ExpectError(RunCommand({"bash", "-c", endless}), 2).find("longer than"),
            std::string::npos);
}

TEST_F(ConfigShow, OfARunIsWhatTrainTakes) {
  const std::string shown =
      ExpectOutput(Stableaa({"config", "show", "--env", "classic/cartpole", "--preset", "dqn"}));
  EXPECT_EQ(shown.find("[anderson]"), std::string::npos);
  const std::string out = directory_ / "run";
  const Outcome outcome =
      Stableaa({"train", "--config", File(shown), "--steps", "0", "--out", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("warning"), std::string::npos) << outcome.err;
  const std::string message =
      ExpectError(Stableaa({"config", "show", "--preset", "dqn", "--set", "anderson.memory=3"}), 2);
  EXPECT_EQ(message,
            "--set anderson.memory=3: 'config show' has no use for anderson.memory: with --env or "
            "--preset it shows a run, which has no keys anderson.*");
}

TEST_F(ConfigShow, ShowsFreeFormTables) {
  const auto shown = Show({"--set", "env.kwargs.size=5", "--set", "env.kwargs.names=[\"a\", 'b']"});
  EXPECT_EQ(shown["env.kwargs"], nlohmann::json::parse(R"({"size": 5, "names": ["a", "b"]})"));
}

// ---- Keys that a command does not use ----

TEST(UnusedKeys, AreErrorsThatSayWhatTheyAreFor) {
  struct Case {
    Arguments command;
    std::string assignment, reason;
  };
  const std::string anderson =
      "keys anderson.* are for 'solve', 'bench anderson' and 'bench solve'";
  for (const auto& [command, assignment, reason] : std::vector<Case>{
           {{"train"}, "anderson.memory=3", anderson},
           {{"bench", "train"}, "anderson.memory=3", anderson},
           {{"bench", "train"}, "eval.episodes=3", "it measures without evaluations"},
           {{"bench", "train"}, "train.threads=3", "--threads says that"},
           {{"bench", "update"}, "anderson.memory=3", anderson},
           {{"bench", "update"}, "env.sticky=0", "an update does not depend on it"},
           {{"bench", "update"}, "train.env=atari/pong", "--network says that"},
           {{"bench", "nn"}, "train.batch=3", "keys train.* are for 'train'"},
           {{"bench", "nn"}, "anderson.memory=3", anderson},
           {{"bench", "env"}, "agent.eta=1", "keys agent.* are for 'train'"},
           {{"bench", "env"},
            "optimizer.kind=adam",
            "keys optimizer.* are for 'train' and 'bench nn'"},
           {{"bench", "replay"}, "replay.size=300", "keys replay.* are for 'train'"},
           {{"bench", "replay"}, "env.sticky=0", "without --env no environment is played"},
           {{"bench", "anderson"}, "train.seed=3", "keys train.* are for 'train'"},
           {{"bench", "anderson"}, "anderson.safeguard=true", "every step that it measures is"},
           {{"bench", "solve"}, "env.sticky=0", "keys env.* are for 'train', 'env rollout'"},
           {{"bench", "solve"}, "anderson.threads=2", "--threads says that"},
           {{"env", "rollout", "minatar/breakout"}, "agent.eta=1", "keys agent.* are for 'train'"},
           {{"solve", "nowhere.drn", "--anderson"}, "agent.eta=1", "keys agent.* are for 'train'"},
           {{"solve", "nowhere.drn", "--anderson"}, "anderson.threads=2", "--threads says that"}}) {
    Arguments arguments = command;
    arguments.insert(arguments.end(), {"--set", assignment});
    std::string name = command[0];
    if (command[0] == "bench" || command[0] == "env") name += ' ' + command[1];
    const std::string message = ExpectError(Stableaa(arguments), 2);
    const std::string start = "--set " + assignment + ": '" + name + "' has no use for " +
                              assignment.substr(0, assignment.find('=')) + ": " + reason;
    EXPECT_TRUE(message.starts_with(start)) << message << "\n" << start;
  }
}

TEST_F(ConfigShow, UnusedKeysOfAFileAreErrorsToo) {
  const std::string file = File("[train]\nsteps = 1\n[anderson]\nmemory = 3\n");
  EXPECT_EQ(ExpectError(Stableaa({"train", "--config", file}), 2),
            file +
                ":4: 'train' has no use for anderson.memory: keys anderson.* are for 'solve', "
                "'bench anderson' and 'bench solve'");
  EXPECT_EQ(ExpectError(Stableaa({"bench", "anderson", "--config", file}), 2),
            file + ":2: 'bench anderson' has no use for train.steps: keys train.* are for 'train'");
  const std::string empty = File("[anderson]\n");
  EXPECT_NE(ExpectError(Stableaa({"train", "--config", empty}), 2).find("anderson"),
            std::string::npos);
}

TEST_F(ConfigShow, AnUnknownKeyIsAnErrorWithWhatWasProbablyMeant) {
  const std::string message =
      ExpectError(Stableaa({"config", "show", "--set", "anderson.memroy=5"}), 2);
  EXPECT_NE(message.find("did you mean 'anderson.memory'"), std::string::npos) << message;
}

// ---- bench ----

TEST(CommandBenchAnderson, PrintsOneJsonObjectAndNothingElse) {
  const std::string out =
      ExpectOutput(Stableaa({"bench", "anderson", "--n", "1000", "--threads", "1", "--json"}));
  ASSERT_EQ(Lines(out).size(), 1U);
  const auto object = nlohmann::json::parse(out);
  EXPECT_EQ(Fields(object),
            (std::set<std::string>{"n", "memory", "threads", "ms_per_step", "triad_ms", "ratio"}));
  EXPECT_EQ(object["n"], 1000);
  EXPECT_EQ(object["memory"], 5);
  EXPECT_EQ(object["threads"], 1);
  EXPECT_GT(object["ms_per_step"], 0);
  EXPECT_GT(object["triad_ms"], 0);
  EXPECT_DOUBLE_EQ(object["ratio"],
                   object["ms_per_step"].get<double>() / object["triad_ms"].get<double>());
}

TEST(CommandBenchAnderson, TakesTheConfiguration) {
  const auto object =
      nlohmann::json::parse(ExpectOutput(Stableaa({"bench", "anderson", "--n", "10", "--threads",
                                                   "1", "--json", "--set", "anderson.memory=2"})));
  EXPECT_EQ(object["memory"], 2);
}

TEST(CommandBenchAnderson, BadNumbersAreUsageErrors) {
  for (const std::string n :
       {"0", "-1", "abc", "1.5", "", "99999999999999999999", "1099511627777"}) {
    EXPECT_NE(ExpectError(Stableaa({"bench", "anderson", "--n", n}), 2).find("--n"),
              std::string::npos);
  }
  for (const std::string threads : {"0", "-1", "abc", "1025"}) {
    EXPECT_NE(
        ExpectError(Stableaa({"bench", "anderson", "--threads", threads}), 2).find("--threads"),
        std::string::npos);
  }
}

TEST(CommandBenchAnderson, MoreMemoryThanThereIsFailsAtOnce) {
  const Outcome outcome = Stableaa({"bench", "anderson", "--n", "1099511627776", "--json"});
  EXPECT_NE(ExpectError(outcome, 1).find(" GB of memory, "), std::string::npos);
  EXPECT_LT(outcome.seconds, 5);
}

// ---- bench nn and nn-check ----

TEST(CommandBenchNn, PrintsOneJsonObjectPerPassAndNothingElse) {
  const std::string out = ExpectOutput(
      Stableaa({"bench", "nn", "--network", "mlp", "--pass", "train", "--threads", "1", "--json"}));
  ASSERT_EQ(Lines(out).size(), 1U);
  const auto object = nlohmann::json::parse(out);
  EXPECT_EQ(Fields(object), (std::set<std::string>{"network", "batch", "pass", "threads", "ms",
                                                   "gflops", "sgemm_gflops"}));
  EXPECT_EQ(object["network"], "mlp");
  EXPECT_EQ(object["batch"], 32);
  EXPECT_EQ(object["pass"], "train");
  EXPECT_EQ(object["threads"], 1);
  if (!object["sgemm_gflops"].is_null()) {  // no oneDNN
    EXPECT_GT(object["sgemm_gflops"], 0);
  }
  // Forward and weight gradients of all three layers, data gradients of all but the first.
  const double multiply_adds = 2 * (4 * 128 + 128 * 128 + 128 * 2) + (128 * 128 + 128 * 2);
  EXPECT_NEAR(object["gflops"].get<double>(),
              2 * 32 * multiply_adds / object["ms"].get<double>() / 1e6, 1e-6);
}

TEST(CommandBenchNn, ActsOnOneSampleAndTakesTheOptimisersKeys) {
  const auto act = nlohmann::json::parse(ExpectOutput(Stableaa(
      {"bench", "nn", "--network", "mlp-dueling", "--pass", "act", "--threads", "1", "--json"})));
  EXPECT_EQ(act["batch"], 1);
  const auto update = nlohmann::json::parse(
      ExpectOutput(Stableaa({"bench", "nn", "--network", "mlp", "--pass", "update", "--batch", "7",
                             "--threads", "2", "--json", "--set", "optimizer.kind=adam"})));
  EXPECT_EQ(update["batch"], 7);
  EXPECT_EQ(update["threads"], 2);
}

TEST(CommandBenchNn, BadValuesAreUsageErrors) {
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--network", "natur"},
                                                        {"--pass", "backward"},
                                                        {"--backend", "cuda"},
                                                        {"--batch", "0"},
                                                        {"--batch", "65537"},
                                                        {"--batch", "many"},
                                                        {"--threads", "0"},
                                                        {"--threads", "1025"}}) {
    EXPECT_NE(ExpectError(Stableaa({"bench", "nn", flag, value}), 2).find(flag), std::string::npos);
  }
  EXPECT_NE(ExpectError(Stableaa({"bench", "nn", "--set", "optimizer.alpha=1"}), 2)
                .find("optimizer.alpha"),
            std::string::npos);
  EXPECT_NE(
      ExpectError(Stableaa({"bench", "nn-check", "--backend", "reference"}), 2).find("--backend"),
      std::string::npos);
}

TEST(CommandBenchNn, MoreMemoryThanThereIsFailsAtOnce) {
  if (AvailableMemoryBytes() > 40'000'000'000) GTEST_SKIP() << "there is more";
  const Outcome outcome =
      Stableaa({"bench", "nn", "--network", "nature", "--pass", "train", "--batch", "65536"});
  EXPECT_NE(ExpectError(outcome, 1).find(" GB of memory, "), std::string::npos);
  EXPECT_LT(outcome.seconds, 5);
}

TEST(FullCommandBenchNnCheck, AllBackendsComputeTheSame) {
  const std::string out = ExpectOutput(Stableaa({"bench", "nn-check", "--threads", "1", "--json"}));
  std::set<std::string> backends;
  for (const std::string& line : Lines(out)) {
    const auto object = nlohmann::json::parse(line);
    EXPECT_EQ(object["passed"], true) << line;
    if (object["numbers"] == "exact") {
      EXPECT_EQ(object["output_error"], 0) << line;
      EXPECT_EQ(object["gradient_error"], 0) << line;
    }
    backends.insert(object["backend"]);
  }
  backends.erase("onednn");  // not in every build
  EXPECT_EQ(backends, std::set<std::string>{"native"});
}

// ---- completion ----

// What bash offers for a line of words, the last of them incomplete.
Arguments Completions(const Arguments& words) {
  Arguments command = {"bash", "-c",
                       "source <(\"$0\" completion bash) && COMP_WORDS=(\"$@\") && "
                       "COMP_CWORD=$(($# - 1)) && _stableaa 2>/dev/null; "
                       "printf '%s\\n' \"${COMPREPLY[@]}\"",
                       STABLEAA_PROGRAM_PATH};
  command.insert(command.end(), words.begin(), words.end());
  return Lines(ExpectOutput(RunCommand(command)));
}

TEST(Completion, KnowsCommandsOptionsAndKeys) {
  EXPECT_EQ(Completions({"stableaa", "be"}), Arguments{"bench"});
  EXPECT_EQ(Completions({"stableaa", "bench", "an"}), Arguments{"anderson"});
  EXPECT_EQ(Completions({"stableaa", "bench", "anderson", "--th"}), Arguments{"--threads"});
  EXPECT_EQ(Completions({"stableaa", "config", "show", "--set", "anderson.mem"}),
            Arguments{"anderson.memory="});
  EXPECT_EQ(Completions({"stableaa", "xyz"}), Arguments{""});
}

// ---- Speed: the claims of the README, on an idle machine ----

bool IsOptimisedBuild() {
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

// The smallest step and the smallest triad of up to three runs: a disturbance makes either look
// slow, never fast. Ends early with a step that suffices.
struct BestTimes {
  double step_ms = std::numeric_limits<double>::infinity();
  double triad_ms = 1e300;
};

BestTimes BestOfThree(const std::string& n, const std::string& threads,
                      const std::function<bool(const BestTimes&)>& suffices) {
  BestTimes best;
  for (int run = 0; run < 3 && !suffices(best); ++run) {
    const Outcome outcome =
        Stableaa({"bench", "anderson", "--n", n, "--threads", threads, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;  // where progress may stand as well
    const auto object = nlohmann::json::parse(outcome.out);
    best.step_ms = std::min(best.step_ms, object["ms_per_step"].get<double>());
    best.triad_ms = std::min(best.triad_ms, object["triad_ms"].get<double>());
  }
  return best;
}

class Bench : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsOptimisedBuild()) GTEST_SKIP() << "measures optimised builds only";
  }
};

// So long that the triad's three vectors cannot stay in a third-level cache: of 2,000,000 they
// partly do, and the triad then shows no memory's speed.
constexpr const char* kLong = "10000000";

bool IsNearTheTriad(const BestTimes& best) { return best.step_ms <= 1.5 * best.triad_ms; }

TEST_F(Bench, AStepTakesAtMostOneAndAHalfTimesTheTriad) {
  const BestTimes best = BestOfThree(kLong, "1", IsNearTheTriad);
  EXPECT_LE(best.step_ms, 1.5 * best.triad_ms);
}

TEST_F(Bench, SoItDoesWithTwoThreads) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two cores";
  const BestTimes best = BestOfThree(kLong, "2", IsNearTheTriad);
  EXPECT_LE(best.step_ms, 1.5 * best.triad_ms);
}

TEST_F(Bench, AStepOfAHundredComponentsTakesAtMostThreeMicroseconds) {
  const auto suffices = [](const BestTimes& best) { return best.step_ms < 0.003; };
  EXPECT_LT(BestOfThree("100", "1", suffices).step_ms, 0.003);
}

// Of up to four measurements the best: noise only slows down. Ends early with one that suffices.
struct BestPass {
  double share = 0;  // of sgemm's speed
  double ms = 1e300;
};

BestPass BestOfFour(const std::string& network, const std::string& pass, const std::string& threads,
                    const std::function<bool(const BestPass&)>& suffices) {
  BestPass best;
  for (int run = 0; run < 4 && !suffices(best); ++run) {
    const auto object = nlohmann::json::parse(ExpectOutput(Stableaa(
        {"bench", "nn", "--network", network, "--pass", pass, "--threads", threads, "--json"})));
    best.ms = std::min(best.ms, object["ms"].get<double>());
    if (object["sgemm_gflops"].is_null()) continue;  // no oneDNN
    best.share =
        std::max(best.share, object["gflops"].get<double>() / object["sgemm_gflops"].get<double>());
  }
  return best;
}

// Of the bars for AVX2 and for AVX-512.
double BarOfThisMachine(double avx2, double avx512) {
  const auto version = nlohmann::json::parse(Stableaa({"--version", "--json"}).out);
  return version["machine"].get<std::string>().find("AVX-512") != std::string::npos ? avx512 : avx2;
}

TEST_F(Bench, NetworksRunAtTheSpeedOfTheMatrixProduct) {
  const double training = BarOfThisMachine(0.7, 0.5);
  const double forward = BarOfThisMachine(0.75, 0.55);
  const auto at_least = [](double bar) {
    return [bar](const BestPass& p) { return p.share >= bar; };
  };
  const double share = BestOfFour("nature-dueling", "train", "1", at_least(training)).share;
  if (share == 0) GTEST_SKIP() << "needs oneDNN";
  EXPECT_GE(share, training);
  EXPECT_GE(BestOfFour("nature", "forward", "1", at_least(forward)).share, forward);
}

TEST_F(Bench, ActingTakesMicroseconds) {
  const auto at_most = [](double ms) { return [ms](const BestPass& p) { return p.ms <= ms; }; };
  EXPECT_LE(BestOfFour("nature", "act", "1", at_most(0.7)).ms, 0.7);
  EXPECT_LE(BestOfFour("minatar", "act", "1", at_most(0.015)).ms, 0.015);
  EXPECT_LE(BestOfFour("minatar-dueling", "act", "1", at_most(0.028)).ms, 0.028);
}

TEST_F(Bench, TwoThreadsUpdateOneAndAHalfTimesAsFast) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two cores";
  double gain = 0;
  for (int run = 0; run < 4 && gain < 1.5; ++run) {
    const auto any = [](const BestPass& p) { return p.ms < 1e300; };
    const double one = BestOfFour("nature-dueling", "update", "1", any).ms;
    gain = std::max(gain, one / BestOfFour("nature-dueling", "update", "2", any).ms);
  }
  EXPECT_GE(gain, 1.5);
}

}  // namespace stableaa::cli_test
