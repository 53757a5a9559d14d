// Python environments by the user and by somebody else: eval, play, train and sweep as processes,
// in a folder with a module that leaves a mark when imported and an interpreter that leaves one
// when started.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/cli/run_program_test.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::foreign_code_test {

namespace fs = std::filesystem;

constexpr const char* kEnv = "gymnasium/other:Pole-v0";
constexpr const char* kPython = STABLEAA_ATARI_PYTHON;

class ForeignCodeCommand : public ::testing::Test {
 protected:
  ForeignCodeCommand() {
    Write("other.py", R"(open('imported', 'w')
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
class Nan(CartPoleEnv):
    def step(self, action):
        self.count = getattr(self, 'count', 0) + 1
        seen, reward, terminated, truncated, info = super().step(action)
        return seen, reward if self.count < 5 else float('nan'), terminated, truncated, info
gymnasium.register('Pole-v0', CartPoleEnv, max_episode_steps=20)
gymnasium.register('Nan-v0', Nan, max_episode_steps=20)
)");
    Write("python", fmt::format("#!/bin/sh\ntouch started\nexec {} \"$@\"\n", kPython));
    fs::permissions(Path("python"), fs::perms::owner_all);
  }

  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(Path(name).parent_path());
    std::ofstream(Path(name)) << text;
  }
  fs::path Path(const std::string& name) const { return folder_ / name; }

  // Runs the program in the folder.
  Outcome Program(const Arguments& arguments) const {
    Arguments command = {"env", "-C", folder_.path().string(), "PYTHONDONTWRITEBYTECODE=1",
                         STABLEAA_PROGRAM_PATH};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunCommand(command);
  }

  // A run as received from somebody else.
  void MakeRun(const std::string& env, const std::string& python) const {
    RunOptions options;
    options.train.env = env;
    options.env.python = python;
    options.eval.episodes = 2;
    Write("run/config.toml", ToToml(options));
    fs::create_directories(Path("run/weights"));
    WriteNetwork("run/weights/latest.safetensors", env);
  }
  void WriteNetwork(const std::string& name, const std::string& env) const {
    const Plan plan = MakePlan(MlpSpec({.inputs = 4, .hidden = {8}, .actions = 2}));
    WriteWeights(Path(name), Parameters(std::make_shared<const Plan>(plan)),
                 {{"stableaa.env", env}});
  }

  // Whether the module was imported or the interpreter started since the last call.
  bool HasRun() const {
    const bool imported = fs::remove(Path("imported"));
    return fs::remove(Path("started")) || imported;
  }

  void ExpectRefused(const Arguments& arguments, const std::vector<std::string>& words) const {
    const std::string message = ExpectError(Program(arguments), 2);
    for (const std::string& word : words) {
      EXPECT_NE(message.find(word), std::string::npos) << word << "\n" << message;
    }
    EXPECT_FALSE(HasRun()) << message;
  }

  void ExpectRun(const Arguments& arguments) const {
    const Outcome outcome = Program(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(HasRun());
  }

  const TemporaryFolder folder_;
};

using FullForeignCodeCommand = ForeignCodeCommand;

bool HasPython() { return ::access(kPython, X_OK) == 0; }

const Arguments kShort = {"--set", "replay.start=20",         "--set", "eval.interval_steps=20",
                          "--set", "eval.episodes=1",         "--set", "agent.weights.batch=16",
                          "--set", "train.batch=4",           "--set", "replay.size=500",
                          "--set", "env.max_episode_steps=20"};

Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(ForeignCodeCommand, OfAWeightsFileIsRefused) {
  WriteNetwork("w.safetensors", kEnv);
  ExpectRefused({"eval", "w.safetensors"},
                {"w.safetensors names the Python module 'other'", "--trust",
                 "name it yourself: --env gymnasium/other:Pole-v0"});
  ExpectRefused({"play", "w.safetensors", "--video", "v.mp4"}, {"module 'other'"});
}

TEST_F(ForeignCodeCommand, OfARunsConfigurationIsRefused) {
  MakeRun(kEnv, "");
  ExpectRefused({"eval", "run"}, {"run/config.toml names the Python module 'other'", "--trust"});
  ExpectRefused({"eval", "run", "--set", "env.python=python3"}, {"module 'other'"});
  for (const std::string env : {"gymnasium/CartPole-v1", "atari/pong"}) {
    MakeRun(env, "./python");
    ExpectRefused({"eval", "run"}, {"run/config.toml names the interpreter './python'",
                                    "name it yourself: --set env.python=./python"});
    ExpectRefused({"eval", "run", "--env", kEnv}, {"the interpreter './python'"});
    ExpectRefused({"play", "run", "--gif", "v.gif"}, {"the interpreter './python'"});
  }
  // A native environment starts no interpreter.
  MakeRun("classic/cartpole", "./python");
  EXPECT_EQ(Program({"eval", "run"}).exit_code, 0);
  EXPECT_FALSE(HasRun());
}

TEST_F(ForeignCodeCommand, IsNamedSoThatAShellTakesItAsOneWord) {
  MakeRun("gymnasium/CartPole-v1", "./python; touch it's");
  ExpectRefused({"eval", "run"},
                {R"(name it yourself: --set 'env.python=./python; touch it'\''s')"});
}

// A Python finds its packages next to the path by which it is started.
TEST_F(FullForeignCodeCommand, ALinkToTheUsualInterpreterIsAnotherOne) {
  if (!HasPython()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
  const fs::path bin = fs::path(kPython).parent_path();
  fs::create_directory_symlink(bin, Path("link"));
  for (const fs::path& python : {fs::path("link/python3"), Path("link/python3"),
                                 Path("link") / ".." / "bin/python3", bin / "../bin/python3"}) {
    MakeRun("gymnasium/CartPole-v1", python.string());
    ExpectRefused({"eval", "run"}, {"the interpreter '" + python.string()});
  }
  MakeRun("gymnasium/CartPole-v1", kPython);
  EXPECT_EQ(Program({"eval", "run", "--episodes", "1"}).exit_code, 0);
}

TEST_F(FullForeignCodeCommand, ThatTheUserNamesOrTrustsRuns) {
  if (!HasPython()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
  const std::string python = fmt::format("env.python={}", kPython);
  WriteNetwork("w.safetensors", kEnv);
  ExpectRun({"eval", "w.safetensors", "--env", kEnv, "--set", python, "--episodes", "1"});
  ExpectRun({"eval", "w.safetensors", "--trust", "--set", python, "--episodes", "1"});
  MakeRun(kEnv, "./python");
  ExpectRun({"eval", "run", "--trust"});
  ExpectRun({"eval", "run", "--env", kEnv, "--set", "env.python=./python"});
  // Gymnasium's own environments need no --trust.
  MakeRun("gymnasium/CartPole-v1", "");
  const Outcome own = Program({"eval", "run", "--set", python});
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_FALSE(HasRun());
}

TEST_F(FullForeignCodeCommand, OfARunThatGoesOnNeedsTrust) {
  if (!HasPython()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
  ExpectRun(Arguments{"train", "--env", kEnv, "--set", "env.python=./python", "--steps", "30",
                      "--out", "mine"} +
            kShort);
  ExpectRefused({"train", "--resume", "mine", "--steps", "40"},
                {"mine/config.toml names the Python module 'other' and the interpreter './python'",
                 "to run it: stableaa train --resume mine --trust"});
  ExpectRun({"train", "--resume", "mine", "--steps", "40", "--trust"});
  // A complete run executes nothing.
  EXPECT_EQ(Program({"train", "--resume", "mine"}).exit_code, 0);
  EXPECT_FALSE(HasRun());
  EXPECT_NE(ExpectError(Program({"train", "--trust"}), 2).find("--resume"), std::string::npos);
}

TEST_F(FullForeignCodeCommand, OfASuiteIsTheUsersOwn) {
  if (!HasPython()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
  const auto suite = [this](int steps, const std::string& python) {
    Write("suite.toml",
          fmt::format("env = '{}'\n[stop]\nsteps = {}\n[set]\nenv.python = '{}'\n"
                      "replay.start = 20\neval.episodes = 1\nagent.weights.batch = 16\n"
                      "train.batch = 4\nreplay.size = 500\neval.interval_steps = 20\n",
                      kEnv, steps, python));
  };
  suite(30, "./python");
  ExpectRun({"sweep", "suite.toml", "--out", "sweep", "--no-estimate"});
  suite(60, "./python");
  ExpectRun({"sweep", "suite.toml", "--out", "sweep", "--no-estimate"});
  // If the run's files name another interpreter than the suite, the user has not approved it.
  suite(90, kPython);
  const Outcome other = Program({"sweep", "suite.toml", "--out", "sweep", "--no-estimate"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("the interpreter './python'"), std::string::npos) << other.err;
  EXPECT_FALSE(HasRun());
}

// It must not be reported as a diverged network.
TEST_F(FullForeignCodeCommand, ANotANumberOfAnEnvironmentIsItsFaultInEveryCommand) {
  if (!HasPython()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
  const std::string env = "gymnasium/other:Nan-v0";
  const std::string python = fmt::format("env.python={}", kPython);
  WriteNetwork("w.safetensors", env);
  for (const Arguments& command :
       {Arguments{"env", "rollout", env, "--set", python, "--episodes", "5"},
        Arguments{"eval", "w.safetensors", "--trust", "--set", python},
        Arguments{"train", "--env", env, "--set", python, "--steps", "40", "--out", "nan"} +
            kShort}) {
    const Outcome outcome = Program(command);
    EXPECT_EQ(outcome.exit_code, 1);
    const std::string last = Lines(outcome.err).back();
    EXPECT_TRUE(
        last.starts_with("stableaa: error: gymnasium/other:Nan-v0: its reward is nan in "
                         "step "))
        << outcome.err;
  }
  EXPECT_FALSE(fs::exists(Path("nan/diverged.npz")));
}

}  // namespace stableaa::foreign_code_test
