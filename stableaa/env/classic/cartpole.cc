#include "stableaa/env/classic/cartpole.h"

#include <cmath>
#include <string>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/classic/palette.h"
#include "stableaa/env/classic/state_range.h"

namespace stableaa {
namespace {

constexpr double kTotalMass = CartPole::kPoleMass + CartPole::kCartMass;
constexpr double kPoleMassLength = CartPole::kPoleMass * CartPole::kHalfLength;

bool Ended(const CartPole::State& state) {
  return std::abs(state.x) > CartPole::kMaxX || std::abs(state.theta) > CartPole::kMaxTheta;
}

// In Gymnasium's order of operations, which decides the last bits.
CartPole::State Next(const CartPole::State& state, double force) {
  constexpr double kStep = CartPole::kTimeStep;
  const auto [x, x_dot, theta, theta_dot] = state;
  const double cosine = std::cos(theta);
  const double sine = std::sin(theta);
  const double push = (force + kPoleMassLength * (theta_dot * theta_dot) * sine) / kTotalMass;
  const double theta_acceleration =
      (CartPole::kGravity * sine - cosine * push) /
      (CartPole::kHalfLength * (4.0 / 3.0 - CartPole::kPoleMass * (cosine * cosine) / kTotalMass));
  const double x_acceleration = push - kPoleMassLength * theta_acceleration * cosine / kTotalMass;
  return {x + kStep * x_dot, x_dot + kStep * x_acceleration, theta + kStep * theta_dot,
          theta_dot + kStep * theta_acceleration};
}

std::string WrongIn(const CartPole::State& state) {
  constexpr double kX = CartPole::kMaxX;
  constexpr double kTheta = CartPole::kMaxTheta;
  constexpr double kXDot = 3 * kX / CartPole::kTimeStep;
  constexpr double kThetaDot = 3 * kTheta / CartPole::kTimeStep;
  return FirstOutside({{"x", state.x, -2 * kX, 2 * kX},
                       {"x_dot", state.x_dot, -kXDot, kXDot},
                       {"theta", state.theta, -2 * kTheta, 2 * kTheta},
                       {"theta_dot", state.theta_dot, -kThetaDot, kThetaDot}});
}

}  // namespace

void CartPole::set_state(const State& state) {
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw BadInput(wrong);
  state_ = state;
}

void CartPole::Reset(RandomStream& random) {
  const auto draw = [&random] { return random.Uniform(-kStartRange, kStartRange); };
  state_ = {draw(), draw(), draw(), draw()};
}

Simulation::Outcome CartPole::Step(Action action, RandomStream& /*random*/) {
  if (Ended(state_)) return {0, true};
  state_ = Next(state_, action.index == 1 ? kForce : -kForce);
  return {1, Ended(state_)};
}

void CartPole::Observe(Observation out) const {
  out.floats[0] = static_cast<float>(state_.x);
  out.floats[1] = static_cast<float>(state_.x_dot);
  out.floats[2] = static_cast<float>(state_.theta);
  out.floats[3] = static_cast<float>(state_.theta_dot);
}

void CartPole::Draw(Picture& picture) const {
  constexpr double kScale = 50;  // pixels per metre
  constexpr double kMiddle = 150, kTrack = 152;
  constexpr double kWheel = 5, kCartHalfWidth = 23, kCartHeight = 19;
  picture.Resize(300, 200);
  picture.Fill(palette::kPaper);

  const double left = kMiddle - kMaxX * kScale;
  const double right = kMiddle + kMaxX * kScale;
  picture.Rectangle(0, kTrack, 300, kTrack + 2, palette::kGrey);
  for (const double limit : {left, right}) {
    picture.Line(limit, kTrack - 5, limit, kTrack + 7, 3, palette::kRed);
  }

  const double x = kMiddle + state_.x * kScale;
  const double bottom = kTrack - kWheel;
  const double top = bottom - kCartHeight;
  picture.Disc(x - 13, bottom, kWheel, palette::kInk);
  picture.Disc(x + 13, bottom, kWheel, palette::kInk);
  picture.Rectangle(x - kCartHalfWidth, top, x + kCartHalfWidth, bottom, palette::kBlue);

  const double axle = top + 4;
  const double length = 2 * kHalfLength * kScale * 1.6;  // lengthened to be more visible
  picture.Line(x, axle, x + length * std::sin(state_.theta), axle - length * std::cos(state_.theta),
               8, palette::kAmber);
  picture.Disc(x, axle, 4, palette::kInk);
  picture.Disc(x, axle, 2, palette::kPaper);
}

void CartPole::Save(ByteWriter& out) const {
  out.F64(state_.x);
  out.F64(state_.x_dot);
  out.F64(state_.theta);
  out.F64(state_.theta_dot);
}

void CartPole::Load(ByteReader& in) {
  const State state = {in.F64(), in.F64(), in.F64(), in.F64()};
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw in.Wrong(wrong);
  state_ = state;
}

}  // namespace stableaa
