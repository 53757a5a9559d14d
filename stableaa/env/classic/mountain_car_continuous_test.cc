#include "stableaa/env/classic/mountain_car_continuous.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stableaa/env/classic/classic_problems_test.h"
#include "stableaa/env/simulation.h"

namespace stableaa::mountain_car_continuous_test {

using classic_problems_test::At;
using classic_problems_test::ExpectUniform;
using classic_problems_test::Starts;
using classic_problems_test::StepWith;

using Car = MountainCarContinuous;

Car CarAt(double position, double velocity) { return At<Car>({position, velocity}); }

TEST(MountainCarContinuous, TheForceChangesTheSpeedInProportion) {
  for (const float force : {-1.F, -.4F, 0.F, .7F, 1.F}) {
    SCOPED_TRACE(force);
    Car car = CarAt(-.3, .01);
    StepWith(car, force);
    const double velocity = .01 + .0015 * double{force} - .0025 * std::cos(-.9);
    EXPECT_NEAR(car.state().velocity, velocity, 1e-9);
    EXPECT_NEAR(car.state().position, -.3 + velocity, 1e-7);
  }
}

TEST(MountainCarContinuous, BeyondItsLimitAForceCostsMoreButPushesNoHarder) {
  for (const float sign : {-1.F, 1.F}) {
    Car car = CarAt(-.51, 0), limit = car;
    EXPECT_DOUBLE_EQ(StepWith(car, 3 * sign).reward, -.9);
    EXPECT_DOUBLE_EQ(StepWith(limit, sign).reward, -.1);
    EXPECT_NEAR(car.state().velocity, limit.state().velocity, 1e-9);
  }
}

TEST(MountainCarContinuous, AStateIsRoundedToFloatsAfterEveryStep) {
  Car car = CarAt(-.512345678901, 0);
  for (int t = 0; t < 50; ++t) {
    StepWith(car, t % 3 == 0 ? .3F : -.9F);
    const auto [position, velocity] = car.state();
    ASSERT_EQ(position, static_cast<float>(position));
    ASSERT_EQ(velocity, static_cast<float>(velocity));
  }
}

TEST(MountainCarContinuous, ClimbsByRockingForAHundredLessTheForces) {
  Car car = CarAt(-.5, 0);
  for (int t = 0; t < 999; ++t) ASSERT_FALSE(StepWith(car, 1).terminated);
  car.set_state({-.5, 0});
  int steps = 0;
  double total = 0;
  for (bool over = false; !over && steps < 999; ++steps) {
    const auto outcome = StepWith(car, car.state().velocity >= 0 ? 1.F : -1.F);
    total += outcome.reward;
    over = outcome.terminated;
  }
  EXPECT_GE(car.state().position, .45F);
  EXPECT_LT(steps, 200);
  EXPECT_NEAR(total, 100 - .1 * steps, 1e-9);
}

TEST(MountainCarContinuous, ItsFlagIsLowerAndCountsOnlyOnTheWayUp) {
  Car car = CarAt(.44, .05);
  const auto outcome = StepWith(car, .5F);
  EXPECT_TRUE(outcome.terminated);
  EXPECT_DOUBLE_EQ(outcome.reward, 100 - .025);
  car.set_state({.55, -.01});
  EXPECT_FALSE(StepWith(car, -1).terminated);
  EXPECT_GT(car.state().position, .45);
}

TEST(MountainCarContinuous, TheWallOnTheLeftStopsItTheEdgeOnTheRightDoesNot) {
  // Both in the arithmetic of an episode's first step and in that of all others.
  for (const double velocity : {-.0699, double{-.0699F}}) {
    Car car = At<Car>({static_cast<float>(-1.19), velocity});
    StepWith(car, -1);
    EXPECT_EQ(car.state(), (Car::State{-1.2F, 0}));
    // It can rest there and leave again.
    StepWith(car, -1);
    EXPECT_GT(car.state().velocity, 0);
  }
  for (const double velocity : {.0699, double{.0699F}}) {
    Car car = At<Car>({.59F, velocity});
    StepWith(car, 1);
    EXPECT_EQ(car.state().position, .6F);
    EXPECT_GT(car.state().velocity, .0699);
  }
}

TEST(MountainCarContinuous, IsNeverFasterThanItsLimit) {
  Car car = CarAt(-.9, .07);
  StepWith(car, 1);
  EXPECT_EQ(car.state().velocity, .07F);
  car.set_state({-.1, -.07F});
  StepWith(car, -1);
  EXPECT_EQ(car.state().velocity, -.07F);
}

TEST(MountainCarContinuous, BeginsAtRestAboutTheBottom) {
  ExpectUniform(Starts<Car>(&Car::State::position), -.6, -.4);
  for (const double v : Starts<Car>(&Car::State::velocity)) ASSERT_EQ(v, 0);
}

}  // namespace stableaa::mountain_car_continuous_test
