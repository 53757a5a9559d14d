// Runs an accelerated fixed-point iteration to a tolerance: the loop around an Accelerator, for
// callers who do not need to write their own.
#ifndef STABLEAA_ANDERSON_FIXED_POINT_H_
#define STABLEAA_ANDERSON_FIXED_POINT_H_

#include <cstdint>
#include <functional>
#include <span>

#include "stableaa/anderson/accelerator.h"

namespace stableaa {

// image ← g(x). Both have the start vector's size and do not overlap.
using FixedPointMap = std::function<void(std::span<const double> x, std::span<double> image)>;

struct FixedPointOptions {
  // Done when max_i |g(x)_i − x_i| ≤ tolerance, [0, ∞). Bounds the residual, not the error: a map
  // that contracts by γ in this norm leaves an error of at most tolerance/(1−γ).
  double tolerance = 1e-10;

  // Maximum number of evaluations of g, ≥ 1.
  std::int64_t max_evaluations = 10'000;

  AcceleratorOptions acceleration = {};

  // Called with each residual, in the norm above; return false to stop the iteration.
  std::function<bool(std::int64_t evaluations, double residual)> on_evaluation = {};
};

struct FixedPointSummary {
  bool converged = false;  // the tolerance was reached; false after a cap or a stop
  std::int64_t evaluations = 0;
  double residual = 0;  // max_i |g(x)_i − x_i| of the returned x
  AcceleratorStatistics statistics;
};

// Starts at x and leaves the last evaluated iterate there. Throws BadInput for bad options and
// WorkFailed when g returns NaN or infinity.
FixedPointSummary SolveFixedPoint(const FixedPointMap& map, std::span<double> x,
                                  const FixedPointOptions& options = {});

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_FIXED_POINT_H_
