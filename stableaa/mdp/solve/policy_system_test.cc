#include "stableaa/mdp/solve/policy_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"

namespace stableaa::policy_system_test {

using Vector = std::vector<double>;
using Weights = std::vector<std::map<std::uint32_t, double>>;  // W by rows

SparseRows Rows(const Weights& weights) {
  SparseRows rows;
  for (const auto& row : weights) {
    for (const auto& [column, weight] : row) {
      rows.columns.push_back(column);
      rows.weights.push_back(weight);
    }
    rows.offsets.push_back(rows.columns.size());
  }
  return rows;
}

Vector RandomVector(std::size_t n, std::uint64_t seed) {
  RandomStream random(seed, "vector");
  Vector x(n);
  for (double& value : x) value = random.Uniform(-1, 1);
  return x;
}

// Random off-diagonal entries, each row scaled to sum to `discount`: the matrix of a policy.
Weights RandomWeights(std::uint32_t n, std::uint64_t entries, double discount, std::uint64_t seed) {
  RandomStream random(seed, "weights");
  Weights weights(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::uint64_t e = 0; e < entries; ++e) {
      const auto j = static_cast<std::uint32_t>(random.Below(n));
      if (j != i) sum += weights[i][j] = random.Uniform() + 1e-3;
    }
    for (auto& entry : weights[i]) entry.second *= discount / sum;
  }
  return weights;
}

// Steps to both neighbours: elimination creates no new entries.
Weights ChainWeights(std::uint32_t n, double discount) {
  Weights weights(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i > 0) weights[i][i - 1] = 0.6 * discount;
    if (i + 1 < n) weights[i][i + 1] = 0.4 * discount;
  }
  return weights;
}

// Every state leads to the last one and back: elimination creates no new entries if the last comes
// last, and fills everything if it comes first.
Weights ArrowWeights(std::uint32_t n, double discount, bool hub_first) {
  const std::uint32_t hub = hub_first ? 0 : n - 1;
  Weights weights(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i == hub) continue;
    weights[i][hub] = discount;
    weights[hub][i] = discount / (n - 1);
  }
  return weights;
}

// A tree with leaves first: node i's parent is above it.
Weights TreeWeights(std::uint32_t n, double discount, std::uint64_t seed) {
  RandomStream random(seed, "tree");
  Weights weights(n);
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    const std::uint32_t parent = i + 1 + static_cast<std::uint32_t>(random.Below(n - i - 1));
    weights[i][parent] = 1;
    weights[parent][i] = random.Uniform() + 0.1;
  }
  for (auto& row : weights) {
    double sum = 0;
    for (const auto& entry : row) sum += entry.second;
    for (auto& entry : row) entry.second *= discount / sum;
  }
  return weights;
}

// A⁻¹b by elimination with pivoting, in long double.
Vector Eliminated(const Weights& weights, const Vector& b) {
  const std::size_t n = b.size();
  std::vector<std::vector<long double>> a(n, std::vector<long double>(n + 1, 0));
  for (std::size_t i = 0; i < n; ++i) {
    a[i][i] = 1;
    for (const auto& [j, weight] : weights[i]) a[i][j] -= weight;
    a[i][n] = b[i];
  }
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t i = c; i < n; ++i) {
      if (std::abs(a[i][c]) > std::abs(a[pivot][c])) pivot = i;
    }
    std::swap(a[c], a[pivot]);
    for (std::size_t i = c + 1; i < n; ++i) {
      const long double factor = a[i][c] / a[c][c];
      if (factor == 0) continue;
      for (std::size_t j = c; j <= n; ++j) a[i][j] -= factor * a[c][j];
    }
  }
  Vector x(n);
  for (std::size_t i = n; i-- > 0;) {
    long double value = a[i][n];
    for (std::size_t j = i + 1; j < n; ++j) value -= a[i][j] * x[j];
    x[i] = static_cast<double>(value / a[i][i]);
  }
  return x;
}

double Distance(const Vector& a, const Vector& b) {
  double farthest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // NaN must not pass as no difference.
    farthest = std::max(farthest, std::isnan(a[i] - b[i]) ? HUGE_VAL : std::abs(a[i] - b[i]));
  }
  return farthest;
}

double Norm(const Vector& a) {
  double sum = 0;
  for (const double value : a) sum += value * value;
  return std::sqrt(sum);
}

// b − Ax.
Vector Residual(const Weights& weights, const Vector& b, const Vector& x) {
  Vector residual(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    residual[i] = b[i] - x[i];
    for (const auto& [j, weight] : weights[i]) residual[i] += weight * x[j];
  }
  return residual;
}

std::vector<Weights> SmallSystems() {
  return {Weights(1),
          Weights(5),  // the identity
          ChainWeights(2, 0.999),
          ChainWeights(80, 0.999),
          ArrowWeights(40, 0.99, true),
          ArrowWeights(40, 0.99, false),
          TreeWeights(60, 0.999, 1),
          RandomWeights(60, 4, 0.9, 1),
          RandomWeights(60, 3, 0.9999, 2),
          RandomWeights(100, 30, 0.999, 3)};
}

TEST(PolicySystem, MultiplyIsIdentityMinusWeights) {
  for (const Weights& weights : SmallSystems()) {
    const Vector x = RandomVector(weights.size(), 1);
    Vector y(x.size());
    Multiply(Rows(weights), x, y, 1);
    const Vector residual = Residual(weights, Vector(x.size(), 0.0), x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], -residual[i], 1e-15);
  }
}

TEST(PolicySystem, MultiplyHasTheSameBitsForAnyNumberOfThreads) {
  const SparseRows rows = Rows(RandomWeights(120'000, 3, 0.9, 1));
  const Vector x = RandomVector(120'000, 2);
  Vector one(x.size());
  Multiply(rows, x, one, 1);
  for (const int threads : {2, 3}) {
    Vector y(x.size());
    Multiply(rows, x, y, threads);
    EXPECT_EQ(y, one);
  }
}

TEST(TriangularFactors, AreExactWhereEliminationMakesNoNewEntries) {
  for (const Weights& weights :
       {Weights(1), Weights(4), ChainWeights(2, 0.5), ChainWeights(100, 0.9999),
        ArrowWeights(50, 0.999, false), TreeWeights(80, 0.999, 7)}) {
    const Vector b = RandomVector(weights.size(), 1);
    TriangularFactors factors;
    factors.Factor(Rows(weights));
    Vector x(b.size());
    factors.Solve(b, x);
    EXPECT_LE(Distance(x, Eliminated(weights, b)), 1e-10);
    Vector in_place = b;
    factors.Solve(in_place, in_place);
    EXPECT_EQ(in_place, x);
  }
}

TEST(TriangularFactors, AreNotExactWhereItDoes) {
  const Weights weights = ArrowWeights(50, 0.999, true);
  const Vector b = RandomVector(50, 1);
  TriangularFactors factors;
  factors.Factor(Rows(weights));
  Vector x(50);
  factors.Solve(b, x);
  EXPECT_GT(Distance(x, Eliminated(weights, b)), 1e-3);
}

TEST(TriangularFactors, PartsAreTheProductOfBothTriangles) {
  const Weights weights = RandomWeights(50, 5, 0.9, 4);
  const Vector b = RandomVector(50, 1);
  TriangularFactors factors;
  factors.TakeParts(Rows(weights));
  Vector x(50);
  factors.Solve(b, x);
  // (I − L)(I − U) x must be b.
  Vector middle = x;
  for (std::size_t i = 0; i < 50; ++i) {
    for (const auto& [j, weight] : weights[i]) middle[i] -= j > i ? weight * x[j] : 0;
  }
  Vector back = middle;
  for (std::size_t i = 0; i < 50; ++i) {
    for (const auto& [j, weight] : weights[i]) back[i] -= j < i ? weight * middle[j] : 0;
  }
  EXPECT_LE(Distance(back, b), 1e-13);
}

TEST(TriangularFactors, AreMadeAnewForEverySystem) {
  TriangularFactors factors;
  for (const Weights& weights : {RandomWeights(90, 8, 0.99, 1), ChainWeights(30, 0.99),
                                 TreeWeights(70, 0.9, 2), ChainWeights(5, 0.99)}) {
    const Vector b = RandomVector(weights.size(), 1);
    TriangularFactors fresh;
    Vector x(b.size());
    Vector expected(b.size());
    factors.Factor(Rows(weights));
    fresh.Factor(Rows(weights));
    factors.Solve(b, x);
    fresh.Solve(b, expected);
    EXPECT_EQ(x, expected);
  }
}

enum class Inner { kBicgstab, kGmres };

KrylovResult Iterate(KrylovSolver& solver, Inner inner, const SparseRows& rows,
                     const TriangularFactors& factors, const Vector& b, Vector& x,
                     const KrylovOptions& options) {
  return inner == Inner::kBicgstab ? solver.Bicgstab(rows, factors, b, x, options)
                                   : solver.Gmres(rows, factors, b, x, options);
}

class Krylov : public testing::TestWithParam<Inner> {};
INSTANTIATE_TEST_SUITE_P(All, Krylov, testing::Values(Inner::kBicgstab, Inner::kGmres),
                         [](const auto& given) {
                           return given.param == Inner::kBicgstab ? "Bicgstab" : "Gmres";
                         });

TEST_P(Krylov, AgreesWithEliminationWithEitherPreconditioner) {
  KrylovSolver solver;  // reused, to show that leftovers in its vectors do not matter
  for (const Weights& weights : SmallSystems()) {
    const SparseRows rows = Rows(weights);
    const Vector b = RandomVector(weights.size(), 1);
    const Vector truth = Eliminated(weights, b);
    for (const bool ilu : {true, false}) {
      TriangularFactors factors;
      if (ilu) {
        factors.Factor(rows);
      } else {
        factors.TakeParts(rows);
      }
      Vector x(b.size(), 123.0);
      const KrylovResult result =
          Iterate(solver, GetParam(), rows, factors, b, x, {.relative = 1e-14});
      const double condition = 2e4;  // of the worst of these, at a discount of .9999
      EXPECT_LE(Distance(x, truth), 1e-14 * condition * Norm(b)) << weights.size() << ilu;
      EXPECT_LE(result.reduction, 1e-13);
      EXPECT_GE(result.iterations, 1);
    }
  }
}

// Then the first half of the first step is the answer; GMRES finds it in one.
TEST_P(Krylov, ExactFactorsTakeOneIteration) {
  const Weights weights = ChainWeights(300, .9999);
  const SparseRows rows = Rows(weights);
  TriangularFactors factors;
  factors.Factor(rows);
  const Vector b = RandomVector(300, 1);
  Vector x(300, 123.0);
  KrylovSolver solver;
  const KrylovResult result = Iterate(solver, GetParam(), rows, factors, b, x, {.relative = 1e-9});
  EXPECT_EQ(result.iterations, 1);
  EXPECT_LE(Norm(Residual(weights, b, x)), 1e-9 * Norm(b));
  EXPECT_NEAR(result.reduction, Norm(Residual(weights, b, x)) / Norm(b), 1e-12);
}

TEST_P(Krylov, NothingToSolveGivesZero) {
  const SparseRows rows = Rows(ChainWeights(10, 0.9));
  TriangularFactors factors;
  factors.Factor(rows);
  KrylovSolver solver;
  Vector x(10, 7.0);
  const KrylovResult result = Iterate(solver, GetParam(), rows, factors, Vector(10, 0.0), x, {});
  EXPECT_EQ(x, Vector(10, 0.0));
  EXPECT_EQ(result.iterations, 0);
}

TEST_P(Krylov, KeepsToTheIterationsAllowedAndTellsHowFarItGot) {
  const Weights weights = RandomWeights(400, 3, 0.9999, 5);
  const SparseRows rows = Rows(weights);
  const Vector b = RandomVector(400, 1);
  TriangularFactors factors;
  factors.TakeParts(rows);
  KrylovSolver solver;
  for (const int most : {1, 2, 3, 7, 29, 30, 31, 45}) {
    Vector x(400);
    const KrylovResult result = Iterate(solver, GetParam(), rows, factors, b, x,
                                        {.relative = 1e-15, .max_iterations = most});
    EXPECT_LE(result.iterations, most);
    const double reduction = Norm(Residual(weights, b, x)) / Norm(b);
    EXPECT_NEAR(result.reduction, reduction, 1e-6 * reduction + 1e-13) << most;
  }
}

TEST_P(Krylov, EndsAtTheAccuracyAskedFor) {
  const Weights weights = RandomWeights(400, 3, 0.999, 5);
  const SparseRows rows = Rows(weights);
  const Vector b = RandomVector(400, 1);
  TriangularFactors factors;
  factors.Factor(rows);
  KrylovSolver solver;
  int before = 0;
  for (const double relative : {0.5, 1e-2, 1e-5, 1e-9}) {
    Vector x(400);
    const KrylovResult result =
        Iterate(solver, GetParam(), rows, factors, b, x, {.relative = relative});
    EXPECT_LE(Norm(Residual(weights, b, x)), 1.001 * relative * Norm(b));
    EXPECT_GE(result.iterations, before);
    before = result.iterations;
  }
  Vector x(400);
  Iterate(solver, GetParam(), rows, factors, b, x, {.relative = 0, .absolute = 1e-4});
  EXPECT_LE(Distance(Residual(weights, b, x), Vector(400, 0.0)), 1.001e-4);
}

TEST_P(Krylov, StopsWhenAsked) {
  const Weights weights = RandomWeights(400, 3, 0.9999, 5);
  const SparseRows rows = Rows(weights);
  const Vector b = RandomVector(400, 1);
  TriangularFactors factors;
  factors.TakeParts(rows);
  KrylovSolver solver;
  int asked = 0;
  Vector x(400);
  const KrylovResult result = Iterate(solver, GetParam(), rows, factors, b, x,
                                      {.relative = 1e-15, .stop = [&] { return ++asked == 3; }});
  EXPECT_EQ(result.iterations, 3);
  EXPECT_EQ(asked, 3);
  const double reduction = Norm(Residual(weights, b, x)) / Norm(b);
  EXPECT_NEAR(result.reduction, reduction, 1e-9);
  EXPECT_LT(reduction, 1);
}

TEST_P(Krylov, HasTheSameBitsForAnyNumberOfThreads) {
  const SparseRows rows = Rows(RandomWeights(120'000, 3, 0.99, 1));
  const Vector b = RandomVector(120'000, 2);
  TriangularFactors factors;
  factors.Factor(rows);
  const auto solved = [&](int threads) {
    KrylovSolver solver;
    Vector x(b.size());
    Iterate(solver, GetParam(), rows, factors, b, x, {.relative = 1e-6, .threads = threads});
    return x;
  };
  const Vector one = solved(1);
  EXPECT_EQ(solved(2), one);
  EXPECT_EQ(solved(3), one);
}

TEST(SolveDirectly, AgreesWithElimination) {
  for (const Weights& weights : SmallSystems()) {
    const Vector b = RandomVector(weights.size(), 1);
    Vector x(b.size(), 55.0);
    ASSERT_TRUE(SolveDirectly(Rows(weights), b, x));
    const Vector truth = Eliminated(weights, b);
    EXPECT_LE(Distance(x, truth), 1e-14 * 2e4 * Norm(b)) << weights.size();
  }
}

TEST(SolveDirectly, TakesLongChains) {
  const Weights weights = ChainWeights(200'000, 0.9);
  const Vector b = RandomVector(weights.size(), 1);
  Vector x(b.size());
  ASSERT_TRUE(SolveDirectly(Rows(weights), b, x));
  EXPECT_LE(Distance(Residual(weights, b, x), Vector(b.size(), 0.0)), 1e-13);
}

TEST(SolveDirectly, RefusesWhatWouldFillUpAndLeavesTheResultAlone) {
  const Weights weights = RandomWeights(20'000, 4, 0.9, 1);
  const Vector b = RandomVector(weights.size(), 1);
  Vector x(b.size(), 55.0);
  EXPECT_FALSE(SolveDirectly(Rows(weights), b, x));
  EXPECT_EQ(x, Vector(b.size(), 55.0));
}

}  // namespace stableaa::policy_system_test
