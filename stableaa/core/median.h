// The median of measured values, which a few outliers do not move.
#ifndef STABLEAA_CORE_MEDIAN_H_
#define STABLEAA_CORE_MEDIAN_H_

#include <algorithm>
#include <vector>

namespace stableaa {

// For an even number of values, the upper of the middle two. Needs at least one value.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace stableaa

#endif  // STABLEAA_CORE_MEDIAN_H_
