#include "stableaa/theory/update_matrix.h"

#include <algorithm>
#include <cmath>

namespace stableaa {
namespace {

LongMatrix Basis(const ResidualWindow& window) {
  LongMatrix columns(window.size(), 2 * window.memory());
  columns << window.iterates, window.residuals;
  return OrthonormalBasis(columns);
}

}  // namespace

LongMatrix UpdateCorrection(const ResidualWindow& window, long double damping, long double ridge) {
  const LongMatrix basis = Basis(window);
  const LongMatrix h = basis.transpose() * window.residuals;
  const LongMatrix directions = basis.transpose() * window.iterates + damping * h;
  // (HᵀH + λI)⁻¹Hᵀ from the singular values σ of H: σ/(σ² + λ).
  const ThinSvd svd = DecomposeSingular(h);
  LongVector filter = svd.singular;
  for (long double& sigma : filter) sigma = sigma > 0 ? sigma / (sigma * sigma + ridge) : 0;
  return directions * svd.v * filter.asDiagonal() * svd.u.transpose();
}

LongMatrix WithPlainStep(const LongMatrix& correction, long double damping) {
  return correction - damping * LongMatrix::Identity(correction.rows(), correction.cols());
}

long double UpdateNorm(const ResidualWindow& window, long double damping, long double eta) {
  return SpectralNorm(WithPlainStep(UpdateCorrection(window, damping, window.Ridge(eta)), damping));
}

double PrintedNormBound(double eta, double damping) { return std::abs(2 / eta - damping); }

double RootNormBound(double eta, double damping) { return damping + 1 / (2 * std::sqrt(eta)); }

double InverseNormBound(double eta, double damping) {
  return damping + (damping + std::hypot(1.0, damping)) / (2 * eta);
}

double CorrectedNormBound(double eta, double damping) {
  return std::min(RootNormBound(eta, damping), InverseNormBound(eta, damping));
}

}  // namespace stableaa
