// Draws a MinAtar observation: a square of 16 x 16 pixels per cell, a colour per channel.
#ifndef STABLEAA_ENV_MINATAR_DRAWING_H_
#define STABLEAA_ENV_MINATAR_DRAWING_H_

#include <cstdint>
#include <span>

#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/picture.h"

namespace stableaa::minatar {

inline constexpr int kCellPixels = 16;

// A game's channels in drawing order, the topmost last: trails below everything else, what the
// player controls on top.
struct Layer {
  int channel;
  Color color;
};
std::span<const Layer> LayersOf(MinatarGame game);

// 160 x 160 pixels. A cell shows the topmost of its channels.
void DrawObservation(MinatarGame game, std::span<const std::uint8_t> observation, Picture& picture);

}  // namespace stableaa::minatar

#endif  // STABLEAA_ENV_MINATAR_DRAWING_H_
