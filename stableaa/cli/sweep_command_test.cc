// stableaa sweep, as processes: sweeps that are killed, stopped or refused, and sweeps with failing
// runs.
//
// The promise: whatever happens, a sweep ends with the same runs that `stableaa train` makes.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/process/process_test.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::sweep_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Small, but with target shifts, evaluations and checkpoints.
const std::vector<std::string> kSet = {"network.hidden=[16, 16]",
                                       "train.batch=8",
                                       "replay.start=100",
                                       "agent.target_interval_updates=100",
                                       "eval.interval_steps=300",
                                       "eval.episodes=2",
                                       "train.log_interval_steps=100",
                                       "checkpoint.interval_steps=100",
                                       "exploration.epsilon_steps=500"};

struct SuiteText {
  int seeds = 1;
  std::string stop = "steps = 600";
  std::vector<std::string> set = kSet;
  std::string axes = "[axes]\npreset = [\"dueling-dqn\", \"stable-aa\"]\n";

  std::string Text() const {
    std::string text =
        fmt::format("env = \"classic/cartpole\"\nseeds = {}\n[stop]\n{}\n[set]\n", seeds, stop);
    for (const std::string& assignment : set) text += assignment + '\n';
    return text + axes;
  }
};

// The `train` processes of the runs in a directory.
std::vector<pid_t> TrainersOf(const fs::path& out) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    const std::string words = ProcessFile(pid, "cmdline");
    const bool trains = words.find(std::string("\0train\0", 7)) != std::string::npos;
    if (trains && words.find(out.string() + '/') != std::string::npos && IsAlive(pid)) {
      found.push_back(pid);
    }
  }
  return found;
}

class Sweeping : public ProgramAtWork {
 public:
  explicit Sweeping(const Arguments& arguments) : ProgramAtWork(Arguments{"sweep"} + arguments) {}
};

class SweepCommand : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  fs::path Out() const { return Path("out"); }
  fs::path Run(const std::string& name) const { return Out() / name; }

  std::string WriteSuite(const SuiteText& suite, const std::string& name = "suite.toml") const {
    WriteContent(Path(name), suite.Text());
    return Path(name);
  }

  // The flags to sweep the suite in out/.
  Arguments Flags(const SuiteText& suite, int jobs = 2) const {
    return {WriteSuite(suite),    "--out",        Out().string(), "--jobs",
            std::to_string(jobs), "--no-estimate"};
  }
  Outcome Sweep(const SuiteText& suite, const Arguments& more = {}) const {
    return Sweeping(Flags(suite) + more).Wait();
  }

  fs::path ErrorFile(const std::string& run) const { return Out() / "logs" / (run + ".error"); }
  Json Status() const { return Json::parse(FileContent(Out() / "sweep.json"))["runs"]; }
  std::map<std::string, std::string> States() const {
    std::map<std::string, std::string> states;
    for (const Json& run : Status()) states[run["name"]] = run["status"];
    return states;
  }

  // The header line is written before the first step; from that step on, it handles signals.
  bool Learns(const std::string& run) const {
    return std::ranges::count(FileContent(Run(run) / "metrics.csv"), '\n') > 1;
  }

  // The run that `train` makes with the same options, given by flags.
  fs::path Direct(const std::string& preset, int seed, int steps,
                  const std::vector<std::string>& set = kSet) const {
    const std::string path = Path(fmt::format("direct-{}-{}-{}", preset, seed, steps));
    if (fs::exists(path)) return path;
    TrainOnCartpole(preset, seed, steps, path, set);
    return path;
  }

  void ExpectAllAsTrained(int seeds, int steps) const {
    for (int seed = 1; seed <= seeds; ++seed) {
      for (const std::string preset : {"dueling-dqn", "stable-aa"}) {
        const std::string name = fmt::format("classic-cartpole-{}-{}", preset, seed);
        ExpectSameResults(Run(name), Direct(preset, seed, steps));
        EXPECT_EQ(States()[name], "done");
      }
    }
    EXPECT_EQ(Status().size(), static_cast<std::size_t>(2 * seeds));
  }

  FolderOfRuns folder_;
};

class FullSweepCommand : public SweepCommand {};

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
  TrainOnCartpole("dueling-dqn", 1, 600, Run("classic-cartpole-dueling-dqn-1").string(), kSet);
  TrainOnCartpole("stable-aa", 1, 250, Run("classic-cartpole-stable-aa-1").string(), kSet);
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
  TrainOnCartpole("stable-aa", 1, 250, Run("classic-cartpole-stable-aa-1").string(), kSet);
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

// ---- Interruptions ----

TEST_F(SweepCommand, CtrlCStopsAllRunsWithACheckpoint) {
  const SuiteText suite{.seeds = 2, .stop = "steps = 2000000"};
  for (const int signal : {SIGINT, SIGTERM}) {
    Sweeping sweep(Flags(suite));
    ASSERT_TRUE(sweep.Until([&] {
      return FileContent(Run("classic-cartpole-stable-aa-1") / "metrics.csv").size() > 2000 &&
             TrainersOf(Out()).size() == 2;
    }));
    sweep.Signal(signal);
    const Outcome outcome = sweep.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ExpectWords(outcome.err,
                {"stopping: the runs make their checkpoints", "stopped; the same command goes on"});
    EXPECT_TRUE(TrainersOf(Out()).empty());
    EXPECT_EQ(States()["classic-cartpole-stable-aa-1"], "stopped");
    EXPECT_EQ(States()["classic-cartpole-stable-aa-2"], "pending");
    EXPECT_GT(Status()[1]["steps"], 0);
  }
}

TEST_F(SweepCommand, ASecondCtrlCEndsItAtOnce) {
  Sweeping sweep(Flags({.stop = "steps = 2000000"}, 1));
  ASSERT_TRUE(sweep.Until([&] { return Learns("classic-cartpole-dueling-dqn-1"); }));
  const std::vector<pid_t> trainers = TrainersOf(Out());
  ASSERT_EQ(trainers.size(), 1U);
  ::kill(trainers[0], SIGSTOP);  // one that does not respond
  sweep.Signal(SIGINT);
  SleepFor(0.4);
  EXPECT_TRUE(sweep.IsRunning());
  sweep.Signal(SIGINT);
  EXPECT_EQ(sweep.Wait().exit_code, -SIGINT);
  ::kill(trainers[0], SIGCONT);
  EXPECT_TRUE(DiesWithin(trainers[0], 60));
}

TEST_F(SweepCommand, AKilledSweepLeavesNoProcesses) {
  Sweeping sweep(Flags({.stop = "steps = 2000000"}));
  ASSERT_TRUE(sweep.Until([&] {
    return Learns("classic-cartpole-stable-aa-1") && Learns("classic-cartpole-dueling-dqn-1");
  }));
  const std::vector<pid_t> trainers = TrainersOf(Out());
  EXPECT_EQ(trainers.size(), 2U);
  sweep.Signal(SIGKILL);
  EXPECT_EQ(sweep.Wait().exit_code, -SIGKILL);
  for (const pid_t trainer : trainers) EXPECT_TRUE(DiesWithin(trainer, 60));
  ExpectWords(FileContent(Out() / "logs/classic-cartpole-stable-aa-1.log"), {"stopped in step "});
}

// Lets it run up to a random moment: soon after its start, or once enough more metrics have been
// written; several such moments fit in before the end.
void RunToSomeMoment(Sweeping& sweep, const fs::path& out, RandomStream& random) {
  if (random.Below(3) == 0) return SleepFor(random.Uniform(0, .06));
  const auto written = [&] {
    std::size_t bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(out, error)) {
      bytes += FileContent(entry.path() / "metrics.csv").size();
    }
    return bytes;
  };
  const std::size_t begin = written(), more = random.Below(4000);
  sweep.Until([&] { return written() > begin + more; });
}

TEST_F(FullSweepCommand, KillsChangeNothing) {
  const SuiteText suite{.seeds = 2, .stop = "steps = 5000"};
  RandomStream random(1, "kills");
  for (int k = 0; k < 10; ++k) {
    Sweeping sweep(Flags(suite));
    RunToSomeMoment(sweep, Out(), random);
    sweep.Signal(SIGKILL);
    const int exit_code = sweep.Wait().exit_code;
    if (exit_code == 0 && k > 0) break;  // a fast machine may have finished
    ASSERT_EQ(exit_code, -SIGKILL);
    // Sometimes the next sweep meets processes of the last one; they end soon in any case.
    if (random.Below(2) == 0) continue;
    for (const pid_t trainer : TrainersOf(Out())) EXPECT_TRUE(DiesWithin(trainer, 60));
  }
  const Outcome last = Sweep(suite);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  ExpectAllAsTrained(2, 5000);
}

TEST_F(FullSweepCommand, InterruptionsChangeNothing) {
  const SuiteText suite{.stop = "steps = 8000"};
  RandomStream random(2, "interruptions");
  for (int k = 0; k < 8; ++k) {
    Sweeping sweep(Flags(suite));
    sweep.Until([&] { return sweep.HandlesInterrupts(); });
    RunToSomeMoment(sweep, Out(), random);
    sweep.Signal(SIGINT);
    const Outcome outcome = sweep.Wait();
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_EQ(Sweep(suite).exit_code, 0);
  ExpectAllAsTrained(1, 8000);
}

// ---- Failures ----

TEST_F(SweepCommand, ARunThatFailsDoesNotEndTheOthers) {
  SuiteText suite{.set = {"agent.loss=\"squared\"", "optimizer.max_gradient_norm=0",
                          "network.hidden=[32, 32, 32, 32, 32, 32, 32, 32]", "train.batch=8",
                          "replay.start=100", "eval.interval_steps=300", "eval.episodes=2",
                          "checkpoint.interval_steps=50", "agent.target_interval_updates=5"},
                  .axes = "[axes]\noptimizer.learning_rate = [1000.0, 1e-4]\n"};
  const Outcome outcome = Sweep(suite);
  EXPECT_EQ(outcome.exit_code, 1);
  const std::string failed = "classic-cartpole-stable-aa-learning_rate-1000-1";
  ExpectWords(outcome.err, {"warning: " + failed + " failed: training diverged in step 1",
                            "stableaa: error: 1 of 2 runs failed"});
  EXPECT_TRUE(Lines(outcome.err).back().starts_with("stableaa: error: ")) << outcome.err;
  EXPECT_EQ(States()[failed], "failed");
  EXPECT_EQ(States()["classic-cartpole-stable-aa-learning_rate-0.0001-1"], "done");
  ExpectWords(Status()[0]["message"], {"training diverged in step 1"});
  EXPECT_EQ(FileContent(ErrorFile(failed)), Status()[0]["message"].get<std::string>() + "\n");
  EXPECT_FALSE(fs::exists(ErrorFile("classic-cartpole-stable-aa-learning_rate-0.0001-1")));
  // Tries only the failed one again.
  const Outcome again = Sweep(suite);
  EXPECT_EQ(again.exit_code, 1);
  ExpectWords(again.err, {"resumed " + failed, "training diverged in step 1"});
  EXPECT_EQ(again.err.find("0.0001"), std::string::npos) << again.err;
}

// Whatever the error, including a usage error.
TEST_F(SweepCommand, TheProgramWritesItsErrorToTheFileOfItsEnvironment) {
  const std::string file = Path("error");
  ASSERT_EQ(::setenv("STABLEAA_ERROR_FILE", file.c_str(), 1), 0);
  const std::string usage = ExpectError(Stableaa({"train", "--no-such-flag"}), 2);
  EXPECT_EQ(FileContent(file), usage + "\n");
  fs::remove(file);
  EXPECT_EQ(Stableaa({"--version"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(file)) << "no error";
  ::unsetenv("STABLEAA_ERROR_FILE");
}

TEST_F(SweepCommand, ARunThatIsKilledIsAFailureAndIsTriedAgain) {
  const SuiteText suite{.stop = "steps = 3000"};
  Sweeping sweep(Flags(suite, 1));
  ASSERT_TRUE(sweep.Until([&] { return fs::exists(Run("classic-cartpole-dueling-dqn-1")); }));
  for (const pid_t trainer : TrainersOf(Out())) ::kill(trainer, SIGKILL);
  const Outcome outcome = sweep.Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  ExpectWords(outcome.err, {"classic-cartpole-dueling-dqn-1 failed: ", "was killed by signal 9"});
  EXPECT_EQ(States()["classic-cartpole-stable-aa-1"], "done");
  EXPECT_EQ(Sweep(suite).exit_code, 0);
  ExpectAllAsTrained(1, 3000);
}

TEST_F(SweepCommand, ARunThatCannotBeReadDoesNotEndTheOthers) {
  EXPECT_EQ(Sweep({}).exit_code, 0);
  WriteContent(Run("classic-cartpole-dueling-dqn-1") / "config.toml", "x = [");
  fs::remove_all(Run("classic-cartpole-stable-aa-1"));
  const Outcome outcome = Sweep({});
  EXPECT_EQ(outcome.exit_code, 1);
  ExpectWords(outcome.out, {"1 of 2 done, 1 failed"});
  ExpectWords(outcome.err, {"config.toml:1", "remove ", "classic-cartpole-dueling-dqn-1",
                            "begins anew", "1 of 2 runs failed"});
  EXPECT_EQ(States()["classic-cartpole-stable-aa-1"], "done");
  EXPECT_EQ(States()["classic-cartpole-dueling-dqn-1"], "failed");
  fs::remove_all(Run("classic-cartpole-dueling-dqn-1"));
  EXPECT_EQ(Sweep({}).exit_code, 0);
  ExpectAllAsTrained(1, 600);
}

// ---- Stop rules ----

TEST_F(SweepCommand, ARunEndsWhenAnEvaluationReachesTheReturn) {
  // Every episode pays at least 8.
  const SuiteText suite{.stop = "steps = 2000000\neval_return = 5.0"};
  const Outcome outcome = Sweep(suite);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.err, {"an evaluation reached ", " in step 300"});
  for (const Json& run : Status()) {
    EXPECT_EQ(run["status"], "done");
    EXPECT_EQ(run["steps"], 300);
    ExpectWords(run["message"], {"an evaluation reached "});
  }
  ExpectAllAsTrained(1, 300);
  const Snapshot before = SnapshotOf(Run("classic-cartpole-stable-aa-1"));
  EXPECT_EQ(Sweep(suite).exit_code, 0);
  ExpectUnchanged(Run("classic-cartpole-stable-aa-1"), before);
}

TEST_F(SweepCommand, ARunEndsWhenItsTimeIsOver) {
  // Without rows in metrics.csv, which would also show the time.
  const SuiteText suite{.stop = "steps = 200000000\nminutes = 0.005",
                        .set = {"network.hidden=[16, 16]", "replay.start=100",
                                "eval.interval_steps=0", "train.log_interval_steps=100000000"}};
  const Outcome outcome = Sweep(suite);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.err, {"its 0.005 minutes were over in step "});
  const Snapshot before = SnapshotOf(Run("classic-cartpole-stable-aa-1"));
  EXPECT_EQ(Sweep(suite).exit_code, 0);
  ExpectUnchanged(Run("classic-cartpole-stable-aa-1"), before);
}

// ---- On a terminal ----

// What a terminal of this size shows after `text`, for the control sequences that the program uses.
std::vector<std::string> Screen(const std::string& text, std::size_t rows, std::size_t columns) {
  std::vector<std::string> screen(rows, std::string(columns, ' '));
  std::size_t row = 0, column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\n') {
      if (++row == rows) {
        screen.erase(screen.begin());
        screen.emplace_back(columns, ' ');
        --row;
      }
    } else if (text[i] == '\x1b') {
      std::size_t number = 0;
      i += 2;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
        number = 10 * number + static_cast<std::size_t>(text[i] - '0');
      }
      if (text[i] == 'K' || text[i] == 'J') {
        std::fill(screen[row].begin() + static_cast<std::ptrdiff_t>(column), screen[row].end(),
                  ' ');
      }
      if (text[i] == 'J') {
        for (std::size_t below = row + 1; below < rows; ++below) {
          screen[below] = std::string(columns, ' ');
        }
      }
      if (text[i] == 'A') row -= std::min(row, std::max<std::size_t>(number, 1));
    } else {
      if (column == columns) {
        column = 0;
        row = std::min(row + 1, rows - 1);
      }
      screen[row][column++] = text[i];
    }
  }
  for (std::string& line : screen) line.resize(line.find_last_not_of(' ') + 1);
  return screen;
}

TEST_F(SweepCommand, ATableIsRedrawnInPlace) {
  const std::string suite = WriteSuite({.seeds = 2, .stop = "steps = 2000000"});
  int ours = -1;
  const winsize size = {.ws_row = 20, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t child = ::forkpty(&ours, nullptr, nullptr, &size);
  if (child < 0) GTEST_SKIP() << "needs a pseudo-terminal";
  if (child == 0) {
    ::setenv("TERM", "xterm-256color", 1);
    ::execl(STABLEAA_PROGRAM_PATH, "stableaa", "sweep", suite.c_str(), "--out", Out().c_str(),
            "--jobs", "2", "--no-estimate", nullptr);
    ::_exit(127);
  }
  // Waits until both runs have been evaluated and drawn so, then sends Ctrl-C.
  const Descriptor terminal(ours);
  std::string text, middle;
  std::array<char, 4096> part;
  const auto count = [](const std::vector<std::string>& screen, const std::string& word) {
    return std::ranges::count_if(
        screen, [&](const std::string& line) { return line.find(word) != std::string::npos; });
  };
  for (ssize_t got = 0; (got = ::read(terminal.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
    if (!middle.empty() || !text.ends_with('\r')) continue;
    if (count(Screen(text, 20, 120), "  eval ") < 2) continue;
    middle = text;
    ::kill(child, SIGINT);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << text;
  EXPECT_NE(text.find("0 of 4 done, 2 running, 2 waiting"), std::string::npos);

  const std::vector<std::string> at_work = Screen(middle, 20, 120);
  EXPECT_EQ(count(at_work, "%"), 2) << middle;
  EXPECT_EQ(count(at_work, "/s  eval "), 2) << middle;
  EXPECT_EQ(count(at_work, " of 4 done"), 1) << middle;
  EXPECT_EQ(count(at_work, "4 runs of 2M steps"), 1) << "printed before it";

  // Messages are above it, and at the end it is gone.
  const std::vector<std::string> last = Screen(text, 20, 120);
  EXPECT_EQ(count(last, "%"), 0) << text;
  EXPECT_EQ(count(last, "running"), 0) << text;
  EXPECT_EQ(count(last, "stableaa: stopping: "), 1) << text;
  EXPECT_EQ(count(last, "0 of 4 done, 2 stopped, 2 waiting"), 1) << text;
  EXPECT_EQ(count(last, "stableaa: stopped; the same command goes on"), 1) << text;
  EXPECT_EQ(count(last, "4 runs of 2M steps"), 1) << text;
}

// ---- train --end-with-parent ----

TEST_F(SweepCommand, TrainEndsWithTheProcessThatStartedIt) {
  const std::string run = Path("run");
  // A shell that starts it in the background and is then killed.
  const pid_t shell = ::fork();
  if (shell == 0) {
    const std::string script = fmt::format(
        "{} train --env classic/cartpole --steps 2000000 --threads 1 --out {} "
        "--end-with-parent $$ >/dev/null 2>&1 & sleep 60",
        STABLEAA_PROGRAM_PATH, run);
    ::setpgid(0, 0);
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 20'000 && !fs::exists(run); ++i) SleepFor(1e-3);
  ASSERT_TRUE(fs::exists(run));
  const std::vector<pid_t> trainers = TrainersOf(folder_.path());
  ASSERT_EQ(trainers.size(), 1U);
  ::kill(shell, SIGKILL);
  ::waitpid(shell, nullptr, 0);
  EXPECT_TRUE(DiesWithin(trainers[0], 60));
  ::kill(-shell, SIGKILL);  // the sleep

  const Outcome orphan = Stableaa(
      {"train", "--env", "classic/cartpole", "--out", Path("other"), "--end-with-parent", "1"});
  if (::getpid() != 1) {
    ExpectWords(ExpectError(orphan, 2), {"--end-with-parent", std::to_string(::getpid())});
  }
  EXPECT_FALSE(fs::exists(Path("other")));
}

}  // namespace stableaa::sweep_command_test
