// stableaa env and bench env, as processes.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/base/process/process_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::env_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class EnvCommand : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  const TemporaryFolder folder_;
};

Json Rollout(Arguments arguments) {
  arguments.insert(arguments.begin(), {"env", "rollout"});
  arguments.emplace_back("--json");
  const std::string out = ExpectOutput(Stableaa(arguments));
  EXPECT_EQ(Lines(out).size(), 1U);
  return Json::parse(out, nullptr, false);
}

bool HasAtari() { return ::access(STABLEAA_ATARI_PYTHON, X_OK) == 0; }
const std::string kPython = "env.python=" STABLEAA_ATARI_PYTHON;

TEST_F(EnvCommand, ListShowsEveryFamily) {
  std::set<std::string> ids;
  for (const std::string& line : Lines(ExpectOutput(Stableaa({"env", "list", "--json"})))) {
    const Json entry = Json::parse(line);
    EXPECT_EQ(Fields(entry), (std::set<std::string>{"env", "observation", "actions",
                                                    "max_episode_steps", "options"}));
    ids.insert(entry["env"]);
  }
  for (const std::string id : {"minatar/space_invaders", "classic/pendulum", "atari/up_n_down",
                               "gymnasium/<any id of Gymnasium>"}) {
    EXPECT_TRUE(ids.contains(id)) << id;
  }
  const std::string table = ExpectOutput(Stableaa({"env", "list"}));
  for (const std::string& id : ids) EXPECT_NE(table.find(id), std::string::npos) << id;
}

TEST_F(EnvCommand, RolloutPrintsTheContractsFields) {
  const std::set<std::string> fields = {"env",        "policy",      "episodes",  "return_mean",
                                        "return_std", "length_mean", "length_std"};
  const Json cartpole = Rollout({"classic/cartpole", "--episodes", "3"});
  EXPECT_EQ(Fields(cartpole), fields);
  EXPECT_EQ(cartpole["env"], "classic/cartpole");
  EXPECT_EQ(cartpole["policy"], "random");
  EXPECT_EQ(cartpole["episodes"], 3);
  std::set<std::string> with_channels = fields;
  with_channels.insert("channel_mean");
  const Json breakout = Rollout(
      {"MinAtar/Breakout", "--policy", "scripted", "--episodes", "2", "--set", "env.sticky=0"});
  EXPECT_EQ(Fields(breakout), with_channels);
  EXPECT_EQ(breakout["env"], "minatar/breakout");
  EXPECT_EQ(breakout["return_mean"], 417);
  EXPECT_EQ(breakout["length_mean"], 5000);
  EXPECT_EQ(breakout["return_std"], 0);
  ASSERT_EQ(breakout["channel_mean"].size(), 4U);
  EXPECT_NEAR(breakout["channel_mean"][3].get<double>(), 70778 / 5000. / 100, 1e-12);
  // A single episode has no deviation.
  EXPECT_TRUE(Rollout({"classic/acrobot", "--episodes", "1"})["return_std"].is_null());
}

TEST_F(EnvCommand, SeedsDecideAndLimitsCut) {
  const Arguments seven = {"minatar/asterix", "--seed", "7"};
  EXPECT_EQ(Rollout(seven), Rollout(seven));
  EXPECT_NE(Rollout(seven)["length_mean"],
            Rollout({"minatar/asterix", "--seed", "8"})["length_mean"]);
  EXPECT_EQ(Rollout({"minatar/seaquest", "--policy", "noop", "--episodes", "2"})["length_mean"],
            5000);
  EXPECT_EQ(
      Rollout({"minatar/seaquest", "--policy", "noop", "--max-episode-steps", "12"})["length_mean"],
      12);
  EXPECT_EQ(Rollout({"classic/pendulum", "--policy", "constant:-1.5"})["length_mean"], 200);
}

TEST_F(EnvCommand, TracesHaveALinePerStep) {
  const Json summary = Rollout({"minatar/breakout", "--episodes", "3", "--trace", Path("t.csv")});
  std::ifstream file(Path("t.csv"));
  std::string header, line;
  std::getline(file, header);
  EXPECT_TRUE(header.starts_with("step,action,reward,terminated,truncated,obs_0,obs_1,"));
  EXPECT_TRUE(header.ends_with(",obs_399"));
  double steps = 0, ends = 0;
  while (std::getline(file, line)) {
    steps += 1;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 404);
    EXPECT_TRUE(line.starts_with(std::to_string(static_cast<int>(steps)) + ","));
    const std::size_t third = line.find(',', line.find(',', line.find(',') + 1) + 1);
    ends += line[third + 1] == '1' ? 1 : 0;
  }
  EXPECT_EQ(ends, 3);
  EXPECT_NEAR(steps, 3 * summary["length_mean"].get<double>(), 1e-9);
  EXPECT_EQ(Files(), 1U);
}

TEST_F(EnvCommand, BadInputChangesNothing) {
  struct Case {
    Arguments arguments;
    std::string words;
  };
  for (const Case& c :
       std::vector<Case>{{{"minatar/breakou"}, "did you mean 'minatar/breakout'"},
                         {{"breakout"}, "there is no environment 'breakout'"},
                         {{"minatar/breakout", "--policy", "clever"}, "constant:K"},
                         {{"minatar/breakout", "--policy", "constant:6"}, "actions 0 to 5"},
                         {{"classic/cartpole", "--policy", "noop"}, "does nothing"},
                         {{"classic/cartpole", "--policy", "scripted"}, "minatar/ only"},
                         {{"classic/cartpole", "--episodes", "0"}, "--episodes"},
                         {{"classic/cartpole", "--episodes", "many"}, "--episodes"},
                         {{"classic/cartpole", "--seed", "-1"}, "--seed"},
                         {{"classic/cartpole", "--max-episode-steps", "0"}, "--max-episode-steps"},
                         {{"minatar/breakout", "--set", "env.sticky=1.5"}, "env.sticky"},
                         {{"minatar/breakout", "--set", "env.sticky=-0.5"}, "env.sticky"},
                         {{"minatar/breakout", "--set", "env.stiky=0"}, "env.sticky"},
                         {{"atari/pong", "--set", "env.protocol=mnih"}, "env.protocol"},
                         {{"minatar/breakout", "--gif", Path("a.png")}, ".gif"},
                         {{"minatar/breakout", "--video", Path("a.gif")}, ".mp4"},
                         {{"gymnasium/a\nb-v0"}, "there is no environment"},
                         {{"gymnasium/a b"}, "there is no environment"},
                         {{"minatar/breakout", "--terminal"}, "terminal"}}) {
    Arguments arguments = {"env", "rollout"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const std::string message = ExpectError(Stableaa(arguments), 2);
    EXPECT_NE(message.find(c.words), std::string::npos) << message;
  }
  EXPECT_EQ(Files(), 0U);
}

TEST_F(EnvCommand, AMissingPythonIsNamedWithItsKey) {
  const Outcome outcome =
      Stableaa({"env", "rollout", "atari/pong", "--set", "env.python=/no/such/python"});
  const std::string message = ExpectError(outcome, 1);
  EXPECT_NE(message.find("env.python"), std::string::npos) << message;
}

TEST_F(EnvCommand, BenchPrintsStepsPerSecond) {
  const std::string out = ExpectOutput(Stableaa(
      {"bench", "env", "minatar/breakout", "classic/pendulum", "--seconds", ".05", "--json"}));
  ASSERT_EQ(Lines(out).size(), 2U);
  for (const std::string& line : Lines(out)) {
    const Json row = Json::parse(line);
    EXPECT_EQ(Fields(row), (std::set<std::string>{"env", "num_envs", "steps_per_second"}));
    EXPECT_GT(row["steps_per_second"], 0);
  }
  EXPECT_NE(ExpectError(Stableaa({"bench", "env", "minatar/x"}), 2).find("minatar/x"),
            std::string::npos);
}

TEST_F(EnvCommand, AtariByItsPython) {
  if (!HasAtari()) GTEST_SKIP() << "scripts/atari makes a Python with ale-py";
  const Arguments pong = {"atari/Pong",          "--set", kPython,    "--episodes", "1",
                          "--max-episode-steps", "60",    "--policy", "noop"};
  const Json summary = Rollout(pong);
  EXPECT_EQ(summary["env"], "atari/pong");
  EXPECT_EQ(summary["length_mean"], 60);
  EXPECT_EQ(summary["channel_mean"].size(), 4U);
  EXPECT_EQ(summary, Rollout(pong));
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", parent));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

// A program in the middle of its work, with the worker it started.
class LongRollout {
 public:
  // Returns once the first steps are in the trace, or after about two minutes.
  explicit LongRollout(const fs::path& trace) : trace_(trace), program_(::fork()) {
    if (program_ == 0) Become();
    const fs::path temporary =
        trace.parent_path() / fmt::format(".{}.tmp", trace.filename().string());
    std::error_code none_yet;
    for (int i = 0; i < 24'000; ++i) {
      const auto size = fs::file_size(temporary, none_yet);
      if (!none_yet && size > 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::vector<pid_t> children = ChildrenOf(program_);
    if (!children.empty()) worker_ = children.front();
  }

  ~LongRollout() {
    if (program_ > 0) Wait(SIGKILL);
    std::fclose(err_);
  }

  LongRollout(const LongRollout&) = delete;
  LongRollout& operator=(const LongRollout&) = delete;

  pid_t worker() const { return worker_; }

  // Sends a signal, unless it is 0, and returns the exit status.
  int Wait(int signal) {
    int status = 0;
    if (signal != 0) ::kill(program_, signal);
    ::waitpid(program_, &status, 0);
    program_ = -1;
    return status;
  }

  std::string err() const { return Content(err_); }

 private:
  [[noreturn]] void Become() {
    ::dup2(::fileno(err_), STDERR_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execl(STABLEAA_PROGRAM_PATH, "stableaa", "env", "rollout", "gymnasium/CartPole-v1", "--set",
            kPython.c_str(), "--episodes", "100000000", "--trace", trace_.c_str(), nullptr);
    ::_exit(127);
  }

  const fs::path trace_;
  std::FILE* const err_ = std::tmpfile();
  pid_t program_ = -1, worker_ = -1;
};

TEST_F(EnvCommand, AKilledWorkerEndsTheProgramWithAnError) {
  if (!HasAtari()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
  LongRollout running(Path("t.csv"));
  ASSERT_GT(running.worker(), 0);
  ::kill(running.worker(), SIGKILL);
  const int status = running.Wait(0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(running.err(),
            "stableaa: error: gymnasium/CartPole-v1: its worker was killed by signal 9 (Killed)\n");
  EXPECT_EQ(Files(), 0U) << "half a trace";
}

TEST_F(EnvCommand, WhatEndsTheProgramEndsItsWorker) {
  if (!HasAtari()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    LongRollout running(Path("t.csv"));
    ASSERT_GT(running.worker(), 0);
    const int status = running.Wait(signal);
    EXPECT_TRUE(DiesWithin(running.worker(), 60)) << signal;
    EXPECT_FALSE(fs::exists(Path("t.csv")));
    if (signal == SIGKILL) continue;  // the temporary file is left for the next writer to remove
    EXPECT_EQ(running.err(), "stableaa: error: interrupted\n");
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(Files(), 0U);
  }
}

}  // namespace stableaa::env_command_test
