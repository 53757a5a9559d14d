// Small dense matrices in long double, and the factorisations that the claims need. Eigen takes
// many seconds to compile each of these, so they are compiled once, behind plain functions.
#ifndef STABLEAA_THEORY_DENSE_ALGEBRA_H_
#define STABLEAA_THEORY_DENSE_ALGEBRA_H_

#include <Eigen/Core>

namespace stableaa {

using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

// The largest magnitude; 0 for an empty vector.
long double SupNorm(const LongVector& v);

// The spectral norm; 0 for an empty matrix.
long double SpectralNorm(const LongMatrix& matrix);

// Largest first.
LongVector SingularValues(const LongMatrix& matrix);

// The largest singular value over the smallest, infinite for a singular matrix.
long double ConditionNumber(const LongMatrix& matrix);

// matrix = u diag(singular) vᵀ, with as many columns in u and v as there are singular values.
struct ThinSvd {
  LongMatrix u;
  LongVector singular;  // largest first
  LongMatrix v;
};
ThinSvd DecomposeSingular(const LongMatrix& matrix);

// min(rows, columns) orthonormal vectors that span the columns, if these have full rank.
LongMatrix OrthonormalBasis(const LongMatrix& columns);

// Solves ax = b for symmetric positive semidefinite a (LDLᵀ).
LongVector SolveSymmetric(const LongMatrix& a, const LongVector& b);
Eigen::MatrixXd SolveSymmetric(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

// The same for any nonsingular square a (LU).
LongMatrix SolveSquare(const LongMatrix& a, const LongMatrix& b);

// argmin ‖ax − b‖₂ (QR with pivoting).
LongVector SolveLeastSquares(const LongMatrix& a, const LongVector& b);

// The eigenvalues of a square, possibly nonsymmetric matrix.
Eigen::VectorXcd EigenvaluesOf(const Eigen::MatrixXd& matrix);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_DENSE_ALGEBRA_H_
