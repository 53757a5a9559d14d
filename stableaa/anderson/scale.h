// The power of two that brings a magnitude to [1, 2): exact to apply, so it changes no result.
#ifndef STABLEAA_ANDERSON_SCALE_H_
#define STABLEAA_ANDERSON_SCALE_H_

#include <algorithm>
#include <cmath>

namespace stableaa {

// 1 for a magnitude of 0. The exponent stays within ±1000.
inline double ScaleFor(double magnitude) {
  if (magnitude == 0) return 1;
  return std::ldexp(1.0, -std::clamp(std::ilogb(magnitude), -1000, 1000));
}

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_SCALE_H_
