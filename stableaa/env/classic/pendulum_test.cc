#include "stableaa/env/classic/pendulum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stableaa/env/classic/classic_problems_test.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::pendulum_test {

using classic_problems_test::ExpectUniform;
using classic_problems_test::kPi;
using classic_problems_test::PendulumAt;
using classic_problems_test::Starts;
using classic_problems_test::StepWith;

TEST(Pendulum, SwingsWithThePeriodOfARod) {
  // Near the bottom theta'' = -15 theta; for this integrator with step h, the phase per step is
  // arccos(1 - 15 h^2 / 2).
  Pendulum pendulum = PendulumAt(kPi + .001, 0);
  int crossings = 0;
  constexpr int kSteps = 2000;
  double before = .001;
  for (int t = 0; t < kSteps; ++t) {
    StepWith(pendulum, 0);
    const double now = pendulum.state().theta - kPi;
    crossings += before > 0 && now <= 0;
    before = now;
  }
  const double turns = kSteps * std::acos(1 - 15 * .05 * .05 / 2) / (2 * kPi);
  EXPECT_NEAR(crossings, turns, 1);
}

TEST(Pendulum, MirroredStatesAndTorquesGiveMirroredTrajectories) {
  Pendulum pendulum = PendulumAt(.7, -.4), mirrored = PendulumAt(-.7, .4);
  for (int t = 0; t < 100; ++t) {
    const float torque = static_cast<float>(t % 5) - 1.7F;
    EXPECT_NEAR(StepWith(pendulum, torque).reward, StepWith(mirrored, -torque).reward, 1e-12);
    EXPECT_EQ(pendulum.state().theta, -mirrored.state().theta);
    EXPECT_EQ(pendulum.state().theta_dot, -mirrored.state().theta_dot);
  }
}

TEST(Pendulum, RewardsTheStateBeforeTheStep) {
  Pendulum pendulum = PendulumAt(.5, 2);
  EXPECT_NEAR(StepWith(pendulum, 1).reward, -(.25 + .1 * 4 + .001), 1e-9);
  pendulum.set_state({0, 0, 0});
  EXPECT_EQ(StepWith(pendulum, 0).reward, 0);
  // The worst possible: -16.27.
  pendulum.set_state({kPi, 8, 0});
  EXPECT_NEAR(StepWith(pendulum, -2).reward, -(kPi * kPi + 6.4 + .004), 1e-9);
  // Full turns do not count.
  pendulum.set_state({.5 - 6 * kPi, 2, 0});
  EXPECT_NEAR(StepWith(pendulum, 1).reward, -(.25 + .1 * 4 + .001), 1e-9);
}

TEST(Pendulum, TheTorqueActsTripledAndIsClipped) {
  Pendulum pendulum = PendulumAt(0, 0);
  StepWith(pendulum, 1.5F);
  EXPECT_DOUBLE_EQ(pendulum.state().theta_dot, 4.5 * .05);
  EXPECT_DOUBLE_EQ(pendulum.state().theta, 4.5 * .05 * .05);
  EXPECT_EQ(pendulum.state().torque, 1.5);
  for (const float torque : {2.5F, 1e30F, -2.5F, -std::numeric_limits<float>::infinity()}) {
    Pendulum clipped = PendulumAt(.1, .2), limit = clipped;
    const double reward = StepWith(clipped, torque).reward;
    EXPECT_EQ(reward, StepWith(limit, torque > 0 ? 2.0F : -2.0F).reward);
    EXPECT_EQ(clipped.state(), limit.state());
  }
}

TEST(Pendulum, NeverEndsAndIsNeverFasterThanItsLimit) {
  Pendulum pendulum = PendulumAt(1.5, 7.9);
  EXPECT_FALSE(StepWith(pendulum, 2).terminated);
  EXPECT_EQ(pendulum.state().theta_dot, 8);
  pendulum.set_state({-1.5, -7.9, 0});
  EXPECT_FALSE(StepWith(pendulum, -2).terminated);
  EXPECT_EQ(pendulum.state().theta_dot, -8);
}

TEST(Pendulum, BeginsAnywhere) {
  ExpectUniform(Starts<Pendulum>(&Pendulum::State::theta), -kPi, kPi);
  ExpectUniform(Starts<Pendulum>(&Pendulum::State::theta_dot), -1, 1);
  for (const double u : Starts<Pendulum>(&Pendulum::State::torque)) ASSERT_EQ(u, 0);
}

TEST(Pendulum, SavesTheTorqueForItsPicture) {
  Pendulum pendulum = PendulumAt(1, 2), copy;
  StepWith(pendulum, -1.25F);
  LoadBytes(copy, SavedBytes(pendulum));
  EXPECT_EQ(copy.state(), pendulum.state());
  EXPECT_EQ(copy.state().torque, -1.25);
}

}  // namespace stableaa::pendulum_test
