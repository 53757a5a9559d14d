#include "stableaa/theory/claim.h"

#include <cmath>
#include <limits>

namespace stableaa {

double Comparison::Ratio() const {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  const long double bound = right + 1000 * allowance;
  if (std::isnan(left) || std::isnan(bound)) return static_cast<double>(kInfinity);
  if (left <= 0) return 0;
  return static_cast<double>(bound > 0 ? left / bound : kInfinity);
}

void KeepWorse(std::optional<Comparison>& worst, const Comparison& comparison) {
  if (!worst || comparison.Ratio() > worst->Ratio()) worst = comparison;
}

}  // namespace stableaa
