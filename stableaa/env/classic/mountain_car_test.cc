#include "stableaa/env/classic/mountain_car.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stableaa/env/classic/classic_problems_test.h"
#include "stableaa/env/simulation.h"

namespace stableaa::mountain_car_test {

using classic_problems_test::Above;
using classic_problems_test::Below;
using classic_problems_test::CarAt;
using classic_problems_test::ExpectUniform;
using classic_problems_test::kPi;
using classic_problems_test::Starts;
using classic_problems_test::Step;

TEST(MountainCar, KeepsItsEnergyWhenLeftAlone) {
  // The step is symplectic: v^2 / 2 + .0025 / 3 sin(3x) fluctuates but does not drift.
  const auto energy = [](const MountainCar& car) {
    const auto [x, v] = car.state();
    return v * v / 2 + .0025 / 3 * std::sin(3 * x);
  };
  MountainCar car = CarAt(-.9, 0);
  const double before = energy(car);
  for (int t = 0; t < 10000; ++t) {
    Step(car, 1);
    ASSERT_NEAR(energy(car), before, .05 * .0025 / 3);
  }
}

TEST(MountainCar, RestsAtTheBottom) {
  MountainCar car = CarAt(-kPi / 6, 0);
  for (int t = 0; t < 100; ++t) Step(car, 1);
  EXPECT_NEAR(car.state().position, -kPi / 6, 1e-12);
}

TEST(MountainCar, PushesChangeTheSpeedByOneThousandth) {
  MountainCar left = CarAt(-.3, .01), none = left, right = left;
  Step(left, 0);
  Step(none, 1);
  Step(right, 2);
  EXPECT_NEAR(right.state().velocity - none.state().velocity, .001, 1e-15);
  EXPECT_NEAR(none.state().velocity - left.state().velocity, .001, 1e-15);
  EXPECT_EQ(none.state().position, -.3 + none.state().velocity);
}

TEST(MountainCar, CannotClimbAtOnceButByRocking) {
  MountainCar car = CarAt(-.5, 0);
  for (int t = 0; t < 200; ++t) EXPECT_FALSE(Step(car, 2).terminated);
  car.set_state({-.5, 0});
  int steps = 0;
  Simulation::Outcome outcome;
  while (!outcome.terminated && steps < 200) {
    outcome = Step(car, car.state().velocity >= 0 ? 2 : 0);
    EXPECT_EQ(outcome.reward, -1);
    ++steps;
  }
  EXPECT_TRUE(outcome.terminated);
  EXPECT_GT(steps, 90);
}

TEST(MountainCar, EndsAtTheFlagUnlessItRollsBack) {
  // At top speed the clip leaves exactly .07; finds the first start from which that reaches .5.
  double start = .5 - .07;
  while (start + .07 < .5) start = Above(start);
  while (Below(start) + .07 >= .5) start = Below(start);
  MountainCar car = CarAt(start, .07);
  EXPECT_TRUE(Step(car, 2).terminated);
  EXPECT_EQ(car.state().position, .5);
  car.set_state({Below(start), .07});
  EXPECT_FALSE(Step(car, 2).terminated);

  car.set_state({.58, -.01});
  EXPECT_FALSE(Step(car, 0).terminated);
  EXPECT_GT(car.state().position, .5);
}

TEST(MountainCar, TheWallOnTheLeftStopsItTheEdgeOnTheRightDoesNot) {
  MountainCar car = CarAt(-1.19, -.07);
  Step(car, 0);
  EXPECT_EQ(car.state(), (MountainCar::State{-1.2, 0}));
  car.set_state({.59, .07});
  Step(car, 2);
  EXPECT_EQ(car.state(), (MountainCar::State{.6, .07}));
}

TEST(MountainCar, IsNeverFasterThanItsLimit) {
  MountainCar car = CarAt(-.9, .07);
  Step(car, 2);
  EXPECT_EQ(car.state().velocity, .07);
  car.set_state({-.1, -.07});
  Step(car, 0);
  EXPECT_EQ(car.state().velocity, -.07);
}

TEST(MountainCar, BeginsAtRestAboutTheBottom) {
  ExpectUniform(Starts<MountainCar>(&MountainCar::State::position), -.6, -.4);
  for (const double v : Starts<MountainCar>(&MountainCar::State::velocity)) ASSERT_EQ(v, 0);
}

}  // namespace stableaa::mountain_car_test
