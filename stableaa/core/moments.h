// Mean and standard deviation of one number per episode, game or run.
#ifndef STABLEAA_CORE_MOMENTS_H_
#define STABLEAA_CORE_MOMENTS_H_

#include <cmath>
#include <limits>
#include <span>

namespace stableaa {

struct Moments {
  double mean = 0;
  double standard_deviation = 0;  // divides by n - 1; nan for one value
};

// Needs at least one value.
inline Moments MomentsOf(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1))
                                  : std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace stableaa

#endif  // STABLEAA_CORE_MOMENTS_H_
