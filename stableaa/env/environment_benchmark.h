// How many steps per second an environment takes under random actions.
#ifndef STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_
#define STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_

#include <optional>

#include "stableaa/env/environment.h"

namespace stableaa {

struct EnvironmentTiming {
  // Of all environments of the batch together; observations written in every step, episodes that
  // end and begin included. The median over 20 or more pieces of the time.
  double steps_per_second = 0;
  // Bridged environments of one worker: the same environments stepped by a loop in Python without
  // the bridge, and the share of its speed that is left with it: the median over pairs of pieces,
  // which are measured in turns.
  std::optional<double> python_steps_per_second = {};
  std::optional<double> ratio = {};
};

// Takes about `seconds`.
EnvironmentTiming MeasureEnvironment(Environment& environment, double seconds);

}  // namespace stableaa

#endif  // STABLEAA_ENV_ENVIRONMENT_BENCHMARK_H_
