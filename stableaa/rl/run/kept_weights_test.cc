#include "stableaa/rl/run/kept_weights.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/base/terminal/log.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/small_run_test.h"
#include "stableaa/rl/run/trainer.h"
#include "stableaa/testing/message.h"

namespace stableaa::kept_weights_test {

namespace fs = std::filesystem;
using When = KeepRule::When;

TEST(KeepRule, ReadsAllForms) {
  EXPECT_EQ(KeepRule::Parse("none").when, When::kNever);
  for (const char* const text : {"all evaluations", "evaluations", " all  evaluations "}) {
    EXPECT_EQ(KeepRule::Parse(text).when, When::kEvaluations) << text;
  }
  for (const char* const text : {"every 100000 steps", "every 1e5", "every 100_000 steps",
                                 "every 1.0e5 step", "  every  100000  steps"}) {
    const KeepRule rule = KeepRule::Parse(text);
    EXPECT_EQ(rule.when, When::kSteps) << text;
    EXPECT_EQ(rule.interval_steps, 100'000) << text;
  }
  EXPECT_EQ(KeepRule::Parse("every 1099511627776 steps").interval_steps, std::int64_t{1} << 40);
}

TEST(KeepRule, AnythingElseIsRefusedWithTheForms) {
  EXPECT_EQ(MessageOf([] { KeepRule::Parse("every\x1b day"); }),
            "checkpoint.keep_weights: expected none, every N steps (N from 1 to 2^40) or all "
            "evaluations, found 'every\\u001B day'");
  for (const char* const text :
       {"", "None", "every", "every steps", "every 0 steps", "every -5 steps", "every 1.5 steps",
        "every 1099511627777", "every 18446744073709551615", "every 5 updates", "5", "all",
        "every 5 steps now", "none none", "every nan", "all evaluation"}) {
    EXPECT_NE(MessageOf([text] { KeepRule::Parse(text); }), "no error") << text;
  }
}

TEST(KeepRule, IsDueWhenStepsCrossTheInterval) {
  const KeepRule rule = KeepRule::Parse("every 100 steps");
  EXPECT_FALSE(rule.IsDue(0, 1));
  EXPECT_FALSE(rule.IsDue(98, 99));
  EXPECT_TRUE(rule.IsDue(99, 100));
  EXPECT_FALSE(rule.IsDue(100, 101));
  // Several environments advance by several steps at once.
  EXPECT_TRUE(rule.IsDue(96, 104));
  EXPECT_FALSE(rule.IsDue(104, 112));
  EXPECT_TRUE(rule.IsDue(192, 200));
  EXPECT_FALSE(rule.IsDue(200, 208));
  EXPECT_FALSE(KeepRule{}.IsDue(99, 100));
  EXPECT_FALSE(KeepRule::Parse("all evaluations").IsDue(99, 100));
}

class KeptWeightsTest : public ::testing::Test {
 protected:
  KeptWeightsTest() { SetLogLevel(LogLevel::kSilent); }
  ~KeptWeightsTest() override { SetLogLevel(LogLevel::kInfo); }

  static RunOptions Options(const std::string& keep, std::vector<std::string> assignments = {}) {
    assignments.push_back("checkpoint.keep_weights=" + keep);
    return SmallRunOptions("classic/cartpole", "dqn", assignments);
  }
  fs::path Run(const std::string& name, const RunOptions& options) const {
    EXPECT_TRUE(Trainer::Start(folder_ / name, options)->Run());
    return folder_ / name;
  }
  static std::vector<std::int64_t> StepsOf(const fs::path& run) {
    std::vector<std::int64_t> steps;
    for (const KeptWeights& kept : FindKeptWeights(run)) steps.push_back(kept.step);
    return steps;
  }

  FolderOfRuns folder_;
};

TEST_F(KeptWeightsTest, AreThoseOfTheirSteps) {
  const fs::path run = Run("run", Options("every 60 steps"));
  EXPECT_EQ(StepsOf(run), (std::vector<std::int64_t>{60, 120, 180, 240}));
  EXPECT_EQ(FindKeptWeights(run, 120).file, run / "weights/step-000000000120.safetensors");
  // A run that ends there has the same weights.
  const fs::path shorter = Run("shorter", Options("none", {"train.steps=120"}));
  EXPECT_TRUE(FileContent(run / "weights/step-000000000120.safetensors") ==
              FileContent(shorter / "weights/latest.safetensors"));
  EXPECT_TRUE(FileContent(run / "weights/step-000000000240.safetensors") ==
              FileContent(run / "weights/latest.safetensors"));
  const SavedAgent agent({.path = run, .step = 60});
  EXPECT_EQ(agent.weights_step(), 60);
  EXPECT_TRUE(agent.WeightsText().ends_with("step-000000000060.safetensors (step 60)"));
  // Keeping them changes nothing else.
  const fs::path without = Run("without", Options("none"));
  EXPECT_EQ(FileContent(run / "episodes.csv"), FileContent(without / "episodes.csv"));
  EXPECT_EQ(WithoutWallColumns(run / "metrics.csv"), WithoutWallColumns(without / "metrics.csv"));
}

TEST_F(KeptWeightsTest, OfEvaluationsAreThoseOfTheirRows) {
  const fs::path run = Run("run", Options("all evaluations"));
  EXPECT_EQ(StepsOf(run), (std::vector<std::int64_t>{80, 160, 240}));
  // The best is one of them.
  bool found = false;
  for (const KeptWeights& kept : FindKeptWeights(run)) {
    found |= FileContent(kept.file) == FileContent(run / "weights/best.safetensors");
  }
  EXPECT_TRUE(found);
}

// It is no part of the run's course, so a longer run does not have it.
TEST_F(KeptWeightsTest, TheEvaluationAtTheEndIsForgottenOnResume) {
  const std::vector<std::string> rare = {"eval.interval_steps=1000"};
  const fs::path straight = Run("straight", Options("all evaluations", rare));
  EXPECT_EQ(StepsOf(straight), (std::vector<std::int64_t>{240}));
  RunOptions options = Options("all evaluations", rare);
  options.train.steps = 100;
  const fs::path run = Run("run", options);
  EXPECT_EQ(StepsOf(run), (std::vector<std::int64_t>{100}));
  EXPECT_TRUE(Trainer::Resume(run, {.steps = 240})->Run());
  ExpectSameResults(run, straight);
}

// The copy is what a kill in that step would leave: weights from after its checkpoint.
TEST_F(KeptWeightsTest, ThoseAfterTheCheckpointAreRemovedOnResume) {
  for (const std::string keep : {"every 10 steps", "all evaluations"}) {
    const fs::path run = folder_ / keep, copy = folder_ / (keep + " copy");
    const auto copy_it = [&](const TrainProgress& now) {
      if (now.step == 115) fs::copy(run, copy, fs::copy_options::recursive);
    };
    EXPECT_TRUE(
        Trainer::Start(run, Options(keep, {"eval.interval_steps=10"}))->Run({.progress = copy_it}));
    WriteContent(copy / "weights/step-7.safetensors", "not ours");
    EXPECT_EQ(StepsOf(copy).back(), 110);
    const std::unique_ptr<Trainer> trainer = Trainer::Resume(copy);
    EXPECT_EQ(trainer->step(), 60);
    EXPECT_EQ(StepsOf(copy), (std::vector<std::int64_t>{10, 20, 30, 40, 50, 60}));
    EXPECT_TRUE(trainer->Run());
    EXPECT_EQ(FileContent(copy / "weights/step-7.safetensors"), "not ours");
    fs::remove(copy / "weights/step-7.safetensors");
    ExpectSameResults(copy, run);
  }
}

// A kill leaves the best weights of an evaluation after the checkpoint. To the resumed run it has
// not been: should the run stop before, the best are those from before the checkpoint.
TEST_F(KeptWeightsTest, TheBestAreThoseOfTheRunThatGoesOn) {
  const auto step_of_best = [](const fs::path& of) {
    return StepOf(SafetensorsFile(of / "weights/best.safetensors").content().metadata);
  };
  const std::vector<std::string> often = {"eval.interval_steps=10"};
  const fs::path run = folder_ / "run", copy = folder_ / "copy";
  const auto copy_it = [&](const TrainProgress& now) {
    if (now.step == 115) fs::copy(run, copy, fs::copy_options::recursive);
  };
  EXPECT_TRUE(Trainer::Start(run, Options("none", often))->Run({.progress = copy_it}));
  RunOptions until_then = Options("none", often);
  until_then.train.steps = 60;
  const fs::path shorter = Run("shorter", until_then);
  ASSERT_GT(step_of_best(copy), 60);  // or the test shows nothing

  EXPECT_FALSE(Trainer::Resume(copy)->Run({.stop = [] { return true; }}));
  EXPECT_LE(step_of_best(copy), 60);
  EXPECT_TRUE(FileContent(copy / "weights/best.safetensors") ==
              FileContent(shorter / "weights/best.safetensors"));
  EXPECT_TRUE(Trainer::Resume(copy)->Run());
  ExpectSameResults(copy, run);
  EXPECT_FALSE(fs::exists(copy / "weights/.best.safetensors.former"));
}

// Training does not depend on it.
TEST_F(KeptWeightsTest, ADamagedFileOfTheBestDoesNotStopARun) {
  const fs::path run = folder_ / "run";
  const auto halfway = [steps = 0]() mutable { return ++steps > 100; };
  EXPECT_FALSE(Trainer::Start(run, Options("none"))->Run({.stop = halfway}));
  WriteContent(run / "weights/best.safetensors", "damaged");
  EXPECT_TRUE(Trainer::Resume(run)->Run());
}

TEST_F(KeptWeightsTest, WhatIsNotThereIsExplained) {
  const fs::path run = Run("run", Options("every 60 steps"));
  const auto message = [&](std::int64_t step) {
    return MessageOf([&] { (void)FindKeptWeights(run, step); });
  };
  const std::string start = run.string() + ": the run has kept no weights in step ";
  EXPECT_EQ(message(100), start + "100; the nearest: step 60, step 120");
  EXPECT_EQ(message(1), start + "1; the nearest: step 60");
  EXPECT_EQ(message(1000), start + "1000; the nearest: step 240");
  EXPECT_EQ(MessageOf([&] { (void)FindKeptWeights(Run("none", Options("none"))); }),
            (folder_ / "none").string() +
                ": the run has kept no weights (checkpoint.keep_weights = \"none\"; with \"every N "
                "steps\" or \"all evaluations\" a run keeps them)");
  EXPECT_EQ(
      MessageOf([&] { (void)FindKeptWeights(Run("late", Options("every 1e6 steps"))); }),
      (folder_ / "late").string() +
          ": the run has kept no weights yet (checkpoint.keep_weights = \"every 1e6 steps\")");
  ExpectBadInput([&] { (void)FindKeptWeights(folder_ / "nowhere"); }, "there is no such run");
  ExpectBadInput([&] { (void)FindKeptWeights(folder_.path()); }, "it has no config.toml");
}

TEST_F(KeptWeightsTest, AWrongRuleMakesNoRun) {
  RunOptions options = Options("none");
  options.train.keep_weights = "sometimes";
  ExpectBadInput([&] { Trainer::Start(folder_ / "run", options); }, "checkpoint.keep_weights");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

}  // namespace stableaa::kept_weights_test
