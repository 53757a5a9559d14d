// Training: environment, replay and learner in one loop, and all that makes a run of it: logs,
// evaluations, checkpoints.
//
//   const auto trainer = Trainer::Start("runs/a", options);   // or Trainer::Resume("runs/a")
//   trainer->Run();
//
// A run is a function of its options: the same ones give the same bytes in metrics.csv,
// episodes.csv (wall_ columns aside) and the weights, on the same kind of processor, whatever the
// number of threads and however often the run was stopped, killed and resumed.
//
// A step: choose an action, send it to the environment, do an update if one is due while the
// environment works, receive and remember what came of it. An update in step t so learns from the
// steps before t.
#ifndef STABLEAA_RL_RUN_TRAINER_H_
#define STABLEAA_RL_RUN_TRAINER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "stableaa/core/random.h"
#include "stableaa/env/environment.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/metrics.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/value/actor.h"
#include "stableaa/rl/value/learner.h"

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

// Seconds that parts of the loop took, all steps of Run together.
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

// For who watches. Called after every step; must be cheap.
struct TrainProgress {
  std::int64_t step = 0;
  std::optional<double> episode_return = {};  // mean over the last episodes
  std::optional<double> loss = {};            // of the last row
  std::optional<double> eval_return = {};     // of the last evaluation
};

struct RunHooks {
  // Asked in every step; true: make a checkpoint and return.
  std::function<bool()> stop = {};
  // Ends the run at the first evaluation whose mean return is at least this.
  std::optional<double> enough_return = {};
  std::function<void(const TrainProgress&)> progress = {};
};

// BadInput for what no run could start with: options that make no sense, continuous actions, a
// network that does not fit. Environments in Python are not asked: they may be missing here.
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

  // For who changes checkpoints and wants many of them read: what Resume does with the payload of
  // state.bin, for a trainer of the same run, whatever it has done before. False, and nothing
  // changed, if it is of the end. After an error no file has changed, and the trainer can only load
  // another one.
  bool Load(std::span<const std::byte> payload);

  // To the end, or until `stop`; with a checkpoint in both cases. True: to the end, be it the last
  // step or a return that is enough. A run whose last step comes before its first evaluation makes
  // one there. Throws
  // WorkFailed if training diverges (after writing diverged.npz into the directory), the disk is
  // full, or a worker of the environment dies; the last checkpoint stays then.
  bool Run(const RunHooks& hooks = {});

  std::int64_t step() const { return step_; }
  // Of all evaluations, also that of the end; -infinity before the first.
  double best_return() const { return std::max(best_return_, end_return_); }
  const RunOptions& options() const { return options_; }
  const Plan& plan() const { return *plan_; }
  const TrainTimes& times() const { return times_; }
  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  Trainer(RunDirectory directory, const RunOptions& options,
          std::unique_ptr<Environment> environment);

  void WriteDescription() const;
  void Begin();
  void Step();
  void Learn(std::int64_t step);
  [[noreturn]] void EndDiverged(std::int64_t step, const std::string& why) const;
  void RequireFiniteWeights() const;
  void Remember(std::int32_t action);
  bool Evaluate(const RunHooks& hooks);
  bool EvaluateIfDue(const RunHooks& hooks);
  void KeepEndEvaluation(const RunHooks& hooks);
  std::filesystem::path BestWeights() const;
  void LogIfDue();
  MetricRow Row();
  WeightsMetadata Metadata() const;
  void Checkpoint();
  RunLogs::Rows LoadCheckpoint(ByteReader& in, const CheckpointHead& head);
  void LoadProgress(ByteReader& in, const RunLogs::Rows& logged);
  void CheckLoaded(const ByteReader& in);
  void OpenLogs(const RunLogs::Rows& logged);
  void ReportProgress(const RunHooks& hooks) const;

  RunDirectory directory_;
  RunOptions options_;
  const std::uint32_t fingerprint_;
  std::unique_ptr<Environment> environment_;
  const ObservationLayout layout_;
  const std::shared_ptr<const Plan> plan_;
  Replay replay_;
  Learner learner_;
  Actor actor_;
  RandomStream exploration_random_;
  std::unique_ptr<RunLogs> logs_;

  std::int64_t step_ = 0;
  std::int64_t episodes_ = 0;
  double episode_return_ = 0;
  std::int64_t episode_length_ = 0;
  MetricSums sums_;
  std::int64_t evaluated_step_ = 0, logged_step_ = 0, checkpoint_step_ = -1;  // -1: none of now
  std::optional<EvaluationResult> evaluation_;                                // of this step
  double best_return_;  // of all evaluations but that of the end
  double end_return_;
  double wall_seconds_before_ = 0;  // of former parts of the run

  // For who watches; of no consequence.
  double recent_return_ = 0;
  std::int64_t recent_episodes_ = 0;
  std::optional<double> last_loss_, last_eval_;

  std::unique_ptr<Environment> evaluation_environment_;  // made when first needed
  std::unique_ptr<Actor> evaluation_actor_;
  std::vector<std::uint8_t> encoded_;
  TrainTimes times_;
  std::int64_t rated_step_ = 0;  // for wall_steps_per_second
  double rated_seconds_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRAINER_H_
