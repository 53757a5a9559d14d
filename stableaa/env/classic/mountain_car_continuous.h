// The car in a valley (car_in_valley.h) with a motor of any force, like Gymnasium's
// MountainCarContinuous-v0.
//
// A step with the force f, clipped to [-1, 1]:
//
//   v <- clip(v + .0015 f - .0025 cos(3x), -.07, .07)
//   x <- clip(x + v, -1.2, .6)                           (the new speed moves)
//   v <- 0 if x = -1.2 and v < 0                         (the wall on the left stops the car)
//
// An episode ends when x >= .45 and v >= 0. The reward is -.1 f^2 with f as given, not clipped, and
// 100 more in the step that ends the episode.
//
// Gymnasium rounds the state to floats after every step, so that its arithmetic is in double in the
// first step of an episode and in float in all others. This code does the same. It tells the two
// apart by whether floats hold the state exactly, which they do for one start in 2^29; there, the
// first step may differ from Gymnasium's in the last bit.
#ifndef STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_CONTINUOUS_H_
#define STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_CONTINUOUS_H_

#include "stableaa/env/classic/car_in_valley.h"

namespace stableaa {

class MountainCarContinuous : public CarInValley {
 public:
  static constexpr double kGoalPosition = .45;
  static constexpr double kPower = .0015;
  static constexpr float kMaxForce = 1;
  static constexpr double kGoalReward = 100;
  static constexpr double kForceCost = .1;

  // The bounds are those of the usual car, rounded to floats, and a little wider for it.
  MountainCarContinuous()
      : CarInValley(kGoalPosition, {.min_position = static_cast<float>(kMinPosition),
                                    .max_position = static_cast<float>(kMaxPosition),
                                    .max_speed = static_cast<float>(kMaxSpeed)}) {}

  // One value, the force.
  Outcome Step(Action action, RandomStream& random) override;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_CONTINUOUS_H_
