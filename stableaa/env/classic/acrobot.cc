#include "stableaa/env/classic/acrobot.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/classic/palette.h"
#include "stableaa/env/classic/python_arithmetic.h"
#include "stableaa/env/classic/state_range.h"

namespace stableaa {
namespace {

using State = Acrobot::State;

constexpr double kPi = std::numbers::pi;

// state + step * slope.
State Along(const State& state, double step, const State& slope) {
  return {state.theta1 + step * slope.theta1, state.theta2 + step * slope.theta2,
          state.theta1_dot + step * slope.theta1_dot, state.theta2_dot + step * slope.theta2_dot};
}

State RungeKutta(const State& state, double torque) {
  constexpr double kStep = Acrobot::kTimeStep;
  const State k1 = Acrobot::Derivative(state, torque);
  const State k2 = Acrobot::Derivative(Along(state, kStep / 2, k1), torque);
  const State k3 = Acrobot::Derivative(Along(state, kStep / 2, k2), torque);
  const State k4 = Acrobot::Derivative(Along(state, kStep, k3), torque);
  const auto sum = [&](double State::*variable) {
    return k1.*variable + 2 * k2.*variable + 2 * k3.*variable + k4.*variable;
  };
  return Along(
      state, kStep / 6,
      {sum(&State::theta1), sum(&State::theta2), sum(&State::theta1_dot), sum(&State::theta2_dot)});
}

// Subtracts one turn at a time, because each subtraction rounds. From a valid state the Runge-Kutta
// step can go round about a hundred times if its stages overshoot at top speed.
double Wrapped(double angle) {
  while (angle > kPi) angle -= 2 * kPi;
  while (angle < -kPi) angle += 2 * kPi;
  return angle;
}

// The height of the free end above the fixed joint, by Gymnasium's formula for links of length 1.
double Height(const State& state) {
  return -std::cos(state.theta1) - std::cos(state.theta2 + state.theta1);
}

std::string WrongIn(const State& state) {
  return FirstOutside(
      {{"theta1", state.theta1, -kPi, kPi},
       {"theta2", state.theta2, -kPi, kPi},
       {"theta1_dot", state.theta1_dot, -Acrobot::kMaxSpeed1, Acrobot::kMaxSpeed1},
       {"theta2_dot", state.theta2_dot, -Acrobot::kMaxSpeed2, Acrobot::kMaxSpeed2}});
}

}  // namespace

// In Gymnasium's order of operations, which decides the last bits.
State Acrobot::Derivative(const State& state, double torque) {
  const auto [theta1, theta2, theta1_dot, theta2_dot] = state;
  constexpr double kCoupling = kMass2 * kLength1 * kCentre2;
  const double cosine2 = std::cos(theta2);
  const double sine2 = std::sin(theta2);
  const double d1 =
      kMass1 * (kCentre1 * kCentre1) +
      kMass2 * (kLength1 * kLength1 + kCentre2 * kCentre2 + 2 * kLength1 * kCentre2 * cosine2) +
      kInertia + kInertia;
  const double d2 = kMass2 * (kCentre2 * kCentre2 + kLength1 * kCentre2 * cosine2) + kInertia;
  const double phi2 = kMass2 * kCentre2 * kGravity * std::cos(theta1 + theta2 - kPi / 2);
  const double phi1 =
      -kCoupling * PythonSquare(theta2_dot) * sine2 -
      2 * kCoupling * theta2_dot * theta1_dot * sine2 +
      (kMass1 * kCentre1 + kMass2 * kLength1) * kGravity * std::cos(theta1 - kPi / 2) + phi2;
  const double theta2_acceleration =
      (torque + d2 / d1 * phi1 - kCoupling * PythonSquare(theta1_dot) * sine2 - phi2) /
      (kMass2 * (kCentre2 * kCentre2) + kInertia - PythonSquare(d2) / d1);
  const double theta1_acceleration = -(d2 * theta2_acceleration + phi1) / d1;
  return {theta1_dot, theta2_dot, theta1_acceleration, theta2_acceleration};
}

void Acrobot::set_state(const State& state) {
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw BadInput(wrong);
  state_ = state;
}

void Acrobot::Reset(RandomStream& random) {
  const auto draw = [&random] {
    return static_cast<double>(static_cast<float>(random.Uniform(-kStartRange, kStartRange)));
  };
  state_ = {draw(), draw(), draw(), draw()};
}

Simulation::Outcome Acrobot::Step(Action action, RandomStream& /*random*/) {
  const State next = RungeKutta(state_, (action.index - 1) * kTorque);
  state_ = {Wrapped(next.theta1), Wrapped(next.theta2),
            std::clamp(next.theta1_dot, -kMaxSpeed1, kMaxSpeed1),
            std::clamp(next.theta2_dot, -kMaxSpeed2, kMaxSpeed2)};
  const bool terminated = Height(state_) > kGoalHeight;
  return {terminated ? 0.0 : -1.0, terminated};
}

void Acrobot::Observe(Observation out) const {
  out.floats[0] = static_cast<float>(std::cos(state_.theta1));
  out.floats[1] = static_cast<float>(std::sin(state_.theta1));
  out.floats[2] = static_cast<float>(std::cos(state_.theta2));
  out.floats[3] = static_cast<float>(std::sin(state_.theta2));
  out.floats[4] = static_cast<float>(state_.theta1_dot);
  out.floats[5] = static_cast<float>(state_.theta2_dot);
}

void Acrobot::Draw(Picture& picture) const {
  constexpr int kSize = 240;
  constexpr double kMiddle = kSize / 2.0;
  constexpr double kScale = kSize / 4.4;  // pixels per metre
  picture.Resize(kSize, kSize);
  picture.Fill(palette::kPaper);

  const double goal = kMiddle - kGoalHeight * kScale;
  for (double x = 4; x < kSize; x += 12) {
    picture.Line(x, goal, x + 4, goal, 2, palette::kGreen);
  }

  const double angle2 = state_.theta1 + state_.theta2;
  const double x1 = kMiddle + kScale * std::sin(state_.theta1);
  const double y1 = kMiddle + kScale * std::cos(state_.theta1);
  const double x2 = x1 + kScale * std::sin(angle2);
  const double y2 = y1 + kScale * std::cos(angle2);
  picture.Line(kMiddle, kMiddle, x1, y1, 11, palette::kBlue);
  picture.Line(x1, y1, x2, y2, 11, palette::kSky);
  picture.Disc(kMiddle, kMiddle, 4, palette::kInk);
  picture.Disc(x1, y1, 5.5, palette::kAmber);
  picture.Disc(x2, y2, 3, palette::kPaper);
}

void Acrobot::Save(ByteWriter& out) const {
  out.F64(state_.theta1);
  out.F64(state_.theta2);
  out.F64(state_.theta1_dot);
  out.F64(state_.theta2_dot);
}

void Acrobot::Load(ByteReader& in) {
  const State state = {in.F64(), in.F64(), in.F64(), in.F64()};
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw in.Wrong(wrong);
  state_ = state;
}

}  // namespace stableaa
