#include "stableaa/anderson/fixed_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stableaa/anderson/maps_test.h"
#include "stableaa/core/error.h"

namespace stableaa::fixed_point_test {

TEST(FixedPoint, ReachesTheToleranceAndReportsTheResidualOfWhatItReturns) {
  const LinearMap g(20, .99, 18);
  const FixedPointMap map = [&](std::span<const double> x, std::span<double> image) {
    const Vector y = g(Eigen::Map<const Vector>(x.data(), 20));
    std::copy(y.begin(), y.end(), image.begin());
  };
  Vector x = Vector::Zero(20);
  const FixedPointSummary summary = SolveFixedPoint(map, AsSpan(x), {.tolerance = 1e-9});
  EXPECT_TRUE(summary.converged);
  EXPECT_LE(summary.residual, 1e-9);
  EXPECT_NEAR(summary.residual, (g(x) - x).lpNorm<Eigen::Infinity>(), 1e-14);
  EXPECT_EQ(summary.statistics.steps, summary.evaluations - 1);

  Vector y = Vector::Zero(20);
  const FixedPointSummary capped =
      SolveFixedPoint(map, AsSpan(y), {.tolerance = 0, .max_evaluations = 5});
  EXPECT_FALSE(capped.converged);
  EXPECT_EQ(capped.evaluations, 5);

  Vector z = Vector::Zero(20);
  const FixedPointSummary stopped = SolveFixedPoint(
      map, AsSpan(z), {.on_evaluation = [](std::int64_t k, double) { return k < 3; }});
  EXPECT_FALSE(stopped.converged);
  EXPECT_EQ(stopped.evaluations, 3);
  EXPECT_THROW(SolveFixedPoint(map, AsSpan(z), {.tolerance = kNaN}), Error);
  const FixedPointMap broken = [](std::span<const double>, std::span<double> image) {
    std::fill(image.begin(), image.end(), kNaN);
  };
  EXPECT_THROW(SolveFixedPoint(broken, AsSpan(z), {.max_evaluations = 1}), Error);
  EXPECT_THROW(SolveFixedPoint(map, AsSpan(z), {.max_evaluations = 0}), Error);
}

}  // namespace stableaa::fixed_point_test
