// A colour picture in memory with enough operations to draw simple scenes: rectangles, thick lines,
// discs.
#ifndef STABLEAA_ENV_PICTURE_H_
#define STABLEAA_ENV_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stableaa {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Color&) const = default;
};

// Rows from the top, three bytes per pixel. Coordinates are in pixels from the top left corner, x
// to the right and y down; anything outside is clipped. Edges are anti-aliased, except those of
// rectangles at whole pixels, which are exact.
class Picture {
 public:
  Picture() = default;
  Picture(int width, int height) { Resize(width, height); }

  int width() const { return width_; }
  int height() const { return height_; }
  std::span<const std::uint8_t> rgb() const { return rgb_; }
  std::span<std::uint8_t> rgb() { return rgb_; }

  Color at(int x, int y) const;

  // Clears the picture to black if the size changes; otherwise leaves it as it was.
  void Resize(int width, int height);
  void Fill(Color color);
  void Rectangle(double left, double top, double right, double bottom, Color color);
  void Disc(double x, double y, double radius, Color color);
  // With round ends.
  void Line(double x0, double y0, double x1, double y1, double width, Color color);
  // Any simple polygon, corners as x, y, x, y, ...
  void Polygon(std::span<const double> corners, Color color);

  bool operator==(const Picture&) const = default;

 private:
  int width_ = 0, height_ = 0;
  std::vector<std::uint8_t> rgb_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_PICTURE_H_
