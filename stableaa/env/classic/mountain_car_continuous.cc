#include "stableaa/env/classic/mountain_car_continuous.h"

#include <algorithm>
#include <cmath>

#include "stableaa/env/classic/python_arithmetic.h"

namespace stableaa {
namespace {

using Car = MountainCarContinuous;

bool IsFloat(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

// What motor and gravity add to the speed. NumPy computes with the action's type, float; a force
// that was clipped is a number of Python's, double.
double Push(float force, double slope) {
  const double pull = Car::kGravity * std::cos(slope);
  if (std::abs(force) > Car::kMaxForce) return std::copysign(Car::kPower, force) - pull;
  return force * static_cast<float>(Car::kPower) - static_cast<float>(pull);
}

struct Moved {
  CarInValley::State state;
  bool has_arrived = false;
};

// A step in the arithmetic of Number. The result is rounded to floats.
template <typename Number>
Moved Move(const CarInValley::State& from, float force) {
  constexpr auto kLeft = static_cast<Number>(Car::kMinPosition);
  constexpr auto kRight = static_cast<Number>(Car::kMaxPosition);
  constexpr auto kSpeed = static_cast<Number>(Car::kMaxSpeed);
  auto position = static_cast<Number>(from.position);
  auto velocity = static_cast<Number>(from.velocity);
  velocity += static_cast<Number>(Push(force, 3 * position));
  velocity = std::clamp(velocity, -kSpeed, kSpeed);
  position = std::clamp(position + velocity, kLeft, kRight);
  if (position == kLeft && velocity < 0) velocity = 0;
  return {{static_cast<float>(position), static_cast<float>(velocity)},
          position >= static_cast<Number>(Car::kGoalPosition) && velocity >= Car::kGoalVelocity};
}

}  // namespace

Simulation::Outcome MountainCarContinuous::Step(Action action, RandomStream& /*random*/) {
  const float force = action.values[0];
  const bool is_float = IsFloat(state_.position) && IsFloat(state_.velocity);
  const auto [state, has_arrived] =
      is_float ? Move<float>(state_, force) : Move<double>(state_, force);
  state_ = state;
  const double cost = PythonSquare(static_cast<double>(force)) * kForceCost;
  return {(has_arrived ? kGoalReward : 0) - cost, has_arrived};
}

}  // namespace stableaa
