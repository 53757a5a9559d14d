// Swinging up a double pendulum by its middle joint (Sutton 1996), like Gymnasium's Acrobot-v1.
//
// Two links of length l1 hang from a fixed joint; a torque acts between them. theta1 is the angle
// of the first link (0: hanging), theta2 that of the second relative to the first, both positive
// counterclockwise. With masses m1, m2, distances lc1, lc2 from a link's joint to its centre of
// mass, moments of inertia I, and the torque T = -1, 0 or 1 (Sutton and Barto, section 11.3 of the
// first edition: the equations from the book, not those from the NIPS paper, which lack a term):
//
//   d1   = m1 lc1^2 + m2 (l1^2 + lc2^2 + 2 l1 lc2 cos theta2) + I1 + I2
//   d2   = m2 (lc2^2 + l1 lc2 cos theta2) + I2
//   phi2 = m2 lc2 g cos(theta1 + theta2 - pi/2)
//   phi1 = -m2 l1 lc2 theta2'^2 sin theta2 - 2 m2 l1 lc2 theta2' theta1' sin theta2
//          + (m1 lc1 + m2 l1) g cos(theta1 - pi/2) + phi2
//   theta2'' = (T + d2/d1 phi1 - m2 l1 lc2 theta1'^2 sin theta2 - phi2) / (m2 lc2^2 + I2 - d2^2/d1)
//   theta1'' = -(d2 theta2'' + phi1) / d1
//
// A step integrates .2 s with one step of the classical Runge-Kutta method, then wraps the angles
// to [-pi, pi] and clips theta1' to +-4 pi and theta2' to +-9 pi.
//
// An episode ends when the free end is more than l1 above the fixed joint:
// -cos theta1 - cos(theta1 + theta2) > 1. The reward is -1 per step, but 0 for the last one. All
// four variables start uniformly in [-.1, .1), rounded to float.
//
// The observation is computed in double and rounded; Gymnasium computes the first one of an episode
// from float sines and cosines, so it may differ in the last bit of a float.
#ifndef STABLEAA_ENV_CLASSIC_ACROBOT_H_
#define STABLEAA_ENV_CLASSIC_ACROBOT_H_

#include <numbers>

#include "stableaa/env/simulation.h"

namespace stableaa {

class Acrobot : public Simulation {
 public:
  struct State {
    double theta1 = 0, theta2 = 0;          // rad
    double theta1_dot = 0, theta2_dot = 0;  // rad/s
    bool operator==(const State&) const = default;
  };

  static constexpr double kGravity = 9.8;
  static constexpr double kLength1 = 1.0;
  static constexpr double kMass1 = 1.0, kMass2 = 1.0;
  static constexpr double kCentre1 = .5, kCentre2 = .5;
  static constexpr double kInertia = 1.0;  // of each link, about its centre of mass
  static constexpr double kTorque = 1.0;
  static constexpr double kTimeStep = .2;
  static constexpr double kMaxSpeed1 = 4 * std::numbers::pi;
  static constexpr double kMaxSpeed2 = 9 * std::numbers::pi;
  static constexpr double kGoalHeight = 1.0;
  static constexpr double kStartRange = .1;

  // The equations of motion: the time derivative of each variable.
  static State Derivative(const State& state, double torque);

  const State& state() const { return state_; }
  // Throws BadInput unless the angles are in [-pi, pi] and the speeds within their limits.
  void set_state(const State& state);

  void Reset(RandomStream& random) override;
  // Torque -1, 0, 1.
  Outcome Step(Action action, RandomStream& random) override;
  // cos theta1, sin theta1, cos theta2, sin theta2, theta1', theta2'.
  void Observe(Observation out) const override;
  void Draw(Picture& picture) const override;
  // F64 theta1, theta2, theta1', theta2'.
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in) override;

 private:
  State state_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_ACROBOT_H_
