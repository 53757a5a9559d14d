// How many steps per second an environment takes under random actions.
#ifndef STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_
#define STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_

#include <optional>

#include "stableaa/env/environment.h"

namespace stableaa {

struct EnvironmentTiming {
  // All environments of the batch together, with every observation written and episodes ending and
  // beginning. The median of 20 or more pieces.
  double steps_per_second = 0;
  // Only if one worker has all of them: the speed of a loop in Python without the bridge, and the
  // share of it that the bridge keeps, the median over pairs of pieces measured in turns.
  std::optional<double> python_steps_per_second = {};
  std::optional<double> ratio = {};
};

// Takes about `seconds`.
EnvironmentTiming MeasureEnvironment(Environment& environment, double seconds);

}  // namespace stableaa

#endif  // STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_
