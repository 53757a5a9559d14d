#include "stableaa/rl/value/transition_sampler.h"

#include <algorithm>

namespace stableaa {

TransitionSampler::TransitionSampler(const ReplayOptions& options, std::uint64_t seed,
                                     const Replay& replay)
    : options_(options),
      replay_(replay),
      replay_random_(seed, "replay"),
      weights_random_(seed, "weights") {}

double TransitionSampler::ImportanceExponent(std::int64_t step) const {
  const double progress = options_.importance_steps == 0
                              ? 1
                              : std::min(1.0, static_cast<double>(step) /
                                                  static_cast<double>(options_.importance_steps));
  return options_.importance_start + (1 - options_.importance_start) * progress;
}

void TransitionSampler::DrawBatch(int count, std::int64_t step, std::vector<std::int64_t>& ids,
                                  std::vector<float>& importance_weights) {
  replay_.Sample(count, ImportanceExponent(step), replay_random_, ids, importance_weights);
}

void TransitionSampler::DrawSample(int count, std::vector<std::int64_t>& ids) {
  replay_.SampleUniform(count, weights_random_, ids);
}

void TransitionSampler::Save(ByteWriter& out) const {
  replay_random_.Save(out);
  weights_random_.Save(out);
}

void TransitionSampler::Load(ByteReader& in) {
  replay_random_.Load(in);
  weights_random_.Load(in);
}

}  // namespace stableaa
