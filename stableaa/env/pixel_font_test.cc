#include "stableaa/env/pixel_font.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stableaa::pixel_font_test {

constexpr Color kWhite = {255, 255, 255};

// As rows of '#' and '.'.
std::string Drawn(std::string_view text, int scale = 1, int x = 0, int y = 0, int width = 6,
                  int height = kGlyphHeight) {
  Picture picture(width, height);
  DrawText(picture, x, y, text, {.scale = scale, .color = kWhite});
  std::string rows;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      rows += picture.at(column, row) == kWhite ? '#' : '.';
    }
    rows += '\n';
  }
  return rows;
}

TEST(PixelFont, LettersStandOnTheSeventhRowAndTailsReachBelow) {
  EXPECT_EQ(Drawn("L"), "#.....\n#.....\n#.....\n#.....\n#.....\n#.....\n#####.\n......\n......\n");
  EXPECT_EQ(Drawn("p"), "......\n......\n####..\n#...#.\n#...#.\n#...#.\n####..\n#.....\n#.....\n");
}

TEST(PixelFont, EveryPrintableCharacterLooksDifferent) {
  std::set<std::string> seen;
  for (char c = ' '; c <= '~'; ++c) {
    const std::string rows = Drawn(std::string(1, c));
    EXPECT_TRUE(seen.insert(rows).second || c == 'O') << c;  // 0 and O share a shape
    EXPECT_EQ(rows.find('#') == std::string::npos, c == ' ') << c;
    for (std::size_t row = 0; row < kGlyphHeight; ++row) EXPECT_EQ(rows[row * 7 + 5], '.') << c;
  }
}

TEST(PixelFont, AnythingElseIsAQuestionMark) {
  EXPECT_EQ(Drawn("\n"), Drawn("?"));
  EXPECT_EQ(Drawn("\xc3"), Drawn("?"));
  EXPECT_EQ(Drawn("\x7f"), Drawn("?"));
}

TEST(PixelFont, ScaleMakesSquares) {
  Picture small(30, 9), large(90, 27);
  DrawText(small, 1, 0, "ag.7", {.scale = 1, .color = kWhite});
  DrawText(large, 3, 0, "ag.7", {.scale = 3, .color = kWhite});
  for (int y = 0; y < 27; ++y) {
    for (int x = 0; x < 90; ++x) ASSERT_EQ(large.at(x, y), small.at(x / 3, y / 3));
  }
}

TEST(PixelFont, CharactersFollowEachOther) {
  Picture both(12, 9), apart(12, 9);
  DrawText(both, 0, 0, "ab", {});
  DrawText(apart, 0, 0, "a", {});
  DrawText(apart, kGlyphAdvance, 0, "b", {});
  EXPECT_TRUE(both == apart);
  EXPECT_EQ(TextWidth("", 2), 0);
  EXPECT_EQ(TextWidth("a", 2), 10);
  EXPECT_EQ(TextWidth("abc", 2), 34);
}

TEST(PixelFont, WhatLiesOutsideIsCutOff) {
  EXPECT_EQ(Drawn("L", 1, -1, -6, 3, 3), "###\n...\n...\n");
  EXPECT_EQ(Drawn("LLL", 2, 4, 4, 3, 3), "...\n...\n...\n");
}

}  // namespace stableaa::pixel_font_test
