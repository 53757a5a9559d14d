// Stopping and resuming runs, where runs are created, and full disks.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::train_stop_test {

namespace fs = std::filesystem;

// --- Ctrl-C --------------------------------------------------------------------------------------

// From "stopped in step 123; ...".
std::int64_t StoppedStep(const std::string& err, const std::string& run) {
  const std::string start = "stableaa: stopped in step ";
  for (const std::string& line : Lines(err)) {
    if (!line.starts_with(start)) continue;
    EXPECT_NE(line.find(fmt::format("stableaa train --resume {}", run)), std::string::npos) << line;
    return std::stoll(line.substr(start.size()));
  }
  ADD_FAILURE() << "not stopped: " << err;
  return -1;
}

TEST_F(TrainCommand, SignalsMakeACheckpointAtThatVeryStep) {
  const Arguments run = kCartpole + Sets({"checkpoint.interval_steps=1000000"});
  const auto with_steps = [&](const std::string& steps) {
    Arguments changed = run;
    *(std::ranges::find(changed, "--steps") + 1) = steps;
    return changed;
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string out = Path(fmt::format("signal{}", signal));
    Training training(with_steps("1000000") + kOneThread + Arguments{"--out", out});
    ASSERT_TRUE(training.Until([&] { return FileContent(out + "/episodes.csv").size() > 300; }));
    training.Signal(signal);
    const Outcome outcome = training.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_LT(outcome.seconds, 60);
    const std::int64_t step = StoppedStep(outcome.err, out);
    EXPECT_GT(step, 0);
    EXPECT_EQ(StepOf(out), step);
    // Goes on for some more steps and compares with a run of that length.
    const std::string end = std::to_string(step + 150);
    ExpectDone(Train({"--resume", out, "--steps", end}));
    EXPECT_EQ(StepOf(out), step + 150);
    const fs::path straight = Start(fmt::format("straight{}", signal), with_steps(end));
    ExpectSameResults(out, straight);
  }
}

// An evaluation that takes forever, at the last step or earlier.
TEST_F(TrainCommand, AStoppedEvaluationIsMadeAgain) {
  const Arguments run = Arguments{"--env", "classic/cartpole"} +
                        Sets({"network.hidden=[8]", "replay.start=50", "eval.interval_steps=100",
                              "eval.episodes=60000", "eval.parallel=1",
                              "train.log_interval_steps=40", "env.max_episode_steps=15"});
  for (const std::string steps : {"100", "130"}) {
    const fs::path straight = Start("straight" + steps, run + Arguments{"--steps", steps});
    EXPECT_EQ(Table(straight / "metrics.csv")["eval_return_mean"].back() != "", steps == "100");
    const std::string out = Path("stopped" + steps);
    const auto stop = [&](const Arguments& how, int times) {
      Training training(how);
      training.Until([&] { return training.HandlesInterrupts(); });
      SleepFor(.05);  // enough for its 100 steps, unless the machine is very busy
      for (int k = 0; k < times; ++k) {
        training.Signal(SIGINT);
        if (k + 1 < times) SleepFor(1e-4);
      }
      const Outcome outcome = training.Wait();
      if (outcome.err.find("complete") != std::string::npos || !outcome.out.empty()) {
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return;  // it was faster
      }
      if (outcome.exit_code == 0) StoppedStep(outcome.err, out);
      if (times == 1) {
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_LT(outcome.seconds, 60);
        EXPECT_LE(StepOf(out), 100);
        EXPECT_FALSE(fs::exists(out + "/weights/best.safetensors"));
      } else {
        // It may or may not have finished the checkpoint: the run is either unchanged or correct.
        EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == -SIGINT) << outcome.err;
      }
    };
    stop(run + kOneThread + Arguments{"--steps", steps, "--out", out}, 1);
    stop({"--resume", out}, 1);
    stop({"--resume", out}, 2);
    ExpectDone(Train({"--resume", out}));
    ExpectSameResults(out, straight);
  }
}

// --- Resume --------------------------------------------------------------------------------------

TEST_F(TrainCommand, ACompleteRunStaysAsItIs) {
  const fs::path run = Start("run", kCartpole);
  const Snapshot before = SnapshotOf(run);
  for (const Arguments& more : std::vector<Arguments>{{},
                                                      {"--threads", "2"},
                                                      {"--steps", "1500"},
                                                      {"--steps", "700"},
                                                      {"--steps", "0", "--threads", "3"}}) {
    const Outcome outcome = Train(Arguments{"--resume", run.string()} + more);
    ExpectDone(outcome);
    ExpectWords(outcome.err, {"complete", run.string()});
    ExpectUnchanged(run, before);
  }
}

TEST_F(TrainCommand, MoreStepsLeadToWhatALongerRunLeadsTo) {
  const fs::path longer = Start("longer", kCartpole);
  Arguments part = kCartpole;
  std::string& steps = *(std::ranges::find(part, "--steps") + 1);
  ASSERT_EQ(steps, "1500");
  for (const std::string first : {"0", "1", "99", "300", "777"}) {
    steps = first;
    const fs::path run = Start("run" + first, part);
    EXPECT_EQ(StepOf(run), std::stoll(first));
    ExpectDone(Train({"--resume", run.string(), "--steps", "1000", "--threads", "2"}));
    ExpectDone(Train({"--resume", run.string() + "/", "--steps", "1500"}));
    ExpectSameResults(run, longer);
    // The configuration says what the run is now.
    const std::string config = FileContent(run / "config.toml");
    EXPECT_NE(config.find("\nsteps = 1500\n"), std::string::npos);
    EXPECT_NE(config.find("\nthreads = 2\n"), std::string::npos);
  }
}

TEST_F(TrainCommand, OnlyStepsAndThreadsMayChange) {
  const fs::path run = Start("run", kCartpole);
  const Snapshot before = SnapshotOf(folder_.path());
  for (const Arguments& more : std::vector<Arguments>{{"--seed", "1"},
                                                      {"--env", "classic/cartpole"},
                                                      {"--preset", "stable-aa"},
                                                      {"--set", "train.steps=3000"},
                                                      {"--config", "x.toml"},
                                                      {"--out", Path("other")}}) {
    const std::string message =
        ExpectError(Train(Arguments{"--resume", run.string(), "--steps", "3000"} + more), 2);
    ExpectWords(message, {more.front(), "--resume"});
  }
  ExpectError(Train({"--resume", run.string(), "--steps", "-1"}), 2);
  ExpectError(Train({"--resume", run.string(), "--threads", "0"}), 2);
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(TrainCommand, ResumeNeedsARun) {
  fs::create_directory(Path("empty"));
  WriteContent(Path("file"), "text");
  const Snapshot before = SnapshotOf(folder_.path());
  for (const std::string name : {"none", "empty", "file", "file/x"}) {
    ExpectWords(ExpectError(Train({"--resume", Path(name)}), 2), {Path(name)});
  }
  ExpectError(Train({"--resume", ""}), 2);
  ExpectUnchanged(folder_.path(), before);
}

// --- Directories ---------------------------------------------------------------------------------

TEST_F(TrainCommand, NothingIsOverwritten) {
  const fs::path run = Start("run", kCartpole);
  fs::create_directory(Path("full"));
  WriteContent(Path("full/notes.txt"), "mine");
  WriteContent(Path("file"), "text");
  fs::create_symlink("nowhere", Path("link"));
  const Snapshot before = SnapshotOf(folder_.path());
  ExpectWords(ExpectError(Train(kCartpole + Arguments{"--out", run.string()}), 2),
              {run.string(), "--resume"});
  for (const std::string name : {"full", "file", "link", "run/"}) {
    ExpectWords(ExpectError(Train(kCartpole + Arguments{"--out", Path(name)}), 2),
                {fs::path(Path(name)).parent_path().string()});
  }
  for (const std::string name : {"", "/", ".", "..", "./"}) {
    ExpectWords(ExpectError(Train(kCartpole + Arguments{"--out", name}), 2), {"--out"});
  }
  // Errors from the system.
  for (const std::string name : {"file/run", "file/deep/run"}) {
    const Outcome outcome = Train(kCartpole + Arguments{"--out", Path(name)});
    ExpectWords(ExpectError(outcome, 1), {Path("file")});
  }
  ExpectWords(ExpectError(Train(kCartpole + Arguments{"--out", "/proc/no/run"}), 1), {"/proc/no"});
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(TrainCommand, AnEmptyOrMissingDirectoryIsFilled) {
  const fs::path straight = Start("straight", kCartpole);
  fs::create_directory(Path("empty"));
  Start("empty", kCartpole);
  Start("a/b/../c/", kCartpole);
  ExpectSameResults(Path("empty"), straight);
  ExpectSameResults(Path("a/c"), straight);
  EXPECT_EQ(Names(), (std::set<std::string>{"a", "empty", "straight"}));
}

TEST_F(TrainCommand, TheDefaultDirectoryNamesEnvironmentPresetAndSeed) {
  const fs::path here = fs::current_path();
  fs::current_path(folder_.path());
  const Outcome outcome =
      Train({"--env", "Classic/Cart-Pole", "--preset", "dqn", "--seed", "7", "--steps", "0"});
  fs::current_path(here);
  ExpectDone(outcome);
  EXPECT_TRUE(fs::exists(Path("runs/classic-cartpole-dqn-7/config.toml"))) << outcome.err;
}

TEST_F(TrainCommand, WhatAKilledStartLeftIsTakenOver) {
  const fs::path straight = Start("straight", kCartpole);
  fs::create_directories(Path(".run.tmp/checkpoint"));
  WriteContent(Path(".run.tmp/checkpoint/state.bin"), "half");
  WriteContent(Path(".run.tmp/config.toml"), "half");
  ExpectSameResults(Start("run", kCartpole), straight);
  EXPECT_EQ(Names(), (std::set<std::string>{"run", "straight"}));
}

// Every episode pays at least 8.
TEST_F(TrainCommand, EndsAtAReturnThatIsEnough) {
  const Arguments run = kCartpole + Sets({"eval.interval_steps=150", "eval.episodes=2"});
  const auto with_steps = [&](const std::string& steps) {
    Arguments changed = run;
    *(std::ranges::find(changed, "--steps") + 1) = steps;
    return changed;
  };
  const std::string out = Path("run");
  const Outcome outcome =
      Train(with_steps("1000000") + Arguments{"--out", out, "--until-return", "5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.out, {"run: 150 steps done, an evaluation has "});
  ExpectSameResults(out, Start("straight", with_steps("150")));
  // It has already been reached; without the flag, the run goes on.
  const Outcome again = Train({"--resume", out, "--until-return", "5"});
  ExpectWords(again.out, {"run: 150 steps done, an evaluation has "});
  ExpectDone(Train({"--resume", out, "--steps", "400", "--until-return", "1e9"}));
  ExpectSameResults(out, Start("longer", with_steps("400")));
  ExpectWords(ExpectError(Train(run + Arguments{"--out", Path("nan"), "--until-return", "nan"}), 2),
              {"--until-return"});
  EXPECT_FALSE(fs::exists(Path("nan")));
}

TEST_F(TrainCommand, ARunHasOneProcess) {
  const std::string out = Path("run");
  Arguments longer = kCartpole;
  *(std::ranges::find(longer, "--steps") + 1) = "1000000";
  Training first(longer + kOneThread + Arguments{"--out", out});
  ASSERT_TRUE(first.Until([&] { return FileContent(out + "/episodes.csv").size() > 100; }));
  ExpectWords(ExpectError(Train({"--resume", out}), 1), {"another process", out});
  ExpectWords(ExpectError(Train(kCartpole + Arguments{"--out", out}), 2), {"holds a run", out});
  ASSERT_TRUE(first.IsRunning());
  first.Signal(SIGINT);
  const Outcome outcome = first.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string end = std::to_string(StepOf(out));
  *(std::ranges::find(longer, "--steps") + 1) = end;
  const fs::path straight = Start("straight", longer);
  EXPECT_EQ(FileContent(fs::path(out) / "episodes.csv"), FileContent(straight / "episodes.csv"));
  EXPECT_TRUE(FileContent(fs::path(out) / "weights/latest.safetensors") ==
              FileContent(straight / "weights/latest.safetensors"));
}

// --- A full disk ---------------------------------------------------------------------------------

// A small file system in a mount namespace that ends with this process.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& where) : where_(where) {
    static const bool apart = ::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 &&
                              ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    fs::create_directory(where);
    mounted_ = apart && ::mount("tmpfs", where.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(where_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  void Resize(std::uint64_t bytes) const {
    const std::string size = fmt::format("size={}", bytes);
    ASSERT_EQ(::mount("tmpfs", where_.c_str(), "tmpfs", MS_REMOUNT, size.c_str()), 0);
  }

 private:
  const fs::path where_;
  bool mounted_ = false;
};

TEST_F(TrainCommand, AFullDiskLosesNothing) {
  const SmallDisk disk(Path("disk"));
  if (!disk.mounted()) GTEST_SKIP() << "only root can mount a small disk";
  const fs::path straight = Start("straight", kCartpole);
  std::set<std::string> refused;  // files
  int finished = 0, started = 0;
  for (std::uint64_t pages = 1; finished == 0; pages += pages < 20 ? 3 : 2) {
    SCOPED_TRACE(fmt::format("{} pages", pages));
    ASSERT_LT(pages, 200U);
    disk.Resize(pages * 4096);
    const std::string out = Path("disk/run");
    const Outcome outcome = Train(kCartpole + kOneThread + Arguments{"--out", out});
    if (outcome.exit_code == 0) {
      ++finished;
    } else {
      const std::string message = ErrorOf(outcome, 1);
      ExpectWords(message, {Path("disk/"), "No space left on device"});
      const fs::path file = message.substr(0, message.find(": No space")).substr(13);
      refused.insert(file.filename().string());
      if (fs::exists(out)) {
        ++started;
        // The message names a file that exists or that the checkpoint would have created.
        EXPECT_TRUE(file.string().starts_with(out + "/")) << message;
        // Without space it fails again, and still loses nothing.
        ErrorOf(Train({"--resume", out}), 1);
      } else {
        EXPECT_TRUE(fs::is_empty(Path("disk"))) << "half a run is left";
      }
    }
    disk.Resize(std::uint64_t{4} << 20);
    ExpectDone(Train(fs::exists(out) ? Arguments{"--resume", out}
                                     : kCartpole + kOneThread + Arguments{"--out", out}));
    ExpectSameResults(out, straight);
    fs::remove_all(out);
    if (HasFailure()) break;
  }
  EXPECT_GT(started, 3);
  EXPECT_TRUE(refused.contains("state.bin")) << fmt::format("{}", fmt::join(refused, " "));
}

}  // namespace stableaa::train_stop_test
