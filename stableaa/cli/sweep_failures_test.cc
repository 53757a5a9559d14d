// stableaa sweep, as processes: runs that fail, and runs that end before their last step.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "stableaa/cli/sweep_at_work_test.h"

namespace stableaa::sweep_failures_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

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
  SuiteText suite{.set = {"network.hidden=[16, 16]", "replay.start=100", "eval.interval_steps=0",
                          "train.log_interval_steps=100000000"}};
  Outcome outcome;
  // A busy machine may need more time than that to start a run, which then ends before it begins.
  for (const std::string minutes : {"0.005", "0.05", "0.5"}) {
    suite.stop = "steps = 200000000\nminutes = " + minutes;
    outcome = Sweep(suite);
    if (outcome.err.find("was killed by signal 15") != std::string::npos) continue;
    ExpectWords(outcome.err, {"its " + minutes + " minutes were over in step "});
    break;
  }
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Snapshot before = SnapshotOf(Run("classic-cartpole-stable-aa-1"));
  EXPECT_EQ(Sweep(suite).exit_code, 0);
  ExpectUnchanged(Run("classic-cartpole-stable-aa-1"), before);
}

}  // namespace stableaa::sweep_failures_test
