#include "stableaa/theory/dense_algebra.h"

#include <Eigen/Dense>
#include <algorithm>
#include <limits>

namespace stableaa {

long double SupNorm(const LongVector& v) { return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0; }

long double SpectralNorm(const LongMatrix& matrix) {
  return matrix.size() > 0 ? SingularValues(matrix)[0] : 0;
}

LongVector SingularValues(const LongMatrix& matrix) {
  return Eigen::JacobiSVD<LongMatrix>(matrix).singularValues();
}

long double ConditionNumber(const LongMatrix& matrix) {
  const LongVector singular = SingularValues(matrix);
  const long double least = singular[singular.size() - 1];
  return least > 0 ? singular[0] / least : std::numeric_limits<long double>::infinity();
}

ThinSvd DecomposeSingular(const LongMatrix& matrix) {
  const Eigen::JacobiSVD<LongMatrix> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {.u = svd.matrixU(), .singular = svd.singularValues(), .v = svd.matrixV()};
}

LongMatrix OrthonormalBasis(const LongMatrix& columns) {
  const Eigen::Index width = std::min(columns.rows(), columns.cols());
  return Eigen::HouseholderQR<LongMatrix>(columns).householderQ() *
         LongMatrix::Identity(columns.rows(), width);
}

LongVector SolveSymmetric(const LongMatrix& a, const LongVector& b) { return a.ldlt().solve(b); }

Eigen::MatrixXd SolveSymmetric(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return a.ldlt().solve(b);
}

LongMatrix SolveSquare(const LongMatrix& a, const LongMatrix& b) {
  return a.partialPivLu().solve(b);
}

LongVector SolveLeastSquares(const LongMatrix& a, const LongVector& b) {
  return a.colPivHouseholderQr().solve(b);
}

Eigen::VectorXcd EigenvaluesOf(const Eigen::MatrixXd& matrix) { return matrix.eigenvalues(); }

}  // namespace stableaa
