#include "stableaa/env/classic/acrobot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/classic/classic_problems_test.h"

namespace stableaa::acrobot_test {

using classic_problems_test::At;
using classic_problems_test::ExpectUniform;
using classic_problems_test::kPi;
using classic_problems_test::ObservationOf;
using classic_problems_test::Starts;
using classic_problems_test::Step;

Acrobot::State RandomAcrobotState(RandomStream& random, double speed) {
  return {random.Uniform(-3, 3), random.Uniform(-3, 3), random.Uniform(-speed, speed),
          random.Uniform(-speed, speed)};
}

// The energy of two rods, from the speeds of their centres: 1 kg each, 1 m long, with a moment of
// inertia of 1.
double AcrobotEnergy(const Acrobot::State& state) {
  const double angle1 = state.theta1, angle2 = state.theta1 + state.theta2;
  const double spin1 = state.theta1_dot, spin2 = state.theta1_dot + state.theta2_dot;
  const double x1 = .5 * spin1 * std::cos(angle1), y1 = .5 * spin1 * std::sin(angle1);
  const double x2 = 2 * x1 + .5 * spin2 * std::cos(angle2);
  const double y2 = 2 * y1 + .5 * spin2 * std::sin(angle2);
  const double kinetic =
      .5 * (x1 * x1 + y1 * y1 + x2 * x2 + y2 * y2 + spin1 * spin1 + spin2 * spin2);
  const double height1 = -.5 * std::cos(angle1);
  return kinetic + 9.8 * (height1 + 2 * height1 - .5 * std::cos(angle2));
}

Acrobot::State Moved(const Acrobot::State& state, double time, const Acrobot::State& slope) {
  return {state.theta1 + time * slope.theta1, state.theta2 + time * slope.theta2,
          state.theta1_dot + time * slope.theta1_dot, state.theta2_dot + time * slope.theta2_dot};
}

TEST(Acrobot, ItsEnergyGrowsByTheWorkOfTheTorqueAlone) {
  RandomStream random(2, "states");
  for (int i = 0; i < 300; ++i) {
    const Acrobot::State state = RandomAcrobotState(random, 5);
    const double torque = i % 3 - 1;
    const Acrobot::State slope = Acrobot::Derivative(state, torque);
    EXPECT_EQ(slope.theta1, state.theta1_dot);
    EXPECT_EQ(slope.theta2, state.theta2_dot);
    const double h = 1e-5;
    const double power =
        (AcrobotEnergy(Moved(state, h, slope)) - AcrobotEnergy(Moved(state, -h, slope))) / (2 * h);
    EXPECT_NEAR(power, torque * state.theta2_dot, 1e-5);
  }
}

TEST(Acrobot, OneStepIsCloseToManySmallOnes) {
  RandomStream random(3, "states");
  for (int i = 0; i < 50; ++i) {
    const Acrobot::State start = RandomAcrobotState(random, 1);
    Acrobot acrobot = At<Acrobot>(start);
    const int action = i % 3;
    Step(acrobot, action);
    Acrobot::State fine = start;
    constexpr int kSteps = 2000;
    for (int t = 0; t < kSteps; ++t) {  // the midpoint method
      const double h = .2 / kSteps;
      const Acrobot::State middle = Moved(fine, h / 2, Acrobot::Derivative(fine, action - 1));
      fine = Moved(fine, h, Acrobot::Derivative(middle, action - 1));
    }
    EXPECT_NEAR(std::remainder(acrobot.state().theta1 - fine.theta1, 2 * kPi), 0, 1e-3);
    EXPECT_NEAR(std::remainder(acrobot.state().theta2 - fine.theta2, 2 * kPi), 0, 1e-3);
    EXPECT_NEAR(acrobot.state().theta1_dot, fine.theta1_dot, 5e-3);
    EXPECT_NEAR(acrobot.state().theta2_dot, fine.theta2_dot, 5e-3);
  }
}

TEST(Acrobot, StaysWhereItHangsAndLosesLittleEnergy) {
  Acrobot acrobot = At<Acrobot>({});
  for (int t = 0; t < 500; ++t) Step(acrobot, 1);
  EXPECT_NEAR(acrobot.state().theta1, 0, 1e-12);
  EXPECT_NEAR(acrobot.state().theta2_dot, 0, 1e-12);

  acrobot.set_state({.5, -.3, 0, 0});
  const double before = AcrobotEnergy(acrobot.state());
  for (int t = 0; t < 20; ++t) Step(acrobot, 1);
  EXPECT_NEAR(AcrobotEnergy(acrobot.state()), before, .02);
}

TEST(Acrobot, MirroredStatesAndTorquesGiveMirroredSteps) {
  RandomStream random(4, "states");
  for (int i = 0; i < 100; ++i) {
    const Acrobot::State s = RandomAcrobotState(random, 3);
    Acrobot acrobot = At<Acrobot>(s);
    Acrobot mirrored = At<Acrobot>({-s.theta1, -s.theta2, -s.theta1_dot, -s.theta2_dot});
    const auto outcome = Step(acrobot, i % 3);
    EXPECT_EQ(Step(mirrored, 2 - i % 3).terminated, outcome.terminated);
    EXPECT_NEAR(mirrored.state().theta1, -acrobot.state().theta1, 1e-12);
    EXPECT_NEAR(mirrored.state().theta2, -acrobot.state().theta2, 1e-12);
    EXPECT_NEAR(mirrored.state().theta1_dot, -acrobot.state().theta1_dot, 1e-12);
    EXPECT_NEAR(mirrored.state().theta2_dot, -acrobot.state().theta2_dot, 1e-12);
  }
}

TEST(Acrobot, EndsWithItsFreeEndAboveTheLine) {
  RandomStream random(5, "states");
  int ends = 0;
  for (int i = 0; i < 500; ++i) {
    Acrobot acrobot = At<Acrobot>(RandomAcrobotState(random, 2));
    const auto outcome = Step(acrobot, i % 3);
    const double elbow = -std::cos(acrobot.state().theta1);
    const double end = elbow + -std::cos(acrobot.state().theta1 + acrobot.state().theta2);
    EXPECT_EQ(outcome.terminated, end > 1);
    EXPECT_EQ(outcome.reward, end > 1 ? 0 : -1);
    ends += outcome.terminated;
  }
  EXPECT_GT(ends, 20);
  EXPECT_LT(ends, 480);
}

TEST(Acrobot, WrapsItsAnglesAndLimitsItsSpeedsFromEveryCorner) {
  for (int corner = 0; corner < 81; ++corner) {
    const auto sign = [corner](int digit) { return corner / digit % 3 - 1; };
    Acrobot acrobot = At<Acrobot>({sign(1) * kPi, sign(3) * kPi / 2, sign(9) * Acrobot::kMaxSpeed1,
                                   sign(27) * Acrobot::kMaxSpeed2});
    for (int t = 0; t < 30; ++t) {
      Step(acrobot, (corner + t) % 3);
      // set_state refuses anything outside the bounds.
      ASSERT_NO_THROW(acrobot.set_state(acrobot.state()));
    }
  }
  Acrobot acrobot = At<Acrobot>({3.1, 0, 2, 0});
  Step(acrobot, 1);
  EXPECT_NEAR(acrobot.state().theta1, 3.1 + .4 - 2 * kPi, .2);
  // theta2' drives theta1' beyond its limit.
  acrobot.set_state({0, -1.5, 12.5, 28});
  Step(acrobot, 1);
  EXPECT_EQ(std::abs(acrobot.state().theta2_dot), 9 * kPi);
}

TEST(Acrobot, ObservesTheUnitCircle) {
  const Acrobot acrobot = At<Acrobot>({.3, -2, 4, -5});
  const auto as_float = [](double x) { return static_cast<float>(x); };
  EXPECT_EQ(ObservationOf(acrobot, 6),
            (std::vector<float>{as_float(std::cos(.3)), as_float(std::sin(.3)),
                                as_float(std::cos(-2.0)), as_float(std::sin(-2.0)), 4, -5}));
}

TEST(Acrobot, BeginsHangingInFloats) {
  for (const auto variable : {&Acrobot::State::theta1, &Acrobot::State::theta2,
                              &Acrobot::State::theta1_dot, &Acrobot::State::theta2_dot}) {
    const std::vector<double> starts = Starts<Acrobot>(variable);
    ExpectUniform(starts, -.1F, .1F);
    for (const double start : starts) ASSERT_EQ(start, static_cast<float>(start));
  }
}

}  // namespace stableaa::acrobot_test
