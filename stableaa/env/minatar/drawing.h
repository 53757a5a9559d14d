// A MinAtar observation as a picture: a square of 16 x 16 pixels per cell, a colour per channel.
#ifndef STABLEAA_ENV_MINATAR_DRAWING_H_
#define STABLEAA_ENV_MINATAR_DRAWING_H_

#include <cstdint>
#include <span>

#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/picture.h"

namespace stableaa::minatar {

inline constexpr int kCellPixels = 16;

// The channels of a game in the order in which they cover each other, the topmost last: trails
// below all else, what the player steers on top.
struct Layer {
  int channel;
  Color color;
};
std::span<const Layer> LayersOf(MinatarGame game);

// 160 x 160 pixels. A cell shows the topmost of its channels.
void DrawObservation(MinatarGame game, std::span<const std::uint8_t> observation, Picture& picture);

}  // namespace stableaa::minatar

#endif  // STABLEAA_ENV_MINATAR_DRAWING_H_
