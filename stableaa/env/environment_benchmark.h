// Measures how many steps per second an environment takes under random actions.
#ifndef STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_
#define STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_

#include <optional>

#include "stableaa/env/environment.h"

namespace stableaa {

struct EnvironmentTiming {
  // For all environments of the batch together, including writing every observation and starting
  // new episodes. The median of at least 20 measurements.
  double steps_per_second = 0;
  // Only if one worker has all of them: the speed of a Python loop without the bridge, and the
  // share of it that the bridge keeps, the median over pairs of alternating measurements.
  std::optional<double> python_steps_per_second = {};
  std::optional<double> ratio = {};
};

// Takes about `seconds`.
EnvironmentTiming MeasureEnvironment(Environment& environment, double seconds);

}  // namespace stableaa

#endif  // STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_
