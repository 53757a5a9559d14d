#include "stableaa/experiment/results/run_record.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/trainer.h"
#include "stableaa/testing/message.h"

namespace stableaa::run_record_test {

// A short real run of CartPole.
RunOptions ShortRun(std::int64_t steps) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, "classic/cartpole", "stable-aa");
  for (const char* const setting :
       {"replay.start=50", "eval.interval_steps=100", "eval.episodes=2",
        "train.log_interval_steps=50", "agent.target_interval_updates=20", "train.threads=1"}) {
    config.Set(setting);
  }
  options.train.steps = steps;
  return options;
}

TEST(Metrics, AreReadByColumnWithNothingForEmptyCells) {
  const MetricTable table = ParseMetrics("step,loss,eval\n10,,0.5\n20,0.25,\n30,1e-3,-7\n", "m");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"step", "loss", "eval"}));
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_TRUE(std::isnan(table.rows[0][1]));
  EXPECT_EQ(table.rows[2][1], 1e-3);
  const Curve evaluations = table.CurveOf("eval");
  ASSERT_EQ(evaluations.size(), 2U);
  EXPECT_EQ(evaluations[1].step, 30);
  EXPECT_EQ(evaluations[1].value, -7);
  EXPECT_TRUE(table.CurveOf("nothing").empty());
}

TEST(Metrics, LeaveOutALineThatIsBeingWritten) {
  EXPECT_EQ(ParseMetrics("step,loss\n10,1\n20,", "m").rows.size(), 1U);
  EXPECT_EQ(ParseMetrics("step,loss\n10,1\n20,3", "m").rows.size(), 1U);
  EXPECT_TRUE(ParseMetrics("step,lo", "m").rows.empty());
  EXPECT_TRUE(ParseMetrics("", "m").rows.empty());
}

TEST(Metrics, NameThePlaceOfWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return MessageOf([&] { ParseMetrics(text, "a/metrics.csv"); });
  };
  EXPECT_EQ(error("step,loss\n10,1\n20,x\n"),
            "a/metrics.csv:3: expected a number for loss, found 'x'");
  EXPECT_EQ(error("step,loss\n10\n"),
            "a/metrics.csv:2: expected 2 cells as in the first line, found 1");
  EXPECT_EQ(error("step,loss\n10,1\n10,1\n"),
            "a/metrics.csv:3: expected a step after 10, found 10");
  EXPECT_EQ(error("loss\n"),
            "a/metrics.csv:1: expected names of columns, 'step' among them, found 'loss'");
  for (const char* const step : {"-1", "1.5", "1e300", "inf", "nan", ""}) {
    EXPECT_TRUE(error(std::string("step,loss\n") + step + ",1\n").starts_with("a/metrics.csv:2"))
        << step;
  }
}

TEST(RunRecord, TellsWhatARealRunDid) {
  const FolderOfRuns folder;
  Trainer::Start(folder / "run", ShortRun(330))->Run();
  const RunRecord run = ReadRun(folder / "run");
  EXPECT_EQ(run.options.train.env, "classic/cartpole");
  EXPECT_EQ(run.settings.at("agent.mixer"), "\"stable\"");
  EXPECT_EQ(run.settings.at("replay.start"), "50");
  EXPECT_FALSE(run.description.at("machine").empty());
  ASSERT_EQ(run.evaluations.size(), 3U);
  EXPECT_EQ(run.evaluations.back().step, 300);
  EXPECT_EQ(run.step, 330) << "the last checkpoint is later than the last row";
  EXPECT_TRUE(run.complete());
  EXPECT_EQ(run.Status(), "complete");

  std::filesystem::remove(folder / "run" / "checkpoint" / "state.bin");
  const RunRecord without_checkpoint = ReadRun(folder / "run");
  EXPECT_EQ(without_checkpoint.step, 300);
  EXPECT_EQ(without_checkpoint.Status(), "at 90 %");

  WriteContent(folder / "run" / "diverged.npz", "");
  EXPECT_EQ(ReadRun(folder / "run").Status(), "diverged");
}

TEST(RunRecord, ReadsAHalfFinishedRunAndChangesNothing) {
  const FolderOfRuns folder;
  const auto trainer = Trainer::Start(folder / "run", ShortRun(1000));
  EXPECT_FALSE(trainer->Run({.stop = [&] { return trainer->step() >= 250; }}));
  const Snapshot before = SnapshotOf(folder / "run");
  const RunRecord run = ReadRun(folder / "run");  // while the trainer holds it
  EXPECT_EQ(run.Status(), "at 25 %");
  EXPECT_EQ(run.evaluations.size(), 2U);
  ExpectUnchanged(folder / "run", before);
}

TEST(RunRecord, RefusesWhatIsNoRunOrBroken) {
  const FolderOfRuns folder;
  EXPECT_NE(MessageOf([&] { ReadRun(folder / "nothing"); }).find("holds no run"),
            std::string::npos);
  Trainer::Start(folder / "run", ShortRun(120))->Run();
  const auto broken = [&](const std::string& file, const std::string& content) {
    const std::string former = FileContent(folder / "run" / file);
    WriteContent(folder / "run" / file, content);
    const std::string message = MessageOf([&] { ReadRun(folder / "run"); });
    WriteContent(folder / "run" / file, former);
    EXPECT_NE(message.find(file), std::string::npos) << message;
  };
  broken("config.toml", "train = 3\n");
  broken("config.toml", "\xff\xfe\n");
  broken("metrics.csv", std::string("step,\0\n1,\n2\n", 12));
  EXPECT_EQ(ReadRun(folder / "run").step, 120);
  // A pipe that nobody writes to.
  std::filesystem::remove(folder / "run" / "metrics.csv");
  ASSERT_EQ(::mkfifo((folder / "run" / "metrics.csv").c_str(), 0600), 0);
  EXPECT_NE(MessageOf([&] { ReadRun(folder / "run"); }).find("expected a regular file"),
            std::string::npos);
}

// Half of each of these is still a valid file of its kind.
TEST(RunRecord, RefusesHalfAFile) {
  const FolderOfRuns folder;
  Trainer::Start(folder / "run", ShortRun(330))->Run();
  const auto cut = [&](const std::string& name, std::size_t bytes) {
    const std::string whole = FileContent(folder / "run" / name);
    WriteContent(folder / "run" / name, whole.substr(0, bytes));
    const std::string message = MessageOf([&] { ReadRun(folder / "run"); });
    WriteContent(folder / "run" / name, whole);
    EXPECT_NE(message.find(name), std::string::npos) << message;
    return message;
  };
  const std::string config = FileContent(folder / "run" / "config.toml");
  cut("config.toml", 0);
  cut("config.toml", config.find("\n[") + 1);
  const std::string metrics = FileContent(folder / "run" / "metrics.csv");
  EXPECT_NE(cut("metrics.csv", metrics.find("\n250,") + 1)
                .find("ends in step 200, the run's checkpoint is of step 330"),
            std::string::npos);
  cut("metrics.csv", 0);
  EXPECT_TRUE(ReadRun(folder / "run").complete());
  // Nothing in it is needed for a comparison.
  WriteContent(folder / "run" / "run.json", "[1, 2");
  EXPECT_TRUE(ReadRun(folder / "run").description.empty());
}

TEST(FindRuns, TakesARunItselfOrAllBelowAFolder) {
  const FolderOfRuns folder;
  for (const char* const name : {"b/2", "b/1", "a", ".hidden", "b/1/checkpoint"}) {
    std::filesystem::create_directories(folder / name);
    WriteContent(folder / name / "config.toml", "");
  }
  std::filesystem::create_directories(folder / "empty");
  EXPECT_EQ(FindRuns(folder.path()),
            (std::vector<std::filesystem::path>{folder / "a", folder / "b/1", folder / "b/2"}));
  EXPECT_EQ(FindRuns(folder / "a"), std::vector<std::filesystem::path>{folder / "a"});
  EXPECT_NE(MessageOf([&] { FindRuns(folder / "empty"); }).find("holds no run"), std::string::npos);
  EXPECT_NE(MessageOf([&] { FindRuns(folder / "gone"); }).find("found nothing"), std::string::npos);
  EXPECT_NE(MessageOf([&] { FindRuns(folder / "a" / "config.toml"); }).find("found a file"),
            std::string::npos);
}

// Reports need no environment, so this program need not have registered it.
TEST(RunRecord, MayBeOnAnEnvironmentOfAnotherProgram) {
  const FolderOfRuns folder;
  RunOptions options = ShortRun(100);
  const auto read = [&](const std::string& env) {
    options.train.env = env;
    WriteContent(folder / "config.toml", ToToml(options));
    return ReadRun(folder.path());
  };
  EXPECT_EQ(read("mine/corridor").options.train.env, "mine/corridor");
  for (const std::string env : {"classic/corridor", "mine/../corridor", "corridor"}) {
    EXPECT_EQ(MessageOf([&] { read(env); }).find("there is no environment '" + env), 0U) << env;
  }
}

}  // namespace stableaa::run_record_test
