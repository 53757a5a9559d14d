// The colours of the classic environments' pictures.
#ifndef STABLEAA_ENV_CLASSIC_PALETTE_H_
#define STABLEAA_ENV_CLASSIC_PALETTE_H_

#include "stableaa/env/picture.h"

namespace stableaa::palette {

inline constexpr Color kPaper = {255, 255, 255};
inline constexpr Color kInk = {38, 44, 56};
inline constexpr Color kGrey = {150, 158, 170};
inline constexpr Color kMist = {226, 230, 236};
inline constexpr Color kBlue = {52, 96, 160};
inline constexpr Color kSky = {120, 166, 214};
inline constexpr Color kAmber = {222, 140, 52};
inline constexpr Color kRed = {200, 62, 62};
inline constexpr Color kGreen = {84, 150, 96};

}  // namespace stableaa::palette

#endif  // STABLEAA_ENV_CLASSIC_PALETTE_H_
