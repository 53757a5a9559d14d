#include "stableaa/env/classic/pendulum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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

constexpr double kPi = std::numbers::pi;

double Wrapped(double angle) { return PythonModulo(angle + kPi, 2 * kPi) - kPi; }

std::string WrongIn(const Pendulum::State& state) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  return FirstOutside({{"theta", state.theta, -kLargest, kLargest},
                       {"theta_dot", state.theta_dot, -Pendulum::kMaxSpeed, Pendulum::kMaxSpeed},
                       {"torque", state.torque, -Pendulum::kMaxTorque, Pendulum::kMaxTorque}});
}

// An arrow around the axle that begins below it, turns in the direction of the torque and grows
// with it, to almost half a turn at the limit.
void DrawTorque(Picture& picture, double axle, double torque) {
  constexpr double kRadius = 38;
  constexpr int kPieces = 12;
  if (std::abs(torque) < .05) return;
  const double sweep = torque / Pendulum::kMaxTorque * .9 * kPi;
  // Counterclockwise from below.
  const auto column = [&](double angle, double radius) { return axle + radius * std::sin(angle); };
  const auto row = [&](double angle, double radius) { return axle + radius * std::cos(angle); };
  for (int i = 0; i < kPieces; ++i) {
    const double from = sweep * i / kPieces, to = sweep * (i + 1) / kPieces;
    picture.Line(column(from, kRadius), row(from, kRadius), column(to, kRadius), row(to, kRadius),
                 3, palette::kAmber);
  }
  const double tip = sweep + std::copysign(.3, torque);
  picture.Polygon(
      std::array{column(sweep, kRadius - 7), row(sweep, kRadius - 7), column(sweep, kRadius + 7),
                 row(sweep, kRadius + 7), column(tip, kRadius), row(tip, kRadius)},
      palette::kAmber);
}

}  // namespace

void Pendulum::set_state(const State& state) {
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw BadInput(wrong);
  state_ = state;
}

void Pendulum::Reset(RandomStream& random) {
  const double theta = random.Uniform(-kStartAngle, kStartAngle);
  state_ = {theta, random.Uniform(-kStartSpeed, kStartSpeed), 0};
}

Simulation::Outcome Pendulum::Step(Action action, RandomStream& /*random*/) {
  const double theta = state_.theta, theta_dot = state_.theta_dot;
  const float torque = std::clamp(action.values[0], -kMaxTorque, kMaxTorque);
  const float torque_cost = .001F * PythonSquare(torque);
  const double cost = PythonSquare(Wrapped(theta)) + .1 * PythonSquare(theta_dot) + torque_cost;

  constexpr double kFall = 3 * kGravity / (2 * kLength);
  constexpr float kLift = static_cast<float>(3.0 / (kMass * (kLength * kLength)));
  const double acceleration = kFall * std::sin(theta) + kLift * torque;
  const double speed = std::clamp(theta_dot + acceleration * kTimeStep, -kMaxSpeed, kMaxSpeed);
  state_ = {theta + speed * kTimeStep, speed, torque};
  return {-cost, false};
}

void Pendulum::Observe(Observation out) const {
  out.floats[0] = static_cast<float>(std::cos(state_.theta));
  out.floats[1] = static_cast<float>(std::sin(state_.theta));
  out.floats[2] = static_cast<float>(state_.theta_dot);
}

void Pendulum::Draw(Picture& picture) const {
  constexpr int kSize = 240;
  constexpr double kAxle = kSize / 2.0;
  constexpr double kRod = 88;
  picture.Resize(kSize, kSize);
  picture.Fill(palette::kPaper);
  picture.Line(kAxle, kAxle - kRod - 16, kAxle, kAxle - kRod - 24, 2, palette::kGreen);  // the goal
  picture.Line(kAxle, kAxle, kAxle - kRod * std::sin(state_.theta),
               kAxle - kRod * std::cos(state_.theta), 18, palette::kRed);
  DrawTorque(picture, kAxle, state_.torque);
  picture.Disc(kAxle, kAxle, 5, palette::kInk);
}

void Pendulum::Save(ByteWriter& out) const {
  out.F64(state_.theta);
  out.F64(state_.theta_dot);
  out.F64(state_.torque);
}

void Pendulum::Load(ByteReader& in) {
  const State state = {in.F64(), in.F64(), in.F64()};
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw in.Wrong(wrong);
  state_ = state;
}

}  // namespace stableaa
