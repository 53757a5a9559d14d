// A car in a valley that is too weak to climb the hill in one go (Moore 1990): what the mountain car
// with three actions and the one with a force have in common.
//
// The ground is sin(3x). The car lies at a position x and moves with a velocity v per step. A wall
// on the left stops it, and a flag on the hill on the right is the goal. It starts at rest with x
// uniform in [-.6, -.4).
#ifndef STABLEAA_ENV_CLASSIC_CAR_IN_VALLEY_H_
#define STABLEAA_ENV_CLASSIC_CAR_IN_VALLEY_H_

#include <string>

#include "stableaa/env/simulation.h"

namespace stableaa {

class CarInValley : public Simulation {
 public:
  struct State {
    double position = -.5;
    double velocity = 0;  // per step
    bool operator==(const State&) const = default;
  };

  static constexpr double kMinPosition = -1.2;
  static constexpr double kMaxPosition = .6;
  static constexpr double kMaxSpeed = .07;
  static constexpr double kGravity = .0025;
  static constexpr double kGoalVelocity = 0;
  static constexpr double kStartLow = -.6, kStartHigh = -.4;

  const State& state() const { return state_; }
  // Throws BadInput unless position and velocity are within the car's bounds.
  void set_state(const State& state);

  void Reset(RandomStream& random) override;
  // Position, velocity.
  void Observe(Observation out) const override;
  void Draw(Picture& picture) const override;
  // F64 position, velocity.
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in) override;

 protected:
  struct Bounds {
    double min_position = kMinPosition, max_position = kMaxPosition, max_speed = kMaxSpeed;
  };

  CarInValley(double goal_position, const Bounds& bounds)
      : goal_position_(goal_position), bounds_(bounds) {}

  State state_;

 private:
  std::string WrongIn(const State& state) const;

  double goal_position_;
  Bounds bounds_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_CAR_IN_VALLEY_H_
