// Text in pictures: a small pixel font for labels beside a game.
//
//   DrawText(picture, 10, 10, "return 12.5", {.scale = 2, .color = {255, 255, 255}});
//
// Characters are 5 pixels wide with one pixel between them. Letters stand on the lower edge of the
// 7th row; the tails of g or y reach two rows further down. Printable ASCII only; anything else is
// drawn as '?', one per byte.
#ifndef STABLEAA_ENV_PIXEL_FONT_H_
#define STABLEAA_ENV_PIXEL_FONT_H_

#include <string_view>

#include "stableaa/env/picture.h"

namespace stableaa {

// The size of a character at scale 1.
inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphAdvance = 6;  // to the next one
inline constexpr int kCapitalHeight = 7;
inline constexpr int kGlyphHeight = 9;  // with tails

struct TextStyle {
  int scale = 1;  // each pixel becomes a square of scale x scale
  Color color = {255, 255, 255};
};

// (x, y) is the upper left corner; anything outside the picture is clipped.
void DrawText(Picture& picture, int x, int y, std::string_view text, const TextStyle& style);

// In pixels, excluding the space after the last character.
int TextWidth(std::string_view text, int scale);

}  // namespace stableaa

#endif  // STABLEAA_ENV_PIXEL_FONT_H_
