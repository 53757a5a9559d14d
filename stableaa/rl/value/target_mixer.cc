#include "stableaa/rl/value/target_mixer.h"

#include <cstddef>

#include "stableaa/rl/value/bootstrap.h"

namespace stableaa {

void TargetMixer::Targets(const ReplayBatch& batch, const FrozenValues& values,
                          std::span<const double> alpha, std::span<const int> online_best,
                          std::int64_t time, double beta, std::span<float> targets) {
  const Backup backup = options_.BackupAt(time);
  const StatePlaces places(batch);
  const std::size_t m = values.networks;
  for (std::size_t j = 0; j < batch.count(); ++j) {
    const auto reward = static_cast<double>(batch.rewards[j]);
    const auto discount = static_cast<double>(batch.discounts[j]);
    const int best = online_best.empty() ? -1 : online_best[j];
    double next = 0;
    if (discount != 0 && options_.mixer == MixerKind::kAverage) {
      mean_.assign(values.actions, 0);
      for (std::size_t i = 0; i < m; ++i) {
        const auto q = values.Of(i, places.Next(j));
        for (std::size_t a = 0; a < values.actions; ++a) mean_[a] += q[a];
      }
      for (float& q : mean_) q /= static_cast<float>(m);
      next = NextValue(backup, mean_, best);
    } else if (discount != 0) {
      for (std::size_t i = 0; i < m; ++i) {
        if (alpha[i] != 0) {  // most are 0 after a fallback
          next += alpha[i] * NextValue(backup, values.Of(i, places.Next(j)), best);
        }
      }
    }
    double q_mixed = 0;
    if (beta != 0) {
      const auto action = static_cast<std::size_t>(batch.actions[j]);
      for (std::size_t i = 0; i < m; ++i) {
        q_mixed += alpha[i] * static_cast<double>(values.Of(i, places.State(j))[action]);
      }
    }
    targets[j] = static_cast<float>(beta * q_mixed + (1 - beta) * (reward + discount * next));
  }
}

}  // namespace stableaa
