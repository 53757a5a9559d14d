#include "stableaa/rl/run/checkpoint_head.h"

#include <fmt/format.h>

namespace stableaa {

CheckpointHead CheckpointHead::Read(ByteReader& in) {
  CheckpointHead head;
  head.fingerprint = in.U32();
  head.step = in.I64();
  head.evaluated_step = in.I64();
  constexpr std::int64_t kMaxStep = std::int64_t{1} << 41;  // train.steps is at most half of it
  if (head.step < 0 || head.step > kMaxStep || head.evaluated_step < 0 ||
      head.evaluated_step > head.step) {
    throw in.Wrong(fmt::format(
        "expected a step of 0 or more, up to 2^41, and one before or at it that was evaluated, "
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
  const std::int64_t last = options.last_step();
  return step > last || (step == last && !EvaluationIsDue(options, step, evaluated_step) &&
                         !EndEvaluationIsDue(options, step, evaluated_step));
}

bool IsDueStep(std::int64_t interval, int envs, std::int64_t step) {
  return interval != 0 && step % interval < envs;
}

std::int64_t LastDueStep(std::int64_t interval, int envs, std::int64_t step) {
  if (interval == 0) return 0;
  const std::int64_t reached = step - step % interval;
  return (reached + envs - 1) / envs * envs;
}

bool EvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step) {
  return IsDueStep(options.eval.interval_steps, options.env.num_envs, step) &&
         step != evaluated_step;
}

bool EndEvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step) {
  return step > 0 && evaluated_step == 0 && options.eval.interval_steps != 0 &&
         !IsDueStep(options.eval.interval_steps, options.env.num_envs, step);
}

bool IsEndEvaluation(const RunOptions& options, std::int64_t evaluated_step) {
  return options.eval.interval_steps != 0 &&
         !IsDueStep(options.eval.interval_steps, options.env.num_envs, evaluated_step);
}

}  // namespace stableaa
