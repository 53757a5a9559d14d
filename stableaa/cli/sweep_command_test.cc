// stableaa sweep, as processes: whole sweeps, plans, and directories that hold runs already.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/cli/sweep_at_work_test.h"

namespace stableaa::sweep_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// ---- Whole sweeps ----

TEST_F(SweepCommand, MakesTheRunsThatTrainMakes) {
  const SuiteText suite{.seeds = 2};
  const Outcome outcome = Sweep(suite);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectAllAsTrained(2, 600);
  ExpectWords(outcome.out, {"4 runs of 600 steps, 2 at a time with 1 thread each",
                            "dueling-dqn, stable-aa", "out: 4 of 4 done\n"});
  ExpectWords(outcome.err, {"started classic-cartpole-stable-aa-2",
                            "finished classic-cartpole-stable-aa-2: 600 steps in "});
  EXPECT_EQ(FileContent(Out() / "suite.toml"), suite.Text());
  ExpectWords(FileContent(Out() / "logs/classic-cartpole-stable-aa-1.log"), {"600 steps done"});
  EXPECT_FALSE(fs::exists(ErrorFile("classic-cartpole-stable-aa-1")));

  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(Out())) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{
                       "suite.toml", "sweep.json", "sweep.lock", "logs",
                       "classic-cartpole-dueling-dqn-1", "classic-cartpole-dueling-dqn-2",
                       "classic-cartpole-stable-aa-1", "classic-cartpole-stable-aa-2"}));
  const Json first = Status()[0];
  EXPECT_EQ(Fields(first),
            (std::set<std::string>{"name", "directory", "env", "preset", "seed", "values", "status",
                                   "steps", "steps_wanted", "seconds", "eval_return", "message"}));
  EXPECT_EQ(first["name"], "classic-cartpole-dueling-dqn-1");
  EXPECT_EQ(first["directory"], first["name"]);
  EXPECT_EQ(first["steps"], 600);
  EXPECT_EQ(first["seed"], 1);
  EXPECT_GT(first["seconds"], 0);
}

TEST_F(SweepCommand, ASweepThatIsDoneDoesNothingMore) {
  const SuiteText suite;
  EXPECT_EQ(Sweep(suite).exit_code, 0);
  std::map<std::string, Snapshot> before;
  for (const std::string preset : {"dueling-dqn", "stable-aa"}) {
    const std::string name = fmt::format("classic-cartpole-{}-1", preset);
    before[name] = SnapshotOf(Run(name));
  }
  const Outcome again = Sweep(suite);
  EXPECT_EQ(again.exit_code, 0);
  ExpectWords(again.out, {"there already: 2 done, 0 begun", "2 of 2 done"});
  EXPECT_EQ(again.err, "");
  for (const auto& [name, snapshot] : before) ExpectUnchanged(Run(name), snapshot);
}

TEST_F(SweepCommand, JsonIsOneObjectPerRun) {
  const SuiteText suite{.axes = "[axes]\nagent.eta = [0.5, 1.0]\n"};
  const Outcome outcome = Sweep(suite, {"--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> lines = Lines(outcome.out);
  ASSERT_EQ(lines.size(), 2U) << outcome.out;
  const Json second = Json::parse(lines[1]);
  EXPECT_EQ(second["name"], "classic-cartpole-stable-aa-eta-1-1");
  EXPECT_EQ(second["directory"], Run("classic-cartpole-stable-aa-eta-1-1").string());
  EXPECT_EQ(second["status"], "done");
  EXPECT_EQ(second["values"], (Json{{"agent.eta", 1}}));
}

TEST_F(SweepCommand, OutIsNamedAfterTheSuite) {
  WriteSuite({}, "mine.toml");
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  EXPECT_EQ(Sweeping({"mine.toml", "--no-estimate", "--threads", "1"}).Wait().exit_code, 0);
  fs::current_path(before);
  EXPECT_TRUE(fs::exists(Path("runs/mine/classic-cartpole-stable-aa-1/config.toml")));
}

// ---- Plans ----

TEST_F(SweepCommand, ADryRunMakesNothing) {
  const std::string suite = WriteSuite({});
  const Snapshot before = SnapshotOf(folder_.path());
  const Outcome text = Sweeping({suite, "--out", Out().string(), "--dry-run"}).Wait();
  EXPECT_EQ(text.exit_code, 0) << text.err;
  ExpectWords(text.out, {"2 runs of 600 steps", "classic-cartpole-stable-aa-1", "measured",
                         "stable-aa on classic/cartpole", " steps/s\n", "estimate: ", " on disk"});
  const Outcome json = Sweeping({suite, "--out", Out().string(), "--dry-run", "--json"}).Wait();
  EXPECT_EQ(json.exit_code, 0) << json.err;
  ASSERT_EQ(Lines(json.out).size(), 2U) << json.out;
  for (const std::string& line : Lines(json.out)) {
    const Json run = Json::parse(line);
    EXPECT_EQ(run["status"], "planned");
    EXPECT_GT(run["estimated_seconds"], 0);
    EXPECT_GT(run["estimated_bytes"], 10'000);
  }
  ExpectUnchanged(folder_.path(), before);
}

// A terminal must not obey text from files.
TEST_F(SweepCommand, APlanHasNoControlCharacters) {
  const std::string suite =
      WriteSuite({.axes = "[axes]\nenv.python = [\"\\u001b]0;evil\\u0007\"]\n"});
  const Outcome plan =
      Sweeping({suite, "--out", Out().string(), "--dry-run", "--no-estimate"}).Wait();
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.out.find_first_of("\x1b\x07"), std::string::npos) << plan.out;
  ExpectWords(plan.out, {"\\u001B]0;evil\\u0007"});
}

TEST_F(SweepCommand, TheEstimateOfDiskIsNear) {
  const SuiteText suite{.stop = "steps = 3000"};
  const std::string path = WriteSuite(suite);
  const Outcome plan = Sweeping({path, "--out", Out().string(), "--dry-run", "--json"}).Wait();
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(Sweep(suite).exit_code, 0);
  for (const std::string& line : Lines(plan.out)) {
    const Json run = Json::parse(line);
    double bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(run["directory"])) {
      if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
    }
    EXPECT_GT(run["estimated_bytes"].get<double>(), bytes / 2) << line;
    EXPECT_LT(run["estimated_bytes"].get<double>(), bytes * 2) << line;
  }
}

TEST_F(SweepCommand, WhereNothingCanBeMeasuredItGoesOn) {
  SuiteText suite{.axes = "[axes]\npreset = [\"dqn\"]\n"};
  suite.set.emplace_back("env.python=\"/no/python\"");
  std::string text = suite.Text();
  text.replace(text.find("classic/cartpole"), 16, "atari/pong");
  WriteContent(Path("suite.toml"), text);
  const Outcome outcome = Sweeping({Path("suite.toml"), "--out", Out().string()}).Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  ExpectWords(outcome.err, {"no estimate: ", "env.python",
                            "atari-pong-dqn-1 failed: ", "error: 1 of 1 run failed"});
}

TEST_F(SweepCommand, WhatIsWrongIsToldBeforeAnythingIsMade) {
  WriteContent(Path("wrong.toml"), "[axes]\nagent.etta = [1]\n");
  WriteContent(Path("none.toml"), "[axes]\nenv = [\"minatar/brekout\"]\n");
  const Snapshot before = SnapshotOf(folder_.path());
  const auto refused = [&](const Arguments& arguments) {
    return ExpectError(Sweeping(arguments + Arguments{"--out", Out().string()}).Wait(), 2);
  };
  ExpectWords(refused({Path("wrong.toml")}), {"wrong.toml:2", "did you mean 'agent.eta'"});
  ExpectWords(refused({Path("none.toml")}), {"none.toml:2", "minatar/breakout"});
  ExpectWords(refused({Path("missing.toml")}), {"missing.toml"});
  ExpectWords(refused({Path("wrong.toml"), "--jobs", "0"}), {"--jobs"});
  ExpectWords(refused({Path("wrong.toml"), "--threads", "2000"}), {"--threads"});
  ExpectWords(refused({}), {"SUITE"});
  ExpectUnchanged(folder_.path(), before);
  ExpectWords(ExpectError(Sweeping({WriteSuite({}), "--out", ""}).Wait(), 2), {"an empty name"});
}

// ---- Existing runs ----

TEST_F(SweepCommand, AdoptsRunsThatTrainMadeOrBegan) {
  fs::create_directories(Out());
  TrainOnCartpole("dueling-dqn", 1, 600, Run("classic-cartpole-dueling-dqn-1").string(),
                  kSweepSettings);
  TrainOnCartpole("stable-aa", 1, 250, Run("classic-cartpole-stable-aa-1").string(),
                  kSweepSettings);
  const Snapshot complete = SnapshotOf(Run("classic-cartpole-dueling-dqn-1"));
  const Outcome outcome = Sweep({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.out,
              {"classic-cartpole-dueling-dqn-1  done\n", "classic-cartpole-stable-aa-1  at 41%\n",
               "there already: 1 done, 1 begun"});
  ExpectWords(outcome.err, {"resumed classic-cartpole-stable-aa-1"});
  ExpectUnchanged(Run("classic-cartpole-dueling-dqn-1"), complete);
  ExpectAllAsTrained(1, 600);
}

TEST_F(SweepCommand, MoreStepsGoOnWithTheSameRuns) {
  EXPECT_EQ(Sweep({.stop = "steps = 300"}).exit_code, 0);
  EXPECT_EQ(Sweep({.stop = "steps = 600"}).exit_code, 0);
  ExpectAllAsTrained(1, 600);
  // And fewer steps have already been made.
  ExpectWords(Sweep({.stop = "steps = 200"}).out, {"2 of 2 done"});
}

TEST_F(SweepCommand, RefusesRunsOfAnotherConfiguration) {
  EXPECT_EQ(Sweep({}).exit_code, 0);
  const Snapshot before = SnapshotOf(Out());
  SuiteText other;
  other.set.emplace_back("agent.omega=3.5");
  other.set.emplace_back("agent.discount=0.9");
  const std::string message = ExpectError(Sweep(other), 2);
  ExpectWords(message, {"classic-cartpole-dueling-dqn-1", "agent.omega is ", "3.5 in the suite",
                        "agent.discount is 0.99 there, 0.9 in the suite", "--out"});
  ExpectUnchanged(Out(), before);
}

TEST_F(SweepCommand, RefusesTheDirectoryOfAnotherSuite) {
  const SuiteText first, second{.axes = "[axes]\npreset = [\"dqn\"]\n"};
  const auto sweep = [this](const SuiteText& suite, const std::string& title) {
    WriteContent(Path("titled.toml"), fmt::format("title = \"{}\"\n", title) + suite.Text());
    return Sweeping({Path("titled.toml"), "--out", Out().string(), "--no-estimate"}).Wait();
  };
  EXPECT_EQ(sweep(first, "One").exit_code, 0);
  const Snapshot before = SnapshotOf(Out());
  ExpectWords(ExpectError(sweep(second, "Two"), 2),
              {"out holds the runs of another suite, 'One'", "choose another --out"});
  ExpectUnchanged(Out(), before);
  // A suite that differs only in its title or its runs has been edited.
  EXPECT_EQ(sweep(first, "Two").exit_code, 0);
  EXPECT_EQ(sweep(second, "Two").exit_code, 0);
}

TEST_F(SweepCommand, RefusesADirectoryThatIsNoRun) {
  fs::create_directories(Run("classic-cartpole-stable-aa-1"));
  WriteContent(Run("classic-cartpole-stable-aa-1") / "mine.txt", "precious");
  const Snapshot before = SnapshotOf(Out());
  ExpectWords(ExpectError(Sweep({}), 2), {"classic-cartpole-stable-aa-1", "holds no run"});
  ExpectUnchanged(Out(), before);
}

TEST_F(SweepCommand, WaitsForARunThatAnotherProcessHas) {
  fs::create_directories(Out());
  TrainOnCartpole("stable-aa", 1, 250, Run("classic-cartpole-stable-aa-1").string(),
                  kSweepSettings);
  Descriptor lock(
      ::open(Run("classic-cartpole-stable-aa-1").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  Sweeping sweep(Flags({}));
  // The other run is trained meanwhile.
  EXPECT_TRUE(sweep.Until([&] {
    return fs::exists(Out() / "sweep.json") && States()["classic-cartpole-dueling-dqn-1"] == "done";
  }));
  SleepFor(0.3);
  EXPECT_TRUE(sweep.IsRunning());
  EXPECT_EQ(States()["classic-cartpole-stable-aa-1"], "pending");
  lock.Close();
  const Outcome outcome = sweep.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.err, {"waiting for another process"});
  ExpectAllAsTrained(1, 600);
}

TEST_F(SweepCommand, OneSweepPerDirectory) {
  const SuiteText suite{.stop = "steps = 2000000"};
  Sweeping first(Flags(suite));
  ASSERT_TRUE(first.Until([&] { return TrainersOf(Out()).size() == 2; }));
  SuiteText other = suite;
  other.axes += "# another text\n";
  const Outcome second =
      Sweeping({WriteSuite(other, "other.toml"), "--out", Out().string(), "--no-estimate"}).Wait();
  ExpectWords(ExpectError(second, 1), {"another sweep is at work in", "out"});
  EXPECT_EQ(FileContent(Out() / "suite.toml"), suite.Text());
  EXPECT_TRUE(first.IsRunning());
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait().exit_code, 0);
}

}  // namespace stableaa::sweep_command_test
