#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <string>

#include "stableaa/core/random.h"
#include "stableaa/theory/accelerated_run.h"
#include "stableaa/theory/choices.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/dense_algebra.h"
#include "stableaa/theory/residual_window.h"
#include "stableaa/theory/trials.h"

namespace stableaa::quasi_newton_claim_test {

using Index = Eigen::Index;

const Claim& Proposition1() { return QuasiNewtonClaims().front(); }

// A trial's instance, rebuilt: a window, then the damping.
struct Instance {
  ResidualWindow window;
  long double damping = 0;
};

Instance Repeat(const Choices& choices) {
  RandomStream none(1, "test/unused");
  Choices copy(choices.Taken(), &none);
  Instance instance;
  instance.window = ChooseWindow(copy, nullptr);
  instance.damping = copy.Chance(0.2) ? 1 : copy.Uniform();
  return instance;
}

// Newest minus the sum of the newer differences: the columns e_{k−m} … e_k or x_{k−m} … x_k.
LongMatrix OldestFirst(const LongVector& newest, const LongMatrix& differences) {
  const Index m = differences.cols();
  LongMatrix columns(newest.size(), m + 1);
  for (Index age = 0; age <= m; ++age) {
    columns.col(m - age) = newest - differences.leftCols(age).rowwise().sum();
  }
  return columns;
}

// Eq. 2 with the α of the Karush–Kuhn–Tucker system [EᵀE 1; 1ᵀ 0](α, μ) = (0, 1).
LongVector MixedStep(const Instance& instance) {
  const LongMatrix e = OldestFirst(instance.window.residual, instance.window.residuals);
  const LongMatrix x = OldestFirst(instance.window.x, instance.window.iterates);
  const Index columns = e.cols();
  // In units that balance the system.
  const long double unit = e.norm();
  LongMatrix system = LongMatrix::Zero(columns + 1, columns + 1);
  system.topLeftCorner(columns, columns) = e.transpose() * e / (unit * unit);
  system.topRightCorner(columns, 1).setOnes();
  system.bottomLeftCorner(1, columns).setOnes();
  const LongVector alpha =
      system.fullPivLu().solve(LongVector::Unit(columns + 1, columns)).head(columns);
  const long double beta = instance.damping;
  return (1 - beta) * (x * alpha) + beta * ((x + e) * alpha);
}

// x − G e with the n×n matrix G = (Δ + βH)(HᵀH)⁻¹Hᵀ ∓ βI written out.
LongVector NewtonStep(const Instance& instance, long double sign_of_identity) {
  const LongMatrix& h = instance.window.residuals;
  const Index n = h.rows();
  const LongMatrix g = (instance.window.iterates + instance.damping * h) *
                           (h.transpose() * h).inverse() * h.transpose() +
                       sign_of_identity * instance.damping * LongMatrix::Identity(n, n);
  return instance.window.x - g * instance.window.residual;
}

TEST(Proposition1, SpeaksOfIndependentResidualsOnly) {
  RandomStream stream(1, "test/prop1");
  int spoken = 0;
  for (int i = 0; i < 500; ++i) {
    Choices choices(&stream);
    const auto outcome = Proposition1().trial(choices, nullptr);
    EXPECT_FALSE(outcome.corrected.has_value());
    const Instance instance = Repeat(choices);
    const LongMatrix e = OldestFirst(instance.window.residual, instance.window.residuals);
    const bool more_columns_than_rows = e.cols() > e.rows();
    const LongVector singular = SingularValues(e);
    const long double spread = singular[singular.size() - 1] / singular[0];
    if (more_columns_than_rows || spread < .99e-5L) {
      EXPECT_FALSE(outcome.printed.has_value());
    } else if (spread > 1.01e-5L) {
      EXPECT_TRUE(outcome.printed.has_value());
    }
    if (outcome.printed) {
      ++spoken;
      EXPECT_EQ(outcome.printed->right, 0);
      EXPECT_GT(outcome.printed->allowance, 0);
    }
  }
  EXPECT_GT(spoken, 150);
}

TEST(Proposition1, MixingAndTheQuasiNewtonMatrixAgreeInOtherHands) {
  RandomStream stream(2, "test/prop1");
  for (int i = 0; i < 500; ++i) {
    Choices choices(&stream);
    const auto outcome = Proposition1().trial(choices, nullptr);
    if (!outcome.printed) continue;
    const Instance instance = Repeat(choices);
    EXPECT_LE((MixedStep(instance) - NewtonStep(instance, -1)).norm(),
              1000 * outcome.printed->allowance);
    EXPECT_LE(outcome.printed->left, 1000 * outcome.printed->allowance);
  }
}

// The allowance cannot hide a mistake: a slip in the formula is far larger on nearly all windows.
TEST(Proposition1, AWrongSignWouldBeSeen) {
  RandomStream stream(3, "test/prop1");
  int spoken = 0;
  int seen = 0;
  for (int i = 0; i < 500; ++i) {
    Choices choices(&stream);
    const auto outcome = Proposition1().trial(choices, nullptr);
    if (!outcome.printed) continue;
    ++spoken;
    const Instance instance = Repeat(choices);
    const long double wrong = (MixedStep(instance) - NewtonStep(instance, 1)).norm();
    if (wrong > 1e4L * outcome.printed->allowance) ++seen;
  }
  EXPECT_GT(seen, spoken * 9 / 10);
}

TEST(Proposition1, Holds) {
  const ClaimResult result = TestClaim(Proposition1(), {.trials = 300, .seed = 11});
  EXPECT_EQ(result.printed.verdict, Verdict::kHolds);
  EXPECT_EQ(result.corrected.verdict, Verdict::kHolds);
  EXPECT_LT(result.printed.worst, .1);
}

}  // namespace stableaa::quasi_newton_claim_test
