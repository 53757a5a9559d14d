#include "stableaa/env/classic/classic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/classic/acrobot.h"
#include "stableaa/env/classic/cartpole.h"
#include "stableaa/env/classic/mountain_car.h"
#include "stableaa/env/classic/pendulum.h"
#include "stableaa/env/classic/python_arithmetic.h"
#include "stableaa/testing/message.h"

namespace stableaa::classic_test {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double Above(double x) { return std::nextafter(x, kInfinity); }
double Below(double x) { return std::nextafter(x, -kInfinity); }

// Only Reset is random.
RandomStream& Unused() {
  static RandomStream random(0, "unused");
  return random;
}

Simulation::Outcome Step(Simulation& simulation, int action) {
  return simulation.Step({.index = action}, Unused());
}
Simulation::Outcome Turn(Pendulum& pendulum, float torque) {
  return pendulum.Step({.values = std::span(&torque, 1)}, Unused());
}

std::vector<float> ObservationOf(const Simulation& simulation, std::size_t size) {
  std::vector<float> observation(size, std::numeric_limits<float>::quiet_NaN());
  simulation.Observe({.floats = observation});
  return observation;
}

std::vector<std::byte> BytesOf(const Simulation& simulation) {
  ByteWriter out;
  simulation.Save(out);
  return {out.bytes().begin(), out.bytes().end()};
}

void LoadBytes(Simulation& simulation, std::span<const std::byte> bytes) {
  ByteReader in(bytes, "saved");
  simulation.Load(in);
  in.ExpectEnd();
}

// A step with an action drawn from the random stream.
Simulation::Outcome RandomStep(Simulation& simulation, const EnvironmentSpec& spec,
                               RandomStream& random) {
  if (spec.action.kind == Space::Kind::kDiscrete) {
    return Step(simulation,
                static_cast<int>(random.Below(static_cast<std::uint64_t>(spec.action.n))));
  }
  const auto torque = static_cast<float>(random.Uniform(-2, 2));
  return simulation.Step({.values = std::span(&torque, 1)}, Unused());
}

void ExpectBadInput(const std::function<void()>& action, const std::string& part) {
  const std::string message = MessageOf(action);
  EXPECT_NE(message, "no error") << part;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// Expects mean and mean square of `samples` from a uniform distribution to be within six standard
// errors (a false alarm has probability 2e-9 for either), and all samples to lie in [low, high].
void ExpectUniform(const std::vector<double>& samples, double low, double high) {
  const double n = static_cast<double>(samples.size());
  const double half = (high - low) / 2;
  double mean = 0, square = 0;
  for (const double sample : samples) {
    ASSERT_GE(sample, low);
    ASSERT_LE(sample, high);
    const double scaled = (sample - (low + high) / 2) / half;
    mean += scaled / n;
    square += scaled * scaled / n;
  }
  EXPECT_NEAR(mean, 0, 6 * std::sqrt(1 / (3 * n)));
  EXPECT_NEAR(square, 1.0 / 3, 6 * std::sqrt(4 / (45 * n)));
}

// The variable's values after many resets.
template <typename Problem>
std::vector<double> Starts(double Problem::State::*variable) {
  RandomStream random(7, "starts");
  Problem problem;
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) {
    problem.Reset(random);
    values.push_back(problem.state().*variable);
  }
  return values;
}

// --- cart and pole

CartPole CartPoleAt(const CartPole::State& state) {
  CartPole cart;
  cart.set_state(state);
  return cart;
}

TEST(CartPole, ObeysNewtonsEquations) {
  // In their implicit form: the momentum of cart and pole, and the pole about its hinge.
  RandomStream random(1, "states");
  for (int i = 0; i < 200; ++i) {
    const CartPole::State before = {random.Uniform(-2, 2), random.Uniform(-5, 5),
                                    random.Uniform(-.2, .2), random.Uniform(-9, 9)};
    CartPole cart = CartPoleAt(before);
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
  CartPole cart = CartPoleAt({.1, -.2, .03, .04});
  CartPole mirrored = CartPoleAt({-.1, .2, -.03, -.04});
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
    CartPole cart = CartPoleAt({sign * 2.4, 0, 0, 0});
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
  CartPole cart = CartPoleAt({2.39, 1, 0, 0});
  const auto last = Step(cart, 1);
  EXPECT_EQ(last.reward, 1);
  EXPECT_TRUE(last.terminated);
  cart.set_state({});
  EXPECT_EQ(Step(cart, 1).reward, 1);
}

TEST(CartPole, StaysAsItIsAfterTheEnd) {
  CartPole cart = CartPoleAt({2.39, 1, 0, 0});
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

// --- car in the valley

MountainCar CarAt(double position, double velocity) {
  MountainCar car;
  car.set_state({position, velocity});
  return car;
}

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

// --- double pendulum

Acrobot AcrobotAt(const Acrobot::State& state) {
  Acrobot acrobot;
  acrobot.set_state(state);
  return acrobot;
}

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
    Acrobot acrobot = AcrobotAt(start);
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
  Acrobot acrobot = AcrobotAt({});
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
    Acrobot acrobot = AcrobotAt(s);
    Acrobot mirrored = AcrobotAt({-s.theta1, -s.theta2, -s.theta1_dot, -s.theta2_dot});
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
    Acrobot acrobot = AcrobotAt(RandomAcrobotState(random, 2));
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
    Acrobot acrobot = AcrobotAt({sign(1) * kPi, sign(3) * kPi / 2, sign(9) * Acrobot::kMaxSpeed1,
                                 sign(27) * Acrobot::kMaxSpeed2});
    for (int t = 0; t < 30; ++t) {
      Step(acrobot, (corner + t) % 3);
      // set_state refuses anything outside the bounds.
      ASSERT_NO_THROW(acrobot.set_state(acrobot.state()));
    }
  }
  Acrobot acrobot = AcrobotAt({3.1, 0, 2, 0});
  Step(acrobot, 1);
  EXPECT_NEAR(acrobot.state().theta1, 3.1 + .4 - 2 * kPi, .2);
  // theta2' drives theta1' beyond its limit.
  acrobot.set_state({0, -1.5, 12.5, 28});
  Step(acrobot, 1);
  EXPECT_EQ(std::abs(acrobot.state().theta2_dot), 9 * kPi);
}

TEST(Acrobot, ObservesTheUnitCircle) {
  const Acrobot acrobot = AcrobotAt({.3, -2, 4, -5});
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

// --- pendulum

Pendulum PendulumAt(double theta, double theta_dot) {
  Pendulum pendulum;
  pendulum.set_state({theta, theta_dot, 0});
  return pendulum;
}

TEST(Pendulum, SwingsWithThePeriodOfARod) {
  // Near the bottom theta'' = -15 theta; for this integrator with step h, the phase per step is
  // arccos(1 - 15 h^2 / 2).
  Pendulum pendulum = PendulumAt(kPi + .001, 0);
  int crossings = 0;
  constexpr int kSteps = 2000;
  double before = .001;
  for (int t = 0; t < kSteps; ++t) {
    Turn(pendulum, 0);
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
    EXPECT_NEAR(Turn(pendulum, torque).reward, Turn(mirrored, -torque).reward, 1e-12);
    EXPECT_EQ(pendulum.state().theta, -mirrored.state().theta);
    EXPECT_EQ(pendulum.state().theta_dot, -mirrored.state().theta_dot);
  }
}

TEST(Pendulum, RewardsTheStateBeforeTheStep) {
  Pendulum pendulum = PendulumAt(.5, 2);
  EXPECT_NEAR(Turn(pendulum, 1).reward, -(.25 + .1 * 4 + .001), 1e-9);
  pendulum.set_state({0, 0, 0});
  EXPECT_EQ(Turn(pendulum, 0).reward, 0);
  // The worst possible: -16.27.
  pendulum.set_state({kPi, 8, 0});
  EXPECT_NEAR(Turn(pendulum, -2).reward, -(kPi * kPi + 6.4 + .004), 1e-9);
  // Full turns do not count.
  pendulum.set_state({.5 - 6 * kPi, 2, 0});
  EXPECT_NEAR(Turn(pendulum, 1).reward, -(.25 + .1 * 4 + .001), 1e-9);
}

TEST(Pendulum, TheTorqueActsTripledAndIsClipped) {
  Pendulum pendulum = PendulumAt(0, 0);
  Turn(pendulum, 1.5F);
  EXPECT_DOUBLE_EQ(pendulum.state().theta_dot, 4.5 * .05);
  EXPECT_DOUBLE_EQ(pendulum.state().theta, 4.5 * .05 * .05);
  EXPECT_EQ(pendulum.state().torque, 1.5);
  for (const float torque : {2.5F, 1e30F, -2.5F, -std::numeric_limits<float>::infinity()}) {
    Pendulum clipped = PendulumAt(.1, .2), limit = clipped;
    const double reward = Turn(clipped, torque).reward;
    EXPECT_EQ(reward, Turn(limit, torque > 0 ? 2.0F : -2.0F).reward);
    EXPECT_EQ(clipped.state(), limit.state());
  }
}

TEST(Pendulum, NeverEndsAndIsNeverFasterThanItsLimit) {
  Pendulum pendulum = PendulumAt(1.5, 7.9);
  EXPECT_FALSE(Turn(pendulum, 2).terminated);
  EXPECT_EQ(pendulum.state().theta_dot, 8);
  pendulum.set_state({-1.5, -7.9, 0});
  EXPECT_FALSE(Turn(pendulum, -2).terminated);
  EXPECT_EQ(pendulum.state().theta_dot, -8);
}

TEST(Pendulum, BeginsAnywhere) {
  ExpectUniform(Starts<Pendulum>(&Pendulum::State::theta), -kPi, kPi);
  ExpectUniform(Starts<Pendulum>(&Pendulum::State::theta_dot), -1, 1);
  for (const double u : Starts<Pendulum>(&Pendulum::State::torque)) ASSERT_EQ(u, 0);
}

TEST(PythonArithmetic, ModuloHasTheSignOfTheDivisor) {
  EXPECT_EQ(PythonModulo(5.5, 2), 1.5);
  EXPECT_EQ(PythonModulo(-5.5, 2), .5);
  EXPECT_EQ(PythonModulo(-4, 2), 0);
  EXPECT_FALSE(std::signbit(PythonModulo(-4, 2)));
}

TEST(PythonArithmetic, SquareIsWithinOneUnitInTheLastPlace) {
  RandomStream random(6, "squares");
  for (int i = 0; i < 1000; ++i) {
    const double x = random.Uniform(-30, 30);
    EXPECT_DOUBLE_EQ(PythonSquare(x), x * x);
  }
  EXPECT_EQ(PythonSquare(-1.5F), 2.25F);
}

// --- all of them

TEST(Classic, EveryNameHasASimulationWithinItsSpec) {
  EXPECT_EQ(ClassicNames(),
            (std::vector<std::string>{"cartpole", "mountain_car", "acrobot", "pendulum"}));
  for (const std::string& name : ClassicNames()) {
    SCOPED_TRACE(name);
    const EnvironmentSpec spec = ClassicEnvironmentSpec(name);
    EXPECT_EQ(spec.id, "classic/" + name);
    EXPECT_EQ(spec.observation.kind, Space::Kind::kBox);
    EXPECT_EQ(spec.observation.low.size(), spec.observation.size());
    if (spec.action.kind == Space::Kind::kDiscrete) {
      EXPECT_EQ(spec.action_names.size(), static_cast<std::size_t>(spec.action.n));
    }
    const auto simulation = MakeClassic(name);
    RandomStream random(11, "episodes");
    simulation->Reset(random);
    for (int t = 0; t < 3000; ++t) {
      const auto outcome = RandomStep(*simulation, spec, random);
      const std::vector<float> observation = ObservationOf(*simulation, spec.observation.size());
      for (std::size_t i = 0; i < observation.size(); ++i) {
        ASSERT_GE(observation[i], spec.observation.LowOf(i));
        ASSERT_LE(observation[i], spec.observation.HighOf(i));
      }
      if (outcome.terminated) simulation->Reset(random);
    }
  }
}

TEST(Classic, SpecsSayWhatGymnasiumSays) {
  const EnvironmentSpec cart = ClassicEnvironmentSpec("cartpole");
  EXPECT_EQ(cart.max_episode_steps, 500);
  EXPECT_EQ(cart.action, Space::Discrete(2));
  EXPECT_FALSE(cart.noop.has_value());
  EXPECT_EQ(cart.observation.HighOf(0), 4.8F);
  EXPECT_EQ(cart.observation.LowOf(1), -kInfinity);
  EXPECT_EQ(cart.protocol, "as Gymnasium's CartPole-v1");
  const EnvironmentSpec car = ClassicEnvironmentSpec("mountain_car");
  EXPECT_EQ(car.max_episode_steps, 200);
  EXPECT_EQ(car.noop, 1);
  EXPECT_EQ(car.observation.low, (std::vector<float>{-1.2F, -.07F}));
  EXPECT_EQ(car.observation.high, (std::vector<float>{.6F, .07F}));
  const EnvironmentSpec acrobot = ClassicEnvironmentSpec("acrobot");
  EXPECT_EQ(acrobot.max_episode_steps, 500);
  EXPECT_EQ(acrobot.noop, 1);
  EXPECT_EQ(acrobot.frames_per_second, 15);
  const EnvironmentSpec pendulum = ClassicEnvironmentSpec("pendulum");
  EXPECT_EQ(pendulum.max_episode_steps, 200);
  EXPECT_EQ(pendulum.noop, 0);
  EXPECT_EQ(pendulum.action, Space::Floats({1}, {-2}, {2}));
}

TEST(Classic, AnUnknownNameIsRefusedWithTheListOfKnownOnes) {
  const std::string part =
      "classic environment is 'carpole': expected cartpole, mountain_car, acrobot, pendulum";
  ExpectBadInput([] { ClassicEnvironmentSpec("carpole"); }, part);
  ExpectBadInput([] { MakeClassic("carpole"); }, part);
}

TEST(Classic, WhatWasSavedInMidEpisodeContinuesToTheSameBits) {
  for (const std::string& name : ClassicNames()) {
    SCOPED_TRACE(name);
    const EnvironmentSpec spec = ClassicEnvironmentSpec(name);
    const auto original = MakeClassic(name);
    const auto copy = MakeClassic(name);
    RandomStream random(12, "actions");
    original->Reset(random);
    for (int t = 0; t < 7; ++t) RandomStep(*original, spec, random);
    LoadBytes(*copy, BytesOf(*original));
    RandomStream same = random;
    Picture picture, picture_of_copy;
    original->Draw(picture);
    copy->Draw(picture_of_copy);
    EXPECT_EQ(picture, picture_of_copy);
    for (int t = 0; t < 50; ++t) {
      const auto outcome = RandomStep(*original, spec, random);
      EXPECT_EQ(RandomStep(*copy, spec, same).reward, outcome.reward);
      ASSERT_EQ(BytesOf(*copy), BytesOf(*original));
    }
  }
}

TEST(Pendulum, SavesTheTorqueForItsPicture) {
  Pendulum pendulum = PendulumAt(1, 2), copy;
  Turn(pendulum, -1.25F);
  LoadBytes(copy, BytesOf(pendulum));
  EXPECT_EQ(copy.state(), pendulum.state());
  EXPECT_EQ(copy.state().torque, -1.25);
}

TEST(Classic, WhatIsBrokenIsRefusedAndChangesNothingOrDoesNoHarm) {
  for (const std::string& name : ClassicNames()) {
    SCOPED_TRACE(name);
    const EnvironmentSpec spec = ClassicEnvironmentSpec(name);
    const auto simulation = MakeClassic(name);
    RandomStream random(13, "corruption");
    simulation->Reset(random);
    const std::vector<std::byte> good = BytesOf(*simulation);
    for (std::size_t size = 0; size < good.size(); ++size) {
      EXPECT_THROW(LoadBytes(*simulation, std::span(good).first(size)), Error);
      ASSERT_EQ(BytesOf(*simulation), good);
    }
    int accepted = 0;
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<std::byte> bad = good;
      const std::size_t flips = 1 + random.Below(8);
      for (std::size_t i = 0; i < flips; ++i) {
        bad[random.Below(bad.size())] ^= static_cast<std::byte>(1U << random.Below(8));
      }
      LoadBytes(*simulation, good);
      try {
        LoadBytes(*simulation, bad);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
        ASSERT_EQ(BytesOf(*simulation), good);
        continue;
      }
      ++accepted;
      for (int t = 0; t < 100; ++t) {
        ASSERT_TRUE(std::isfinite(RandomStep(*simulation, spec, random).reward));
      }
      for (const float value : ObservationOf(*simulation, spec.observation.size())) {
        ASSERT_TRUE(std::isfinite(value));
      }
      if (accepted % 20 == 0) {
        Picture picture;
        simulation->Draw(picture);
      }
    }
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, 300);
  }
}

TEST(Classic, StatesThatAreNoNumbersOrOutOfRangeAreRefused) {
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    for (std::size_t i = 0; i < 4; ++i) {
      std::array<double, 4> v = {};
      v[i] = bad;
      EXPECT_THROW(CartPoleAt({v[0], v[1], v[2], v[3]}), Error);
      EXPECT_THROW(AcrobotAt({v[0], v[1], v[2], v[3]}), Error);
      if (i < 2) {
        EXPECT_THROW(CarAt(v[0], v[1]), Error);
      }
      if (i < 3) {
        EXPECT_THROW(Pendulum().set_state({v[0], v[1], v[2]}), Error);
      }
    }
  }
  ExpectBadInput([] { CarAt(Above(.6), 0); }, "expected position in [-1.2, 0.6], found 0.60000");
  ExpectBadInput([] { CarAt(0, Below(-.07)); }, "expected velocity");
  ExpectBadInput([] { AcrobotAt({Above(kPi), 0, 0, 0}); }, "expected theta1 in");
  ExpectBadInput([] { AcrobotAt({0, 0, 0, Above(9 * kPi)}); }, "expected theta2_dot in");
  ExpectBadInput([] { PendulumAt(0, Above(8)); }, "expected theta_dot in [-8, 8]");
  ExpectBadInput([] { CartPoleAt({4.9, 0, 0, 0}); }, "expected x in [-4.8, 4.8], found 4.9");
  EXPECT_NO_THROW(PendulumAt(std::numeric_limits<double>::max(), 8));
}

TEST(Classic, PicturesShowTheStateOnWhite) {
  const auto draw = [](const Simulation& simulation) {
    Picture picture;
    simulation.Draw(picture);
    EXPECT_EQ(picture.at(0, 0), (Color{255, 255, 255}));
    return picture;
  };
  EXPECT_NE(draw(CartPoleAt({})), draw(CartPoleAt({0, 0, .1, 0})));
  EXPECT_NE(draw(CartPoleAt({})), draw(CartPoleAt({.1, 0, 0, 0})));
  EXPECT_NE(draw(CarAt(-.5, 0)), draw(CarAt(-.4, 0)));
  EXPECT_NE(draw(AcrobotAt({})), draw(AcrobotAt({0, 1, 0, 0})));
  EXPECT_NE(draw(PendulumAt(0, 0)), draw(PendulumAt(1, 0)));
  Pendulum turned;
  turned.set_state({0, 0, 1});
  EXPECT_NE(draw(PendulumAt(0, 0)), draw(turned));
  // Drawing over another picture gives the same result.
  Picture used;
  AcrobotAt({1, 2, 0, 0}).Draw(used);
  PendulumAt(1, 0).Draw(used);
  EXPECT_EQ(used, draw(PendulumAt(1, 0)));
}

}  // namespace stableaa::classic_test
