// Balancing a pole on a cart (Barto, Sutton and Anderson 1983), like Gymnasium's CartPole-v1.
//
// A pole is hinged on a cart that runs on a track without friction; each step pushes the cart to
// the left or to the right with a fixed force F. With x the cart's position, theta the pole's angle
// (0: upright, positive: leaning to the right), l half the pole's length, m its mass, and M the
// mass of both, for one step of tau seconds:
//
//   push     = (F + m l theta'^2 sin theta) / M
//   theta''  = (g sin theta - push cos theta) / (l (4/3 - m cos^2 theta / M))
//   x''      = push - m l theta'' cos theta / M
//   (x, x', theta, theta') += tau (x', x'', theta', theta'')      (Euler: the old speeds move)
//
// An episode ends as soon as |x| > 2.4 or |theta| > 12 degrees. The reward is 1 per step, including
// the last one. All four variables start uniformly in [-.05, .05).
//
// A step after the end, which Gymnasium leaves undefined, changes nothing and earns 0, so no state
// ever runs away.
#ifndef STABLEAA_ENV_CLASSIC_CARTPOLE_H_
#define STABLEAA_ENV_CLASSIC_CARTPOLE_H_

#include <numbers>

#include "stableaa/env/simulation.h"

namespace stableaa {

class CartPole : public Simulation {
 public:
  struct State {
    double x = 0, x_dot = 0;          // m, m/s
    double theta = 0, theta_dot = 0;  // rad, rad/s
    bool operator==(const State&) const = default;
  };

  static constexpr double kGravity = 9.8;
  static constexpr double kCartMass = 1.0;
  static constexpr double kPoleMass = .1;
  static constexpr double kHalfLength = .5;
  static constexpr double kForce = 10.0;
  static constexpr double kTimeStep = .02;
  static constexpr double kMaxX = 2.4;
  static constexpr double kMaxTheta = 12 * 2 * std::numbers::pi / 360;
  static constexpr double kStartRange = .05;

  const State& state() const { return state_; }
  // Throws BadInput unless |x| and |theta| are at most twice their limits and the speeds so small
  // that one step goes at most three times as far as the limit. That is far more than an episode
  // reaches, and enough that such a state leads only to such states before the episode ends.
  void set_state(const State& state);

  void Reset(RandomStream& random) override;
  // 0: left, 1: right.
  Outcome Step(Action action, RandomStream& random) override;
  // x, x', theta, theta'.
  void Observe(Observation out) const override;
  void Draw(Picture& picture) const override;
  // F64 x, x', theta, theta'.
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in) override;

 private:
  State state_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_CARTPOLE_H_
