// Proposition 1: an accelerated step is a quasi-Newton step.

#include <fmt/format.h>

#include <limits>

#include "stableaa/theory/claims.h"
#include "stableaa/theory/dense_algebra.h"
#include "stableaa/theory/residual_window.h"

namespace stableaa {
namespace {

constexpr long double kRoundingUnit = std::numeric_limits<long double>::epsilon();
// Beyond this, the inverses in the printed formulas are meaningless in long double.
constexpr long double kWorstSecantCondition = 1e5L;

// The window as columns, oldest first: those before the newest follow from the differences.
LongMatrix Columns(const LongVector& newest, const LongMatrix& differences) {
  const Eigen::Index m = differences.cols();
  LongMatrix columns(newest.size(), m + 1);
  columns.col(m) = newest;
  for (Eigen::Index i = 0; i < m; ++i) {
    columns.col(m - 1 - i) = columns.col(m - i) - differences.col(i);
  }
  return columns;
}

TrialOutcome CheckProposition1(const ResidualWindow& window, long double damping) {
  const LongMatrix residuals = Columns(window.residual, window.residuals);
  if (residuals.cols() > residuals.rows()) return {};
  const long double condition = ConditionNumber(residuals);
  if (!(condition < kWorstSecantCondition)) return {};

  // Eq. 2 with the weights of Eq. 4.
  const LongVector ones = LongVector::Ones(residuals.cols());
  LongVector alpha = SolveSymmetric(LongMatrix(residuals.transpose() * residuals), ones);
  alpha /= alpha.sum();
  const LongMatrix iterates = Columns(window.x, window.iterates);
  const LongMatrix images = iterates + residuals;
  const LongVector mixed = (1 - damping) * (iterates * alpha) + damping * (images * alpha);

  // x − G e with G = (Δ + βH)(HᵀH)⁻¹Hᵀ − βI.
  const LongMatrix& h = window.residuals;
  const LongVector tau =
      SolveSymmetric(LongMatrix(h.transpose() * h), h.transpose() * window.residual);
  const LongMatrix directions = window.iterates + damping * h;
  const LongVector newton = window.x - (directions * tau - damping * window.residual);

  const long double size =
      (iterates.norm() + residuals.norm()) * (1 + alpha.norm()) + directions.norm() * tau.norm();
  return {.printed = Inequality{.left = (mixed - newton).norm(),
                                .right = 0,
                                .allowance = kRoundingUnit * condition * condition * size}};
}

TrialOutcome TryProposition1(Choices& choices, std::string* description) {
  const ResidualWindow window = ChooseWindow(choices, description);
  const double damping = choices.Chance(0.2) ? 1 : choices.Uniform();
  if (description != nullptr) *description += fmt::format(", damping {:.4g}", damping);
  return CheckProposition1(window, damping);
}

constexpr Claim kQuasiNewtonClaims[] = {
    {.id = "prop1",
     .title = "Proposition 1: Anderson mixing is a quasi-Newton method",
     .printed = "(1−β) Σ α_i Q_i + β Σ α_i T Q_i = Q_k − G_k e_k\n"
                "G_k = (Δ_k + βH_k)(H_kᵀH_k)⁻¹H_kᵀ − βI, with the α of Eq. 4\n"
                "(an equality: the ratio is the difference over 1000 times the rounding allowance)",
     .derivation =
         "e_k − Hτ = Σ α_i e_i with τ_i = Σ_{j<m−i} α_j, so the α of least ‖Σ α_i e_i‖ belongs\n"
         "to τ = (HᵀH)⁻¹Hᵀe_k. In the same way Σ α_i Q_i = Q_k − Δτ. Together\n"
         "Q_{k+1} = Q_k − Δτ + β(e_k − Hτ) = Q_k − [(Δ + βH)(HᵀH)⁻¹Hᵀ − βI] e_k.",
     .trial = TryProposition1}};

}  // namespace

std::span<const Claim> QuasiNewtonClaims() { return kQuasiNewtonClaims; }

}  // namespace stableaa
