#include "stableaa/theory/residual_window.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/theory/accelerated_run.h"
#include "stableaa/theory/choices.h"
#include "stableaa/theory/dense_algebra.h"

namespace stableaa::residual_window_test {

using Index = Eigen::Index;

struct Drawn {
  ResidualWindow window;
  std::string description;
  std::vector<double> numbers;

  bool is_random() const { return description.starts_with("random window"); }
};

std::vector<Drawn> DrawWindows(int count, std::uint64_t seed) {
  RandomStream stream(seed, "test/windows");
  std::vector<Drawn> all;
  for (int i = 0; i < count; ++i) {
    Choices choices(&stream);
    Drawn drawn;
    drawn.window = ChooseWindow(choices, &drawn.description);
    drawn.numbers = choices.Taken();
    all.push_back(std::move(drawn));
  }
  return all;
}

// σ_min/σ_max of the normalised columns: how far they are from collinear.
long double Spread(const LongMatrix& columns) {
  const LongVector singular = SingularValues(columns.colwise().normalized());
  return singular[singular.size() - 1] / singular[0];
}

// ---- The weights ----

TEST(SolveTau, SolvesTheNormalEquations) {
  int plain = 0;
  for (const Drawn& drawn : DrawWindows(500, 2)) {
    const ResidualWindow& window = drawn.window;
    const LongMatrix& h = window.residuals;
    for (const long double eta : {0.0L, 1e-3L, 1.0L}) {
      if (eta == 0) {
        if (h.cols() > h.rows()) continue;
        const LongVector singular = SingularValues(h);
        if (!(singular[singular.size() - 1] > 1e-3L * singular[0])) continue;
        ++plain;
      }
      LongMatrix normal = h.transpose() * h;
      normal.diagonal().array() += eta * (window.iterates.squaredNorm() + h.squaredNorm());
      const LongVector expected = normal.inverse() * (h.transpose() * window.residual);
      const LongVector tau = SolveTau(window, window.Ridge(eta));
      ASSERT_EQ(tau.size(), window.memory());
      // The magnitude of the right side over that of the matrix: `expected` may be small by
      // cancellation.
      const long double size = expected.norm() + window.residual.norm() / SpectralNorm(h);
      EXPECT_LE((tau - expected).norm(), 1e-11L * size) << drawn.description << ", eta " << eta;
    }
  }
  EXPECT_GT(plain, 200);
}

TEST(SolveTau, LeavesNoGradient) {
  for (const Drawn& drawn : DrawWindows(500, 3)) {
    const ResidualWindow& window = drawn.window;
    const LongMatrix& h = window.residuals;
    const long double ridge = window.Ridge(1e-2L);
    const LongVector tau = SolveTau(window, ridge);
    const LongVector gradient = h.transpose() * (h * tau - window.residual) + ridge * tau;
    const long double size =
        (h.norm() + std::sqrt(ridge)) * (h.norm() * tau.norm() + window.residual.norm());
    EXPECT_LE(gradient.norm(), 1e-16L * size) << drawn.description;
  }
}

TEST(SolveTau, ByHand) {
  // argmin (1 + 2τ)² + 4τ²: 2(1 + 2τ) + 4τ = 0.
  ResidualWindow window;
  window.iterates = LongMatrix{{0}};
  window.residuals = LongMatrix{{-2}};
  window.residual = LongVector{{1}};
  window.x = LongVector{{0}};
  EXPECT_NEAR(static_cast<double>(SolveTau(window, 4)[0]), -.25, 1e-18);
  EXPECT_NEAR(static_cast<double>(SolveTau(window, 0)[0]), -.5, 1e-18);
}

TEST(ResidualWindow, ItsRidgeIsThatOfThePaper) {
  for (const Drawn& drawn : DrawWindows(50, 4)) {
    long double sum = 0;
    for (const LongMatrix& matrix : {drawn.window.iterates, drawn.window.residuals}) {
      for (Index j = 0; j < matrix.cols(); ++j) {
        for (Index i = 0; i < matrix.rows(); ++i) sum += matrix(i, j) * matrix(i, j);
      }
    }
    EXPECT_NEAR(static_cast<double>(drawn.window.Ridge(.3L) / (.3L * sum)), 1, 1e-15);
  }
}

// ---- Windows made by choices ----

TEST(ChooseWindow, AllPartsFitAndAreFinite) {
  for (const Drawn& drawn : DrawWindows(1000, 5)) {
    const ResidualWindow& window = drawn.window;
    EXPECT_GE(window.memory(), 1);
    EXPECT_EQ(window.iterates.rows(), window.size());
    EXPECT_EQ(window.iterates.cols(), window.memory());
    EXPECT_EQ(window.x.size(), window.size());
    EXPECT_EQ(window.residual.size(), window.size());
    EXPECT_TRUE(window.iterates.allFinite() && window.residuals.allFinite() &&
                window.x.allFinite() && window.residual.allFinite());
    if (drawn.is_random()) {
      EXPECT_LE(window.memory(), std::min<Index>(6, window.size()));
      EXPECT_LE(window.size(), 20);
    } else {
      EXPECT_LE(window.memory(), 5);
    }
  }
}

TEST(ChooseWindow, EqualChoicesMakeEqualWindows) {
  RandomStream none(1, "test/unused");
  for (const Drawn& drawn : DrawWindows(100, 6)) {
    Choices copy(drawn.numbers, &none);
    const ResidualWindow again = ChooseWindow(copy, nullptr);
    EXPECT_EQ(again.residuals, drawn.window.residuals);
    EXPECT_EQ(again.iterates, drawn.window.iterates);
    EXPECT_EQ(again.residual, drawn.window.residual);
    EXPECT_EQ(again.x, drawn.window.x);
  }
}

TEST(ChooseWindow, ThoseOfRunsAreWindowsOfTheRunAtTheStepNamed) {
  RandomStream none(1, "test/unused");
  int seen = 0;
  for (const Drawn& drawn : DrawWindows(500, 7)) {
    if (drawn.is_random()) continue;
    ++seen;
    // The first number chose a run.
    const std::vector<double> rest(drawn.numbers.begin() + 1, drawn.numbers.end());
    Choices copy(rest, &none);
    std::string of_run;
    const WeightRule rule = copy.Chance(.5) ? WeightRule::kVanilla : WeightRule::kStable;
    const AcceleratedRun run = ChooseRun(copy, {.weights = {.rule = rule}}, &of_run);
    ASSERT_TRUE(drawn.description.ends_with(" of a run: " + of_run)) << drawn.description;
    const std::size_t k = std::stoul(drawn.description.substr(5));
    ASSERT_LT(k, run.steps.size());
    const ResidualWindow& window = drawn.window;
    EXPECT_EQ(window.memory(), run.steps[k].tau.size());
    EXPECT_EQ(window.x, run.steps[k].x);
    EXPECT_EQ(window.residual, run.map(window.x) - window.x);
    for (Index i = 0; i < window.memory(); ++i) {
      const auto at = k - static_cast<std::size_t>(i);
      EXPECT_EQ(window.iterates.col(i), run.steps[at].x - run.steps[at - 1].x);
      EXPECT_EQ(window.residuals.col(i), run.steps[at].residual - run.steps[at - 1].residual);
    }
  }
  EXPECT_GT(seen, 100);
  EXPECT_LT(seen, 200);
}

TEST(ChooseWindow, ReachesTheExtremes) {
  int one_entry = 0, square = 0, tall = 0, in_line = 0, contracted = 0, tiny_steps = 0,
      huge_steps = 0, more_columns_than_rows = 0;
  for (const Drawn& drawn : DrawWindows(3000, 8)) {
    const ResidualWindow& window = drawn.window;
    if (!drawn.is_random()) {
      if (window.memory() > window.size()) ++more_columns_than_rows;
      continue;
    }
    if (window.size() == 1) ++one_entry;
    if (window.size() == window.memory()) ++square;
    if (window.size() > 15) ++tall;
    if (window.memory() > 1 && window.size() > 2 * window.memory() &&
        Spread(window.residuals) < 1e-2L) {
      ++in_line;
    }
    // H = (A − I)Δ with a small A: H is near −Δ, unlike for independent matrices.
    if (window.size() > 5 &&
        SpectralNorm(window.residuals + window.iterates) < .5L * SpectralNorm(window.iterates) &&
        SpectralNorm(window.residuals) < 2 * SpectralNorm(window.iterates)) {
      ++contracted;
    }
    const long double quotient = SpectralNorm(window.iterates) / SpectralNorm(window.residuals);
    if (quotient < 1e-3L) ++tiny_steps;
    if (quotient > 1e3L) ++huge_steps;
  }
  for (const int count : {one_entry, square, tall, in_line, contracted, tiny_steps, huge_steps,
                          more_columns_than_rows}) {
    EXPECT_GT(count, 20);
  }
}

}  // namespace stableaa::residual_window_test
