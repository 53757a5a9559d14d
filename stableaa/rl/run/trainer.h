// Training: an environment and an agent in one loop, and everything else that makes up a run: logs,
// evaluations, checkpoints.
//
//   const auto trainer = Trainer::Start("runs/a", options);   // or Trainer::Resume("runs/a")
//   trainer->Run();
//
// The environment is the one that options.train.env names: one of the library's, or one that the
// program has registered (env/registry.h).
//
// A run is a function of its options: the same options give the same bytes in metrics.csv,
// episodes.csv (wall_ columns aside) and the weights, on the same kind of processor, whatever the
// number of threads and however often the run was stopped, killed and resumed.
//
// The loop chooses an action, sends it to the environment, does an update if one is due while the
// environment works, then receives and remembers the outcome. So an update in step t learns from
// the steps before t. With env.num_envs = n environments it does n steps at once: step t + i is that
// of environment i - 1. What is due every so many steps then comes at the end of the round in which
// it falls due, and a run ends at the first multiple of n that is at least train.steps.
#ifndef STABLEAA_RL_RUN_TRAINER_H_
#define STABLEAA_RL_RUN_TRAINER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "stableaa/core/random.h"
#include "stableaa/env/environment.h"
#include "stableaa/nn/plan.h"
#include "stableaa/rl/agent.h"
#include "stableaa/rl/run/evaluator.h"
#include "stableaa/rl/run/first_weights.h"
#include "stableaa/rl/run/kept_weights.h"
#include "stableaa/rl/run/metrics_recorder.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

struct CheckpointHead;

// What may be changed when a run is resumed.
struct ResumeChanges {
  std::optional<std::int64_t> steps = {};
  std::optional<int> threads = {};
  // Not a change: allows the run to use the Python module and the interpreter that its config.toml
  // names (trust.h).
  bool trust = false;
};

// Seconds spent in the parts of the loop, over all steps of this trainer.
struct TrainTimes {
  double environment = 0;
  double acting = 0;
  double sampling = 0;  // includes remembering
  double targets = 0;
  double gradient = 0;
  double evaluation = 0;
  double checkpoint = 0;
  double total = 0;
};

// The progress of a run, for people.
struct TrainProgress {
  std::int64_t step = 0;
  std::optional<double> episode_return = {};  // mean over the last episodes
  std::optional<double> loss = {};            // from the last row of metrics.csv
  std::optional<double> eval_return = {};     // from the last evaluation
};

struct RunHooks {
  // Polled in every round of steps; if true, the run makes a checkpoint and returns.
  std::function<bool()> stop = {};
  // Ends the run at the first evaluation whose mean return is at least this.
  std::optional<double> enough_return = {};
  // Called after every round of steps; must be cheap.
  std::function<void(const TrainProgress&)> progress = {};
  // Rows of metrics.csv and episodes.csv, as they are logged.
  RowListener rows = {};
};

// Throws BadInput for options that no run could start with: they make no sense, or the agent or
// network does not fit the environment. Does not ask Python environments, which may be missing
// here.
void CheckTrainable(const RunOptions& options);

class Trainer {
 public:
  // Starts a new run in `directory`, which must be empty or not exist. On return the directory
  // exists and can be resumed. With `from`, a weights file or another run, the networks begin with
  // the weights there (first_weights.h), which run.json records. Throws BadInput for options that
  // make no sense and for weights of another network, and WorkFailed if there is not enough memory.
  static std::unique_ptr<Trainer> Start(const std::filesystem::path& directory,
                                        const RunOptions& options,
                                        const std::optional<std::filesystem::path>& from = {});

  // Continues from the last checkpoint. Returns null, having changed nothing, if that was at the
  // end. Throws BadInput, naming the file and the problem, for a directory that holds no run or a
  // broken one, or that names Python code and is not trusted.
  static std::unique_ptr<Trainer> Resume(const std::filesystem::path& directory,
                                         const ResumeChanges& changes = {});

  ~Trainer();

  // Does what Resume does, with the payload of a state.bin of the same run, whatever this trainer
  // has done before; for tests that read many checkpoints. Returns false, having changed nothing,
  // if it is from the end of the run. After an error no file has changed, and the trainer can only
  // load another one.
  bool Load(std::span<const std::byte> payload);

  // Runs to the end or until `stop`, and makes a checkpoint in both cases. Returns true at the end,
  // that is, after the last step or once the return is enough. A run whose last step comes before
  // its first evaluation makes one there. Throws WorkFailed if training diverges (after writing
  // diverged.npz into the directory), the disk is full, or a worker of the environment dies; the
  // last checkpoint remains.
  bool Run(const RunHooks& hooks = {});

  std::int64_t step() const { return step_; }
  // The best mean return of all evaluations, including the one at the end; -infinity before the
  // first.
  double best_return() const { return evaluator_.best_return_with_end(); }
  const RunOptions& options() const { return options_; }
  // The network that acts.
  const Plan& plan() const { return agent_->weights().plan(); }
  TrainTimes times() const;
  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  Trainer(RunDirectory directory, const RunOptions& options,
          std::unique_ptr<Environment> environment);

  void WriteDescription(const std::optional<FirstWeights>& first) const;
  void Begin();
  void Step();
  void Learn(std::int64_t step);
  void Remember(int i);
  bool EvaluateIfDue(const RunHooks& hooks);
  bool EvaluateEnd(const RunHooks& hooks);
  void KeepWeightsIfDue(std::int64_t before);
  void LogIfDue();
  MetricsRecorder::Moment Now() const;
  void RequireFiniteWeights() const;
  [[noreturn]] void EndDiverged(std::int64_t step, const std::string& why) const;
  void Checkpoint();
  RunLogs::Rows LoadCheckpoint(ByteReader& in, const CheckpointHead& head);
  void OpenLogs(const RunLogs::Rows& logged);
  void ReportProgress(const RunHooks& hooks) const;

  RunDirectory directory_;
  RunOptions options_;
  const std::uint32_t fingerprint_;
  std::unique_ptr<Environment> environment_;
  std::unique_ptr<Agent> agent_;
  RandomStream exploration_random_;
  MetricsRecorder recorder_;
  Evaluator evaluator_;
  WeightsKeeper keeper_;

  std::int64_t step_ = 0;
  std::int64_t checkpoint_step_ = -1;  // -1: the run has advanced since
  double wall_seconds_before_ = 0;     // in earlier parts of the run
  TrainTimes times_;                   // excluding the agent's
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRAINER_H_
