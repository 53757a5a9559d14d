// The parts of a sweep that need no processes: what a run's files tell, what is shown, what is
// measured. cli/sweep_command_test.cc has the whole.

#include "stableaa/experiment/sweep/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/estimate.h"
#include "stableaa/experiment/sweep/run_progress.h"
#include "stableaa/experiment/sweep/status.h"
#include "stableaa/experiment/sweep/table.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa::sweep_test {

namespace fs = std::filesystem;

// ---- Progress ----

const std::string kHeader = "step,update,eval_return_mean,wall_seconds,wall_steps_per_second\n";

class RunProgressTest : public ::testing::Test {
 protected:
  void Write(const std::string& rows) { WriteContent(folder_ / "metrics.csv", kHeader + rows); }
  RunMetrics Read(const MetricsQuestion& question = {}) const {
    return ReadRunMetrics(folder_.path(), question);
  }

  FolderOfRuns folder_;
};

TEST_F(RunProgressTest, IsThatOfTheLastRow) {
  Write("100,0,,1.5,66\n200,50,3.25,3.5,50\n300,99,,5.5,40\n");
  const RunMetrics metrics = Read();
  EXPECT_EQ(metrics.step, 300);
  EXPECT_EQ(metrics.wall_seconds, 5.5);
  EXPECT_EQ(metrics.steps_per_second, 40);
  EXPECT_EQ(metrics.eval_return, 3.25) << "of the last evaluation";
  EXPECT_FALSE(metrics.reached_step);
}

TEST_F(RunProgressTest, ARowThatIsBeingWrittenDoesNotCount) {
  const std::string rows = "100,0,,1.5,66\n200,50,3.25,3.5,50\n";
  for (std::size_t size = 14; size < rows.size(); ++size) {
    Write(rows.substr(0, size));
    EXPECT_EQ(Read().step, 100) << size;
    EXPECT_FALSE(Read().eval_return);
  }
  Write(rows);
  EXPECT_EQ(Read().step, 200);
}

TEST_F(RunProgressTest, NoRowsAreNoSteps) {
  EXPECT_EQ(Read().step, 0);
  Write("");
  EXPECT_EQ(Read().step, 0);
  for (const std::string broken : {"", "\n\n", "step", "step\nx\n", "a,b\n1,2\n", "step\n\"1\n"}) {
    WriteContent(folder_ / "metrics.csv", broken);
    EXPECT_EQ(Read().step, 0) << broken;
  }
}

TEST_F(RunProgressTest, TheFirstEvaluationThatReachesTheReturnCounts) {
  Write("1,0,4,1,1\n2,0,,1,1\n3,0,5.5,1,1\n4,0,9,1,1\n5,0,1,1,1\n");
  const RunMetrics metrics = Read({.eval_return = 5});
  EXPECT_EQ(metrics.reached_step, 3);
  EXPECT_EQ(metrics.reached_return, 5.5);
  EXPECT_EQ(metrics.eval_return, 1);
  EXPECT_FALSE(Read({.eval_return = 9.5}).reached_step);
  // Rows beyond the checkpoint are not yet to be believed.
  EXPECT_EQ(Read({.eval_return = 5, .last_step = 3}).reached_step, 3);
  EXPECT_FALSE(Read({.eval_return = 5, .last_step = 2}).reached_step);
  EXPECT_EQ(Read({.last_step = 2}).step, 2);
}

TEST_F(RunProgressTest, OnlyTheEndOfALongFileIsRead) {
  std::string rows;
  for (int step = 1; step <= 1000; ++step) rows += fmt::format("{},0,{},1,1\n", step, step);
  Write(rows);
  EXPECT_EQ(Read({.max_bytes = 100}).step, 1000);
  EXPECT_EQ(Read({.eval_return = 3, .max_bytes = 25}).reached_step, 1000);
  EXPECT_EQ(Read({.max_bytes = 5}).step, 0) << "no whole row";
  EXPECT_EQ(Read({.eval_return = 3}).reached_step, 3);
}

TEST_F(RunProgressTest, CheckpointsAreThoseOfTheTrainer) {
  RunOptions options;
  options.train.env = "classic/cartpole";
  options.train.steps = 120;
  options.train.threads = 1;
  options.replay.start = 1000;
  options.eval.interval_steps = 50;
  options.eval.episodes = 1;
  const fs::path run = folder_ / "run";
  EXPECT_FALSE(ReadRunCheckpoint(run));
  {
    const auto trainer = Trainer::Start(run, options);
    ASSERT_TRUE(ReadRunCheckpoint(run));
    EXPECT_EQ(ReadRunCheckpoint(run)->step, 0);
    EXPECT_TRUE(RunIsLocked(run));
    trainer->Run({.stop = [&] { return trainer->step() >= 70; }});
  }
  EXPECT_FALSE(RunIsLocked(run));
  const auto checkpoint = ReadRunCheckpoint(run);
  EXPECT_EQ(checkpoint->step, 70);
  EXPECT_EQ(checkpoint->evaluated_step, 50);
  EXPECT_FALSE(checkpoint->IsComplete(options));
  Trainer::Resume(run)->Run();
  EXPECT_TRUE(ReadRunCheckpoint(run)->IsComplete(options));
  EXPECT_EQ(Trainer::Resume(run), nullptr) << "which says the same";
  // For more steps it is not.
  options.train.steps = 150;
  EXPECT_FALSE(ReadRunCheckpoint(run)->IsComplete(options));
  // Nor where an evaluation in the last step was stopped.
  options.train.steps = 150;
  EXPECT_FALSE((CheckpointHead{.step = 150, .evaluated_step = 100}.IsComplete(options)));
  EXPECT_TRUE((CheckpointHead{.step = 150, .evaluated_step = 150}.IsComplete(options)));

  WriteContent(run / "checkpoint/state.bin", "STABLEAArun, but short");
  EXPECT_FALSE(ReadRunCheckpoint(run));
  WriteContent(run / "checkpoint/state.bin", std::string(100, 'x'));
  EXPECT_FALSE(ReadRunCheckpoint(run));
}

TEST_F(RunProgressTest, ARunThatIsBeingMadeIsLockedToo) {
  EXPECT_FALSE(RunIsLocked(folder_ / "run"));
  fs::create_directory(folder_ / ".run.tmp");
  EXPECT_FALSE(RunIsLocked(folder_ / "run"));
  const Descriptor lock(::open((folder_ / ".run.tmp").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  EXPECT_TRUE(RunIsLocked(folder_ / "run"));
}

// ---- What a process said ----

TEST_F(RunProgressTest, TheLastErrorOfALogIsFound) {
  const fs::path log = folder_ / "log";
  EXPECT_EQ(LastError(log, 0), "");
  const std::string first = "stableaa: error: the first time\n";
  WriteContent(log, first + "stableaa: training\nstableaa: error: disk full\nprogress\n\n");
  EXPECT_EQ(LastError(log, 0), "disk full");
  WriteContent(log, first + "terminate called\n\n");
  EXPECT_EQ(LastError(log, first.size()), "terminate called");
  WriteContent(log, first);
  EXPECT_EQ(LastError(log, first.size()), "");
}

// ---- Status ----

class SweepStatusTest : public ::testing::Test {
 protected:
  SweepStatusTest() {
    for (const SuiteRun& run : suite_.runs) runs_.push_back({.run = &run});
  }

  const Suite suite_ = ParseSuite(R"(
title = "Four"
seeds = 2
stop.steps = 1000
[axes]
agent.eta = [0.5, 2.0]
)",
                                  "my.toml");
  std::vector<SweepRun> runs_;
};

TEST_F(SweepStatusTest, SharesAndCounts) {
  runs_[0].steps = 250;
  EXPECT_EQ(runs_[0].Share(), 0.25);
  EXPECT_EQ(runs_[0].StepsLeft(), 750);
  runs_[1].steps = 5000;
  EXPECT_EQ(runs_[1].Share(), 1);
  EXPECT_EQ(runs_[1].StepsLeft(), 0);
  runs_[1].state = SweepState::kDone;
  runs_[2].state = SweepState::kFailed;
  const SweepCounts counts = Count(runs_);
  EXPECT_EQ(counts.pending, 2U);
  EXPECT_EQ(counts.done, 1U);
  EXPECT_EQ(counts.failed, 1U);
}

TEST_F(SweepStatusTest, SweepJsonTellsAndReadsBack) {
  const FolderOfRuns folder;
  runs_[0].state = SweepState::kFailed;
  runs_[0].message = "bad \xff bytes and \"quotes\"";
  runs_[1].seconds = 12.25;
  const fs::path file = folder / "sweep.json";
  EXPECT_TRUE(ReadSweepJson(file).runs.empty());
  WriteSweepJson(file, suite_.title, runs_);
  const auto json = nlohmann::json::parse(FileContent(file));
  EXPECT_EQ(json["title"], "Four");
  ASSERT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["runs"][0]["status"], "failed");
  EXPECT_EQ(json["runs"][1]["values"]["agent.eta"], 2);
  EXPECT_EQ(json["runs"][2]["seed"], 2);
  EXPECT_TRUE(json["runs"][0]["eval_return"].is_null());
  const SweepNotes notes = ReadSweepJson(file);
  EXPECT_EQ(notes.title, "Four");
  EXPECT_EQ(notes.runs.size(), 4U);
  EXPECT_EQ(notes.runs.at("minatar-breakout-stable-aa-eta-2-1").seconds, 12.25);
  EXPECT_EQ(notes.runs.at("minatar-breakout-stable-aa-eta-2-1").status, "pending");
  EXPECT_EQ(notes.runs.at("minatar-breakout-stable-aa-eta-2-1").steps_wanted,
            json["runs"][0]["steps_wanted"].get<std::int64_t>());
  WriteContent(file, R"({"runs": [{"name": "a", "steps_wanted": -1},
                                  {"name": "b", "steps_wanted": 18446744073709551615}]})");
  for (const auto& [name, run] : ReadSweepJson(file).runs) EXPECT_FALSE(run.steps_wanted) << name;
  for (const std::string broken : {"", "[]", "{", "{\"runs\": 3}", "{\"runs\": [3, {}]}",
                                   "{\"runs\": [{\"name\": 3, \"seconds\": \"x\"}]}"}) {
    WriteContent(file, broken);
    EXPECT_TRUE(ReadSweepJson(file).runs.empty()) << broken;
  }
}

// ---- The table ----

TEST_F(SweepStatusTest, TheTableHasTheRunsAtWorkAndASummary) {
  runs_[0].state = SweepState::kDone;
  for (const std::size_t i : {1, 2}) runs_[i].state = SweepState::kRunning;
  runs_[1].steps = 459;
  runs_[1].steps_per_second = 812;
  runs_[1].eval_return = 3.25;
  EXPECT_EQ(
      SweepRows(runs_, 4321, 79, 23),
      (std::vector<std::string>{"minatar-breakout-stable-aa-eta-2-1     45%    812/s  eval 3.25",
                                "minatar-breakout-stable-aa-eta-0.5-2    0%",
                                "1 of 4 done, 2 running, 1 waiting, 1h12m left"}));
  EXPECT_EQ(SweepSummary({}, std::nullopt), "0 of 0 done");
}

TEST_F(SweepStatusTest, TheTableFitsAnyTerminal) {
  for (SweepRun& run : runs_) {
    run.state = SweepState::kRunning;
    run.steps_per_second = 12345;
    run.eval_return = -1234.5;
  }
  for (std::size_t columns = 1; columns < 90; ++columns) {
    for (std::size_t rows = 1; rows < 8; ++rows) {
      const std::vector<std::string> lines = SweepRows(runs_, 1e8, columns, rows);
      EXPECT_LE(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
      EXPECT_TRUE(lines.back().starts_with(std::string("0 of 4 done").substr(0, columns)));
      EXPECT_EQ(lines.size(), std::min<std::size_t>(rows, 5));
    }
  }
  EXPECT_EQ(SweepRows(runs_, {}, 80, 3)[1], "... and 3 more");
  // Of long names the end is shown, which distinguishes them.
  EXPECT_EQ(SweepRows(runs_, {}, 50, 9)[3], "..-stable-aa-eta-2-2    0%    12k/s  eval -1234");
}

TEST(SweepTable, LeavesTheCursorAtItsBeginning) {
  EXPECT_EQ(AsLiveLine({"a"}), "a\x1b[K\x1b[J\r");
  EXPECT_EQ(AsLiveLine({"a", "b", "c"}), "a\x1b[K\nb\x1b[K\nc\x1b[K\x1b[J\x1b[2A\r");
}

// ---- Estimates ----

std::vector<SweepRun> RunsOf(const Suite& suite) {
  std::vector<SweepRun> runs;
  for (const SuiteRun& run : suite.runs) runs.push_back({.run = &run});
  return runs;
}

TEST(SweepEstimate, MeasuresOneRunOfEachVariant) {
  const Suite suite = ParseSuite(R"(
seeds = 3
[axes]
env = ["minatar/breakout", "classic/cartpole", "minatar/asterix"]
preset = ["dqn", "stable-aa"]
)",
                                 "my.toml");
  const std::vector<SweepRun> runs = RunsOf(suite);
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

// By hand: 50 steps take 1 s, an evaluation 3 s.
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
  EXPECT_THROW(SpeedOf(folder.path()), Error);
}

// ---- What is there ----

TEST_F(SweepStatusTest, LookingChangesNothing) {
  const FolderOfRuns folder;
  const Snapshot before = SnapshotOf(folder.path());
  const Sweep sweep(suite_, {.out = folder / "out"});
  EXPECT_EQ(sweep.runs().size(), 4U);
  EXPECT_EQ(Count(sweep.runs()).pending, 4U);
  ExpectUnchanged(folder.path(), before);
}

}  // namespace stableaa::sweep_test
