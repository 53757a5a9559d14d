// What is first in a checkpoint (checkpoint/state.bin): enough to know whether there is anything
// left to do, without reading the rest.
#ifndef STABLEAA_RL_RUN_CHECKPOINT_HEAD_H_
#define STABLEAA_RL_RUN_CHECKPOINT_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stableaa/core/binary_io.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// The file's kind and version (base/atomic_file.h).
inline constexpr std::string_view kCheckpointKind = "run";
inline constexpr std::uint32_t kCheckpointVersion = 2;

struct CheckpointHead {
  static constexpr std::size_t kBytes = 4 + 8 + 8;

  std::uint32_t fingerprint = 0;  // of the options it was made with
  std::int64_t step = 0;
  // The last one evaluated; 0: none yet. One that is no multiple of eval.interval_steps is that of
  // the evaluation at the end of a run (see EndEvaluationIsDue).
  std::int64_t evaluated_step = 0;

  // BadInput for numbers that no run has.
  static CheckpointHead Read(ByteReader& in);
  void Write(ByteWriter& out) const;

  // An evaluation that Ctrl-C has stopped is still to be made, in the last step too, or that of the
  // end.
  bool IsComplete(const RunOptions& options) const;
};

bool EvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step);

// A run that ends before its first evaluation makes one at its end. It does not belong to the
// course of the run: one that goes on forgets it and comes to what a longer run comes to.
bool EndEvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step);
bool IsEndEvaluation(const RunOptions& options, std::int64_t evaluated_step);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_CHECKPOINT_HEAD_H_
