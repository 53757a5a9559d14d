#include "stableaa/env/classic/cartpole.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stableaa/core/random.h"
#include "stableaa/env/classic/classic_problems_test.h"
#include "stableaa/env/simulation.h"

namespace stableaa::cartpole_test {

using classic_problems_test::At;
using classic_problems_test::ExpectUniform;
using classic_problems_test::kPi;
using classic_problems_test::Starts;
using classic_problems_test::Step;

TEST(CartPole, ObeysNewtonsEquations) {
  // In their implicit form: the momentum of cart and pole, and the pole about its hinge.
  RandomStream random(1, "states");
  for (int i = 0; i < 200; ++i) {
    const CartPole::State before = {random.Uniform(-2, 2), random.Uniform(-5, 5),
                                    random.Uniform(-.2, .2), random.Uniform(-9, 9)};
    CartPole cart = At<CartPole>(before);
    const int action = i % 2;
    Step(cart, action);
    const CartPole::State& after = cart.state();
    const double h = .02, m = .1, l = .5;
    EXPECT_DOUBLE_EQ(after.x, before.x + h * before.x_dot);
    EXPECT_DOUBLE_EQ(after.theta, before.theta + h * before.theta_dot);
    const double x_acceleration = (after.x_dot - before.x_dot) / h;
    const double theta_acceleration = (after.theta_dot - before.theta_dot) / h;
    const double cosine = std::cos(before.theta), sine = std::sin(before.theta);
    const double force = action == 1 ? 10 : -10;
    EXPECT_NEAR(
        1.1 * x_acceleration +
            m * l * (theta_acceleration * cosine - before.theta_dot * before.theta_dot * sine),
        force, 1e-11);
    EXPECT_NEAR(4.0 / 3 * l * theta_acceleration + x_acceleration * cosine, 9.8 * sine, 1e-11);
  }
}

TEST(CartPole, MirroredStatesAndPushesGiveMirroredTrajectories) {
  CartPole cart = At<CartPole>({.1, -.2, .03, .04});
  CartPole mirrored = At<CartPole>({-.1, .2, -.03, -.04});
  for (int t = 0; t < 40; ++t) {
    const int action = t / 3 % 2;
    const Simulation::Outcome outcome = Step(cart, action);
    EXPECT_EQ(outcome.terminated, Step(mirrored, 1 - action).terminated);
    const CartPole::State& a = cart.state();
    EXPECT_EQ(mirrored.state(), (CartPole::State{-a.x, -a.x_dot, -a.theta, -a.theta_dot}));
  }
}

TEST(CartPole, EndsBeyondItsLimitsAndNotAtThem) {
  for (const double sign : {-1.0, 1.0}) {
    CartPole cart = At<CartPole>({sign * 2.4, 0, 0, 0});
    EXPECT_FALSE(Step(cart, 0).terminated);
    cart.set_state({sign * 2.4, sign * 1e-9, 0, 0});
    EXPECT_TRUE(Step(cart, 0).terminated);
    cart.set_state({0, 0, sign * 12 * kPi / 180, 0});
    EXPECT_FALSE(Step(cart, 0).terminated);
    cart.set_state({0, 0, sign * 12 * kPi / 180, sign * 1e-9});
    EXPECT_TRUE(Step(cart, 0).terminated);
  }
}

TEST(CartPole, EveryStepEarnsOneTheLastToo) {
  CartPole cart = At<CartPole>({2.39, 1, 0, 0});
  const auto last = Step(cart, 1);
  EXPECT_EQ(last.reward, 1);
  EXPECT_TRUE(last.terminated);
  cart.set_state({});
  EXPECT_EQ(Step(cart, 1).reward, 1);
}

TEST(CartPole, StaysAsItIsAfterTheEnd) {
  CartPole cart = At<CartPole>({2.39, 1, 0, 0});
  Step(cart, 1);
  const CartPole::State end = cart.state();
  const auto outcome = Step(cart, 0);
  EXPECT_EQ(outcome.reward, 0);
  EXPECT_TRUE(outcome.terminated);
  EXPECT_EQ(cart.state(), end);
}

TEST(CartPole, BeginsNearlyUprightAndAtRest) {
  for (const auto variable : {&CartPole::State::x, &CartPole::State::x_dot, &CartPole::State::theta,
                              &CartPole::State::theta_dot}) {
    ExpectUniform(Starts<CartPole>(variable), -.05, .05);
  }
}

}  // namespace stableaa::cartpole_test
