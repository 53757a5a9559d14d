// Draws transitions for the learner from two streams of the seed: "replay" for update batches,
// "weights" for the samples that mixing weights are computed from.
#ifndef STABLEAA_RL_VALUE_TRANSITION_SAMPLER_H_
#define STABLEAA_RL_VALUE_TRANSITION_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/replay/replay.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

// Not thread-safe. The replay must outlive it.
class TransitionSampler {
 public:
  TransitionSampler(const ReplayOptions& options, std::uint64_t seed, const Replay& replay);

  // For an update. `step`, the run's, sets the exponent of the importance weights.
  void DrawBatch(int count, std::int64_t step, std::vector<std::int64_t>& ids,
                 std::vector<float>& importance_weights);
  // For mixing weights; uniform.
  void DrawSample(int count, std::vector<std::int64_t>& ids);

  const Replay& replay() const { return replay_; }

  // The state of the streams.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  double ImportanceExponent(std::int64_t step) const;

  const ReplayOptions options_;
  const Replay& replay_;
  RandomStream replay_random_, weights_random_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_TRANSITION_SAMPLER_H_
