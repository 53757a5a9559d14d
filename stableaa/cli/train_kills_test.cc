// Kills at random moments and before every system call, and various numbers of threads: none of
// them changes a run.

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::train_kills_test {

namespace fs = std::filesystem;

// --- Kills ---------------------------------------------------------------------------------------

struct Kills {
  int most = 6;
  int max_threads = 1;  // each part of the run uses a different number
  std::uint64_t seed = 1;
};

// Lets the program run up to a random moment: soon after its start, after some time, or after some
// number of checkpoints or episodes.
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
    // --trust: the tests' Python is the default in one build tree only.
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
           Sets({"agent.backup=double", "agent.weights.eta=auto", "agent.weights.safeguard=true",
                 "checkpoint.keep_weights=all evaluations"}),
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

TEST_F(FullTrainCommand, KillsChangeNothingWithSeveralEnvironments) {
  const Arguments several =
      Sets({"env.num_envs=4", "agent.n_step=3", "replay.prioritized=true", "replay.size=300",
            "train.update_interval_steps=3", "replay.importance_steps=500"});
  ExpectKillsToChangeNothing(folder_.path(), kCartpole + several,
                             {.most = 6, .max_threads = 3, .seed = 41});
  ExpectKillsToChangeNothing(
      folder_.path(),
      Arguments{"--env", "minatar/space_invaders", "--steps", "600"} + several +
          Sets({"train.batch=8", "replay.start=100", "agent.target_interval_updates=30",
                "agent.weights.batch=64", "eval.interval_steps=250", "eval.episodes=2",
                "env.max_episode_steps=60", "train.log_interval_steps=50",
                "checkpoint.interval_steps=50"}),
      {.most = 6, .max_threads = 3, .seed = 42});
}

TEST_F(TrainCommand, KillsChangeNothingWithContinuousActions) {
  ExpectKillsToChangeNothing(folder_.path(),
                             kPendulum + Arguments{"--preset", "td3-stable"} +
                                 Sets({"agent.targets=4", "control.noise_correlation=0.5"}),
                             {.most = 5, .max_threads = 2, .seed = 51});
}

TEST_F(FullTrainCommand, KillsChangeNothingForAnyAgentWithContinuousActions) {
  const Arguments returns =
      Sets({"agent.n_step=3", "replay.prioritized=true", "replay.importance_steps=500"});
  const Arguments three = Sets({"env.num_envs=3", "train.update_interval_steps=2"});
  const auto preset = [](const std::string& name) { return Arguments{"--preset", name}; };
  std::uint64_t seed = 52;
  for (const Arguments& variant : std::vector<Arguments>{
           preset("td3") + Sets({"control.policy_delay=3"}), preset("td3") + three + returns,
           preset("sac"), preset("sac") + three,
           preset("td3-stable") + three + Sets({"agent.weights.safeguard=true"}),
           preset("td3-stable") + returns + Sets({"agent.weights.eta=auto"}), preset("td3-raa"),
           preset("td3-raa") + three + Sets({"control.actor_loss=mixed"}),
           preset("sac-stable") + Sets({"control.window=consecutive", "control.temperature=0.2"}),
           preset("ddpg") + Sets({"replay.compression=lz4", "agent.mixer=average"})}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(variant, " ")));
    ExpectKillsToChangeNothing(folder_.path(), kPendulum + variant,
                               {.most = 6, .max_threads = 3, .seed = seed++});
    if (HasFailure()) break;
  }
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

TEST_F(FullTrainCommand, KillsChangeNothingWithSeveralAtaris) {
  if (!HasAtari()) GTEST_SKIP() << "scripts/atari makes a Python with ale-py";
  ExpectKillsToChangeNothing(
      folder_.path(),
      Arguments{"--env", "atari/breakout", "--steps", "300"} +
          Sets({kPython, "env.num_envs=4", "env.workers=2", "train.batch=8", "replay.start=60",
                "agent.n_step=3", "replay.prioritized=true", "agent.target_interval_updates=8",
                "agent.weights.batch=16", "eval.interval_steps=100", "eval.episodes=2",
                "env.max_episode_steps=30", "train.log_interval_steps=20", "replay.size=200",
                "checkpoint.interval_steps=30", "exploration.epsilon_steps=150"}),
      {.most = 4, .max_threads = 2, .seed = 43});
}

// --- A kill before every system call that changes something --------------------------------------

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
    case SYS_linkat:
#ifdef SYS_mkdir
    case SYS_mkdir:
    case SYS_rename:
    case SYS_link:
    case SYS_unlink:
    case SYS_rmdir:
#endif
      return true;
    default:
      return false;
  }
}

// Runs the program and kills it when it is about to make the `count`-th such call. Returns its exit
// status, or nothing if processes cannot be traced here.
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

struct KillsCase {
  std::string name;
  bool evaluates_before_the_end = true;
  int num_envs = 1;
  std::string preset = "stable-aa";

  friend void PrintTo(const KillsCase& one, std::ostream* out) { *out << one.name; }
};

class TrainCommandKills : public TrainCommand, public testing::WithParamInterface<KillsCase> {};
INSTANTIATE_TEST_SUITE_P(
    Full, TrainCommandKills,
    testing::Values(KillsCase{.name = "EvaluationBeforeTheEnd"},
                    KillsCase{.name = "EvaluationAtTheEnd", .evaluates_before_the_end = false},
                    KillsCase{.name = "ThreeEnvironments", .num_envs = 3},
                    KillsCase{.name = "ContinuousActions", .preset = "td3-stable"}),
    testing::PrintToStringParamName());

TEST_P(TrainCommandKills, AKillAtAnySystemCallChangesNothing) {
  const int n = GetParam().num_envs;
  const bool evaluates = GetParam().evaluates_before_the_end;
  const bool is_control = GetParam().preset != "stable-aa";
  const int steps = 175 * n;
  // One checkpoint besides those at start and end; all logs grow in between. It drops segments, and
  // so does the last one: a stream has more states by then than its share of the replay and its
  // reserve of some 70.
  const Arguments run =
      Arguments{"--env",    is_control ? "classic/pendulum" : "classic/cartpole",
                "--preset", GetParam().preset,
                "--steps",  std::to_string(steps)} +
      Sets({"network.hidden=[4]", "train.batch=2", "replay.start=10",
            fmt::format("replay.size={}", 72 * n), fmt::format("env.num_envs={}", n),
            "train.lookahead_updates=0", "agent.target_interval_updates=10",
            "agent.weights.batch=8",
            fmt::format("eval.interval_steps={}", evaluates ? 80 * n : 1000), "eval.episodes=1",
            "env.max_episode_steps=20", "train.log_interval_steps=1000",
            fmt::format("checkpoint.interval_steps={}", 155 * n),
            evaluates ? fmt::format("checkpoint.keep_weights=every {} steps", 70 * n)
                      : "checkpoint.keep_weights=all evaluations"});
  const fs::path straight = Start("straight", run);
  const std::string prefix = n == 1 ? "" : "stream-0002-";
  EXPECT_FALSE(fs::exists(straight / "checkpoint" / (prefix + "segment-00000000.bin")));
  // Batches of continuous actions are not drawn ahead, so the reserve is smaller.
  const std::string kept = is_control ? "segment-00000015.bin" : "segment-00000010.bin";
  EXPECT_TRUE(fs::exists(straight / "checkpoint" / (prefix + kept)));
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
    const bool reached_the_end = exists && StepOf(out) == steps;
    const Outcome rest =
        Train(exists ? Arguments{"--resume", out} : run + kOneThread + Arguments{"--out", out});
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    ExpectSameResults(out, straight);
    for (const auto& entry : fs::directory_iterator(out + "/checkpoint")) {
      // Leftovers of a kill may stay until the file is written again, and what the last checkpoint
      // would have removed until the run is made longer.
      const std::string file = entry.path().filename().string();
      if (!file.starts_with('.') && !reached_the_end) {
        EXPECT_TRUE(fs::exists(straight / "checkpoint" / file)) << file;
      }
    }
    if (HasFailure()) break;
    fs::remove_all(out);
  }
  EXPECT_GT(published, 30);
  for (const std::string& left : Names()) EXPECT_FALSE(left.starts_with('.')) << left;
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

TEST_F(TrainCommand, TheNumberOfThreadsChangesNothingWithContinuousActions) {
  for (const std::string preset : {"td3-stable", "sac-raa"}) {
    SCOPED_TRACE(preset);
    const Arguments run = kPendulum + Arguments{"--preset", preset} + Sets({"train.batch=40"});
    const fs::path one = Start(preset + "-one", run);
    for (const std::string threads : {"2", "3"}) {
      const std::string name = preset + threads;
      ExpectDone(Train(run + Arguments{"--threads", threads, "--out", Path(name)}));
      ExpectSameResults(Path(name), one);
    }
  }
}

// Each part of the run with another number.
TEST_F(TrainCommand, ARunMayGoOnWithOtherThreads) {
  const Arguments run = kPendulum + Arguments{"--preset", "td3-raa"};
  const fs::path straight = Start("straight", run);
  Arguments first = run;
  *(std::ranges::find(first, "--steps") + 1) = "330";
  const fs::path parts = Start("parts", first);
  const auto go_on = [&](const std::string& threads, const std::string& steps) {
    ExpectDone(Train({"--resume", parts.string(), "--threads", threads, "--steps", steps}));
  };
  go_on("3", "520");
  go_on("2", "900");
  ExpectSameResults(parts, straight);
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

}  // namespace stableaa::train_kills_test
