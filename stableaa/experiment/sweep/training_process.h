// One training run in a process of its own, started by a command that the caller provides.
#ifndef STABLEAA_EXPERIMENT_SWEEP_TRAINING_PROCESS_H_
#define STABLEAA_EXPERIMENT_SWEEP_TRAINING_PROCESS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/base/process/child_process.h"

namespace stableaa {

// What a process is asked to train.
struct TrainTask {
  std::filesystem::path run;  // the run's directory
  // The configuration of a new run, as TOML; empty: continue the one in `run`.
  std::filesystem::path config = {};
  std::int64_t steps = 0;  // of the whole run
  int threads = 1;
  // The user approved the foreign code (rl/run/trust.h) that the run's files name.
  bool trust = false;
  // End at the first evaluation whose mean return is at least this.
  std::optional<double> enough_return = {};
};

// The program and its arguments. The process
// - writes the run's directory (rl/run/run_directory.h) and ends with exit code 0;
// - on SIGTERM, writes a checkpoint and ends, also with exit code 0;
// - should do the same when the process that started it ends;
// - on failure, writes the reason to the file that STABLEAA_ERROR_FILE names (run_error.h) and ends
//   with another exit code.
using TrainingCommand = std::function<std::vector<std::string>(const TrainTask&)>;

class TrainingProcess {
 public:
  struct Files {
    std::filesystem::path log;    // the process's output is appended to it
    std::filesystem::path error;  // run_error.h
  };

  // BadInput for a command without a program, WorkFailed if it cannot be started.
  TrainingProcess(const TrainingCommand& command, const TrainTask& task, Files files);

  bool HasEnded() { return process_->Wait(0); }
  // Becomes readable, for poll(), once it has ended.
  int end_descriptor() const { return process_->end_descriptor(); }

  // Sends SIGTERM, but only once: the process also gets one if we are killed, and a second one ends
  // it at once, like a second Ctrl-C.
  void TellToEnd();
  void Kill() { process_->Kill(); }

  // After its end; exit_code is empty if a signal ended it.
  std::optional<int> exit_code() const { return process_->exit_code(); }
  std::string End() const { return process_->End(); }  // "ended with exit code 3"
  // Why it failed, in its own words; empty if it did not say.
  std::string Failure() const;

 private:
  Files files_;
  bool told_to_end_ = false;
  std::optional<ChildProcess> process_;
};

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_TRAINING_PROCESS_H_
