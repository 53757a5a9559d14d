#include "stableaa/anderson/weights.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "stableaa/anderson/scale.h"
#include "stableaa/anderson/triangle.h"
#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"
#include "stableaa/core/option_table.h"

namespace stableaa {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using RowMajorMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// The mean of |e_i·e_j| over the window. e_{k−j} = e_k − (h_0 + … + h_{j−1}), so each product is a
// sum over a corner of HᵀH and two prefixes of Hᵀe.
double MeanAbsoluteProduct(const Matrix& gram, const Vector& cross, double residual_squared,
                           Matrix& corner) {
  const Eigen::Index m = gram.rows();
  corner.setZero(m + 1, m + 1);
  double total = 0;
  double cross_i = 0;
  for (Eigen::Index i = 0; i <= m; ++i) {
    if (i > 0) cross_i += cross(i - 1);
    double cross_j = 0;
    for (Eigen::Index j = 0; j <= m; ++j) {
      if (j > 0) cross_j += cross(j - 1);
      if (i > 0 && j > 0) {
        corner(i, j) =
            corner(i - 1, j) + corner(i, j - 1) - corner(i - 1, j - 1) + gram(i - 1, j - 1);
      }
      total += std::abs(residual_squared - cross_i - cross_j + corner(i, j));
    }
  }
  return total / static_cast<double>((m + 1) * (m + 1));
}

// trace(A⁻¹) for A = LLᵀ, where L is the lower triangle of `factor`. Written by hand: for a handful
// of columns Eigen's condition estimator costs more than the rest of a step.
double TraceOfInverse(const Matrix& factor, Vector& column) {
  const Eigen::Index m = factor.rows();
  column.resize(m);
  double trace = 0;
  for (Eigen::Index c = 0; c < m; ++c) {
    for (Eigen::Index i = c; i < m; ++i) {  // forward substitution for column c of L⁻¹
      double value = i == c ? 1 : 0;
      for (Eigen::Index k = c; k < i; ++k) value -= factor(i, k) * column(k);
      column(i) = value / factor(i, i);
      trace += column(i) * column(i);
    }
  }
  return trace;
}

double LargestMagnitude(std::span<const std::span<const double>> columns, std::size_t length,
                        const char* what) {
  double largest = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].size() != length) {
      throw BadInput(Concat(what, " column ", c, " has length ", columns[c].size(), ", expected ",
                            length, " as the first residual"));
    }
    for (std::size_t i = 0; i < length; ++i) {
      if (!std::isfinite(columns[c][i])) {
        throw BadInput(Concat(what, " column ", c, " has ", columns[c][i], " at component ", i));
      }
      largest = std::max(largest, std::abs(columns[c][i]));
    }
  }
  return largest;
}

}  // namespace

std::string_view Name(WeightRule rule) {
  switch (rule) {
    case WeightRule::kVanilla:
      return "vanilla";
    case WeightRule::kRaa:
      return "raa";
    case WeightRule::kStable:
      return "stable";
    case WeightRule::kRelative:
      return "relative";
  }
  return "unknown";
}

void Describe(OptionTable& table, WeightOptions& options, const std::string& prefix) {
  std::vector<std::pair<std::string, WeightRule>> rules;
  for (const WeightRule rule :
       {WeightRule::kVanilla, WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    rules.emplace_back(Name(rule), rule);
  }
  table.Choice(prefix + "weights", &options.rule, rules,
               "Penalty on the mixing weights: none, the one of regularised Anderson "
               "acceleration, the paper's Eq. 11, or eta times the squared norm of H.");
  table.Real(prefix + "eta", &options.eta, {.at_least = 0, .at_most = 1e100},
             "Strength of that penalty.");
  table.Real(prefix + "rank_tolerance", &options.rank_tolerance, {.above = 0, .below = 1},
             "Independent part of its length below which a column is dropped.");
  table.Real(prefix + "condition_limit", &options.condition_limit, {.at_least = 0, .at_most = 1e16},
             "Condition estimate above which the weights come from a QR factorisation.");
}

void WeightOptions::Validate() const {
  WeightOptions copy = *this;
  RangeCheck check;
  Describe(check, copy, "");
}

double MixingWeights::TauNorm() const {
  return Eigen::Map<const Vector>(tau.data(), static_cast<Eigen::Index>(tau.size())).norm();
}

struct WeightSolver::Workspace {
  explicit Workspace(const WeightOptions& o) : options(o) {}

  WeightOptions options;
  MixingWeights result;

  Matrix gram;       // HᵀH
  Vector cross;      // Hᵀe
  Matrix system;     // the normal equations, or the stacked rows of the least-squares problem
  Vector rhs;        // their right-hand side
  Vector equalizer;  // brings the columns to length 1
  Vector column;     // for TraceOfInverse
  Matrix corner;     // for MeanAbsoluteProduct
  Vector product;    // HᵀH τ
  Matrix columns;    // memory for [H e] of Solve
  Matrix products;   // of all of them
  Matrix h_gram;     // and what SolveProducts takes of these
  Vector h_cross;
  Eigen::ColPivHouseholderQR<Matrix> qr;

  bool penalises_alpha() const { return options.rule == WeightRule::kRaa; }

  double Lambda(double residual_squared, double iterates_squared) {
    switch (options.rule) {
      case WeightRule::kVanilla:
        return 0;
      case WeightRule::kRaa:
        return options.eta * MeanAbsoluteProduct(gram, cross, residual_squared, corner);
      case WeightRule::kStable:
        return options.eta * (iterates_squared + gram.trace());
      case WeightRule::kRelative:
        return options.eta * gram.trace();
    }
    return 0;
  }

  // system = HᵀH + λM, rhs = Hᵀe + λp: the penalty is λ‖τ‖² (M = I, p = 0) or, since
  // α = (0, …, 0, 1) + Sτ with S_j = u_{m−1−j} − u_{m−j}, λ‖α‖² (M = SᵀS, tridiagonal 2 and −1,
  // p = (1, 0, …, 0)).
  void FormNormalEquations(double lambda) {
    const Eigen::Index m = gram.rows();
    system = gram;
    rhs = cross;
    if (penalises_alpha()) {
      system.diagonal().array() += 2 * lambda;
      for (Eigen::Index i = 0; i + 1 < m; ++i) {
        system(i, i + 1) -= lambda;
        system(i + 1, i) -= lambda;
      }
      rhs(0) += lambda;
    } else {
      system.diagonal().array() += lambda;
    }
  }

  // The same problem as rows of a least-squares system: R's columns over √λ·(penalty).
  void FormStackedRows(const RowMajorMap& r, double lambda) {
    const Eigen::Index m = r.cols() - 1;
    const double root = std::sqrt(lambda);
    system.setZero(2 * m + 2, m);
    rhs.setZero(2 * m + 2);
    system.topRows(m + 1) = r.leftCols(m);
    rhs.head(m + 1) = r.col(m);
    for (Eigen::Index j = 0; j < m; ++j) {
      if (penalises_alpha()) {
        system(m + 1 + (m - 1 - j), j) = root;
        system(m + 1 + (m - j), j) = -root;
      } else {
        system(m + 1 + j, j) = root;
      }
    }
    if (penalises_alpha()) rhs(2 * m + 1) = -root;
  }

  void Finish(const Vector& tau, double lambda, double gain, int rank, double condition,
              bool from_qr) {
    const Eigen::Index m = tau.size();
    result.tau.assign(tau.data(), tau.data() + m);
    result.alpha.resize(static_cast<std::size_t>(m + 1));
    double newer = 1;  // α_i = τ_{m−1−i} − τ_{m−i}, with 1 before τ_0 and 0 after τ_{m−1}
    for (Eigen::Index i = m; i >= 0; --i) {
      const double older = i > 0 ? tau(m - i) : 0;
      result.alpha[static_cast<std::size_t>(i)] = newer - older;
      newer = older;
    }
    result.lambda = lambda;
    result.gain = gain;
    result.rank = rank;
    result.condition = condition;
    result.from_qr = from_qr;
  }
};

WeightSolver::WeightSolver(const WeightOptions& options) {
  options.Validate();
  work_ = std::make_unique<Workspace>(options);
}
WeightSolver::~WeightSolver() = default;
WeightSolver::WeightSolver(WeightSolver&&) noexcept = default;
WeightSolver& WeightSolver::operator=(WeightSolver&&) noexcept = default;

void WeightSolver::SetEta(double eta) {
  if (eta == work_->options.eta) return;
  WeightOptions changed = work_->options;
  changed.eta = eta;
  changed.Validate();
  work_->options = changed;
}

const MixingWeights& WeightSolver::weights() const { return work_->result; }

bool WeightSolver::SolveProducts(const WindowProducts& products) {
  Workspace& w = *work_;
  const Eigen::Index m = products.differences;
  w.gram = RowMajorMap(products.gram.data(), m, m);
  w.cross = Eigen::Map<const Vector>(products.cross.data(), m);
  if (m == 0) {
    w.Finish(w.cross, 0, 1, 0, 1, false);
    return true;
  }
  const double lambda = w.Lambda(products.residual_squared, products.iterates_squared);
  w.FormNormalEquations(lambda);

  w.equalizer = w.system.diagonal();
  if (!(w.equalizer.minCoeff() > 0) || !w.equalizer.allFinite()) return false;
  w.equalizer = w.equalizer.array().rsqrt();
  w.system = w.equalizer.asDiagonal() * w.system * w.equalizer.asDiagonal();
  const double norm = w.system.norm();
  const Eigen::LLT<Eigen::Ref<Matrix>> cholesky(w.system);  // in place
  if (cholesky.info() != Eigen::Success) return false;
  const double condition = norm * TraceOfInverse(w.system, w.column);
  if (!(condition <= w.options.condition_limit)) return false;

  w.rhs = w.rhs.cwiseProduct(w.equalizer);
  cholesky.solveInPlace(w.rhs);
  w.rhs = w.rhs.cwiseProduct(w.equalizer);  // now τ
  double gain = 1;
  if (products.residual_squared > 0) {
    w.product.noalias() = w.gram * w.rhs;
    const double mixed = products.residual_squared - 2 * w.rhs.dot(w.cross) + w.rhs.dot(w.product);
    // The noise left by cancellation; a residual far below the differences drowns in it.
    const auto size = w.rhs.cwiseAbs();
    double terms = products.residual_squared + 2 * size.dot(w.cross.cwiseAbs());
    for (Eigen::Index j = 0; j < size.size(); ++j) {
      terms += size(j) * size.dot(w.gram.col(j).cwiseAbs());
    }
    const double rounding = std::numeric_limits<double>::epsilon() * terms;
    if (!(rounding < 1e-8 * products.residual_squared)) return false;
    gain = std::sqrt(std::max(mixed, rounding) / products.residual_squared);
  }
  w.Finish(w.rhs, lambda / products.scale / products.scale, gain, products.differences, condition,
           false);
  return true;
}

void WeightSolver::SolveTriangle(const WindowTriangle& window) {
  Workspace& w = *work_;
  const Eigen::Index m = window.differences;
  const RowMajorMap r(window.triangle.data(), m + 1, m + 1);
  w.gram = r.leftCols(m).transpose() * r.leftCols(m);
  w.cross = r.leftCols(m).transpose() * r.col(m);
  const double lambda = w.Lambda(r.col(m).squaredNorm(), window.iterates_squared);
  w.FormStackedRows(r, lambda);

  w.equalizer = w.system.colwise().norm();
  w.equalizer = (w.equalizer.array() > 0).select(w.equalizer.cwiseInverse(), 1.0);
  // Slightly shorter with age, so that the pivoting keeps the newest of parallel columns.
  for (Eigen::Index j = 1; j < m; ++j) w.equalizer(j) *= std::pow(.999, static_cast<double>(j));
  w.system = w.system * w.equalizer.asDiagonal();
  w.qr.setThreshold(w.options.rank_tolerance);
  w.qr.compute(w.system);
  // Eigen's own solve() uses every non-zero pivot; dependent columns must stay out of it.
  const Eigen::Index rank = w.qr.maxPivot() > 0 ? w.qr.rank() : 0;
  w.rhs.applyOnTheLeft(w.qr.householderQ().adjoint());
  Vector tau = Vector::Zero(m);
  double condition = 1;
  if (rank > 0) {
    const auto kept = w.qr.matrixQR().topLeftCorner(rank, rank);
    kept.triangularView<Eigen::Upper>().solveInPlace(w.rhs.head(rank));
    for (Eigen::Index i = 0; i < rank; ++i) {
      const Eigen::Index column = w.qr.colsPermutation().indices()(i);
      tau(column) = w.rhs(i) * w.equalizer(column);
    }
    const auto pivots = kept.diagonal().cwiseAbs();
    condition = std::pow(pivots.maxCoeff() / pivots.minCoeff(), 2);
  }
  const double residual = r.col(m).norm();
  const double gain = residual > 0 ? (r.col(m) - r.leftCols(m) * tau).norm() / residual : 1;
  w.Finish(tau, lambda / window.scale / window.scale, gain, static_cast<int>(rank), condition,
           true);
}

const MixingWeights& WeightSolver::Solve(std::span<const std::span<const double>> residuals,
                                         std::span<const std::span<const double>> differences) {
  Workspace& w = *work_;
  if (residuals.empty() || residuals[0].empty()) {
    throw BadInput("mixing weights need at least one residual column with at least one component");
  }
  const bool needs_differences = w.options.rule == WeightRule::kStable;
  const std::size_t m = residuals.size() - 1;
  if (differences.size() != m && (needs_differences || !differences.empty())) {
    throw BadInput(Concat(m + 1, " residual columns need ", m, " iterate differences, found ",
                          differences.size()));
  }
  const std::size_t n = residuals[0].size();
  double largest = LargestMagnitude(residuals, n, "residual");
  const double largest_difference = LargestMagnitude(differences, n, "difference");
  if (needs_differences) largest = std::max(largest, largest_difference);
  const double scale = ScaleFor(largest);

  const auto rows = static_cast<Eigen::Index>(n);
  const auto column = [&](const std::span<const double>& c) {
    return Eigen::Map<const Vector>(c.data(), rows);
  };
  const auto last = static_cast<Eigen::Index>(m);
  // Memory that only grows, since callers alternate between halves and wholes of their samples.
  if (w.columns.size() < rows * (last + 1)) w.columns.resize(rows * (last + 1), 1);
  Eigen::Map<Matrix, Eigen::AlignedMax> columns(w.columns.data(), rows, last + 1);
  for (std::size_t j = 0; j < m; ++j) {
    columns.col(static_cast<Eigen::Index>(j)) =
        column(residuals[m - j]) * scale - column(residuals[m - 1 - j]) * scale;
  }
  columns.col(last) = column(residuals[m]) * scale;
  double iterates_squared = 0;
  if (needs_differences) {
    for (const auto& d : differences) iterates_squared += (column(d) * scale).squaredNorm();
  }

  w.products.noalias() = columns.transpose() * columns;
  // The top left of the product, in contiguous memory as WindowProducts expects.
  w.h_gram = w.products.topLeftCorner(last, last);
  w.h_cross = w.products.col(last).head(last);
  if (SolveProducts({.differences = static_cast<int>(m),
                     .gram = {w.h_gram.data(), m * m},
                     .cross = {w.h_cross.data(), m},
                     .residual_squared = w.products(last, last),
                     .iterates_squared = iterates_squared,
                     .scale = scale})) {
    return w.result;
  }
  internal::FactorizeInPlace(
      {.data = columns.data(), .rows = rows, .columns = last + 1, .stride = columns.outerStride()});
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> triangle;
  triangle.setZero(last + 1, last + 1);
  const Eigen::Index top = std::min(rows, last + 1);
  triangle.topRows(top) = columns.topRows(top).triangularView<Eigen::Upper>();
  SolveTriangle({.differences = static_cast<int>(m),
                 .triangle = {triangle.data(), (m + 1) * (m + 1)},
                 .iterates_squared = iterates_squared,
                 .scale = scale});
  return w.result;
}

}  // namespace stableaa
