#include "stableaa/theory/claim.h"

#include <cmath>
#include <limits>

namespace stableaa {

double Inequality::Ratio() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const long double excess = left - common;
  const long double bound = right - common + 1000 * allowance;
  if (!std::isfinite(excess) || !std::isfinite(bound)) return kInfinity;
  if (excess <= 0) return 0;
  return bound > 0 ? static_cast<double>(excess / bound) : kInfinity;
}

void KeepWorse(std::optional<Inequality>& worst, const Inequality& inequality) {
  if (!worst || inequality.Ratio() > worst->Ratio()) worst = inequality;
}

}  // namespace stableaa
