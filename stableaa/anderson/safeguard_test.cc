#include "stableaa/anderson/accelerator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stableaa/anderson/maps_test.h"

namespace stableaa::safeguard_test {

TEST(Safeguard, RejectedStepsFallBackToThePlainStepFromBefore) {
  Accelerator accelerator(1, {.memory = 1, .safeguard_factor = 1});
  // Residuals 1 and .99 are nearly parallel, so the secant goes far out, where the map is awful.
  Vector x = Vector::Zero(1);
  const auto g = [](double v) { return v < 2 ? v + 1 - .01 * v : v + 1000; };
  double before = 0;
  bool rejected = false;
  for (int k = 0; k < 6 && !rejected; ++k) {
    const double current = x(0);
    const Vector image = Vector::Constant(1, g(current));
    const StepReport report = accelerator.Step(AsSpan(x), AsSpan(image));
    if (report.kind == StepKind::kRejected) {
      rejected = true;
      EXPECT_NEAR(x(0), g(before), 1e-9);
    }
    before = current;
  }
  EXPECT_TRUE(rejected);
  EXPECT_EQ(accelerator.statistics().rejected, 1);
}

TEST(Safeguard, AFailedStepIsTakenBackExactlyHoweverFarItWent) {
  // Plain steps of 1e-3; beyond x = 5 the map explodes, beyond the range of the window's scale.
  for (const HistoryPrecision history : {HistoryPrecision::kDouble, HistoryPrecision::kFloat}) {
    for (const double explosion : {1e6, 1e40, 1e120}) {
      Accelerator accelerator(1, {.memory = 1, .history = history});
      const auto g = [&](double v) { return v < 5 ? v + 1e-3 - 1e-7 * v : v * explosion; };
      std::vector<double> x = {0};
      std::vector<double> before = x;
      int rejections = 0;
      for (int k = 0; k < 12; ++k) {
        const std::vector<double> current = x;
        const std::vector<double> image = {g(x[0])};
        if (accelerator.Step(x, image).kind == StepKind::kRejected) {
          EXPECT_EQ(x[0], before[0] + (g(before[0]) - before[0])) << explosion;
          ++rejections;
        }
        before = current;
        EXPECT_LT(std::abs(x[0]), 1e5) << explosion << " step " << k;
      }
      EXPECT_GE(rejections, 2) << explosion;
      EXPECT_EQ(accelerator.statistics().rejected, rejections);
    }
  }
}

TEST(Safeguard, FollowsAMapThatHasChanged) {
  // The target jumps when the iteration has all but converged: earlier residuals say nothing about
  // what follows.
  const int n = 50;
  const auto evaluations = [&](bool safeguard) {
    Accelerator accelerator(n, {.safeguard = safeguard});
    Vector x = Vector::Zero(n);
    for (int k = 0; k < 3000; ++k) {
      const double target = k < 300 ? 1 : 1000;
      const Vector image = Vector::NullaryExpr(n, [&](Eigen::Index i) {
        const double rate = .99 * static_cast<double>(i + 1) / n;
        return rate * x(i) + (1 - rate) * target;
      });
      const StepReport report = accelerator.Step(AsSpan(x), AsSpan(image));
      if (k > 300 && report.residual_norm < 1e-8) return k;
    }
    return 3000;
  };
  EXPECT_LT(evaluations(true), 2 * evaluations(false));
}

TEST(Safeguard, KeepsTheWindow) {
  Accelerator accelerator(30, {.memory = 5, .safeguard_factor = .5});
  Vector x = Vector::LinSpaced(30, -50, 50);
  bool after_rejection = false;
  int checked = 0;
  for (int k = 0; k < 200; ++k) {
    const Vector image = KinkMap(x);
    const StepReport report = accelerator.Step(AsSpan(x), AsSpan(image));
    if (after_rejection && k > 8 && report.kind == StepKind::kAccelerated) {
      EXPECT_EQ(accelerator.weights().tau.size(), 5u);
      ++checked;
    }
    after_rejection = report.kind == StepKind::kRejected;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace stableaa::safeguard_test
