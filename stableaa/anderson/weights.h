// Mixing weights: which combination of the stored iterates to take.
//
// One solver for both halves of the project. Tabular callers reach it through the Accelerator
// (accelerator.h); the deep learner passes residuals of sampled transitions, one column per target
// network.
//
// Notation (the paper's Section 2.1). A window holds m+1 iterates x_{k-m} … x_k with residuals
// e_i = g(x_i) − x_i and differences, newest first,
//
//     Δ = [x_k − x_{k−1}, …, x_{k−m+1} − x_{k−m}],   H = [e_k − e_{k−1}, …, e_{k−m+1} − e_{k−m}].
//
// The weights come in two equivalent forms. τ (m numbers, newest first) solves
//
//     τ = argmin ‖e_k − Hτ‖² + penalty(τ)                                    (Eq. 5 and 11)
//
// and α (m+1 numbers, oldest first, Σα = 1) follows from it:
//
//     α_0 = τ_{m−1},   α_i = τ_{m−1−i} − τ_{m−i},   α_m = 1 − τ_0,
//
// so that e_k − Hτ = Σ α_i e_i.
//
// Differences from the paper: `vanilla` never blindly inverts HᵀH as Eq. 4 does but drops dependent
// columns (a deterministic MDP makes H singular within a few steps), and `relative` is ours,
// because the paper's own penalty does not vanish as the iteration converges (see kStable).
#ifndef STABLEAA_ANDERSON_WEIGHTS_H_
#define STABLEAA_ANDERSON_WEIGHTS_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stableaa {

class OptionTable;

enum class WeightRule {
  // No penalty. Fastest on well-behaved linear maps, most fragile under noise.
  kVanilla,
  // Regularised Anderson acceleration (Shi et al. 2019): λ‖α‖² with λ = η · mean |e_i·e_j|.
  // A large η pulls towards uniform weights, *not* towards the plain step.
  kRaa,
  // The paper's Eq. 11: λ‖τ‖² with λ = η(‖Δ‖²_F + ‖H‖²_F). Along a slow mode of contraction γ the
  // penalty stays at about η/(1−γ)² of ‖H‖², so the speed-up is at most 1 + (1−γ)/η: keep η well
  // below (1−γ)² for fast convergence, or use kRelative.
  kStable,
  // λ‖τ‖² with λ = η‖H‖²_F. The same stability without that limit. The default.
  kRelative,
};

// "vanilla", "raa", "stable", "relative".
std::string_view Name(WeightRule rule);

struct WeightOptions {
  WeightRule rule = WeightRule::kRelative;

  // Strength of the penalty, [0, 1e100]; ignored by kVanilla. 1e-10 only guards against dependent
  // columns; the paper's deep experiments use kStable with .1. Larger is more stable but slower.
  double eta = 1e-10;

  // A column is dropped if its part independent of the others is below this fraction of its length,
  // (0, 1). Matters only without a penalty (kVanilla, or η near 0): larger drops more noise,
  // smaller keeps more information and allows larger weights.
  double rank_tolerance = 1e-10;

  // The normal equations are used while their condition estimate is below this, [0, 1e16]. Above it
  // the weights come from a QR factorisation of the columns, which is exact up to rounding but
  // reads them once more. 0 means always QR.
  double condition_limit = 1e10;

  // Throws BadInput naming the option, its value and its range.
  void Validate() const;
};

// Adds the fields of `options` to the table as PREFIXweights, PREFIXeta, …
void Describe(OptionTable& table, WeightOptions& options, const std::string& prefix);

struct MixingWeights {
  std::vector<double> alpha;  // m+1 weights of the iterates, oldest first; sum to 1
  std::vector<double> tau;    // m weights of the differences, newest first
  double lambda = 0;          // the penalty's factor, in squared units of the residuals
  double gain = 1;  // ‖Σ α_i e_i‖ / ‖e_k‖ to within 1e-4: ≤ 1 except for kRaa; 1 when e_k = 0
  int rank = 0;          // how many of the m columns were used
  double condition = 1;  // upper estimate for HᵀH + penalty, columns scaled to length 1
  bool from_qr = false;  // the QR factorisation was needed

  double TauNorm() const;
};

// A window given by its inner products: everything the normal equations need.
struct WindowProducts {
  int differences = 0;            // m
  std::span<const double> gram;   // HᵀH, m×m
  std::span<const double> cross;  // Hᵀe_k, m
  double residual_squared = 0;    // ‖e_k‖²
  double iterates_squared = 0;    // ‖Δ‖²_F; used by kStable only
  double scale = 1;               // factor applied to the columns; only λ's units depend on it
};

// A window given by a QR factorisation of its columns.
struct WindowTriangle {
  int differences = 0;               // m
  std::span<const double> triangle;  // R of [H e_k] = QR, (m+1)×(m+1), row-major
  double iterates_squared = 0;
  double scale = 1;
};

// Not thread-safe: one solver per thread.
class WeightSolver {
 public:
  // Throws BadInput if the options do not validate.
  explicit WeightSolver(const WeightOptions& options);
  ~WeightSolver();
  WeightSolver(WeightSolver&&) noexcept;
  WeightSolver& operator=(WeightSolver&&) noexcept;

  // Changes the strength of the penalty for all that follows. Throws BadInput outside its range.
  void SetEta(double eta);

  // Weights for the residual columns e_{k−m} … e_k, oldest first, all of the same length; at least
  // one. `differences` are x_{i+1} − x_i, oldest first, one fewer than residuals; only kStable
  // reads them, the other rules accept an empty list. Scaling all columns by any factor (even
  // 1e±150) changes nothing. NaN or infinity in a column is BadInput.
  const MixingWeights& Solve(std::span<const std::span<const double>> residuals,
                             std::span<const std::span<const double>> differences);

  // The two halves of Solve, for callers that keep their window's products themselves.
  //
  // Uses the normal equations. False if their condition estimate exceeds the limit or the mixed
  // residual is lost in their rounding; then compute the triangle and call SolveTriangle.
  bool SolveProducts(const WindowProducts& products);

  // Uses a QR factorisation, for a window of any rank.
  void SolveTriangle(const WindowTriangle& triangle);

  // The result of the last successful call.
  const MixingWeights& weights() const;

 private:
  struct Workspace;  // keeps Eigen out of this header
  std::unique_ptr<Workspace> work_;
};

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_WEIGHTS_H_
