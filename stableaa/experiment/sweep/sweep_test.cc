// Sweeps whose runs are trained by shell scripts. cli/sweep_command_test.cc tests them with
// `train`.

#include "stableaa/experiment/sweep/sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/experiment/sweep/sweep_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/trainer.h"
#include "stableaa/testing/message.h"

namespace stableaa::sweep_test {

namespace fs = std::filesystem;

// Two seeds of a small agent on CartPole: NAMES[0] and NAMES[1].
constexpr const char* kTwoRuns = R"(
title = "Two"
env = "classic/cartpole"
seeds = 2
stop.steps = 60
[set]
network.hidden = [8]
replay.start = 50
eval.episodes = 1
eval.interval_steps = 30
)";
const std::string kFirst = "classic-cartpole-stable-aa-1", kSecond = "classic-cartpole-stable-aa-2";

class SweepTest : public ::testing::Test {
 protected:
  // A run as `train` leaves it after that many steps.
  void Train(std::size_t number, const fs::path& directory, std::int64_t steps = 60) const {
    fs::create_directories(directory.parent_path());
    const auto trainer = Trainer::Start(directory, suite_.runs[number].options);
    trainer->Run({.stop = [&] { return steps < 60 && trainer->step() >= steps; }});
  }
  // For CopyOfTrained.
  void TrainBoth() const {
    for (std::size_t i = 0; i < 2; ++i) Train(i, folder_ / "trained" / suite_.runs[i].name);
  }
  // $1 is the run's directory, $NAME its name.
  TrainingCommand Shell(const std::string& script) const {
    return [this, script](const TrainTask& task) -> std::vector<std::string> {
      tasks_[task.run.filename().string()] = task;
      return {"/bin/sh", "-c", "NAME=$(basename \"$1\"); " + script, "sh", task.run.string()};
    };
  }
  TrainingCommand CopyOfTrained(const std::string& before = "") const {
    return Shell(before + "cp -r '" + (folder_ / "trained").string() + "'/\"$NAME\" \"$1\"");
  }
  fs::path Out() const { return folder_ / "out"; }
  fs::path ErrorFile(const std::string& name) const { return Out() / "logs" / (name + ".error"); }

  // The runs after a completed sweep, by name.
  std::map<std::string, SweepRun> Sweep(const SweepOptions& options) const {
    stableaa::Sweep sweep(suite_, options);
    sweep.Open();
    EXPECT_TRUE(sweep.Run([] { return false; }));
    std::map<std::string, SweepRun> runs;
    for (const SweepRun& run : sweep.runs()) runs[run.run->name] = run;
    return runs;
  }

  const FolderOfRuns folder_;
  const Suite suite_ = ParseSuite(kTwoRuns, "two.toml");
  mutable std::map<std::string, TrainTask> tasks_;  // for which commands were requested
};

TEST_F(SweepTest, LookingChangesNothing) {
  const Snapshot before = SnapshotOf(folder_.path());
  const stableaa::Sweep sweep(suite_, {.out = Out()});
  EXPECT_EQ(sweep.runs().size(), 2U);
  EXPECT_EQ(Count(sweep.runs()).pending, 2U);
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(SweepTest, AnyCommandMayTrainTheRuns) {
  TrainBoth();
  auto runs = Sweep({.train = CopyOfTrained(), .out = Out(), .jobs = 2});
  for (const std::string& name : {kFirst, kSecond}) {
    EXPECT_EQ(runs[name].state, SweepState::kDone) << runs[name].message;
    EXPECT_EQ(runs[name].steps, 60);
    EXPECT_EQ(runs[name].message, "");
    EXPECT_FALSE(fs::exists(ErrorFile(name)));
    EXPECT_EQ(tasks_[name].run, Out() / name);
    EXPECT_EQ(tasks_[name].steps, 60);
    EXPECT_FALSE(tasks_[name].enough_return);
    EXPECT_FALSE(tasks_[name].trust);
  }
  EXPECT_EQ(FileContent(tasks_[kSecond].config), ToToml(suite_.runs[1].options));
  EXPECT_EQ(FileContent(Out() / "suite.toml"), kTwoRuns);
}

TEST_F(SweepTest, ARunThatHasBegunIsGoneOnWith) {
  Train(0, Out() / kFirst, 30);
  stableaa::Sweep sweep(suite_, {.train = Shell("exit 7"), .out = Out()});
  EXPECT_EQ(sweep.runs()[0].steps, 30);
  sweep.Open();
  EXPECT_TRUE(sweep.Run([] { return false; }));
  EXPECT_EQ(tasks_[kFirst].config, "");
  EXPECT_EQ(tasks_[kFirst].steps, 60);
  EXPECT_EQ(tasks_[kFirst].threads, 1);
  EXPECT_NE(tasks_[kSecond].config, "");
}

TEST_F(SweepTest, AtMostSoManyRunsAreAtWork) {
  TrainBoth();
  // A process that runs at the same time as another finds its `busy`.
  const std::string count =
      "cd '" + folder_.path().string() + "'; mkdir busy || touch two; sleep .3; rmdir busy; ";
  Sweep({.train = CopyOfTrained(count), .out = Out(), .jobs = 1});
  EXPECT_FALSE(fs::exists(folder_ / "two"));
  fs::remove_all(Out());
  Sweep({.train = CopyOfTrained(count), .out = Out(), .jobs = 2});
  EXPECT_TRUE(fs::exists(folder_ / "two"));
}

TEST_F(SweepTest, AFailureIsToldInTheWordsOfTheErrorFile) {
  const std::string script =
      "echo 'stableaa: error: not this' >&2\n"
      "case $NAME in *-1) printf 'no \\033[2J room\\n' > \"$STABLEAA_ERROR_FILE\"; exit 1;;\n"
      "*) exit 4;; esac";
  auto runs = Sweep({.train = Shell(script), .out = Out()});
  EXPECT_EQ(runs[kFirst].state, SweepState::kFailed);
  EXPECT_EQ(runs[kFirst].message, "no \\u001B[2J room");
  EXPECT_EQ(runs[kSecond].state, SweepState::kFailed);
  EXPECT_EQ(runs[kSecond].message, "its process ended with exit code 4");
  const SweepNotes notes = ReadSweepJson(Out() / "sweep.json");
  EXPECT_EQ(notes.runs.at(kFirst).message, "no \\u001B[2J room");
  EXPECT_EQ(notes.runs.at(kSecond).status, "failed");
  EXPECT_TRUE(fs::exists(ErrorFile(kFirst)));
  EXPECT_FALSE(fs::exists(ErrorFile(kSecond)));

  // Cleared when the run is tried again, even by a process that says nothing.
  runs = Sweep({.train = Shell("exit 5"), .out = Out()});
  EXPECT_EQ(runs[kFirst].message, "its process ended with exit code 5");
  EXPECT_FALSE(fs::exists(ErrorFile(kFirst)));
  TrainBoth();
  runs = Sweep({.train = CopyOfTrained(), .out = Out()});
  EXPECT_EQ(runs[kFirst].state, SweepState::kDone);
  EXPECT_EQ(runs[kFirst].message, "");
}

TEST_F(SweepTest, AnErrorSurvivesTheKillOfItsProcess) {
  auto runs =
      Sweep({.train = Shell("echo diverged > \"$STABLEAA_ERROR_FILE\"; kill -9 $$"), .out = Out()});
  EXPECT_EQ(runs[kFirst].message, "diverged");
  runs = Sweep({.train = Shell("kill -9 $$"), .out = Out()});
  EXPECT_EQ(runs[kFirst].message, "its process was killed by signal 9 (Killed)");
}

TEST_F(SweepTest, WithoutACommandEveryRunFails) {
  auto runs = Sweep({.out = Out()});
  EXPECT_EQ(runs[kFirst].message, "expected a command that trains a run, found none");
  EXPECT_EQ(runs[kSecond].state, SweepState::kFailed);
}

TEST_F(SweepTest, AnInterruptTellsTheRunsToEnd) {
  stableaa::Sweep sweep(
      suite_,
      {.train = Shell("trap 'exit 0' TERM; touch \"$1.began\"; while :; do sleep .01; done"),
       .out = Out(),
       .jobs = 1});
  sweep.Open();
  EXPECT_FALSE(sweep.Run([&] { return fs::exists(Out() / (kFirst + ".began")); }));
  EXPECT_EQ(sweep.runs()[0].state, SweepState::kStopped);
  EXPECT_EQ(sweep.runs()[1].state, SweepState::kPending);
}

TEST_F(SweepTest, AProcessThatEndsTooSoonIsNoSuccess) {
  Train(0, folder_ / "trained" / kFirst, 30);
  Train(1, folder_ / "trained" / kSecond);
  auto runs = Sweep({.train = CopyOfTrained(), .out = Out()});
  EXPECT_EQ(runs[kFirst].state, SweepState::kFailed);
  EXPECT_EQ(runs[kFirst].message, "somebody stopped it in step 30");
  EXPECT_EQ(runs[kSecond].state, SweepState::kDone);
}

TEST_F(SweepTest, OneSweepPerDirectory) {
  stableaa::Sweep first(suite_, {.out = Out()}), second(suite_, {.out = Out()});
  first.Open();
  EXPECT_EQ(MessageOf([&] { second.Open(); }, Error::Kind::kWorkFailed),
            "another sweep is at work in " + Out().string());
}

TEST_F(SweepTest, ARefusalNamesTheDirectoryAsTheCallerDoes) {
  fs::create_directories(Out() / kFirst);
  WriteContent(Out() / kFirst / "mine.txt", "");
  const auto refused = [&](const SweepOptions& options) {
    return MessageOf([&] { stableaa::Sweep(suite_, options); });
  };
  const std::string message = (Out() / kFirst).string() + " is in the way: it holds no run; ";
  EXPECT_EQ(refused({.out = Out()}), message + "choose another directory");
  const auto flag = [](std::string_view name) { return "--" + std::string(name); };
  EXPECT_EQ(refused({.out = Out(), .label = flag}), message + "choose another --out");
}

}  // namespace stableaa::sweep_test
