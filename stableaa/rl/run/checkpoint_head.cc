#include "stableaa/rl/run/checkpoint_head.h"

#include <fmt/format.h>

namespace stableaa {

CheckpointHead CheckpointHead::Read(ByteReader& in) {
  CheckpointHead head;
  head.fingerprint = in.U32();
  head.step = in.I64();
  head.evaluated_step = in.I64();
  if (head.step < 0 || head.evaluated_step < 0 || head.evaluated_step > head.step) {
    throw in.Wrong(
        fmt::format("expected a step of 0 or more and one before or at it that was evaluated, "
                    "found {} and {}",
                    head.step, head.evaluated_step));
  }
  return head;
}

void CheckpointHead::Write(ByteWriter& out) const {
  out.U32(fingerprint);
  out.I64(step);
  out.I64(evaluated_step);
}

bool CheckpointHead::IsComplete(const RunOptions& options) const {
  return step > options.train.steps ||
         (step == options.train.steps && !EvaluationIsDue(options, step, evaluated_step) &&
          !EndEvaluationIsDue(options, step, evaluated_step));
}

bool EvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step) {
  const std::int64_t interval = options.eval.interval_steps;
  return interval != 0 && step % interval == 0 && step != evaluated_step;
}

bool EndEvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step) {
  const std::int64_t interval = options.eval.interval_steps;
  return interval != 0 && step > 0 && step % interval != 0 && evaluated_step == 0;
}

bool IsEndEvaluation(const RunOptions& options, std::int64_t evaluated_step) {
  const std::int64_t interval = options.eval.interval_steps;
  return interval != 0 && evaluated_step % interval != 0;
}

}  // namespace stableaa
