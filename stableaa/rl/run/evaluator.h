// The evaluations of a training run: when they are due, their results, and the weights of the best
// one.
#ifndef STABLEAA_RL_RUN_EVALUATOR_H_
#define STABLEAA_RL_RUN_EVALUATOR_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "stableaa/env/environment.h"
#include "stableaa/rl/agent.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

class Evaluator {
 public:
  // All must outlive it.
  Evaluator(const RunDirectory& directory, const RunOptions& options, Agent& agent);
  ~Evaluator();

  bool IsDue(std::int64_t step) const;
  // See EndEvaluationIsDue (checkpoint_head.h).
  bool EndIsDue(std::int64_t step) const;
  bool EndIsDone() const;

  // Evaluate writes the weights if they are the best so far; EvaluateEnd always does, since no
  // evaluation came before it. Both return false, having changed nothing, if stopped.
  bool Evaluate(std::int64_t step, const std::function<bool()>& stop);
  bool EvaluateEnd(std::int64_t step, const std::function<bool()>& stop);

  // The last result, until it is taken, at which point a row of metrics.csv has it.
  const std::optional<EvaluationResult>& result() const { return result_; }
  std::optional<EvaluationResult> TakeResult();

  std::int64_t evaluated_step() const { return evaluated_step_; }  // the last one; 0: none yet
  std::optional<double> last_return() const { return last_return_; }
  // The best return, without and with the evaluation at the end; -infinity before the first.
  double best_return() const { return best_return_; }
  double best_return_with_end() const { return std::max(best_return_, end_return_); }

  void Save(ByteWriter& out) const;
  // `evaluated_step` comes from the checkpoint's head. Forgets an evaluation at the end, which does
  // not count in a run that continues. Throws BadInput for a return that no run has.
  void SetEvaluatedStep(std::int64_t evaluated_step);
  void Load(ByteReader& in);
  // To be called in this order: Confirm once a checkpoint with this object's state is safe on disk,
  // and, in a run that has been loaded, Restore. An evaluation that replaces the best weights sets
  // aside those of the last checkpoint until the next one. If there is none, because the run is
  // killed before, the evaluation has not been: Restore brings back the weights from before it.
  void ConfirmWeights() const;
  void RestoreWeights() const;

 private:
  bool Play(std::int64_t step, const std::function<bool()>& stop);
  void KeepWeights() const;
  bool WeightsAreStale() const;
  std::filesystem::path best_weights() const;
  std::filesystem::path former_best_weights() const;

  const RunDirectory& directory_;
  const RunOptions& options_;
  Agent& agent_;
  std::unique_ptr<Environment> environment_;  // made when first needed
  std::int64_t evaluated_step_ = 0;
  std::optional<EvaluationResult> result_;
  std::optional<double> last_return_;  // for progress reports
  double best_return_, end_return_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_EVALUATOR_H_
