// Training: an environment and an agent in one loop, and all that makes a run of it: logs,
// evaluations, checkpoints.
//
//   const auto trainer = Trainer::Start("runs/a", options);   // or Trainer::Resume("runs/a")
//   trainer->Run();
//
// The environment is the one that options.train.env names, one of the library's or one that the
// program has registered (env/registry.h).
//
// A run is a function of its options: the same ones give the same bytes in metrics.csv,
// episodes.csv (wall_ columns aside) and the weights, on the same kind of processor, whatever the
// number of threads and however often the run was stopped, killed and resumed.
//
// A step: choose an action, send it to the environment, do an update if one is due while the
// environment works, receive and remember what came of it. So an update in step t learns from the
// steps before t.
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
#include "stableaa/rl/run/metrics_recorder.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

struct CheckpointHead;

// What may change when a run is resumed.
struct ResumeChanges {
  std::optional<std::int64_t> steps = {};
  std::optional<int> threads = {};
  // Not a change: run the Python module and the interpreter that the run's config.toml names
  // (trust.h).
  bool trust = false;
};

// Seconds that the parts of the loop took, over all steps of this trainer.
struct TrainTimes {
  double environment = 0;
  double acting = 0;
  double sampling = 0;  // and remembering
  double targets = 0;
  double gradient = 0;
  double evaluation = 0;
  double checkpoint = 0;
  double total = 0;
};

// How far a run is, for people.
struct TrainProgress {
  std::int64_t step = 0;
  std::optional<double> episode_return = {};  // mean over the last episodes
  std::optional<double> loss = {};            // of the last row of metrics.csv
  std::optional<double> eval_return = {};     // of the last evaluation
};

struct RunHooks {
  // Asked in every step; true: make a checkpoint and return.
  std::function<bool()> stop = {};
  // Ends the run at the first evaluation whose mean return is at least this.
  std::optional<double> enough_return = {};
  // Called after every step; must be cheap.
  std::function<void(const TrainProgress&)> progress = {};
};

// BadInput for what no run could start with: options that make no sense, an agent or a network that
// does not fit the environment. Environments in Python are not asked: they may be missing here.
void CheckTrainable(const RunOptions& options);

class Trainer {
 public:
  // A new run in `directory`, which must not exist or be empty. When it returns, the directory is
  // there and can be resumed. Throws BadInput for options that make no sense, and WorkFailed if the
  // memory is not there.
  static std::unique_ptr<Trainer> Start(const std::filesystem::path& directory,
                                        const RunOptions& options);

  // Goes on where the last checkpoint was made. Null, and nothing changed, if that was at the end.
  // BadInput, naming the file and what is wrong, for a directory that holds no run or a broken one,
  // or one that names Python code and is not trusted.
  static std::unique_ptr<Trainer> Resume(const std::filesystem::path& directory,
                                         const ResumeChanges& changes = {});

  ~Trainer();

  // What Resume does, with the payload of a state.bin of the same run, whatever this trainer has
  // done before: for tests that read many checkpoints. False, and nothing changed, if it is of the
  // end. After an error no file has changed, and the trainer can only load another one.
  bool Load(std::span<const std::byte> payload);

  // To the end, or until `stop`; with a checkpoint in both cases. True: to the end, be it the last
  // step or a return that is enough. A run whose last step comes before its first evaluation makes
  // one there. Throws WorkFailed if training diverges (after writing diverged.npz into the
  // directory), the disk is full, or a worker of the environment dies; the last checkpoint stays
  // then.
  bool Run(const RunHooks& hooks = {});

  std::int64_t step() const { return step_; }
  // The largest of all evaluations, that of the end included; -infinity before the first.
  double best_return() const { return evaluator_.best_return_with_end(); }
  const RunOptions& options() const { return options_; }
  // The network that acts.
  const Plan& plan() const { return agent_->weights().plan(); }
  TrainTimes times() const;
  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  Trainer(RunDirectory directory, const RunOptions& options,
          std::unique_ptr<Environment> environment);

  void WriteDescription() const;
  void Begin();
  void Step();
  void Learn(std::int64_t step);
  void Remember();
  bool EvaluateIfDue(const RunHooks& hooks);
  bool EvaluateEnd(const RunHooks& hooks);
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

  std::int64_t step_ = 0;
  std::int64_t checkpoint_step_ = -1;  // -1: something has happened since
  double wall_seconds_before_ = 0;     // of former parts of the run
  TrainTimes times_;                   // without the agent's
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRAINER_H_
