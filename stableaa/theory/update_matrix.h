// The matrix of a regularised step, x_{k+1} = x_k − G̃e_k (Theorem 3):
//
//   G̃ = −βI + (Δ + βH)(HᵀH + λI)⁻¹Hᵀ,   λ = η(‖Δ‖²_F + ‖H‖²_F);   G is the same with λ = 0.
#ifndef STABLEAA_THEORY_UPDATE_MATRIX_H_
#define STABLEAA_THEORY_UPDATE_MATRIX_H_

#include "stableaa/theory/dense_algebra.h"
#include "stableaa/theory/residual_window.h"

namespace stableaa {

// G̃ + βI on the span of the columns of Δ and H, in an orthonormal basis of at most 2m vectors. G̃
// multiplies the orthogonal complement by −β and, whenever there is a complement, some vector in
// the span too: Hᵀ has only half as many rows as the basis has vectors. So the norms of G̃, G and
// their quotient can be computed here.
LongMatrix UpdateCorrection(const ResidualWindow& window, long double damping, long double ridge);

// G̃, given the correction.
LongMatrix WithPlainStep(const LongMatrix& correction, long double damping);

// ‖G̃‖₂.
long double UpdateNorm(const ResidualWindow& window, long double damping, long double eta);

double PrintedNormBound(double eta, double damping);  // |2/η − β|: false for large η
double RootNormBound(double eta, double damping);     // β + 1/(2√η): better for small η
double InverseNormBound(double eta, double damping);  // β + (β + √(1+β²))/(2η): for large η
double CorrectedNormBound(double eta, double damping);  // the smaller of the last two

}  // namespace stableaa

#endif  // STABLEAA_THEORY_UPDATE_MATRIX_H_
