// stableaa sweep, as processes: sweeps that are stopped and killed.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "stableaa/cli/sweep_at_work_test.h"
#include "stableaa/core/random.h"

namespace stableaa::sweep_interruptions_test {

namespace fs = std::filesystem;

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
  ASSERT_TRUE(
      sweep.Until([&] { return sweep.ErrSoFar().find("stopping: ") != std::string::npos; }));
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

}  // namespace stableaa::sweep_interruptions_test
