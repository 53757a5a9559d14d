// stableaa config, and which keys each command accepts.

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/base/config/schedule.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::config_command_test {

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
  EXPECT_TRUE(text.ends_with(ScheduleForms())) << "the forms of schedules, once for all";
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
  std::string File(const std::string& content) {
    const std::string path = folder_ / "my.toml";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static nlohmann::json Show(Arguments arguments) {
    arguments.insert(arguments.begin(), {"config", "show", "--json"});
    return nlohmann::json::parse(ExpectOutput(Stableaa(arguments)));
  }

  TemporaryFolder folder_;
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
  const std::string missing = folder_ / "missing.toml";
  for (const std::string& path : {missing, folder_.path().string()}) {
    const std::string message = ExpectError(Stableaa({"config", "show", "--config", path}), 2);
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
  EXPECT_EQ(ExpectError(Stableaa({"config", "show", "--config", ""}), 2),
            "expected a configuration file, found an empty path");
}

TEST_F(ConfigShow, ARuleThatMakesNoSenseIsAnErrorWithItsPlace) {
  for (const auto& [table, key, value, found] : std::vector<std::array<std::string, 4>>{
           {"checkpoint", "keep_weights", "\"sometimes\"", "expected none, every N steps"},
           {"env", "wrappers", "[\"TimeLimit(5\"]", "expected wrappers such as"},
           {"network", "hidden", "[8, 1.5]", "expected whole numbers, found 1.5"}}) {
    const std::string path = File("# mine\n[" + table + "]\n" + key + " = " + value + "\n");
    const std::string name = table + "." + key;
    for (const Arguments& command :
         {Arguments{"config", "show"},
          Arguments{"train", "--env", "classic/cartpole", "--out", folder_ / "run"}}) {
      Arguments with_file = command, with_set = command;
      with_file.insert(with_file.end(), {"--config", path});
      with_set.insert(with_set.end(), {"--set", name + "=" + value});
      const std::string of_file = ExpectError(Stableaa(with_file), 2);
      EXPECT_TRUE(of_file.starts_with(path + ":3: " + name + ": " + found)) << of_file;
      const std::string of_set = ExpectError(Stableaa(with_set), 2);
      EXPECT_TRUE(of_set.starts_with("--set " + name + "=")) << of_set;
      EXPECT_NE(of_set.find(": " + name + ": " + found), std::string::npos) << of_set;
    }
  }
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
  EXPECT_EQ(shown["optimizer.kind"], "adam");  // from the family
  const std::string endless = STABLEAA_PROGRAM_PATH " config show --config <(yes '#')";
  EXPECT_NE(ExpectError(RunCommand({"bash", "-c", endless}), 2).find("longer than"),
            std::string::npos);
}

TEST_F(ConfigShow, OfARunIsWhatTrainTakes) {
  const std::string shown =
      ExpectOutput(Stableaa({"config", "show", "--env", "classic/cartpole", "--preset", "dqn"}));
  EXPECT_EQ(shown.find("[anderson]"), std::string::npos);
  const std::string out = folder_ / "run";
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

}  // namespace stableaa::config_command_test
