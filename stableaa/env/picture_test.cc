#include "stableaa/env/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "stableaa/core/error.h"

namespace stableaa::picture_test {

constexpr Color kWhite = {255, 255, 255};
constexpr Color kBlack = {0, 0, 0};

// The area drawn, in pixels, when white is drawn on black.
double Area(const Picture& picture) {
  double area = 0;
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) area += picture.at(x, y).red / 255.0;
  }
  return area;
}

bool IsBlack(const Picture& picture) { return Area(picture) == 0; }

TEST(Picture, IsBlackAtFirstAndAfterAChangeOfSize) {
  Picture picture(3, 2);
  EXPECT_EQ(picture.rgb().size(), 18U);
  EXPECT_TRUE(IsBlack(picture));
  picture.Fill({1, 2, 3});
  EXPECT_EQ(picture.at(2, 1), (Color{1, 2, 3}));
  picture.Resize(3, 2);
  EXPECT_EQ(picture.at(2, 1), (Color{1, 2, 3}));
  picture.Resize(2, 3);
  EXPECT_TRUE(IsBlack(picture));
  EXPECT_EQ(picture, Picture(2, 3));
}

TEST(Picture, RowsComeFromTheTopWithThreeBytesPerPixel) {
  Picture picture(4, 3);
  picture.Rectangle(1, 2, 2, 3, {7, 8, 9});
  EXPECT_EQ(picture.at(1, 2), (Color{7, 8, 9}));
  const std::size_t offset = (2 * 4 + 1) * 3;
  EXPECT_EQ(picture.rgb()[offset], 7);
  EXPECT_EQ(picture.rgb()[offset + 2], 9);
}

TEST(Picture, SizesAndPlacesOutOfRangeAreErrors) {
  for (const auto& [width, height] :
       {std::array{0, 5}, std::array{5, 0}, std::array{-1, 5}, std::array{8193, 1},
        std::array{1, std::numeric_limits<int>::max()}}) {
    EXPECT_THROW(Picture(width, height), Error) << width << 'x' << height;
  }
  EXPECT_EQ(Picture(8192, 1).width(), 8192);
  const Picture picture(3, 2);
  EXPECT_THROW(picture.at(3, 0), Error);
  EXPECT_THROW(picture.at(0, 2), Error);
  EXPECT_THROW(picture.at(-1, 0), Error);
  EXPECT_THROW(Picture().at(0, 0), Error);
}

TEST(Picture, RectanglesAtWholePixelsAreExact) {
  Picture picture(8, 8);
  picture.Fill({10, 20, 30});
  picture.Rectangle(2, 3, 5, 7, {200, 100, 50});
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      const bool inside = x >= 2 && x < 5 && y >= 3 && y < 7;
      EXPECT_EQ(picture.at(x, y), inside ? (Color{200, 100, 50}) : (Color{10, 20, 30}));
    }
  }
}

TEST(Picture, PixelsMixByTheAreaCovered) {
  Picture picture(4, 4);
  picture.Rectangle(1.5, 1, 3, 1.5, {200, 100, 0});
  EXPECT_EQ(picture.at(1, 1), (Color{50, 25, 0}));
  EXPECT_EQ(picture.at(2, 1), (Color{100, 50, 0}));
  EXPECT_EQ(picture.at(0, 1), kBlack);
  EXPECT_EQ(picture.at(3, 1), kBlack);
  Picture within(3, 3);
  within.Rectangle(1.25, 1.25, 1.75, 1.75, {200, 200, 200});
  EXPECT_EQ(within.at(1, 1), (Color{50, 50, 50}));
}

TEST(Picture, DiscsHaveTheirArea) {
  for (const double radius : {1.0, 2.5, 7.0, 20.0}) {
    Picture picture(50, 50);
    picture.Disc(25.3, 24.6, radius, kWhite);
    const double area = std::acos(-1.0) * radius * radius;
    EXPECT_NEAR(Area(picture), area, .05 * area + .2) << radius;
  }
  Picture picture(50, 50);
  picture.Disc(25, 25, 10, kWhite);
  EXPECT_EQ(picture.at(25, 16), kWhite);
  EXPECT_EQ(picture.at(25, 14), kBlack);
  EXPECT_EQ(picture.at(32, 32), picture.at(17, 17));  // all quadrants alike
  EXPECT_EQ(picture.at(32, 32), picture.at(17, 32));
}

TEST(Picture, ALineAlongTheRowsIsARectangleWithRoundEnds) {
  Picture picture(40, 20);
  picture.Line(10, 10, 30, 10, 4, kWhite);
  Picture rectangle(40, 20);
  rectangle.Rectangle(10, 8, 30, 12, kWhite);
  for (int y = 0; y < 20; ++y) {
    for (int x = 10; x < 30; ++x) EXPECT_EQ(picture.at(x, y), rectangle.at(x, y)) << x << ' ' << y;
  }
  EXPECT_EQ(picture.at(31, 9), picture.at(8, 9));
  EXPECT_GT(picture.at(31, 9).red, 100);  // the ends
  EXPECT_LT(picture.at(31, 8).red, picture.at(31, 9).red);
  EXPECT_EQ(picture.at(33, 10), kBlack);
  EXPECT_NEAR(Area(picture), 80 + 4 * std::acos(-1.0), 1);
}

TEST(Picture, LinesKeepTheirWidthInAllDirections) {
  for (int degrees = 0; degrees < 360; degrees += 15) {
    const double angle = degrees * std::acos(-1.0) / 180;
    Picture picture(100, 100);
    picture.Line(50, 50, 50 + 40 * std::cos(angle), 50 + 40 * std::sin(angle), 3, kWhite);
    EXPECT_NEAR(Area(picture), 40 * 3 + 7.07, 3) << degrees;
  }
}

TEST(Picture, ThinThingsAreFaintAndNothingIsNotDrawn) {
  Picture picture(20, 20);
  picture.Line(0, 10.5, 20, 10.5, .25, kWhite);
  EXPECT_NEAR(picture.at(10, 10).red, 64, 1);
  Picture empty(20, 20);
  empty.Line(0, 10, 20, 10, 0, kWhite);
  empty.Line(0, 10, 20, 10, -3, kWhite);
  empty.Disc(10, 10, 0, kWhite);
  empty.Disc(10, 10, -5, kWhite);
  empty.Rectangle(5, 5, 5, 9, kWhite);
  empty.Rectangle(9, 5, 5, 9, kWhite);
  empty.Polygon({}, kWhite);
  empty.Polygon(std::array{1.0, 1.0, 9.0, 9.0}, kWhite);
  EXPECT_TRUE(IsBlack(empty));
}

TEST(Picture, ALineWithoutLengthIsADisc) {
  Picture line(20, 20), disc(20, 20);
  line.Line(9, 11, 9, 11, 6, kWhite);
  disc.Disc(9, 11, 3, kWhite);
  EXPECT_EQ(line, disc);
}

TEST(Picture, APolygonWithRightAnglesIsARectangle) {
  Picture polygon(20, 20), rectangle(20, 20);
  polygon.Polygon(std::array{3.0, 4.0, 15.5, 4.0, 15.5, 11.25, 3.0, 11.25}, kWhite);
  rectangle.Rectangle(3, 4, 15.5, 11.25, kWhite);
  EXPECT_EQ(polygon, rectangle);
}

TEST(Picture, PolygonsHaveTheirAreaInEitherOrder) {
  // An L, which is not convex.
  const std::array there = {5.2, 5.1, 25.0, 6.3, 24.0, 12.0, 12.5, 11.0, 11.0, 27.9, 4.0, 26.0};
  std::array<double, there.size()> back = {};
  double doubled = 0;
  for (std::size_t i = 0; i < there.size(); i += 2) {
    const std::size_t next = (i + 2) % there.size();
    doubled += there[i] * there[next + 1] - there[next] * there[i + 1];
    back[there.size() - 2 - i] = there[i];
    back[there.size() - 1 - i] = there[i + 1];
  }
  Picture forwards(30, 30), backwards(30, 30);
  forwards.Polygon(there, kWhite);
  backwards.Polygon(back, kWhite);
  EXPECT_EQ(forwards, backwards);
  EXPECT_NEAR(Area(forwards), std::abs(doubled) / 2, .5);
  EXPECT_EQ(forwards.at(20, 20), kBlack);
  EXPECT_THROW(forwards.Polygon(std::array{1.0, 2.0, 3.0}, kWhite), Error);
}

TEST(Picture, WhatLiesOutsideIsCutOff) {
  Picture whole(60, 60), window(20, 20);
  const auto draw = [](Picture& picture, double by) {
    picture.Rectangle(by - 5.5, by + 12, by + 4, by + 90, {255, 0, 0});
    picture.Disc(by + 19, by + 1, 8, {0, 255, 0});
    picture.Line(by - 15, by - 10, by + 35, by + 30, 3, {0, 0, 255});
    picture.Polygon(std::array{by - 9, by + 3, by + 30, by + 15, by + 10, by + 39}, {9, 99, 199});
  };
  draw(whole, 20);
  draw(window, 0);
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 20; ++x) EXPECT_EQ(window.at(x, y), whole.at(x + 20, y + 20));
  }
}

TEST(Picture, LongLinesAndLargeShapesReachAcross) {
  Picture line(20, 20), rectangle(20, 20), disc(20, 20), polygon(20, 20);
  line.Line(-1e7, 10, 1e7, 10, 2, kWhite);
  EXPECT_NEAR(Area(line), 40, .1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  rectangle.Rectangle(-kInfinity, 5, 1e300, 10, kWhite);
  EXPECT_EQ(Area(rectangle), 100);
  disc.Disc(10, 10, 1e300, kWhite);
  EXPECT_EQ(Area(disc), 400);
  polygon.Polygon(std::array{-1e308, -1e308, 1e308, -1e308, 1e308, 1e308, -1e308, 1e308}, kWhite);
  EXPECT_EQ(Area(polygon), 400);
  Picture half(20, 20);  // left of a line that is at x = 10 here
  half.Polygon(std::array{0.0, -1e308, 20.0, 1e308, 0.0, 1e308}, kWhite);
  EXPECT_EQ(Area(half), 200);
}

// Whatever the coordinates and their order, nothing crashes, hangs or (with the sanitizer)
// overflows.
TEST(Picture, AnyCoordinatesAreSafe) {
  const std::vector<double> values = {std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      1e308,
                                      -1e308,
                                      1e19,
                                      -3e9,
                                      0,
                                      5.5,
                                      std::numeric_limits<double>::denorm_min()};
  Picture picture(8, 8);
  picture.Fill({100, 100, 100});
  for (const double a : values) {
    for (const double b : values) {
      for (const double c : values) {
        picture.Disc(a, b, c, kWhite);
        for (const double d : values) {
          picture.Rectangle(a, b, c, d, kWhite);
          picture.Polygon(std::array{a, b, c, d, 3.0, 4.0}, kWhite);
          picture.Line(a, b, c, d, a, kWhite);
          picture.Line(1, d, b, c, a, kWhite);
        }
      }
    }
  }
  const auto drawn = picture.rgb();
  EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), 100);  // only white was drawn
  Picture untouched(8, 8);
  untouched.Fill({100, 100, 100});
  const Picture former = untouched;
  const double nan = values[0];
  untouched.Disc(nan, 4, 3, kWhite);
  untouched.Disc(4, 4, nan, kWhite);
  untouched.Rectangle(0, nan, 8, 8, kWhite);
  untouched.Line(0, 0, nan, 8, 2, kWhite);
  untouched.Line(0, 0, 8, 8, nan, kWhite);
  untouched.Polygon(std::array{0.0, 0.0, 8.0, 0.0, nan, 8.0}, kWhite);
  untouched.Line(-1e308, 4, 1e308, 4, 2, kWhite);  // longer than the largest number
  EXPECT_EQ(untouched, former);
}

TEST(Picture, NothingCanBeDrawnOnAnEmptyPicture) {
  Picture picture;
  picture.Fill(kWhite);
  picture.Rectangle(0, 0, 5, 5, kWhite);
  picture.Disc(0, 0, 5, kWhite);
  picture.Line(0, 0, 5, 5, 5, kWhite);
  picture.Polygon(std::array{0.0, 0.0, 5.0, 0.0, 0.0, 5.0}, kWhite);
  EXPECT_TRUE(picture.rgb().empty());
}

}  // namespace stableaa::picture_test
