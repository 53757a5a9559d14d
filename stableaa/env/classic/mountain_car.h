// A car in a valley that is too weak to climb the hill in one go (Moore 1990), like Gymnasium's
// MountainCar-v0.
//
// The ground is sin(3x). Each step accelerates the car by a = -1, 0 or 1:
//
//   v <- clip(v + .001 a - .0025 cos(3x), -.07, .07)
//   x <- clip(x + v, -1.2, .6)                           (the new speed moves)
//   v <- 0 if x = -1.2 and v < 0                         (the wall on the left stops the car)
//
// An episode ends when x >= .5 and v >= 0. The reward is -1 per step, including the last one. The
// car starts at rest with x uniform in [-.6, -.4).
#ifndef STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_H_
#define STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_H_

#include "stableaa/env/simulation.h"

namespace stableaa {

class MountainCar : public Simulation {
 public:
  struct State {
    double position = -.5;
    double velocity = 0;  // per step
    bool operator==(const State&) const = default;
  };

  static constexpr double kMinPosition = -1.2;
  static constexpr double kMaxPosition = .6;
  static constexpr double kMaxSpeed = .07;
  static constexpr double kGoalPosition = .5;
  static constexpr double kGoalVelocity = 0;
  static constexpr double kForce = .001;
  static constexpr double kGravity = .0025;
  static constexpr double kStartLow = -.6, kStartHigh = -.4;

  const State& state() const { return state_; }
  // Throws BadInput unless the position is in [-1.2, .6] and the velocity in [-.07, .07].
  void set_state(const State& state);

  void Reset(RandomStream& random) override;
  // 0: left, 1: nothing, 2: right.
  Outcome Step(Action action, RandomStream& random) override;
  // Position, velocity.
  void Observe(Observation out) const override;
  void Draw(Picture& picture) const override;
  // F64 position, velocity.
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in) override;

 private:
  State state_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_MOUNTAIN_CAR_H_
