#include "stableaa/env/classic/mountain_car.h"

#include <algorithm>
#include <cmath>

namespace stableaa {

Simulation::Outcome MountainCar::Step(Action action, RandomStream& /*random*/) {
  auto [position, velocity] = state_;
  velocity += (action.index - 1) * kForce + std::cos(3 * position) * -kGravity;
  velocity = std::clamp(velocity, -kMaxSpeed, kMaxSpeed);
  position = std::clamp(position + velocity, kMinPosition, kMaxPosition);
  if (position == kMinPosition && velocity < 0) velocity = 0;
  state_ = {position, velocity};
  return {-1, position >= kGoalPosition && velocity >= kGoalVelocity};
}

}  // namespace stableaa
