#include "stableaa/env/environment_benchmark.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stableaa/core/median.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/fixed_policy.h"
#include "stableaa/env/gymnasium/gymnasium_environment.h"

namespace stableaa {
namespace {

constexpr int kPieces = 20;           // at least
constexpr double kPieceSeconds = .5;  // at most, far below any timeout of a worker
constexpr std::uint64_t kSeed = 1;

double SecondsOf(Environment& environment, FixedPolicy& policy, std::int64_t steps) {
  const Stopwatch stopwatch;
  for (std::int64_t k = 0; k < steps; ++k) {
    environment.Step(policy.Act(environment.observations()));
  }
  return stopwatch.Seconds();
}

// The number of steps that take about `seconds`, found by trial.
std::int64_t StepsFor(Environment& environment, FixedPolicy& policy, double seconds) {
  for (std::int64_t steps = 16;; steps *= 2) {
    const double taken = SecondsOf(environment, policy, steps);
    if (taken < seconds / 4) continue;
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(steps) * seconds / taken));
  }
}

}  // namespace

EnvironmentTiming MeasureEnvironment(Environment& environment, double seconds) {
  auto* const bridged = dynamic_cast<GymnasiumEnvironment*>(&environment);
  const bool compares =
      bridged != nullptr && bridged->envs_of_first_worker() == environment.num_envs();
  FixedPolicy policy("random", environment.spec(), kSeed);
  environment.Reset(kSeed);
  const double share = compares ? seconds / 2 : seconds;
  const double piece_seconds = std::min(share / kPieces, kPieceSeconds);
  const std::int64_t steps = StepsFor(environment, policy, piece_seconds);
  const double done = static_cast<double>(steps) * environment.num_envs();
  std::vector<double> rates, python_rates, ratios;
  for (double measured = 0; measured < share; measured += piece_seconds) {
    rates.push_back(done / SecondsOf(environment, policy, steps));
    if (!compares) continue;
    python_rates.push_back(done / bridged->MeasureInPython(steps));
    ratios.push_back(rates.back() / python_rates.back());
  }
  EnvironmentTiming timing{.steps_per_second = Median(rates)};
  if (compares) {
    timing.python_steps_per_second = Median(python_rates);
    timing.ratio = Median(ratios);
  }
  return timing;
}

}  // namespace stableaa
