// Runs of stableaa train as processes, for tests that kill, stop, starve and damage them.
//
// All of these tests check one promise: whatever happens, a run ends with the same metrics.csv,
// episodes.csv (except the wall_ columns) and weights as an undisturbed run.
#ifndef STABLEAA_CLI_TRAIN_RUNS_TEST_H_
#define STABLEAA_CLI_TRAIN_RUNS_TEST_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa {

inline bool HasAtari() { return ::access(STABLEAA_ATARI_PYTHON, X_OK) == 0; }
inline const std::string kPython = "env.python=" STABLEAA_ATARI_PYTHON;

class Training : public ProgramAtWork {
 public:
  explicit Training(const Arguments& arguments) : ProgramAtWork(Arguments{"train"} + arguments) {}
};

inline Outcome Train(const Arguments& arguments) { return Training(arguments).Wait(); }

inline void ExpectDone(const Outcome& outcome) { EXPECT_EQ(outcome.exit_code, 0) << outcome.err; }

// The step of the last checkpoint.
inline std::int64_t StepOf(const std::filesystem::path& run) {
  const CheckedFile file = ReadCheckedFile(run / "checkpoint/state.bin", "run", kCheckpointVersion);
  std::int64_t step = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    step |= static_cast<std::int64_t>(file.payload[4 + i]) << (8 * i);
  }
  return step;
}

// Small, but with everything a run has: 14 target shifts, 5 evaluations, 15 checkpoints, 21 kept
// weights.
inline const Arguments kCartpole =
    Arguments{"--env", "classic/cartpole", "--steps", "1500"} +
    Sets({"network.hidden=[16,16]", "train.batch=8", "replay.start=100",
          "agent.target_interval_updates=100", "eval.interval_steps=300", "eval.episodes=2",
          "train.log_interval_steps=100", "checkpoint.interval_steps=100",
          "exploration.epsilon_steps=500", "checkpoint.keep_weights=every 70 steps"});

// The same with continuous actions: a hundred and more updates between two checkpoints, and copies of
// critics at each of them where critics are mixed.
inline const Arguments kPendulum =
    Arguments{"--env", "classic/pendulum", "--steps", "900"} +
    Sets({"network.hidden=[16,16]", "train.batch=8", "replay.start=100", "replay.size=700",
          "agent.weights.batch=24", "agent.target_interval_updates=45", "eval.interval_steps=300",
          "eval.episodes=2", "env.max_episode_steps=60", "train.log_interval_steps=100",
          "checkpoint.interval_steps=110", "checkpoint.keep_weights=every 70 steps"});

inline const Arguments kOneThread = {"--threads", "1"};

class TrainCommand : public ::testing::Test {
 protected:
  // By default, OpenMP's threads busy-wait for one another, which takes forever with fewer cores
  // than threads.
  TrainCommand() { ::setenv("OMP_WAIT_POLICY", "passive", 1); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  std::filesystem::path Start(const std::string& name, const Arguments& arguments) const {
    ExpectDone(Train(arguments + kOneThread + Arguments{"--out", Path(name)}));
    return Path(name);
  }

  FolderOfRuns folder_;
};

class FullTrainCommand : public TrainCommand {};

}  // namespace stableaa

#endif  // STABLEAA_CLI_TRAIN_RUNS_TEST_H_
