#include "stableaa/theory/claim.h"

#include <cmath>
#include <limits>

namespace stableaa {

double Comparison::Ratio() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const long double excess = left - common;
  const long double bound = right - common + 1000 * allowance;
  if (!std::isfinite(excess) || !std::isfinite(bound)) return kInfinity;
  if (excess <= 0) return 0;
  return bound > 0 ? static_cast<double>(excess / bound) : kInfinity;
}

void KeepWorse(std::optional<Comparison>& worst, const Comparison& comparison) {
  if (!worst || comparison.Ratio() > worst->Ratio()) worst = comparison;
}

}  // namespace stableaa
