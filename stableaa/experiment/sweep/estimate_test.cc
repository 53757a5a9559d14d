#include "stableaa/experiment/sweep/estimate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/experiment/sweep/sweep_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::estimate_test {

namespace fs = std::filesystem;

TEST(SweepEstimate, MeasuresOneRunOfEachVariant) {
  const SuiteRuns suite(R"(
seeds = 3
[axes]
env = ["minatar/breakout", "classic/cartpole", "minatar/asterix"]
preset = ["dqn", "stable-aa"]
)");
  const std::vector<SweepRun>& runs = suite.runs;
  const ChosenVariants chosen = ChooseVariants(runs, 6);
  EXPECT_EQ(chosen.variants, 4U) << "two families, two presets";
  ASSERT_EQ(chosen.runs.size(), 4U);
  EXPECT_EQ(chosen.runs[0], 0U);
  // The other family is the farthest.
  EXPECT_TRUE(runs[chosen.runs[1]].run->options.train.env.starts_with("classic/"));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SuiteRun& like = *runs[chosen.runs[chosen.nearest[i]]].run;
    const SuiteRun& run = *runs[i].run;
    EXPECT_EQ(like.options.train.preset, run.options.train.preset);
    EXPECT_EQ(like.options.train.env[0], run.options.train.env[0]);
  }
  const ChosenVariants few = ChooseVariants(runs, 2);
  EXPECT_EQ(few.runs.size(), 2U);
  EXPECT_EQ(few.variants, 4U);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(few.nearest[i], runs[i].run->options.train.env.starts_with("classic/") ? 1U : 0U);
  }
  EXPECT_TRUE(ChooseVariants({}, 6).runs.empty());
}

TEST(SweepEstimate, JobsTakeTheNextRunEach) {
  const std::vector<RunEstimate> runs = {
      {.seconds = 4}, {.seconds = 1}, {.seconds = 2}, {.seconds = 3}, {.seconds = 0}};
  EXPECT_EQ(ScheduleSeconds(runs, 1), 10);
  EXPECT_EQ(ScheduleSeconds(runs, 2), 6);  // 4 | 1, 2, 3
  EXPECT_EQ(ScheduleSeconds(runs, 3), 4);  // 4 | 1, 3 | 2
  EXPECT_EQ(ScheduleSeconds(runs, 100), 4);
  EXPECT_EQ(ScheduleSeconds({}, 2), 0);
}

TEST(SweepEstimate, WhatIsLeftFollowsFromHowFastRunsLearn) {
  SuiteRuns suite("seeds = 4\nstop.steps = 1000\n");
  std::vector<SweepRun>& runs = suite.runs;
  runs[0].state = SweepState::kRunning;
  runs[1].state = SweepState::kRunning;
  runs[0].steps = 500;
  runs[0].steps_per_second = 1e6;  // random play
  EXPECT_EQ(RemainingSeconds(runs, {}, 2), std::nullopt);
  runs[0].learning_steps_per_second = 10;
  // 50 s and a whole run | a whole run like the first, and another.
  EXPECT_NEAR(*RemainingSeconds(runs, {}, 2), 200, 1e-9);
  EXPECT_NEAR(*RemainingSeconds(runs, {}, 1), 350, 1e-9);
  runs[1].learning_steps_per_second = 50;
  // The others take 60 s: 50 + 60 | 20 + 60.
  EXPECT_NEAR(*RemainingSeconds(runs, {}, 2), 110, 1e-9);
  runs[0].seconds = 50;
  EXPECT_NEAR(*RemainingSeconds(runs, {.minutes = 1}, 2), 80, 1e-9);
  runs[2].state = SweepState::kFailed;
  runs[3].state = SweepState::kDone;
  EXPECT_NEAR(*RemainingSeconds(runs, {}, 2), 50, 1e-9);
}

TEST(SweepEstimate, ExploresAsInTheEnd) {
  const auto epsilon = [](const std::string& set) {
    const Suite suite = ParseSuite("stop.steps = 1000\n[set]\n" + set, "my.toml");
    return ScaledDown(suite.runs[0].options).exploration.Epsilon(0);
  };
  EXPECT_EQ(epsilon("exploration.epsilon_end = 0.3"), 0.3);
  EXPECT_EQ(epsilon("exploration.epsilon = \"linear(1, 0, 2000)\""), 0.5);
  EXPECT_EQ(epsilon("exploration.epsilon = \"steps(1, 10: 0.2)\""), 0.2);
}

TEST(SweepEstimate, WhatIsMeasuredIsTheSameAgentThatLearnsSooner) {
  const Suite suite = ParseSuite("stop.steps = 5_000_000", "my.toml");
  const RunOptions& options = suite.runs[0].options;
  const RunOptions scaled = ScaledDown(options);
  scaled.Validate();
  EXPECT_LT(scaled.replay.start, options.replay.start);
  EXPECT_EQ(scaled.agent.targets, options.agent.targets);
  EXPECT_EQ(scaled.train.batch, options.train.batch);
  EXPECT_EQ(scaled.train.steps, options.train.steps) << "a short run is not measured for longer";
}

// By hand: 50 steps take 1 s, an evaluation takes 3 s.
TEST(SweepEstimate, SpeedIsThatOfLearningWithoutEvaluations) {
  const FolderOfRuns folder;
  const std::string header =
      "step,update,eval_return_mean,replay_states,wall_seconds,wall_replay_bytes_per_frame\n";
  std::string rows = "50,0,,50,0.001,40\n";  // not learning: fast
  double seconds = 0;
  for (int step = 100; step <= 1000; step += 50) {
    const bool evaluated = step % 300 == 0;
    seconds += evaluated ? 4 : 1;
    rows +=
        fmt::format("{},{},{},{},{},40\n", step, step - 50, evaluated ? "7" : "", step, seconds);
  }
  WriteContent(folder / "metrics.csv", header + rows + "1050,1000,");
  WriteContent(folder / "episodes.csv", std::string(500, 'x'));
  const VariantSpeed speed = SpeedOf(folder.path());
  EXPECT_NEAR(speed.steps_per_second, 50, 1e-9);
  EXPECT_NEAR(speed.evaluation_seconds, 3, 1e-9);
  EXPECT_EQ(speed.states, 1000);
  EXPECT_EQ(speed.log_bytes_per_step, 0.5);
  EXPECT_GE(speed.bytes_per_state, 40);
  WriteContent(folder / "metrics.csv", header);
  EXPECT_EQ(MessageOf([&] { SpeedOf(folder.path()); }, Error::Kind::kWorkFailed),
            "a run is too short to be measured");
}

// ---- With a command that trains nothing ----

// A process that leaves what `script` writes to the run's directory, $1.
TrainingCommand Shell(const std::string& script) {
  return [script](const TrainTask& task) -> std::vector<std::string> {
    return {"/bin/sh", "-c", script, "sh", task.run.string()};
  };
}

// 50 steps per second, 3 s for an evaluation of two games; 1000 states of 40 bytes plus 16 for
// their record; half a byte of episodes.csv per step.
constexpr const char* kMeasured =
    "mkdir \"$1\"\n"
    "echo step,update,eval_return_mean,replay_states,wall_seconds,wall_replay_bytes_per_frame "
    "> \"$1/metrics.csv\"\n"
    "printf '%s\\n' 100,1,,100,2,40 200,100,,200,4,40 300,200,7,300,9,40 400,300,,400,11,40 "
    "500,400,,1000,13,40 >> \"$1/metrics.csv\"\n"
    "printf '%250s' x > \"$1/episodes.csv\"\n";
constexpr double kMeasuredBytes = 84 + 16 + 18 + 19 + 19 + 20 + 250;

// Three seeds of 2000 steps with an evaluation of ten games every 500.
constexpr const char* kThreeRuns = R"(
seeds = 3
stop.steps = 2000
[set]
eval.interval_steps = 500
eval.episodes = 10
)";

TEST(SweepEstimate, IsWhatTheMeasuredSpeedMakesOfTheStepsLeft) {
  SuiteRuns suite(kThreeRuns);
  suite.runs[1].steps = 1000;
  suite.runs[2].state = SweepState::kDone;
  const SweepEstimate estimate =
      EstimateSweep(suite.runs, {}, {.train = Shell(kMeasured), .jobs = 1});
  EXPECT_EQ(estimate.variants, 1U);
  ASSERT_EQ(estimate.measured.size(), 1U);
  EXPECT_EQ(estimate.measured[0].name, "stable-aa on minatar/breakout");
  EXPECT_NEAR(estimate.measured[0].steps_per_second, 50, 1e-9);
  ASSERT_EQ(estimate.runs.size(), 3U);
  // 2000 steps at 50 per second, and four evaluations of ten games at 15 s each.
  EXPECT_NEAR(estimate.runs[0].seconds, 2000 / 50. + 4 * 15, 1e-9);
  EXPECT_NEAR(estimate.runs[1].seconds, 1000 / 50. + 2 * 15, 1e-9);
  EXPECT_EQ(estimate.runs[2].seconds, 0);
  EXPECT_NEAR(estimate.seconds, 150, 1e-9);
  // 1000 more states than measured, and the episodes of 2000 steps.
  EXPECT_NEAR(estimate.runs[0].bytes, kMeasuredBytes + 1000 * 56 + 2000 * .5, 1e-6);
  EXPECT_NEAR(estimate.bytes, 3 * estimate.runs[0].bytes, 1e-6);
}

TEST(SweepEstimate, TimeIsAtMostWhatTheSuiteAllows) {
  SuiteRuns suite(kThreeRuns);
  suite.runs[1].seconds = 50;
  suite.runs[2].seconds = 70;
  const SweepEstimate estimate =
      EstimateSweep(suite.runs, {.minutes = 1}, {.train = Shell(kMeasured), .jobs = 2});
  EXPECT_EQ(estimate.runs[0].seconds, 60);
  EXPECT_NEAR(estimate.runs[1].seconds, 10, 1e-9);
  EXPECT_EQ(estimate.runs[2].seconds, 0);
  EXPECT_EQ(estimate.seconds, 60);
}

TEST(SweepEstimate, ARunThatGoesOnIsToldToEnd) {
  const SuiteRuns suite(kThreeRuns);
  const SweepEstimate estimate = EstimateSweep(
      suite.runs, {},
      {.train =
           Shell(std::string("trap 'exit 0' TERM\n") + kMeasured + "while :; do sleep .01; done"),
       .jobs = 1,
       .seconds = .05});
  EXPECT_NEAR(estimate.measured.at(0).steps_per_second, 50, 1e-9);
}

TEST(SweepEstimate, WhatFailsSaysWhyAndLeavesNothingBehind) {
  const FolderOfRuns folder;
  ASSERT_EQ(::setenv("TMPDIR", folder.path().c_str(), 1), 0);
  const SuiteRuns suite(kThreeRuns);
  const auto message = [&](const EstimateOptions& options) {
    return MessageOf([&] { EstimateSweep(suite.runs, {}, options); }, Error::Kind::kWorkFailed);
  };
  EXPECT_EQ(message({.train = Shell("echo 'no such game' > \"$STABLEAA_ERROR_FILE\"; exit 1")}),
            "no such game");
  EXPECT_EQ(message({.train = Shell("echo words >&2; exit 3")}),
            "a run to measure ended with exit code 3");
  EXPECT_EQ(message({.train = Shell("sleep 60"), .interrupted = [] { return true; }}),
            "interrupted");
  EXPECT_TRUE(fs::is_empty(folder.path()));
  ::unsetenv("TMPDIR");
}

}  // namespace stableaa::estimate_test
