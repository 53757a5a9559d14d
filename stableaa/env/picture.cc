#include "stableaa/env/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// Far above any screen, and small enough that width * height * 3 fits into 32 bits.
constexpr int kMaxSide = 8192;

// Pixels first to last - 1 of a row or column.
struct PixelRange {
  int first = 0, last = 0;
};

// The pixels in [0, size) that the interval touches; none if an end is NaN.
PixelRange PixelsWithin(double low, double high, int size) {
  if (!(low < high)) return {};
  const double limit = size;
  return {static_cast<int>(std::floor(std::clamp(low, 0.0, limit))),
          static_cast<int>(std::ceil(std::clamp(high, 0.0, limit)))};
}

// How much of pixel `i`, which reaches from i to i + 1, lies in the interval.
double Overlap(int i, double low, double high) {
  return std::min<double>(high, i + 1) - std::max<double>(low, i);
}

// How much of a pixel is covered by a band whose middle is `distance` away. Exact if the band runs
// along the rows or columns, close otherwise; a band thinner than a pixel becomes faint.
double BandCoverage(double distance, double half_width) {
  return std::min(distance + .5, half_width) - std::max(distance - .5, -half_width);
}

std::uint8_t Mix(std::uint8_t old_value, std::uint8_t new_value, double share) {
  return static_cast<std::uint8_t>(std::lround(old_value + share * (new_value - old_value)));
}

std::size_t OffsetOf(const Picture& picture, int x, int y) {
  const auto width = static_cast<std::size_t>(picture.width());
  return (static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)) * 3;
}

// Blends `color` into the pixel, which must exist, according to the share that is covered, at most
// 1.
void Cover(Picture& picture, int x, int y, double share, Color color) {
  if (share <= 0) return;
  const auto pixel = picture.rgb().subspan(OffsetOf(picture, x, y), 3);
  if (share == 1) {  // most pixels
    pixel[0] = color.red;
    pixel[1] = color.green;
    pixel[2] = color.blue;
    return;
  }
  pixel[0] = Mix(pixel[0], color.red, share);
  pixel[1] = Mix(pixel[1], color.green, share);
  pixel[2] = Mix(pixel[2], color.blue, share);
}

// The parts of one row of pixels that a polygon covers, collected from thin strips of the row: the
// prefix sums of `steps` are the coverage of the pixels.
class RowCoverage {
 public:
  explicit RowCoverage(int width) : width_(width), steps_(static_cast<std::size_t>(width) + 2) {}

  // Adds `share` to the coverage of everything right of `x`.
  void AddRightOf(double x, double share) {
    x = std::clamp<double>(x, 0, width_);
    const double pixel = std::floor(x);
    const auto i = static_cast<std::size_t>(pixel);
    steps_[i] += share * (pixel + 1 - x);
    steps_[i + 1] += share * (x - pixel);
  }

  // Draws the row and clears it.
  void Draw(Picture& picture, int y, Color color) {
    double sum = 0;
    for (int x = 0; x < width_; ++x) {
      sum += steps_[static_cast<std::size_t>(x)];
      Cover(picture, x, y, sum, color);
    }
    std::fill(steps_.begin(), steps_.end(), 0.0);
  }

 private:
  int width_;
  std::vector<double> steps_;
};

// Where the outline crosses the height `y`, from left to right; an even number of times. The
// corners are finite, so the crossings are too.
void FindCrossings(std::span<const double> corners, double y, std::vector<double>& crossings) {
  crossings.clear();
  double x0 = corners[corners.size() - 2], y0 = corners[corners.size() - 1];
  for (std::size_t i = 0; i < corners.size(); i += 2) {
    const double x1 = corners[i], y1 = corners[i + 1];
    if ((y0 <= y) != (y1 <= y)) {
      // Halved, because the difference of two large numbers may overflow.
      crossings.push_back(std::lerp(x0, x1, (y / 2 - y0 / 2) / (y1 / 2 - y0 / 2)));
    }
    x0 = x1;
    y0 = y1;
  }
  std::sort(crossings.begin(), crossings.end());
}

}  // namespace

Color Picture::at(int x, int y) const {
  if (x < 0 || x >= width_ || y < 0 || y >= height_) {
    throw BadInput(
        fmt::format("a picture of {}x{} pixels has none at {}, {}", width_, height_, x, y));
  }
  const std::size_t offset = OffsetOf(*this, x, y);
  return {rgb_[offset], rgb_[offset + 1], rgb_[offset + 2]};
}

void Picture::Resize(int width, int height) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) {
    throw BadInput(
        fmt::format("a picture has 1 to {} pixels per side, found {}x{}", kMaxSide, width, height));
  }
  if (width == width_ && height == height_) return;
  rgb_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 0);
  width_ = width;
  height_ = height;
}

void Picture::Fill(Color color) {
  for (std::size_t i = 0; i < rgb_.size(); i += 3) {
    rgb_[i] = color.red;
    rgb_[i + 1] = color.green;
    rgb_[i + 2] = color.blue;
  }
}

void Picture::Rectangle(double left, double top, double right, double bottom, Color color) {
  const PixelRange columns = PixelsWithin(left, right, width_);
  const PixelRange rows = PixelsWithin(top, bottom, height_);
  for (int y = rows.first; y < rows.last; ++y) {
    const double share = Overlap(y, top, bottom);
    for (int x = columns.first; x < columns.last; ++x) {
      Cover(*this, x, y, share * Overlap(x, left, right), color);
    }
  }
}

void Picture::Disc(double x, double y, double radius, Color color) {
  const double reach = radius + .5;
  if (!(radius > 0)) return;
  const PixelRange columns = PixelsWithin(x - reach, x + reach, width_);
  const PixelRange rows = PixelsWithin(y - reach, y + reach, height_);
  for (int row = rows.first; row < rows.last; ++row) {
    for (int column = columns.first; column < columns.last; ++column) {
      const double distance = std::hypot(column + .5 - x, row + .5 - y);
      Cover(*this, column, row, BandCoverage(distance, radius), color);
    }
  }
}

void Picture::Line(double x0, double y0, double x1, double y1, double width, Color color) {
  const double length = std::hypot(x1 - x0, y1 - y0);
  if (length == 0) return Disc(x0, y0, width / 2, color);
  if (!(width > 0) || !std::isfinite(length)) return;
  const double along_x = (x1 - x0) / length, along_y = (y1 - y0) / length;
  const double reach = width / 2 + .5;
  const PixelRange columns =
      PixelsWithin(std::min(x0, x1) - reach, std::max(x0, x1) + reach, width_);
  const PixelRange rows = PixelsWithin(std::min(y0, y1) - reach, std::max(y0, y1) + reach, height_);
  for (int row = rows.first; row < rows.last; ++row) {
    for (int column = columns.first; column < columns.last; ++column) {
      const double dx = column + .5 - x0, dy = row + .5 - y0;
      const double nearest = std::clamp(dx * along_x + dy * along_y, 0.0, length);
      const double distance = std::hypot(dx - nearest * along_x, dy - nearest * along_y);
      Cover(*this, column, row, BandCoverage(distance, width / 2), color);
    }
  }
}

void Picture::Polygon(std::span<const double> corners, Color color) {
  constexpr int kStrips = 16;  // per row of pixels
  if (corners.size() % 2 != 0) {
    throw BadInput(
        fmt::format("a polygon's corners are x, y, ..., found {} numbers", corners.size()));
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (corners.size() < 6 || !std::all_of(corners.begin(), corners.end(), finite)) return;
  double top = corners[1], bottom = corners[1];
  for (std::size_t i = 1; i < corners.size(); i += 2) {
    top = std::min(top, corners[i]);
    bottom = std::max(bottom, corners[i]);
  }
  RowCoverage coverage(width_);
  std::vector<double> crossings;
  const PixelRange rows = PixelsWithin(top, bottom, height_);
  for (int y = rows.first; y < rows.last; ++y) {
    for (int strip = 0; strip < kStrips; ++strip) {
      FindCrossings(corners, y + (strip + .5) / kStrips, crossings);
      for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
        coverage.AddRightOf(crossings[i], 1.0 / kStrips);
        coverage.AddRightOf(crossings[i + 1], -1.0 / kStrips);
      }
    }
    coverage.Draw(*this, y, color);
  }
}

}  // namespace stableaa
