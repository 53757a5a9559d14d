// The car in a valley (car_in_valley.h) with three actions, like Gymnasium's MountainCar-v0.
//
// Each step accelerates the car by a = -1, 0 or 1:
//
//   v <- clip(v + .001 a - .0025 cos(3x), -.07, .07)
//   x <- clip(x + v, -1.2, .6)                           (the new speed moves)
//   v <- 0 if x = -1.2 and v < 0                         (the wall on the left stops the car)
//
// An episode ends when x >= .5 and v >= 0. The reward is -1 per step, including the last one.
#ifndef STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_H_
#define STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_H_

#include "stableaa/env/classic/car_in_valley.h"

namespace stableaa {

class MountainCar : public CarInValley {
 public:
  static constexpr double kGoalPosition = .5;
  static constexpr double kForce = .001;

  MountainCar() : CarInValley(kGoalPosition, {}) {}

  // 0: left, 1: nothing, 2: right.
  Outcome Step(Action action, RandomStream& random) override;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_H_
