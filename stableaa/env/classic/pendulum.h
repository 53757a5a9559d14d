// Swinging up a pendulum with a motor that is too weak to lift it in one go, like Gymnasium's
// Pendulum-v1.
//
// A rod of length l and mass m turns about one end. theta is its angle, 0 when upright and positive
// counterclockwise; it is not wrapped. A step of dt = .05 s with the torque u, clipped to [-2, 2]:
//
//   reward = -(wrap(theta)^2 + .1 theta'^2 + .001 u^2)       (of the state before the step)
//   theta' <- clip(theta' + (3g/(2l) sin theta + 3/(m l^2) u) dt, -8, 8)
//   theta  <- theta + theta' dt                              (the new speed moves)
//
// where wrap maps to [-pi, pi). Never ends. Starts with theta uniform in [-pi, pi) and theta' in
// [-1, 1).
//
// Gymnasium's actions are floats, so NumPy computes .001 u^2 and 3/(m l^2) u in float and the rest
// in double. This code does the same.
#ifndef STABLEAA_ENV_CLASSIC_PENDULUM_H_
#define STABLEAA_ENV_CLASSIC_PENDULUM_H_

#include <numbers>

#include "stableaa/env/simulation.h"

namespace stableaa {

class Pendulum : public Simulation {
 public:
  struct State {
    double theta = 0, theta_dot = 0;  // rad, rad/s
    double torque = 0;                // in the last step, for the picture; 0 at the start
    bool operator==(const State&) const = default;
  };

  static constexpr double kGravity = 10.0;
  static constexpr double kMass = 1.0;
  static constexpr double kLength = 1.0;
  static constexpr double kTimeStep = .05;
  static constexpr double kMaxSpeed = 8;
  static constexpr float kMaxTorque = 2;
  static constexpr double kStartAngle = std::numbers::pi;
  static constexpr double kStartSpeed = 1;

  const State& state() const { return state_; }
  // Throws BadInput unless theta is finite, theta_dot in [-8, 8] and torque in [-2, 2].
  void set_state(const State& state);

  void Reset(RandomStream& random) override;
  // One value, the torque.
  Outcome Step(Action action, RandomStream& random) override;
  // cos theta, sin theta, theta'.
  void Observe(Observation out) const override;
  void Draw(Picture& picture) const override;
  // F64 theta, theta', torque.
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in) override;

 private:
  State state_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_PENDULUM_H_
