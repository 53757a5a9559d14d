#include "stableaa/theory/dense_algebra.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "stableaa/core/random.h"

namespace stableaa::dense_algebra_test {

using Index = Eigen::Index;

LongMatrix Draw(RandomStream& random, Index rows, Index columns) {
  return LongMatrix::NullaryExpr(rows, columns, [&] { return random.Normal(); });
}

// Tall, square and wide matrices.
std::vector<LongMatrix> DrawMatrices() {
  RandomStream random(1, "test/dense algebra");
  std::vector<LongMatrix> all;
  for (int i = 0; i < 60; ++i) {
    const auto rows = static_cast<Index>(random.Integer(1, 12));
    all.push_back(Draw(random, rows, static_cast<Index>(random.Integer(1, 6))));
  }
  return all;
}

TEST(SupNorm, IsTheLargestMagnitude) {
  EXPECT_EQ(SupNorm(LongVector()), 0);
  EXPECT_EQ(SupNorm(LongVector{{1, -3, 2}}), 3);
}

TEST(SpectralNorm, OfKnownMatrices) {
  EXPECT_EQ(SpectralNorm(LongMatrix(0, 0)), 0);
  EXPECT_NEAR(static_cast<double>(SpectralNorm(LongMatrix{{3}, {4}})), 5, 1e-17);
  EXPECT_NEAR(static_cast<double>(SpectralNorm(LongMatrix{{3, 0}, {0, -5}})), 5, 1e-17);
  // [[0, 1], [0, 1]] has one singular value, √2.
  EXPECT_NEAR(static_cast<double>(SpectralNorm(LongMatrix{{0, 1}, {0, 1}}) - std::sqrt(2.0L)), 0,
              1e-18);
}

TEST(SpectralNorm, IsTheRootOfTheLargestEigenvalueOfTheGramMatrix) {
  for (const LongMatrix& h : DrawMatrices()) {
    const Eigen::SelfAdjointEigenSolver<LongMatrix> eigen(h.transpose() * h);
    const long double expected = std::sqrt(eigen.eigenvalues().maxCoeff());
    EXPECT_NEAR(static_cast<double>(SpectralNorm(h) / expected), 1, 1e-15);
  }
}

TEST(ConditionNumber, OfKnownMatrices) {
  EXPECT_NEAR(static_cast<double>(ConditionNumber(LongMatrix{{3, 0}, {0, -12}})), 4, 1e-17);
  EXPECT_EQ(ConditionNumber(LongMatrix{{1, 0}, {0, 0}}),
            std::numeric_limits<long double>::infinity());
}

TEST(DecomposeSingular, GivesTheMatrixBack) {
  for (const LongMatrix& matrix : DrawMatrices()) {
    const ThinSvd svd = DecomposeSingular(matrix);
    ASSERT_EQ(svd.singular.size(), std::min(matrix.rows(), matrix.cols()));
    EXPECT_LE((svd.u * svd.singular.asDiagonal() * svd.v.transpose() - matrix).norm(), 1e-16L);
    EXPECT_EQ(svd.singular, SingularValues(matrix));
  }
}

TEST(OrthonormalBasis, SpansTheColumns) {
  for (const LongMatrix& matrix : DrawMatrices()) {
    const LongMatrix basis = OrthonormalBasis(matrix);
    ASSERT_EQ(basis.cols(), std::min(matrix.rows(), matrix.cols()));
    EXPECT_LE((basis.transpose() * basis - LongMatrix::Identity(basis.cols(), basis.cols())).norm(),
              1e-17L);
    EXPECT_LE((basis * (basis.transpose() * matrix) - matrix).norm(), 1e-16L);
  }
}

TEST(DenseSolvers, SolveTheirEquations) {
  RandomStream random(2, "test/dense algebra");
  for (int i = 0; i < 50; ++i) {
    const auto n = static_cast<Index>(random.Integer(1, 6));
    const LongMatrix a = Draw(random, n + 2, n);
    const LongMatrix gram = a.transpose() * a;
    const LongVector b = Draw(random, n, 1);
    const LongVector tall = Draw(random, n + 2, 1);
    const LongVector symmetric = SolveSymmetric(gram, b);
    EXPECT_LE((gram * symmetric - b).norm(), 1e-16L * (1 + gram.norm() * symmetric.norm()));
    const LongVector square = SolveSquare(gram, b);
    EXPECT_LE((gram * square - b).norm(), 1e-16L * (1 + gram.norm() * square.norm()));
    const LongVector least = SolveLeastSquares(a, tall);
    EXPECT_LE((a.transpose() * (a * least - tall)).norm(),
              1e-16L * (1 + gram.norm() * least.norm() + tall.norm() * a.norm()));

    const Eigen::MatrixXd in_double = gram.cast<double>();
    const Eigen::MatrixXd two = Draw(random, n, 2).cast<double>();
    const Eigen::MatrixXd solved = SolveSymmetric(in_double, two);
    EXPECT_LE((in_double * solved - two).norm(), 1e-13 * (1 + in_double.norm() * solved.norm()));
  }
}

TEST(EigenvaluesOf, ATurnIsAPairOfComplexOnes) {
  const Eigen::VectorXcd values = EigenvaluesOf(Eigen::MatrixXd{{0, -2}, {2, 0}});
  ASSERT_EQ(values.size(), 2);
  EXPECT_NEAR(std::abs(values[0] - std::conj(values[1])), 0, 1e-15);
  EXPECT_NEAR(std::abs(values[0].imag()), 2, 1e-15);
}

}  // namespace stableaa::dense_algebra_test
