#include "stableaa/anderson/fixed_point.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// NaN if any difference is.
double LargestDifference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace

FixedPointSummary SolveFixedPoint(const FixedPointMap& map, std::span<double> x,
                                  const FixedPointOptions& options) {
  if (!(options.tolerance >= 0)) {
    throw BadInput(Concat("tolerance = ", options.tolerance, " is outside its range [0, ∞)"));
  }
  if (options.max_evaluations < 1) {
    throw BadInput(Concat("max_evaluations = ", options.max_evaluations, " must be at least 1"));
  }
  Accelerator accelerator(x.size(), options.acceleration);
  std::vector<double> image(x.size());
  FixedPointSummary summary;
  while (true) {
    map(x, image);
    ++summary.evaluations;
    summary.residual = LargestDifference(image, x);
    if (!std::isfinite(summary.residual)) accelerator.Step(x, image);  // throws, saying where
    summary.converged = summary.residual <= options.tolerance;
    const bool go_on =
        !options.on_evaluation || options.on_evaluation(summary.evaluations, summary.residual);
    if (summary.converged || !go_on || summary.evaluations == options.max_evaluations) break;
    accelerator.Step(x, image);
  }
  summary.statistics = accelerator.statistics();
  return summary;
}

}  // namespace stableaa
