#include "stableaa/env/classic/car_in_valley.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/classic/palette.h"
#include "stableaa/env/classic/state_range.h"

namespace stableaa {
namespace {

// The picture: 300 x 200, positions from -1.3 to .7.
constexpr int kWidth = 300, kHeight = 200;
constexpr double kScale = 150;  // pixels per unit of position
constexpr double kLift = 60;    // pixels per unit of sin(3x)

double ColumnOf(double position) { return (position + 1.3) * kScale; }
double RowOf(double position) { return 112 - kLift * std::sin(3 * position); }

void DrawGround(Picture& picture) {
  std::vector<double> outline = {kWidth, kHeight, 0, kHeight};
  for (int x = 0; x <= kWidth; x += 3) {
    outline.push_back(x);
    outline.push_back(RowOf(x / kScale - 1.3));
  }
  picture.Polygon(outline, palette::kMist);
  for (std::size_t i = 6; i < outline.size(); i += 2) {
    picture.Line(outline[i - 2], outline[i - 1], outline[i], outline[i + 1], 2, palette::kGrey);
  }
}

void DrawFlag(Picture& picture, double position) {
  const double x = ColumnOf(position);
  const double foot = RowOf(position);
  const double top = foot - 42;
  picture.Polygon(std::array{x, top, x + 20, top + 7, x, top + 14}, palette::kRed);
  picture.Line(x, foot, x, top, 2, palette::kInk);
}

// In the car's coordinates: `ahead` along the ground, `up` away from it.
void DrawCar(Picture& picture, double position) {
  const double slope = std::atan(3 * kLift / kScale * std::cos(3 * position));
  const double cosine = std::cos(slope), sine = std::sin(slope);
  const double x0 = ColumnOf(position), y0 = RowOf(position);
  const auto column = [&](double ahead, double up) { return x0 + ahead * cosine - up * sine; };
  const auto row = [&](double ahead, double up) { return y0 - ahead * sine - up * cosine; };

  constexpr std::array<double, 16> kBody = {-14, 5,  14, 5,  14,  11, 8,   12,
                                            4,   18, -7, 18, -11, 12, -14, 12};
  std::array<double, 16> outline = {};
  for (std::size_t i = 0; i < kBody.size(); i += 2) {
    outline[i] = column(kBody[i], kBody[i + 1]);
    outline[i + 1] = row(kBody[i], kBody[i + 1]);
  }
  picture.Polygon(outline, palette::kBlue);
  for (const double wheel : {-8.0, 8.0}) {
    picture.Disc(column(wheel, 5), row(wheel, 5), 4.5, palette::kInk);
    picture.Disc(column(wheel, 5), row(wheel, 5), 1.5, palette::kPaper);
  }
}

}  // namespace

std::string CarInValley::WrongIn(const State& state) const {
  return FirstOutside({{"position", state.position, bounds_.min_position, bounds_.max_position},
                       {"velocity", state.velocity, -bounds_.max_speed, bounds_.max_speed}});
}

void CarInValley::set_state(const State& state) {
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw BadInput(wrong);
  state_ = state;
}

void CarInValley::Reset(RandomStream& random) {
  state_ = {random.Uniform(kStartLow, kStartHigh), 0};
}

void CarInValley::Observe(Observation out) const {
  out.floats[0] = static_cast<float>(state_.position);
  out.floats[1] = static_cast<float>(state_.velocity);
}

void CarInValley::Draw(Picture& picture) const {
  picture.Resize(kWidth, kHeight);
  picture.Fill(palette::kPaper);
  DrawFlag(picture, goal_position_);
  DrawGround(picture);
  DrawCar(picture, state_.position);
}

void CarInValley::Save(ByteWriter& out) const {
  out.F64(state_.position);
  out.F64(state_.velocity);
}

void CarInValley::Load(ByteReader& in) {
  const State state = {in.F64(), in.F64()};
  if (const std::string wrong = WrongIn(state); !wrong.empty()) throw in.Wrong(wrong);
  state_ = state;
}

}  // namespace stableaa
