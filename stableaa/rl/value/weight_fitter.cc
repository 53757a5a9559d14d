#include "stableaa/rl/value/weight_fitter.h"

#include <fmt/format.h>

#include <cmath>

#include "stableaa/bellman/policy.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/value/bootstrap.h"

namespace stableaa {
namespace {

void RequireFinite(const FrozenValues& values) {
  for (const float value : values.values) {
    if (!std::isfinite(value)) {
      throw WorkFailed(fmt::format("a target network's value is {}", value));
    }
  }
}

}  // namespace

void WeightFitter::ComputeResiduals(const ReplayBatch& sample, const FrozenValues& values,
                                    std::int64_t time) {
  RequireFinite(values);
  const Backup backup = options_.BackupAt(time);
  const StatePlaces places(sample);
  const std::size_t n = sample.count(), m = values.networks;
  columns_.Resize(m, n);
  for (std::size_t j = 0; j < n; ++j) {
    if (!std::isfinite(sample.rewards[j])) {
      throw WorkFailed(
          fmt::format("the reward of transition {} is {}", sample.ids[j], sample.rewards[j]));
    }
    const auto action = static_cast<std::size_t>(sample.actions[j]);
    const std::size_t state = places.State(j);
    int best = -1;
    if (options_.backup == AgentBackup::kDouble && sample.discounts[j] != 0) {
      best = static_cast<int>(GreedyAction(values.Of(m - 1, places.Next(j))));
    }
    for (std::size_t i = 0; i < m; ++i) {
      const auto q = static_cast<double>(values.Of(i, state)[action]);
      double backed_up = sample.rewards[j];
      if (sample.discounts[j] != 0) {
        backed_up += static_cast<double>(sample.discounts[j]) *
                     NextValue(backup, values.Of(i, places.Next(j)), best);
      }
      columns_.residuals[i][j] = backed_up - q;
      if (i > 0) {
        columns_.differences[i - 1][j] = q - static_cast<double>(values.Of(i - 1, state)[action]);
      }
    }
  }
}

double WeightFitter::NewestResidual(const ReplayBatch& sample, const FrozenValues& values,
                                    std::int64_t time) {
  ComputeResiduals(sample, values, time);
  return MixingFit::NewestResidual(columns_);
}

Mixing WeightFitter::Fit(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time,
                         std::int64_t step) {
  ComputeResiduals(sample, values, time);
  Mixing mixing;
  fit_.Fit(columns_, step, mixing);
  return mixing;
}

}  // namespace stableaa
