// The evaluations of a training run: when they are due, what they came to, and the weights of the
// best one.
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

  // Evaluates and writes the weights if they are the best so far; at the end, where no evaluation
  // came before, always. False, and nothing changed, if it was stopped.
  bool Evaluate(std::int64_t step, const std::function<bool()>& stop);
  bool EvaluateEnd(std::int64_t step, const std::function<bool()>& stop);

  // The last one, until it is taken: a row of metrics.csv has it then.
  const std::optional<EvaluationResult>& result() const { return result_; }
  std::optional<EvaluationResult> TakeResult();

  std::int64_t evaluated_step() const { return evaluated_step_; }  // the last; 0: none yet
  std::optional<double> last_return() const { return last_return_; }
  // The best of all but that of the end, and of all; -infinity before the first.
  double best_return() const { return best_return_; }
  double best_return_with_end() const { return std::max(best_return_, end_return_); }

  void Save(ByteWriter& out) const;
  // `evaluated_step` is that of the checkpoint's head. Forgets an evaluation of the end, which is
  // none of a run that goes on. BadInput for a return that no run has.
  void SetEvaluatedStep(std::int64_t evaluated_step);
  void Load(ByteReader& in);
  // Weights that are none of this run's evaluations.
  void RemoveStaleWeights() const;

 private:
  bool Play(std::int64_t step, const std::function<bool()>& stop);
  void KeepWeights() const;
  std::filesystem::path best_weights() const;

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
