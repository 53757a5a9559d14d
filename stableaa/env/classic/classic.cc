#include "stableaa/env/classic/classic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "stableaa/core/error.h"
#include "stableaa/env/classic/acrobot.h"
#include "stableaa/env/classic/cartpole.h"
#include "stableaa/env/classic/mountain_car.h"
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

EnvironmentSpec MountainCarSpec() {
  constexpr auto kSpeed = static_cast<float>(MountainCar::kMaxSpeed);
  return {
      .id = "classic/mountain_car",
      .observation = Space::Floats({2}, {static_cast<float>(MountainCar::kMinPosition), -kSpeed},
                                   {static_cast<float>(MountainCar::kMaxPosition), kSpeed}),
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

Error UnknownName(std::string_view name) {
  return BadInput(fmt::format("classic environment is '{}': expected {}", name,
                              fmt::join(ClassicNames(), ", ")));
}

}  // namespace

const std::vector<std::string>& ClassicNames() {
  static const std::vector<std::string> names = {"cartpole", "mountain_car", "acrobot", "pendulum"};
  return names;
}

EnvironmentSpec ClassicEnvironmentSpec(std::string_view name) {
  if (name == "cartpole") return CartPoleSpec();
  if (name == "mountain_car") return MountainCarSpec();
  if (name == "acrobot") return AcrobotSpec();
  if (name == "pendulum") return PendulumSpec();
  throw UnknownName(name);
}

std::unique_ptr<Simulation> MakeClassic(std::string_view name) {
  if (name == "cartpole") return std::make_unique<CartPole>();
  if (name == "mountain_car") return std::make_unique<MountainCar>();
  if (name == "acrobot") return std::make_unique<Acrobot>();
  if (name == "pendulum") return std::make_unique<Pendulum>();
  throw UnknownName(name);
}

}  // namespace stableaa
