#include "stableaa/theory/one_state_example.h"

#include <numeric>

namespace stableaa {

std::array<double, 2> OneStateActionValues(double v) {
  constexpr double kDiscount = 0.98;
  return {0.05 + kDiscount * 0.2 * v, 0.033 + kDiscount * 0.99 * v};
}

double OneStateImage(const Backup& backup, double v) {
  return backup.Value(OneStateActionValues(v));
}

double OneStateFixedPoint(const Backup& backup, double low, double high) {
  constexpr int kHalvings = 100;
  const bool rises = OneStateImage(backup, low) > low;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = std::midpoint(low, high);
    ((OneStateImage(backup, middle) > middle) == rises ? low : high) = middle;
  }
  return low;
}

}  // namespace stableaa
