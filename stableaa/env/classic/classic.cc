#include "stableaa/env/classic/classic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "stableaa/core/error.h"
#include "stableaa/env/classic/acrobot.h"
#include "stableaa/env/classic/cartpole.h"
#include "stableaa/env/classic/mountain_car.h"
#include "stableaa/env/classic/mountain_car_continuous.h"
#include "stableaa/env/classic/pendulum.h"

namespace stableaa {
namespace {

// Floats from -high to high.
Space Symmetric(const std::vector<float>& high) {
  std::vector<float> low = high;
  for (float& bound : low) bound = -bound;
  return Space::Floats({static_cast<int>(high.size())}, std::move(low), high);
}

EnvironmentSpec CartPoleSpec() {
  constexpr float kUnbounded = std::numeric_limits<float>::infinity();
  return {.id = "classic/cartpole",
          // Twice the limits, so that the last observation of an episode is within them.
          .observation = Symmetric({static_cast<float>(2 * CartPole::kMaxX), kUnbounded,
                                    static_cast<float>(2 * CartPole::kMaxTheta), kUnbounded}),
          .action = Space::Discrete(2),
          .action_names = {"left", "right"},
          .max_episode_steps = 500,
          .frames_per_second = 50,
          .protocol = "as Gymnasium's CartPole-v1"};
}

Space CarObservation() {
  constexpr auto kSpeed = static_cast<float>(CarInValley::kMaxSpeed);
  return Space::Floats({2}, {static_cast<float>(CarInValley::kMinPosition), -kSpeed},
                       {static_cast<float>(CarInValley::kMaxPosition), kSpeed});
}

EnvironmentSpec MountainCarSpec() {
  return {.id = "classic/mountain_car",
          .observation = CarObservation(),
          .action = Space::Discrete(3),
          .action_names = {"left", "none", "right"},
          .max_episode_steps = 200,
          .noop = 1,
          .frames_per_second = 30,
          .protocol = "as Gymnasium's MountainCar-v0"};
}

EnvironmentSpec AcrobotSpec() {
  return {.id = "classic/acrobot",
          .observation = Symmetric({1, 1, 1, 1, static_cast<float>(Acrobot::kMaxSpeed1),
                                    static_cast<float>(Acrobot::kMaxSpeed2)}),
          .action = Space::Discrete(3),
          .action_names = {"clockwise", "none", "counterclockwise"},
          .max_episode_steps = 500,
          .noop = 1,
          .frames_per_second = 15,
          .protocol = "as Gymnasium's Acrobot-v1"};
}

EnvironmentSpec PendulumSpec() {
  return {.id = "classic/pendulum",
          .observation = Symmetric({1, 1, static_cast<float>(Pendulum::kMaxSpeed)}),
          .action = Symmetric({Pendulum::kMaxTorque}),
          .max_episode_steps = 200,
          .noop = 0,
          .frames_per_second = 30,
          .protocol = "as Gymnasium's Pendulum-v1"};
}

EnvironmentSpec MountainCarContinuousSpec() {
  return {.id = "classic/mountain_car_continuous",
          .observation = CarObservation(),
          .action = Symmetric({MountainCarContinuous::kMaxForce}),
          .max_episode_steps = 999,
          .noop = 0,
          .frames_per_second = 30,
          .protocol = "as Gymnasium's MountainCarContinuous-v0"};
}

Error UnknownName(std::string_view name) {
  return BadInput(fmt::format("classic environment is '{}': expected {}", name,
                              fmt::join(ClassicNames(), ", ")));
}

}  // namespace

const std::vector<std::string>& ClassicNames() {
  static const std::vector<std::string> names = {"cartpole", "mountain_car", "acrobot", "pendulum",
                                                 "mountain_car_continuous"};
  return names;
}

EnvironmentSpec ClassicEnvironmentSpec(std::string_view name) {
  if (name == "cartpole") return CartPoleSpec();
  if (name == "mountain_car") return MountainCarSpec();
  if (name == "acrobot") return AcrobotSpec();
  if (name == "pendulum") return PendulumSpec();
  if (name == "mountain_car_continuous") return MountainCarContinuousSpec();
  throw UnknownName(name);
}

std::unique_ptr<Simulation> MakeClassic(std::string_view name) {
  if (name == "cartpole") return std::make_unique<CartPole>();
  if (name == "mountain_car") return std::make_unique<MountainCar>();
  if (name == "acrobot") return std::make_unique<Acrobot>();
  if (name == "pendulum") return std::make_unique<Pendulum>();
  if (name == "mountain_car_continuous") return std::make_unique<MountainCarContinuous>();
  throw UnknownName(name);
}

}  // namespace stableaa
