// Sweeps and reports of an environment that this test program registers, with itself as the program
// that trains: it has a main of its own.

#include "stableaa/experiment/sweep/own_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/base/process/child_process.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/lamp_test.h"
#include "stableaa/experiment/report/report.h"
#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/estimate.h"
#include "stableaa/experiment/sweep/sweep.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa::own_program_test {

namespace fs = std::filesystem;

class BrokenLamp : public Lamp {
 public:
  Outcome Step(Action, RandomStream&) override { throw WorkFailed("the bulb is \033[2J broken"); }
};

void RegisterAll() {
  RegisterLamp<Lamp>("own/lamp");
  RegisterLamp<BrokenLamp>("own/broken_lamp");
}

std::string SuiteOf(const std::string& env, const std::string& stop) {
  return "title = \"Lamps\"\nenv = \"" + env + "\"\npreset = \"dqn\"\nseeds = 2\n[stop]\n" + stop +
         R"(
[set]
network.hidden = [8]
replay.start = 50
train.log_interval_steps = 50
eval.interval_steps = 100
eval.episodes = 2
)";
}

class OwnProgram : public ::testing::Test {
 protected:
  fs::path Out() const { return folder_ / "out"; }
  SweepOptions Options() const { return {.train = TrainByThisProgram, .out = Out(), .jobs = 2}; }

  // The runs after a sweep that nobody interrupts.
  std::vector<SweepRun> Swept(const Suite& suite) const {
    Sweep sweep(suite, Options());
    sweep.Open();
    EXPECT_TRUE(sweep.Run([] { return false; }));
    return sweep.runs();
  }

  // As many steps as a Trainer makes in this process, with the same results.
  void ExpectAsTrainedHere(const Suite& suite) const {
    for (const SuiteRun& run : suite.runs) {
      const fs::path here = folder_ / "here" / run.name;
      fs::create_directories(here.parent_path());
      EXPECT_TRUE(Trainer::Start(here, run.options)->Run());
      ExpectSameResults(Out() / run.name, here);
    }
  }

  const FolderOfRuns folder_;
};

using FullOwnProgram = OwnProgram;

TEST_F(FullOwnProgram, SweepsAndReportsAnEnvironmentOfItsOwn) {
  const Suite suite = ParseSuite(SuiteOf("own/lamp", "steps = 300"), "lamps.toml");
  const std::vector<SweepRun> runs = Swept(suite);
  ASSERT_EQ(runs.size(), 2U);
  for (const SweepRun& run : runs) {
    EXPECT_EQ(run.state, SweepState::kDone) << run.message;
    EXPECT_EQ(run.steps, 300);
    const std::string log = FileContent(Out() / "logs" / (run.run->name + ".log"));
    EXPECT_NE(log.find("training dqn on own/lamp, seed "), std::string::npos) << log;
    EXPECT_NE(log.find("done in step 300"), std::string::npos) << log;
  }
  ExpectAsTrainedHere(suite);

  const ReportSummary report = WriteReport({.directories = {Out()}, .out = folder_ / "report"});
  EXPECT_EQ(report.records.size(), 2U);
  EXPECT_TRUE(report.failed.empty());
  EXPECT_TRUE(report.missing.empty());
  const std::string page = FileContent(report.page);
  EXPECT_NE(page.find("<title>Lamps</title>"), std::string::npos);
  EXPECT_NE(page.find("own/lamp"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "report" / "figures" / "curve-mean-own-lamp.svg"));
}

TEST_F(FullOwnProgram, EstimatesItToo) {
  const Suite suite = ParseSuite(SuiteOf("own/lamp", "steps = 2000000"), "lamps.toml");
  const Sweep sweep(suite, Options());
  const SweepEstimate estimate =
      EstimateSweep(sweep.runs(), suite.stop, {.train = TrainByThisProgram});
  ASSERT_EQ(estimate.measured.size(), 1U);
  EXPECT_GT(estimate.measured[0].steps_per_second, 0);
}

TEST_F(OwnProgram, ASweepThatWasStoppedGoesOnToTheSameResults) {
  const Suite endless =
      ParseSuite(SuiteOf("own/lamp", "steps = 2000000\neval_return = 1e9"), "lamps.toml");
  std::int64_t steps = 0;
  {
    Sweep sweep(endless, Options());
    sweep.Open();
    const fs::path metrics = Out() / endless.runs[0].name / "metrics.csv";
    EXPECT_FALSE(sweep.Run([&] { return Table(metrics).rows() > 0; }));
    for (const SweepRun& run : sweep.runs()) {
      EXPECT_EQ(run.state, SweepState::kStopped) << run.message;
      steps = std::max(steps, run.steps);
    }
  }
  EXPECT_GT(steps, 0);
  const Suite suite = ParseSuite(
      SuiteOf("own/lamp", "steps = " + std::to_string(steps + 130) + "\neval_return = 1e9"),
      "lamps.toml");
  for (const SweepRun& run : Swept(suite)) EXPECT_EQ(run.state, SweepState::kDone) << run.message;
  ExpectAsTrainedHere(suite);
}

TEST_F(OwnProgram, ARunEndsAtTheReturnOfItsSuite) {
  // Every episode of 20 steps pays at least 0.
  const Suite suite =
      ParseSuite(SuiteOf("own/lamp", "steps = 2000000\neval_return = -0.5"), "lamps.toml");
  for (const SweepRun& run : Swept(suite)) {
    EXPECT_EQ(run.state, SweepState::kDone) << run.message;
    EXPECT_EQ(run.steps, 100);
  }
}

TEST_F(OwnProgram, WhatFailsIsToldInItsOwnWords) {
  const Suite suite = ParseSuite(SuiteOf("own/broken_lamp", "steps = 300"), "lamps.toml");
  for (const SweepRun& run : Swept(suite)) {
    EXPECT_EQ(run.state, SweepState::kFailed);
    EXPECT_NE(run.message.find("the bulb is \\u001B[2J broken"), std::string::npos) << run.message;
    const std::string log = FileContent(Out() / "logs" / (run.run->name + ".log"));
    EXPECT_NE(log.find("error: " + run.message), std::string::npos) << log;
  }
}

// Otherwise a sweep that is killed would leave processes.
TEST_F(OwnProgram, TrainsOnlyForTheProcessThatStartedIt) {
  const Suite suite = ParseSuite(SuiteOf("own/lamp", "steps = 300"), "lamps.toml");
  WriteContent(folder_ / "run.toml", ToToml(suite.runs[0].options));
  std::vector<std::string> words = {"-c", "\"$@\"; exit $?", "sh"};
  for (const std::string& word :
       TrainByThisProgram({.run = folder_ / "run", .config = folder_ / "run.toml"})) {
    // Of the shell it would be the shell's.
    words.push_back(word == "/proc/self/exe" ? fs::read_symlink(word).string() : word);
  }
  ChildProcess shell({.program = "sh", .arguments = words});
  ASSERT_TRUE(shell.Wait(60));
  EXPECT_EQ(shell.exit_code(), 2);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(OwnProgram, OtherArgumentsAreNotForIt) {
  const std::vector<const char*> none = {"program"}, other = {"program", "train", "runs/a"};
  EXPECT_EQ(TrainIfAsked(0, nullptr), std::nullopt);
  EXPECT_EQ(TrainIfAsked(1, none.data()), std::nullopt);
  EXPECT_EQ(TrainIfAsked(3, other.data()), std::nullopt);
  const std::string asked = TrainByThisProgram({.run = "runs/a"})[1];
  const std::vector<const char*> few = {"program", asked.c_str(), "runs/a"};
  EXPECT_EQ(TrainIfAsked(3, few.data()), 2);
}

}  // namespace stableaa::own_program_test

int main(int argc, char** argv) {
  stableaa::own_program_test::RegisterAll();
  if (const auto exit_code = stableaa::TrainIfAsked(argc, argv)) return *exit_code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
