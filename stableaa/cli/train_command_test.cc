// stableaa train, as processes: runs that are killed, stopped, starved of disk and damaged.
//
// The one promise behind all of it: whatever happens, a run goes on to the same metrics.csv,
// episodes.csv (wall_ columns aside) and weights as one to which nothing happened.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::train_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

bool HasAtari() { return ::access(STABLEAA_ATARI_PYTHON, X_OK) == 0; }
const std::string kPython = "env.python=" STABLEAA_ATARI_PYTHON;

class Training : public ProgramAtWork {
 public:
  explicit Training(const Arguments& arguments) : ProgramAtWork(Arguments{"train"} + arguments) {}
};

Outcome Train(const Arguments& arguments) { return Training(arguments).Wait(); }

void ExpectDone(const Outcome& outcome) { EXPECT_EQ(outcome.exit_code, 0) << outcome.err; }

// The only error among other messages, which has to be the last line.
std::string ErrorOf(const Outcome& outcome, int exit_code) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  const std::vector<std::string> lines = Lines(outcome.err);
  const std::string start = "stableaa: error: ";
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [&](const std::string& line) { return line.starts_with(start); }),
            1)
      << outcome.err;
  if (lines.empty() || !lines.back().starts_with(start)) {
    ADD_FAILURE() << "expected an error at the end: " << outcome.err;
    return "";
  }
  return lines.back().substr(start.size());
}

// Small, but with all that a run has: 14 shifts of targets, 5 evaluations, 15 checkpoints.
const Arguments kCartpole =
    Arguments{"--env", "classic/cartpole", "--steps", "1500"} +
    Sets({"network.hidden=[16,16]", "train.batch=8", "replay.start=100",
          "agent.target_interval_updates=100", "eval.interval_steps=300", "eval.episodes=2",
          "train.log_interval_steps=100", "checkpoint.interval_steps=100",
          "exploration.epsilon_steps=500"});

const Arguments kOneThread = {"--threads", "1"};

class TrainCommand : public ::testing::Test {
 protected:
  // Else OpenMP's threads wait for one another busily, which takes for ever where there are fewer
  // cores than threads or others work on them.
  TrainCommand() { ::setenv("OMP_WAIT_POLICY", "passive", 1); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  fs::path Start(const std::string& name, const Arguments& arguments) const {
    ExpectDone(Train(arguments + kOneThread + Arguments{"--out", Path(name)}));
    return Path(name);
  }

  FolderOfRuns folder_;
};

class FullTrainCommand : public TrainCommand {};

// --- Kills ---------------------------------------------------------------------------------------

struct Kills {
  int most = 6;
  int max_threads = 1;  // each part of the run has another number
  std::uint64_t seed = 1;
};

// Lets the program run up to a moment chosen at random: soon after its start, after some time,
// after a number of checkpoints or of episodes.
void RunToSomeMoment(Training& training, const fs::path& run, double duration,
                     RandomStream& random) {
  const auto writes_of = [](const fs::path& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  };
  const auto kind = random.Below(4);
  if (kind == 0) {
    SleepFor(random.Uniform(0, .04));
  } else if (kind == 1) {
    const auto end = std::chrono::steady_clock::now() + Seconds(random.Uniform(0, duration / 2));
    training.Until([end] { return std::chrono::steady_clock::now() > end; });
  } else if (kind == 2) {
    auto left = random.Below(4);
    auto last = writes_of(run / "checkpoint/state.bin");
    training.Until([&] {
      const auto now = writes_of(run / "checkpoint/state.bin");
      if (now != last && left > 0) --left;
      last = now;
      return left == 0;
    });
    SleepFor(random.Uniform(0, duration / 30));
  } else {
    std::error_code none;
    const auto size = [&] {
      const auto bytes = fs::file_size(run / "episodes.csv", none);
      return none ? 0 : bytes;
    };
    const auto begin = size();
    const auto more = 20 * (1 + random.Below(20));
    training.Until([&] { return size() > begin + more; });
  }
}

// Trains without and with kills, and compares.
void ExpectKillsToChangeNothing(const fs::path& folder, const Arguments& arguments,
                                const Kills& kills) {
  const fs::path straight = folder / "straight", killed = folder / "killed";
  fs::remove_all(straight);
  fs::remove_all(killed);
  const auto begin = std::chrono::steady_clock::now();
  ExpectDone(Train(arguments + kOneThread + Arguments{"--out", straight.string()}));
  const double duration = Seconds(std::chrono::steady_clock::now() - begin).count();
  const Table metrics(straight / "metrics.csv");
  ASSERT_GT(metrics.rows(), 0U);

  RandomStream random(kills.seed, "kills");
  int done = 0;
  for (int k = 0; k <= kills.most; ++k) {
    const std::string threads =
        std::to_string(random.Integer(1, static_cast<std::int64_t>(kills.max_threads)));
    // --trust: the tests' Python is the default of one build tree only.
    const Arguments how = fs::exists(killed) ? Arguments{"--resume", killed.string(), "--trust"}
                                             : arguments + Arguments{"--out", killed.string()};
    Training training(how + Arguments{"--threads", threads});
    if (k < kills.most) {
      RunToSomeMoment(training, killed, duration, random);
      training.Signal(SIGKILL);
    }
    const Outcome outcome = training.Wait();
    if (outcome.exit_code == -SIGKILL) {
      ++done;
      continue;
    }
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    break;  // it was faster than the kill
  }
  ::testing::Test::RecordProperty("kills", done);
  ExpectSameResults(killed, straight);
}

TEST_F(TrainCommand, KillsChangeNothing) {
  ExpectKillsToChangeNothing(folder_.path(), kCartpole, {.most = 6, .max_threads = 2});
}

TEST_F(FullTrainCommand, KillsChangeNothingForAnyAgent) {
  std::uint64_t seed = 2;
  for (const Arguments& variant : std::vector<Arguments>{
           Sets({"agent.n_step=3", "replay.prioritized=true", "replay.importance_steps=1000"}),
           Sets({"agent.weights.refresh=update", "train.lookahead_updates=3"}),
           Arguments{"--preset", "double-dqn"} + Sets({"replay.compression=lz4"}),
           Sets({"agent.backup=double", "agent.weights.eta=auto", "agent.weights.safeguard=true"}),
           Sets({"replay.size=200", "replay.compression=zstd", "train.lookahead_updates=0"}),
           Arguments{"--preset", "raa"} +
               Sets({"replay.size=150", "replay.prioritized=true", "agent.restart=growth",
                     "agent.n_step=5", "agent.restart_growth=1.01"}),
           Arguments{"--preset", "averaged-dqn"} +
               Sets({"agent.restart=interval", "agent.restart_interval_updates=250",
                     "checkpoint.interval_steps=50", "exploration.policy=max-entropy"}),
           Sets({"agent.mixer=anderson", "agent.backup=dynamic-boltzmann",
                 "exploration.policy=softmax", "train.update_interval_steps=3",
                 "train.log_interval_steps=7", "agent.target_interval_updates=40"})}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(variant, " ")));
    ExpectKillsToChangeNothing(folder_.path(), kCartpole + variant,
                               {.most = 7, .max_threads = 3, .seed = seed++});
  }
}

TEST_F(FullTrainCommand, KillsChangeNothingOnMinatar) {
  const Arguments breakout =
      Arguments{"--env", "minatar/breakout", "--steps", "600"} +
      Sets({"train.batch=8", "replay.start=100", "agent.target_interval_updates=60",
            "agent.weights.batch=64", "eval.interval_steps=200", "eval.episodes=2",
            "env.max_episode_steps=150", "train.log_interval_steps=50",
            "checkpoint.interval_steps=50", "exploration.epsilon_steps=300"});
  ExpectKillsToChangeNothing(folder_.path(), breakout, {.most = 6, .max_threads = 3, .seed = 21});
  ExpectKillsToChangeNothing(folder_.path(),
                             breakout + Arguments{"--preset", "dueling-dqn"} +
                                 Sets({"agent.n_step=3", "replay.prioritized=true",
                                       "replay.compression=lz4", "replay.size=256"}),
                             {.most = 6, .max_threads = 3, .seed = 22});
}

TEST_F(FullTrainCommand, KillsChangeNothingOnAtari) {
  if (!HasAtari()) GTEST_SKIP() << "scripts/atari makes a Python with ale-py";
  ExpectKillsToChangeNothing(
      folder_.path(),
      Arguments{"--env", "atari/pong", "--steps", "300"} +
          Sets({kPython, "train.batch=8", "replay.start=60", "agent.target_interval_updates=8",
                "agent.weights.batch=16", "eval.interval_steps=100", "eval.episodes=2",
                "env.max_episode_steps=45", "train.log_interval_steps=20", "replay.size=200",
                "checkpoint.interval_steps=30", "exploration.epsilon_steps=150"}),
      {.most = 4, .max_threads = 2, .seed = 31});
}

// --- A kill before each single system call that changes something --------------------------------

bool Changes(std::uint64_t number, std::uint64_t open_flags) {
  switch (number) {
    case SYS_openat:
      return (open_flags & O_CREAT) != 0;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_ftruncate:
    case SYS_fsync:
    case SYS_mkdirat:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
#ifdef SYS_mkdir
    case SYS_mkdir:
    case SYS_rename:
    case SYS_unlink:
    case SYS_rmdir:
#endif
      return true;
    default:
      return false;
  }
}

// Runs the program and kills it when it is about to make such a call for the `count`-th time. Its
// exit status, or nothing if processes cannot be traced here.
std::optional<int> KilledAtCall(Arguments arguments, int count) {
  arguments.insert(arguments.begin(), {STABLEAA_PROGRAM_PATH, "train"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    if (::ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 126) return std::nullopt;
  ::ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  const auto end = [&] {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return status;
  };
  for (int signal = 0; WIFSTOPPED(status);) {
    if (::ptrace(PTRACE_SYSCALL, child, 0, signal) != 0) return end(), std::nullopt;
    ::waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) break;
    const bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal = is_call ? 0 : WSTOPSIG(status);
    if (!is_call) continue;
    __ptrace_syscall_info info = {};
    const auto request = static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO);
    if (::ptrace(request, child, sizeof(info), &info) <= 0) return end(), std::nullopt;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && Changes(info.entry.nr, info.entry.args[2]) &&
        --count == 0) {
      return end();
    }
  }
  return status;
}

// The first evaluation in step 25, or at the end.
class TrainCommandKills : public TrainCommand, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(FullEvaluationEvery, TrainCommandKills, testing::Values(25, 1000),
                         testing::PrintToStringParamName());

TEST_P(TrainCommandKills, AKillAtAnySystemCallChangesNothing) {
  // A checkpoint besides those of start and end, which drop segments; all logs grow between them.
  const Arguments run =
      Arguments{"--env", "classic/cartpole", "--steps", "45"} +
      Sets({"network.hidden=[4]", "train.batch=2", "replay.start=10", "replay.size=8",
            "train.lookahead_updates=0", "agent.target_interval_updates=10",
            "agent.weights.batch=8", fmt::format("eval.interval_steps={}", GetParam()),
            "eval.episodes=1", "env.max_episode_steps=20", "train.log_interval_steps=1000",
            "checkpoint.interval_steps=25"});
  const fs::path straight = Start("straight", run);
  int published = 0;
  for (int call = 1;; ++call) {
    ASSERT_LT(call, 2000);
    const std::string out = Path(fmt::format("run{}", call));
    const std::optional<int> status =
        KilledAtCall(run + kOneThread + Arguments{"--out", out}, call);
    if (!status) GTEST_SKIP() << "processes cannot be traced here";
    if (WIFEXITED(*status)) {
      EXPECT_EQ(WEXITSTATUS(*status), 0);
      EXPECT_GT(call, 50);
      break;
    }
    SCOPED_TRACE(fmt::format("call {}", call));
    const bool exists = fs::exists(out);
    published += exists ? 1 : 0;
    const Outcome rest =
        Train(exists ? Arguments{"--resume", out} : run + kOneThread + Arguments{"--out", out});
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    ExpectSameResults(out, straight);
    for (const auto& entry : fs::directory_iterator(out + "/checkpoint")) {
      // What a kill left aside may stay until the file is written again.
      const std::string name = entry.path().filename().string();
      if (!name.starts_with('.')) {
        EXPECT_TRUE(fs::exists(straight / "checkpoint" / name)) << name;
      }
    }
    if (HasFailure()) break;
    fs::remove_all(out);
  }
  EXPECT_GT(published, 30);
  for (const std::string& name : Names()) EXPECT_FALSE(name.starts_with('.')) << name;
}

// --- Threads -------------------------------------------------------------------------------------

TEST_F(TrainCommand, TheNumberOfThreadsChangesNothing) {
  Arguments run = kCartpole + Sets({"train.lookahead_updates=2", "agent.backup=double",
                                    "agent.target_interval_updates=30"});
  *(std::ranges::find(run, "--steps") + 1) = "400";
  const fs::path one = Start("one", run);
  for (const std::string threads : {"2", "3"}) {
    ExpectDone(Train(run + Arguments{"--threads", threads, "--out", Path(threads)}));
    ExpectSameResults(Path(threads), one);
  }
}

TEST_F(FullTrainCommand, TheNumberOfThreadsChangesNothingOnMinatar) {
  const Arguments run =
      Arguments{"--env", "minatar/asterix", "--steps", "300"} +
      Sets({"replay.start=60", "agent.target_interval_updates=30", "agent.weights.refresh=update",
            "eval.interval_steps=150", "eval.episodes=3", "env.max_episode_steps=60",
            "train.log_interval_steps=10"});
  const fs::path one = Start("one", run);
  for (const std::string threads : {"2", "3"}) {
    ExpectDone(Train(run + Arguments{"--threads", threads, "--out", Path(threads)}));
    ExpectSameResults(Path(threads), one);
  }
}

// --- Ctrl-C --------------------------------------------------------------------------------------

std::int64_t StepOf(const fs::path& run) {
  const CheckedFile file = ReadCheckedFile(run / "checkpoint/state.bin", "run", kCheckpointVersion);
  std::int64_t step = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    step |= static_cast<std::int64_t>(file.payload[4 + i]) << (8 * i);
  }
  return step;
}

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
    EXPECT_LT(outcome.seconds, 10);
    const std::int64_t step = StoppedStep(outcome.err, out);
    EXPECT_GT(step, 0);
    EXPECT_EQ(StepOf(out), step);
    // To some steps further, against a run of that length.
    const std::string end = std::to_string(step + 150);
    ExpectDone(Train({"--resume", out, "--steps", end}));
    EXPECT_EQ(StepOf(out), step + 150);
    const fs::path straight = Start(fmt::format("straight{}", signal), with_steps(end));
    ExpectSameResults(out, straight);
  }
}

// An evaluation that takes for ever, in the last step or before.
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
        EXPECT_LT(outcome.seconds, 10);
        EXPECT_LE(StepOf(out), 100);
        EXPECT_FALSE(fs::exists(out + "/weights/best.safetensors"));
      } else {
        // In time for the checkpoint or not: it is what it was or as it should be.
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
  // The system's refusals.
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
  // It is enough already; without the flag it goes on.
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

// A small file system of its own, in a mount namespace that ends with this process.
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
        // The message names a file that there is, or the checkpoint would have made.
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

// --- Damage --------------------------------------------------------------------------------------

class DamagedRun : public TrainCommand {
 protected:
  static constexpr const char* kState = "checkpoint/state.bin";

  // A run in the middle: killed, so that its logs are longer than the checkpoint says.
  DamagedRun() {
    Arguments part = kCartpole + Sets({"replay.size=300"});
    *(std::ranges::find(part, "--steps") + 1) = "600";
    sound_ = Start("sound", part);
    other_ = Start("other", part + Arguments{"--seed", "2"});
    for (const char* const log : {"metrics.csv", "episodes.csv"}) {
      WriteContent(sound_ / log, FileContent(sound_ / log) + "601,half a row");
    }
    for (const auto& entry : fs::directory_iterator(sound_ / "checkpoint")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("segment-")) segments_.push_back("checkpoint/" + name);
    }
    std::ranges::sort(segments_);
  }

  // Copies the run, damages the copy, and expects an error that names `file`.
  void Expect(const std::string& file, const std::vector<std::string>& words,
              const std::function<void(const fs::path& run)>& damage) {
    SCOPED_TRACE(file);
    const fs::path run = Path("run");
    fs::remove_all(run);
    fs::copy(sound_, run, fs::copy_options::recursive);
    damage(run);
    const Snapshot before = SnapshotOf(run);
    const std::string message = ExpectError(Train({"--resume", run.string(), "--steps", "900"}), 2);
    ExpectWords(message, words);
    ExpectWords(message, {file.empty() ? run.string() : (run / file).string()});
    ExpectUnchanged(run, before);
  }

  // The same for all ways to damage one file's bytes.
  void ExpectNoticed(const std::string& file) {
    const std::string content = FileContent(sound_ / file);
    const auto becomes = [&](const std::string& changed, const std::vector<std::string>& words) {
      Expect(file, words, [&](const fs::path& run) { WriteContent(run / file, changed); });
    };
    for (const std::size_t length : {std::size_t{0}, std::size_t{5}, std::size_t{20},
                                     std::size_t{31}, content.size() / 2, content.size() - 1}) {
      becomes(content.substr(0, length), {"truncated"});
    }
    becomes(content + "x", {"too many"});
    becomes(std::string(content.size(), '\0'), {"not a stableaa file"});
    for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{40},
                                 content.size() / 3, content.size() - 1}) {
      std::string flipped = content;
      flipped[at] = static_cast<char>(flipped[at] ^ 4);
      becomes(flipped, {});
    }
    Expect(file, {"not exist"}, [&](const fs::path& run) { fs::remove(run / file); });
    Expect(file, {"directory"}, [&](const fs::path& run) {
      fs::remove(run / file);
      fs::create_directory(run / file);
    });
  }

  fs::path sound_, other_;
  std::vector<std::string> segments_;
};

TEST_F(DamagedRun, IsSoundToBeginWith) {
  const fs::path straight = Start("straight", kCartpole + Sets({"replay.size=300"}));
  ExpectDone(Train({"--resume", sound_.string(), "--steps", "1500"}));
  ExpectSameResults(sound_, straight);
  EXPECT_GE(segments_.size(), 8U);
}

TEST_F(DamagedRun, TheStateIsChecked) { ExpectNoticed(kState); }

TEST_F(DamagedRun, TheStateIsOfThisRun) {
  const auto from = [&](const fs::path& source) {
    return [this, source](const fs::path& run) {
      fs::copy_file(source, run / kState, fs::copy_options::overwrite_existing);
    };
  };
  Expect(kState, {"another configuration"}, from(other_ / kState));
  Expect(kState, {"'replay' file", "expected 'run'"}, from(sound_ / segments_.front()));
  const std::vector<std::byte> payload =
      ReadCheckedFile(sound_ / kState, "run", kCheckpointVersion).payload;
  for (const std::uint32_t version : {0U, 99U}) {
    Expect(kState, {"version", std::to_string(version)},
           [&](const fs::path& run) { WriteCheckedFile(run / kState, "run", version, payload); });
  }
  // A sound frame around too little, and too much.
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, payload.size() / 2,
                                 payload.size() - 1, payload.size() + 1}) {
    std::vector<std::byte> changed = payload;
    changed.resize(size);
    Expect(kState, {}, [&](const fs::path& run) {
      WriteCheckedFile(run / kState, "run", kCheckpointVersion, changed);
    });
  }
}

TEST_F(DamagedRun, SegmentsAreChecked) { ExpectNoticed(segments_[1]); }

TEST_F(DamagedRun, SegmentsAreOfThisRun) {
  for (const fs::path& source : {other_ / segments_[2], sound_ / segments_[3]}) {
    Expect(segments_[2], {"another run"}, [&](const fs::path& run) {
      fs::copy_file(source, run / segments_[2], fs::copy_options::overwrite_existing);
    });
  }
  Expect(segments_[2], {"'run' file"}, [&](const fs::path& run) {
    fs::copy_file(run / kState, run / segments_[2], fs::copy_options::overwrite_existing);
  });
}

TEST_F(DamagedRun, LogsMustNotBeShorter) {
  for (const std::string log : {"metrics.csv", "episodes.csv", "events.out.tfevents.0.stableaa"}) {
    Expect(log, {"not exist"}, [&](const fs::path& run) { fs::remove(run / log); });
    Expect(log, {"bytes"}, [&](const fs::path& run) { WriteContent(run / log, ""); });
    Expect(log, {"bytes"},
           [&](const fs::path& run) { fs::resize_file(run / log, fs::file_size(run / log) - 20); });
  }
}

TEST_F(DamagedRun, TheConfigurationIsThatOfTheCheckpoint) {
  const std::string config = FileContent(sound_ / "config.toml");
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return [text](const fs::path& run) { WriteContent(run / "config.toml", text); };
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\nseed = 1", "\nseed = 2"},
                                                        {"\nbatch = 8", "\nbatch = 9"},
                                                        {"\nsize = 300", "\nsize = 301"},
                                                        {"classic/cartpole", "minatar/breakout"},
                                                        {"[16.0, 16.0]", "[16.0, 17.0]"}}) {
    Expect("config.toml", {"another configuration"}, edited(from, to));
  }
  Expect("config.toml", {}, edited("\nseed = 1", "\nseed = "));
  Expect("config.toml", {"agent.eta"}, edited("\neta = 0.1", "\neta = -0.1"));
  Expect("config.toml", {"agent.etta", "did you mean"}, edited("\neta = 0.1", "\netta = 0.1"));
  Expect("config.toml", {"replay.size"}, edited("\nsize = 300", "\nsize = \"large\""));
  Expect("config.toml", {},
         [](const fs::path& run) { WriteContent(run / "config.toml", "\0\1["); });
  Expect("", {"config.toml"}, [](const fs::path& run) { fs::remove(run / "config.toml"); });
}

// --- What fails and what is refused --------------------------------------------------------------

TEST_F(TrainCommand, DivergenceIsToldAndLeavesTheCheckpoint) {
  const std::string out = Path("run");
  const Outcome outcome =
      Train(kCartpole + kOneThread + Arguments{"--out", out} +
            Sets({"agent.loss=squared", "optimizer.learning_rate=1000",
                  "optimizer.max_gradient_norm=0", "network.hidden=[32,32,32,32,32,32,32,32]",
                  "checkpoint.interval_steps=50", "agent.target_interval_updates=5"}));
  const std::string message = ErrorOf(outcome, 1);
  const std::string diagnosis = out + "/diverged.npz";
  ExpectWords(message, {"diverged in step 1", diagnosis});
  EXPECT_TRUE(FileContent(diagnosis).starts_with("PK\3\4"));
  EXPECT_NE(FileContent(diagnosis).find("parameters.npy"), std::string::npos);
  EXPECT_EQ(StepOf(out), 100);
  // The checkpoint is sound: from there the same happens again.
  const std::string again = ErrorOf(Train({"--resume", out}), 1);
  EXPECT_EQ(again, message);
  EXPECT_EQ(StepOf(out), 100);
}

TEST_F(TrainCommand, BadOptionsMakeNothing) {
  struct Case {
    Arguments arguments;
    std::vector<std::string> words;
  };
  WriteContent(Path("bad.toml"), "[agent]\nomga = 3\n");
  const Snapshot before = SnapshotOf(folder_.path());
  for (const Case& c : std::vector<Case>{
           {{"--env", "classic/cartpol"}, {"did you mean 'classic/cartpole'"}},
           {{"--env", "cartpole"}, {"there is no environment 'cartpole'"}},
           {{"--preset", "stable"}, {"there is no preset 'stable'"}},
           {{"--preset", "stabel-aa"}, {"did you mean 'stable-aa'"}},
           {{"--set", "replay.sise=3"}, {"did you mean 'replay.size'"}},
           {{"--set", "replay.size"}, {"replay.size"}},
           {{"--set", "replay.size=0"}, {"replay.size"}},
           {{"--set", "agent.mixer=stabel"}, {"agent.mixer"}},
           {{"--set", "agent.n_step=5", "--set", "replay.size=5"}, {"replay.size"}},
           {{"--config", Path("bad.toml")}, {"bad.toml:2", "agent.omega"}},
           {{"--config", Path("none.toml")}, {"none.toml"}},
           {{"--env", "classic/pendulum"}, {"classic/pendulum", "continuous"}},
           {{"--env", "atari/pong", "--set", "env.protocol=nonsense"}, {"env.protocol"}},
           {{"--steps", "-1"}, {"--steps"}},
           {{"--steps", "many"}, {"--steps"}},
           {{"--threads", "0"}, {"--threads"}},
           {{"--seed", "-1"}, {"--seed"}},
           {{"--nonsense"}, {"--nonsense"}}}) {
    Arguments arguments = c.arguments;
    if (std::ranges::find(arguments, "--env") == arguments.end()) {
      arguments = arguments + Arguments{"--env", "classic/cartpole"};
    }
    ExpectWords(ExpectError(Train(arguments + Arguments{"--out", Path("made/run")}), 2), c.words);
  }
  for (const Arguments& large :
       {Sets({"replay.size=1000000000000"}),
        Sets({"replay.size=1000000000000", "replay.compression=lz4", "replay.prioritized=true"})}) {
    ExpectWords(
        ExpectError(
            Train(Arguments{"--env", "classic/cartpole", "--out", Path("made/run")} + large), 1),
        {"memory", "GB"});
  }
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(TrainCommand, ARunOfNoSteps) {
  Arguments none = kCartpole;
  *(std::ranges::find(none, "--steps") + 1) = "0";
  const fs::path empty = Start("empty", none);
  EXPECT_EQ(StepOf(empty), 0);
  EXPECT_EQ(Table(empty / "metrics.csv").rows(), 0U);
  EXPECT_EQ(Table(empty / "episodes.csv").rows(), 0U);
  EXPECT_TRUE(fs::exists(empty / "weights/latest.safetensors"));
  EXPECT_FALSE(fs::exists(empty / "weights/best.safetensors"));
}

TEST_F(TrainCommand, WithoutEvaluationsThereIsNoBest) {
  const fs::path run = Start("run", kCartpole + Sets({"eval.interval_steps=0"}));
  EXPECT_FALSE(fs::exists(run / "weights/best.safetensors"));
  const Table metrics(run / "metrics.csv");
  EXPECT_EQ(metrics.rows(), 15U);
  for (const std::string& cell : metrics["eval_return_mean"]) EXPECT_EQ(cell, "");
}

// --- Configuration -------------------------------------------------------------------------------

// Without comments and the keys of other commands.
std::vector<std::string> ConfigLines(const std::string& toml) {
  std::vector<std::string> lines;
  bool of_runs = true;
  for (const std::string& line : Lines(toml)) {
    if (line.starts_with('[')) of_runs = !line.starts_with("[anderson");
    if (of_runs && !line.empty() && !line.starts_with('#')) lines.push_back(line);
  }
  return lines;
}

TEST_F(TrainCommand, TheRunHasTheConfigurationThatIsShown) {
  WriteContent(Path("mine.toml"), "[agent]\nomega = 2.5\ndamping = 0.25\n[replay]\nsize = 777\n");
  int number = 0;
  for (const Arguments& flags :
       std::vector<Arguments>{{"--preset", "stable-aa", "--env", "classic/cartpole"},
                              {"--preset", "deepmellow", "--env", "minatar/freeway"},
                              {"--preset", "averaged-dqn", "--env", "Classic/Mountain-Car",
                               "--config", Path("mine.toml"), "--set", "replay.size=888"}}) {
    const fs::path run = Path(std::to_string(++number));
    ExpectDone(Train(flags + Arguments{"--set", "train.steps=0", "--out", run.string()}));
    const std::string shown = ExpectOutput(
        Stableaa(Arguments{"config", "show"} + flags + Arguments{"--set", "train.steps=0"}));
    EXPECT_EQ(ConfigLines(FileContent(run / "config.toml")), ConfigLines(shown));
  }
}

TEST_F(TrainCommand, SetBeatsConfigBeatsPresetBeatsFamilyBeatsDefault) {
  WriteContent(Path("mine.toml"),
               "[agent]\nomega = 2.5\ndamping = 0.25\n[replay]\nstart = 77\n[train]\nseed = 9\n");
  const std::string out = Path("run");
  ExpectDone(
      Train({"--preset", "stable-aa", "--env", "classic/cartpole", "--config", Path("mine.toml"),
             "--set", "agent.omega=1.5", "--set", "train.steps=4", "--steps", "3", "--out", out}));
  const std::string config = FileContent(out + "/config.toml");
  ExpectWords(config, {"\nomega = 1.5\n",         // --set over --config over preset
                       "\ndamping = 0.25\n",      // --config over preset
                       "\nstart = 77\n",          // --config over family
                       "\nhead = \"dueling\"\n",  // preset over default
                       "\nloss = \"huber\"\n",    // family over default
                       "\nkind = \"adam\"\n", "\nseed = 9\n",
                       "\nsteps = 3\n",  // a flag over --set
                       "\nn_step = 1\n"});
  const Json description = Json::parse(FileContent(out + "/run.json"));
  EXPECT_EQ(description["seed"], 9);
  EXPECT_EQ(description["env"], "classic/cartpole");
  for (const char* const key : {"version", "machine", "units", "protocol"}) {
    EXPECT_TRUE(description.contains(key)) << key;
  }
}

TEST_F(TrainCommand, AConfigFileCanChooseEnvironmentAndPreset) {
  WriteContent(Path("mine.toml"),
               "[train]\nenv = \"classic/acrobot\"\npreset = \"double-dqn\"\nsteps = 0\n");
  const std::string out = Path("run");
  ExpectDone(Train({"--config", Path("mine.toml"), "--out", out}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"classic/acrobot", "\nbackup = \"double\"\n", "\nkind = \"adam\"\n"});
  // 6 inputs, two layers of 128 units, 3 actions.
  EXPECT_EQ(Json::parse(FileContent(out + "/run.json"))["parameters"],
            7 * 128 + 129 * 128 + 129 * 3);
  // A run's own configuration makes the same run again.
  ExpectDone(Train({"--config", out + "/config.toml", "--out", Path("again")}));
  EXPECT_EQ(FileContent(Path("again/config.toml")), FileContent(out + "/config.toml"));
}

// What the lines on stderr that begin so go on with.
std::vector<std::string> Said(const Outcome& outcome, const std::string& start) {
  std::vector<std::string> said;
  for (const std::string& line : Lines(outcome.err)) {
    if (line.starts_with(start)) said.push_back(line.substr(start.size()));
  }
  return said;
}

std::vector<std::string> Warnings(const Outcome& outcome) {
  ExpectDone(outcome);
  return Said(outcome, "stableaa: warning: ");
}

TEST_F(TrainCommand, AFlagWinsOverSetWithAWarning) {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"--env", "classic/cartpole", "train.env=\"classic/acrobot\""},
      {"--preset", "dqn", "train.preset=\"raa\""},
      {"--steps", "10", "train.steps=20"},
      {"--seed", "1", "train.seed=2"},
      {"--threads", "1", "train.threads=2"}};
  Arguments arguments = {"--out", Path("run")};
  std::vector<std::string> warnings;
  for (const auto& [flag, value, setting] : cases) {
    arguments = arguments + Arguments{flag, value, "--set", setting};
    warnings.push_back(setting + " (--set) has no effect: " + flag + " says " + value);
  }
  EXPECT_EQ(Warnings(Train(arguments)), warnings);
  ExpectWords(FileContent(Path("run/config.toml")),
              {"\nenv = \"classic/cartpole\"\n", "\npreset = \"dqn\"\n", "\nsteps = 10\n"});
  // The same in other words, and nothing.
  const Outcome same =
      Train({"--env", "classic/cartpole", "--set", "train.env=Classic/CartPole", "--steps", "10",
             "--set", "train.steps=1e1", "--set", "train.preset=", "--out", Path("same")});
  EXPECT_EQ(Warnings(same), std::vector<std::string>());
  ExpectWords(FileContent(Path("same/config.toml")),
              {"\nenv = \"classic/cartpole\"\n", "\npreset = \"stable-aa\"\n"});
}

TEST_F(TrainCommand, AConfigurationFromAPipeCounts) {
  WriteContent(Path("mine.toml"),
               "[train]\nenv = \"classic/acrobot\"\npreset = \"double-dqn\"\nsteps = 0\n");
  const std::string out = Path("run");
  ExpectDone(RunCommand({"bash", "-c",
                         fmt::format("{} train --config <(cat '{}') --out '{}'",
                                     STABLEAA_PROGRAM_PATH, Path("mine.toml"), out)}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"classic/acrobot", "\nbackup = \"double\"\n", "\nkind = \"adam\"\n"});
}

// A pipe that nobody writes to is what the user named; Ctrl-C ends the wait for it.
TEST_F(TrainCommand, WaitingForAPipeCanBeInterrupted) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  Training training({"--config", Path("pipe"), "--out", Path("run")});
  SleepFor(0.3);
  EXPECT_TRUE(training.IsRunning());
  training.Signal(SIGINT);
  EXPECT_EQ(training.Wait().exit_code, -SIGINT);
  EXPECT_FALSE(fs::exists(Path("run")));
}

TEST_F(TrainCommand, KeysWithoutEffectGetOneWarning) {
  const Arguments base = {"--env", "classic/cartpole", "--preset", "dqn", "--steps", "0", "--out"};
  const auto warnings = [&](const std::string& out, const Arguments& more) {
    return Warnings(Train(base + Arguments{Path(out)} + more));
  };
  using Messages = std::vector<std::string>;
  EXPECT_EQ(warnings("none", {}), Messages());
  EXPECT_EQ(warnings("eta", Sets({"agent.eta=0.5"})),
            Messages{"agent.eta (--set) has no effect: agent.mixer = \"single\""});
  // The value that it has anyway: who says so expects something of it.
  EXPECT_EQ(warnings("default", Sets({"agent.eta=0.1"})),
            Messages{"agent.eta (--set) has no effect: agent.mixer = \"single\""});
  EXPECT_EQ(warnings("twice", Sets({"agent.eta=0.5", "agent.eta=0.6"})).size(), 1U);
  EXPECT_EQ(warnings("kwargs", Sets({"env.kwargs.size=5"})),
            Messages{"env.kwargs (--set) has no effect: classic/cartpole does not use it"});
  WriteContent(Path("mine.toml"),
               "[agent]\neta = 0.5\ndamping = 0.1\ntargets = 7\n[env]\nprotocol = \"machado\"\n"
               "sticky = -1\n[optimizer]\nalpha = 0.5\n");
  // Of a file only what differs.
  EXPECT_EQ(
      warnings("file", {"--config", Path("mine.toml")}),
      (Messages{fmt::format("env.protocol ({}:6) has no effect: classic/cartpole does not use "
                            "it",
                            Path("mine.toml")),
                fmt::format("agent.targets ({0}:4), agent.eta ({0}:2) have no effect: "
                            "agent.mixer = \"single\"",
                            Path("mine.toml")),
                fmt::format("optimizer.alpha ({}:9) has no effect: optimizer.kind = \"adam\"",
                            Path("mine.toml"))}));
  // Presets and families are not the user.
  EXPECT_EQ(Warnings(Train({"--env", "minatar/breakout", "--steps", "0", "--out", Path("plain")})),
            Messages());
}

TEST_F(TrainCommand, ARunsOwnConfigurationGivesNoWarnings) {
  for (const char* const env : {"classic/cartpole", "minatar/breakout"}) {
    for (const char* const preset : {"dqn", "stable-aa"}) {
      const std::string out = Path(fmt::format("{}{}", env, preset));
      ExpectDone(Train({"--env", env, "--preset", preset, "--steps", "0", "--out", out}));
      const std::string again = out + "again";
      EXPECT_TRUE(Warnings(Train({"--config", out + "/config.toml", "--out", again})).empty());
      EXPECT_EQ(FileContent(again + "/config.toml"), FileContent(out + "/config.toml"));
    }
  }
}

TEST_F(TrainCommand, NumbersMayHaveAnExponentAndSeparators) {
  WriteContent(Path("mine.toml"), "[eval]\ninterval_steps = 1e3\n[replay]\nsize = 2.5e3\n");
  const std::string out = Path("run");
  ExpectDone(Train({"--env", "classic/cartpole", "--steps", "1e1", "--seed",
                    "9_007_199_254_740_993", "--threads", "1e0", "--config", Path("mine.toml"),
                    "--set", "checkpoint.interval_steps=1e5", "--out", out}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"\nsteps = 10\n", "\nseed = 9007199254740993\n", "\nthreads = 1\n",
               "\ninterval_steps = 1000\n", "\nsize = 2500\n", "\ninterval_steps = 100000\n"});
  ExpectDone(Train({"--resume", out, "--steps", "2e1"}));
  EXPECT_EQ(StepOf(out), 20);
}

TEST_F(TrainCommand, ArgumentsOfTheEnvironmentAreKept) {
  const std::string out = Path("run");
  ExpectDone(Train({"--env", "classic/cartpole", "--steps", "0", "--set",
                    "env.kwargs={size=5, names=[\"a\"], deep={x=1.5}}", "--out", out}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"\nkwargs = {deep = {x = 1.5}, names = [\"a\"], size = 5}\n"});
  ExpectDone(Train({"--resume", out, "--steps", "1"}));
}

// --- What a run tells ----------------------------------------------------------------------------

TEST_F(TrainCommand, TheNetworkIsTold) {
  const std::string out = Path("run"), start = "stableaa: network: ";
  const Outcome begun = Train({"--env", "classic/cartpole", "--preset", "dqn", "--set",
                               "network.hidden=[16]", "--steps", "0", "--out", out});
  ExpectDone(begun);
  const std::vector<std::string> told = Said(begun, start);
  ASSERT_EQ(told.size(), 1U) << begun.err;
  EXPECT_EQ(told[0], "vector(4) linear(16) relu linear(2); 114 parameters");
  const Outcome resumed = Train({"--resume", out, "--steps", "1"});
  ExpectDone(resumed);
  EXPECT_EQ(Said(resumed, start), told);
}

TEST_F(TrainCommand, MetricsTellWhatHappened) {
  const fs::path run = Start("run", kCartpole + Sets({"train.log_interval_steps=140"}));
  const Table metrics(run / "metrics.csv"), episodes(run / "episodes.csv");
  for (const char* const column :
       {"step", "update", "epsilon", "loss", "td_abs", "q_mean", "gain", "tau_norm", "condition",
        "alpha_1", "alpha_5", "eval_return_mean", "eval_return_std", "wall_steps_per_second",
        "wall_memory_bytes"}) {
    EXPECT_NE(metrics.Find(column), nullptr) << column;
  }
  std::vector<std::string> names;
  for (const auto& [name, cells] : episodes.columns()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"episode", "step", "return", "length", "terminated",
                                             "truncated"}));

  std::set<int> steps;
  for (int step = 140; step <= 1500; step += 140) steps.insert(step);
  for (int step = 300; step <= 1500; step += 300) steps.insert(step);
  ASSERT_EQ(metrics.rows(), steps.size());
  std::size_t row = 0, episode = 0;
  for (const int step : steps) {
    EXPECT_EQ(metrics["step"][row], std::to_string(step));
    EXPECT_EQ(metrics["update"][row], std::to_string(step - 100));
    EXPECT_NEAR(std::stod(metrics["epsilon"][row]), 1 - .95 * std::min(1., step / 500.), 1e-12);
    EXPECT_EQ(metrics["eval_return_mean"][row] != "", step % 300 == 0) << step;
    EXPECT_EQ(metrics["eval_return_std"][row] != "", step % 300 == 0) << step;
    EXPECT_TRUE(std::isfinite(std::stod(metrics["loss"][row])));
    const int shifts = (step - 100) / 100;
    double alphas = 0;
    for (int k = 1; k <= 5; ++k) {
      const std::string& alpha = metrics[fmt::format("alpha_{}", k)][row];
      const bool exists = k > 5 - std::max(1, std::min(5, shifts));
      EXPECT_TRUE(exists || alpha.empty()) << step << ' ' << k;
      if (!alpha.empty()) alphas += std::stod(alpha);
    }
    if (shifts > 0) {
      EXPECT_NEAR(alphas, 1, 1e-9) << step;
    }

    // The episodes since the row before.
    double returns = 0, count = 0;
    for (; episode < episodes.rows() && std::stoi(episodes["step"][episode]) <= step; ++episode) {
      returns += std::stod(episodes["return"][episode]);
      ++count;
    }
    EXPECT_EQ(metrics["episodes"][row], std::to_string(episode));
    if (count == 0) {
      EXPECT_EQ(metrics["return_mean"][row], "");
    } else {
      EXPECT_NEAR(std::stod(metrics["return_mean"][row]), returns / count, 1e-9);
    }
    ++row;
  }

  int end = 0;
  for (std::size_t i = 0; i < episodes.rows(); ++i) {
    EXPECT_EQ(episodes["episode"][i], std::to_string(i + 1));
    end += std::stoi(episodes["length"][i]);
    EXPECT_EQ(std::stoi(episodes["step"][i]), end);
    EXPECT_EQ(episodes["return"][i], episodes["length"][i]) << "CartPole pays 1 per step";
    EXPECT_NE(episodes["terminated"][i], episodes["truncated"][i]);
  }
  EXPECT_GT(episodes.rows(), 10U);
  EXPECT_EQ(EventRecords(run / "events.out.tfevents.0.stableaa"),
            static_cast<int>(metrics.rows()) + 1);
}

TEST_F(TrainCommand, TheBestWeightsAreThoseOfTheBestEvaluation) {
  const fs::path run = Start("run", kCartpole);
  const Table metrics(run / "metrics.csv");
  double best = -1;
  std::string step;
  for (std::size_t row = 0; row < metrics.rows(); ++row) {
    const std::string& value = metrics["eval_return_mean"][row];
    if (value.empty() || std::stod(value) <= best) continue;
    best = std::stod(value);
    step = metrics["step"][row];
  }
  EXPECT_NE(FileContent(run / "weights/best.safetensors")
                .find(fmt::format("\"stableaa.step\":\"{}\"", step)),
            std::string::npos);
  EXPECT_NE(FileContent(run / "weights/latest.safetensors").find("\"stableaa.step\":\"1500\""),
            std::string::npos);
}

}  // namespace stableaa::train_command_test
