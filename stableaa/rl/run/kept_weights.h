// Weights over time: files that a run keeps besides its latest and best weights, as
// checkpoint.keep_weights says, to be evaluated later.
//
//   weights/step-000000012000.safetensors
//
// A run that was stopped or killed and resumed has the same files, byte for byte, as one that was
// not. A file is written before the checkpoint of its step, and a resumed run first removes those
// from after its checkpoint: they come again if it gets there.
#ifndef STABLEAA_RL_RUN_KEPT_WEIGHTS_H_
#define STABLEAA_RL_RUN_KEPT_WEIGHTS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/agent.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// The value of checkpoint.keep_weights.
struct KeepRule {
  enum class When { kNever, kSteps, kEvaluations };

  When when = When::kNever;
  std::int64_t interval_steps = 0;  // for kSteps, at least 1

  // Reads "none", "every N steps" (or "every N"; N as 1000, 1_000 or 1e3) and "all evaluations" (or
  // "evaluations"). Throws BadInput, naming the key and these forms, for anything else.
  static KeepRule Parse(std::string_view text);

  // Whether the steps after `before`, up to `step`, cross a multiple of the interval.
  bool IsDue(std::int64_t before, std::int64_t step) const;
};

// Writes the files of a run that trains.
class WeightsKeeper {
 public:
  // All must outlive it.
  WeightsKeeper(const RunDirectory& directory, const RunOptions& options, const Agent& agent);

  bool IsDue(std::int64_t before, std::int64_t step) const { return rule_.IsDue(before, step); }
  bool keeps_evaluations() const { return rule_.when == KeepRule::When::kEvaluations; }

  // The weights must be finite.
  void Keep(std::int64_t step) const;

  // Removes what the run had kept after `step`, or, if it keeps evaluations, after the one in
  // `evaluated_step`.
  void RemoveLater(std::int64_t step, std::int64_t evaluated_step) const;

 private:
  const RunDirectory& directory_;
  const RunOptions& options_;
  const Agent& agent_;
  const KeepRule rule_;
};

struct KeptWeights {
  std::int64_t step = 0;
  std::filesystem::path file;
};

// In order of their steps; files with other names do not count. Throws BadInput if `run` is not the
// directory of a run, or keeps none (the message names the key), or none yet.
std::vector<KeptWeights> FindKeptWeights(const std::filesystem::path& run);

// Throws BadInput if the file is of another step than its name says: somebody has renamed or copied
// it.
void RequireOwnStep(const KeptWeights& kept, const WeightsMetadata& metadata);

// Those of one step. Throws BadInput, naming the nearest steps, if there are none.
KeptWeights FindKeptWeights(const std::filesystem::path& run, std::int64_t step);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_KEPT_WEIGHTS_H_
