// The start of a checkpoint (checkpoint/state.bin): enough to know whether anything is left to do
// without reading the rest.
#ifndef STABLEAA_RL_RUN_CHECKPOINT_HEAD_H_
#define STABLEAA_RL_RUN_CHECKPOINT_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stableaa/core/binary_io.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// The file's kind and version (base/files/atomic_file.h).
inline constexpr std::string_view kCheckpointKind = "run";
inline constexpr std::uint32_t kCheckpointVersion = 4;

struct CheckpointHead {
  static constexpr std::size_t kBytes = 4 + 8 + 8;

  std::uint32_t fingerprint = 0;  // of the options it was made with
  std::int64_t step = 0;
  // The last step evaluated, or 0 if there is none yet. If none was due then, it is the evaluation
  // at the end of a run (see EndEvaluationIsDue).
  std::int64_t evaluated_step = 0;

  // Throws BadInput for numbers that no run has.
  static CheckpointHead Read(ByteReader& in);
  void Write(ByteWriter& out) const;

  // Not complete if Ctrl-C stopped an evaluation, be it that of the last step or the one at the
  // end: it still has to be made.
  bool IsComplete(const RunOptions& options) const;
};

// Of a run that does `envs` steps at once: whether something to be done every `interval` steps is
// due after `step` steps, and the last such step, or 0. An interval of 0 means never; nothing but a
// run's first checkpoint is due at step 0.
bool IsDueStep(std::int64_t interval, int envs, std::int64_t step);
std::int64_t LastDueStep(std::int64_t interval, int envs, std::int64_t step);

bool EvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step);

// A run that ends before its first evaluation makes one at its end. This evaluation is not part of
// the run's course: a resumed run forgets it and gets the same results as a longer run.
bool EndEvaluationIsDue(const RunOptions& options, std::int64_t step, std::int64_t evaluated_step);
bool IsEndEvaluation(const RunOptions& options, std::int64_t evaluated_step);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_CHECKPOINT_HEAD_H_
