// Shared by the tests of the classic problems: steps, states, and where episodes begin.
#ifndef STABLEAA_ENV_CLASSIC_CLASSIC_PROBLEMS_TEST_H_
#define STABLEAA_ENV_CLASSIC_CLASSIC_PROBLEMS_TEST_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/classic/acrobot.h"
#include "stableaa/env/classic/cartpole.h"
#include "stableaa/env/classic/mountain_car.h"
#include "stableaa/env/classic/mountain_car_continuous.h"
#include "stableaa/env/classic/pendulum.h"
#include "stableaa/env/environment.h"
#include "stableaa/env/simulation.h"

namespace stableaa::classic_problems_test {

inline constexpr double kPi = std::numbers::pi;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline double Above(double x) { return std::nextafter(x, kInfinity); }
inline double Below(double x) { return std::nextafter(x, -kInfinity); }

// Only Reset is random.
inline RandomStream& Unused() {
  static RandomStream random(0, "unused");
  return random;
}

inline Simulation::Outcome Step(Simulation& simulation, int action) {
  return simulation.Step({.index = action}, Unused());
}
inline Simulation::Outcome StepWith(Simulation& simulation, float value) {
  return simulation.Step({.values = std::span(&value, 1)}, Unused());
}

inline std::vector<float> ObservationOf(const Simulation& simulation, std::size_t size) {
  std::vector<float> observation(size, std::numeric_limits<float>::quiet_NaN());
  simulation.Observe({.floats = observation});
  return observation;
}

// A step with an action drawn from the random stream.
inline Simulation::Outcome RandomStep(Simulation& simulation, const EnvironmentSpec& spec,
                                      RandomStream& random) {
  if (spec.action.kind == Space::Kind::kDiscrete) {
    return Step(simulation,
                static_cast<int>(random.Below(static_cast<std::uint64_t>(spec.action.n))));
  }
  return StepWith(simulation, static_cast<float>(random.Uniform(-2, 2)));
}

// Expects mean and mean square of `samples` from a uniform distribution to be within six standard
// errors (a false alarm has probability 2e-9 for either), and all samples to lie in [low, high].
inline void ExpectUniform(const std::vector<double>& samples, double low, double high) {
  const double n = static_cast<double>(samples.size());
  const double half = (high - low) / 2;
  double mean = 0, square = 0;
  for (const double sample : samples) {
    ASSERT_GE(sample, low);
    ASSERT_LE(sample, high);
    const double scaled = (sample - (low + high) / 2) / half;
    mean += scaled / n;
    square += scaled * scaled / n;
  }
  EXPECT_NEAR(mean, 0, 6 * std::sqrt(1 / (3 * n)));
  EXPECT_NEAR(square, 1.0 / 3, 6 * std::sqrt(4 / (45 * n)));
}

// The variable's values after many resets.
template <typename Problem>
std::vector<double> Starts(double Problem::State::*variable) {
  RandomStream random(7, "starts");
  Problem problem;
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) {
    problem.Reset(random);
    values.push_back(problem.state().*variable);
  }
  return values;
}

template <typename Problem>
Problem At(const typename Problem::State& state) {
  Problem problem;
  problem.set_state(state);
  return problem;
}

inline MountainCar CarAt(double position, double velocity) {
  return At<MountainCar>({position, velocity});
}

inline Pendulum PendulumAt(double theta, double theta_dot) {
  return At<Pendulum>({theta, theta_dot, 0});
}

}  // namespace stableaa::classic_problems_test

#endif  // STABLEAA_ENV_CLASSIC_CLASSIC_PROBLEMS_TEST_H_
