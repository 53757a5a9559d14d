#include "stableaa/experiment/sweep/training_process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::training_process_test {

namespace fs = std::filesystem;

class TrainingProcessTest : public ::testing::Test {
 protected:
  // With the run's directory as $1.
  static TrainingCommand Shell(const std::string& script) {
    return [script](const TrainTask& task) -> std::vector<std::string> {
      return {"/bin/sh", "-c", script, "sh", task.run.string()};
    };
  }
  TrainingProcess Start(const TrainingCommand& command) const {
    return {command, {.run = folder_ / "run"}, files_};
  }
  static bool Until(const std::function<bool()>& holds) {
    for (int i = 0; i < 10'000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static bool Ends(TrainingProcess& process) {
    return Until([&] { return process.HasEnded(); });
  }

  const FolderOfRuns folder_;
  const TrainingProcess::Files files_ = {folder_ / "a.log", folder_ / "a.error"};
};

TEST_F(TrainingProcessTest, TheCommandIsGivenTheTask) {
  TrainTask seen;
  const TrainTask task{.run = folder_ / "run",
                       .config = "a.toml",
                       .steps = 7,
                       .threads = 3,
                       .trust = true,
                       .enough_return = 2.5};
  TrainingProcess process(
      [&](const TrainTask& given) -> std::vector<std::string> {
        seen = given;
        return {"true"};
      },
      task, files_);
  EXPECT_EQ(seen.run, task.run);
  EXPECT_EQ(seen.config, "a.toml");
  EXPECT_EQ(seen.steps, 7);
  EXPECT_EQ(seen.threads, 3);
  EXPECT_TRUE(seen.trust);
  EXPECT_EQ(seen.enough_return, 2.5);
  ASSERT_TRUE(Ends(process));
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_EQ(process.Failure(), "");
}

TEST_F(TrainingProcessTest, WhatItSaysIsAppendedToTheLog) {
  for (int i = 0; i < 2; ++i) {
    TrainingProcess process = Start(Shell("echo \"$1\"; echo stderr >&2"));
    ASSERT_TRUE(Ends(process));
  }
  const std::string once = (folder_ / "run").string() + "\nstderr\n";
  EXPECT_EQ(FileContent(files_.log), once + once);
}

TEST_F(TrainingProcessTest, FailuresAreToldInTheErrorFile) {
  TrainingProcess first = Start(Shell("echo 'no room' > \"$STABLEAA_ERROR_FILE\"; kill -9 $$"));
  ASSERT_TRUE(Ends(first));
  EXPECT_FALSE(first.exit_code());
  EXPECT_EQ(first.End(), "was killed by signal 9 (Killed)");
  EXPECT_EQ(first.Failure(), "no room");
  // The next try starts with an empty file, and output elsewhere is no error.
  TrainingProcess second = Start(Shell("echo 'stableaa: error: no' >&2; exit 3"));
  ASSERT_TRUE(Ends(second));
  EXPECT_EQ(second.exit_code(), 3);
  EXPECT_EQ(second.Failure(), "");
}

TEST_F(TrainingProcessTest, IsToldToEndOnce) {
  TrainingProcess process =
      Start(Shell("trap 'echo end' TERM; echo ready; while :; do sleep .01; done"));
  const auto log_is = [&](const std::string& text) { return FileContent(files_.log) == text; };
  ASSERT_TRUE(Until([&] { return log_is("ready\n"); }));
  process.TellToEnd();
  ASSERT_TRUE(Until([&] { return log_is("ready\nend\n"); }));
  process.TellToEnd();
  EXPECT_FALSE(process.HasEnded());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(FileContent(files_.log), "ready\nend\n");
  process.Kill();
  EXPECT_TRUE(process.HasEnded());
}

TEST_F(TrainingProcessTest, NeedsACommandThatCanBeStarted) {
  const std::string none = "expected a command that trains a run, found none";
  EXPECT_EQ(MessageOf([&] { Start({}); }), none);
  EXPECT_EQ(MessageOf([&] { Start([](const TrainTask&) { return std::vector<std::string>(); }); }),
            none);
  EXPECT_EQ(
      MessageOf(
          [&] { Start([](const TrainTask&) -> std::vector<std::string> { return {"/no/such"}; }); },
          Error::Kind::kWorkFailed),
      "cannot start '/no/such': No such file or directory");
}

}  // namespace stableaa::training_process_test
