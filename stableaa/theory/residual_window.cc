#include "stableaa/theory/residual_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stableaa {
namespace {

using Index = Eigen::Index;

LongMatrix ChooseMatrix(Choices& choices, Index rows, Index columns) {
  const double scale = choices.LogUniform(1e-3, 1e3);
  LongMatrix matrix(rows, columns);
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) matrix(i, j) = scale * choices.Normal();
  }
  return matrix;
}

// H = (A − I)Δ with ‖A‖ < 1: residual differences as produced by an affine contraction.
LongMatrix Couple(Choices& choices, const LongMatrix& iterates) {
  const Index n = iterates.rows();
  LongMatrix map = ChooseMatrix(choices, n, n);
  map *= choices.Uniform(0, 0.999) / std::max(SpectralNorm(map), 1e-300L);
  return map * iterates - iterates;
}

ResidualWindow WindowOf(const AcceleratedRun& run, std::size_t k) {
  return {.iterates = run.Iterates(k),
          .residuals = run.Residuals(k),
          .x = run.steps[k].x,
          .residual = run.steps[k].residual};
}

}  // namespace

LongVector SolveTau(const ResidualWindow& window, long double ridge) {
  const Index n = window.size();
  const Index m = window.memory();
  LongMatrix stacked = LongMatrix::Zero(n + m, m);
  stacked.topRows(n) = window.residuals;
  stacked.bottomRows(m).diagonal().setConstant(std::sqrt(ridge));
  LongVector target = LongVector::Zero(n + m);
  target.head(n) = window.residual;
  return SolveLeastSquares(stacked, target);
}

ResidualWindow ChooseWindow(Choices& choices, std::string* description) {
  if (choices.Chance(0.3)) {
    const WeightRule rule = choices.Chance(0.5) ? WeightRule::kVanilla : WeightRule::kStable;
    const AcceleratedRun run = ChooseRun(choices, {.weights = {.rule = rule}}, description);
    // The first steps have no window.
    std::vector<std::size_t> usable;
    for (std::size_t k = 1; k < run.steps.size(); ++k) {
      if (run.steps[k].tau.size() > 0) usable.push_back(k);
    }
    if (!usable.empty()) {
      const std::size_t k =
          usable[static_cast<std::size_t>(choices.Integer(0, static_cast<int>(usable.size()) - 1))];
      if (description != nullptr)
        *description = fmt::format("step {} of a run: {}", k, *description);
      return WindowOf(run, k);
    }
  }
  const int n = choices.Chance(0.5) ? choices.Integer(1, 4) : choices.Integer(1, 20);
  const int m = choices.Integer(1, std::min(n, 6));
  ResidualWindow window;
  window.iterates = ChooseMatrix(choices, n, m);
  window.residuals =
      choices.Chance(0.3) ? Couple(choices, window.iterates) : ChooseMatrix(choices, n, m);
  if (m > 1 && choices.Chance(0.2)) {  // nearly collinear
    const double spread = choices.LogUniform(1e-4, 1);
    for (int j = 1; j < m; ++j) {
      window.residuals.col(j) = window.residuals.col(0) + spread * window.residuals.col(j);
    }
  }
  window.x = ChooseMatrix(choices, n, 1);
  window.residual = ChooseMatrix(choices, n, 1);
  if (description != nullptr) *description = fmt::format("random window, n = {}, m = {}", n, m);
  return window;
}

}  // namespace stableaa
