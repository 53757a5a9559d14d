#include "stableaa/experiment/sweep/run_progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa::run_progress_test {

namespace fs = std::filesystem;

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

TEST_F(RunProgressTest, TheRateOfLearningIsThatOfRowsWithUpdates) {
  const auto rate = [this](const std::string& rows) {
    Write(rows);
    return Read().learning_steps_per_second;
  };
  const std::string playing = "1000,0,,0.01,100000\n2000,0,,0.02,100000\n";
  EXPECT_EQ(rate(playing), 0);
  EXPECT_EQ(rate(playing + "3000,500,,2,500\n"), 0) << "one row is no stretch";
  EXPECT_EQ(rate(playing + "3000,500,,2,500\n4000,1500,,2.5,2000\n"), 0) << "too short";
  // Evaluations count.
  EXPECT_EQ(rate(playing + "3000,500,,2,500\n4000,1500,7,12,100\n5000,2500,,22,100\n"), 100);
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
  // Rows beyond the checkpoint do not count yet.
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
  // Not complete if more steps are asked for.
  options.train.steps = 150;
  EXPECT_FALSE(ReadRunCheckpoint(run)->IsComplete(options));
  // Nor if it was stopped during the evaluation at the last step.
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

// Runs of other versions order them differently.
TEST_F(RunProgressTest, ColumnsAreFoundByName) {
  WriteContent(folder_ / "metrics.csv",
               "wall_seconds,other,eval_return_mean,step\n2.5,x,7,100\n3.5,y,,200\n");
  const RunMetrics metrics = Read();
  EXPECT_EQ(metrics.step, 200);
  EXPECT_EQ(metrics.wall_seconds, 3.5);
  EXPECT_EQ(metrics.eval_return, 7);
  EXPECT_EQ(metrics.steps_per_second, 0) << "no such column";
}

TEST_F(RunProgressTest, WhatIsNoNumberIsPassedOver) {
  Write("100,0,5,1.5,66\n200,0,nan,inf,-inf\n-1,0,8,9,9\n1e300,0,8,9,9\nx,0,8,9,9\n300,0,8\n");
  const RunMetrics metrics = Read({.eval_return = 7});
  EXPECT_EQ(metrics.step, 200);
  EXPECT_EQ(metrics.wall_seconds, 1.5);
  EXPECT_EQ(metrics.steps_per_second, 66);
  EXPECT_EQ(metrics.eval_return, 5);
  EXPECT_FALSE(metrics.reached_step);
}

TEST_F(RunProgressTest, APipeInPlaceOfMetricsDoesNotHang) {
  ASSERT_EQ(::mkfifo((folder_ / "metrics.csv").c_str(), 0600), 0);
  EXPECT_EQ(Read().step, 0);
}

}  // namespace stableaa::run_progress_test
