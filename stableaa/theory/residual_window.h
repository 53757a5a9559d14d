// Single windows of Anderson mixing, the subject of Propositions 1 and 2 and Theorem 3.
#ifndef STABLEAA_THEORY_RESIDUAL_WINDOW_H_
#define STABLEAA_THEORY_RESIDUAL_WINDOW_H_

#include <string>

#include "stableaa/theory/accelerated_run.h"
#include "stableaa/theory/choices.h"
#include "stableaa/theory/dense_algebra.h"

namespace stableaa {

// Differences, newest first, n×m, and the newest iterate with its residual.
struct ResidualWindow {
  LongMatrix iterates;   // Δ
  LongMatrix residuals;  // H
  LongVector x;
  LongVector residual;  // e

  Eigen::Index size() const { return residuals.rows(); }    // n
  Eigen::Index memory() const { return residuals.cols(); }  // m

  // λ = η(‖Δ‖²_F + ‖H‖²_F)
  long double Ridge(long double eta) const {
    return eta * (iterates.squaredNorm() + residuals.squaredNorm());
  }
};

// argmin ‖e − Hτ‖² + λ‖τ‖², by a QR factorisation of H stacked on √λ·I. With λ = 0, H must have
// full rank.
LongVector SolveTau(const ResidualWindow& window, long double ridge);

// A random window with m ≤ n: entries of many magnitudes, nearly collinear columns, or Δ and H
// coupled as by an affine contraction. Or a window of a real run, with any m.
ResidualWindow ChooseWindow(Choices& choices, std::string* description);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_RESIDUAL_WINDOW_H_
