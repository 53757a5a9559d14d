// Runs of accelerated value iteration in long double, the subject of Theorems 1 and 2.
//
// The run uses the library's models and its Accelerator in double. The map is the paper's, the
// mellowmax backup in the Q-form (Section 2.3),
//
//   (TQ)(s,a) = r(s,a) + γ Σ_s' p(s'|s,a) mm_ω(Q(s',·)),
//
// evaluated here in long double at the Accelerator's iterates. So residuals have almost no rounding
// error, and the rounding of the iterates is measured (`defect`), not guessed.
#ifndef STABLEAA_THEORY_ACCELERATED_RUN_H_
#define STABLEAA_THEORY_ACCELERATED_RUN_H_

#include <string>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/theory/choices.h"
#include "stableaa/theory/dense_algebra.h"

namespace stableaa {

// α, oldest first, from τ, newest first (Section 2.2): α_0 = τ_{m−1}, α_i = τ_{m−1−i} − τ_{m−i}, …
LongVector AlphaOf(const LongVector& tau);

struct MellowmaxMap {
  Model model;
  double discount = 0;  // γ
  double omega = 1;     // > 0

  // TQ, one entry per row of the model.
  LongVector operator()(const LongVector& q) const;

  // A bound on the second derivative: γω, or 0 if the map is affine, with one action in each state.
  double curvature() const;
};

struct AcceleratedRunOptions {
  int memory = 1;
  double damping = 1;  // β in (0, 1]
  WeightOptions weights = {.rule = WeightRule::kVanilla};
  int steps = 20;
  long double reduction = 1e-9L;  // stop once the residual has fallen by this factor
};

struct AcceleratedRun {
  // Iterate k and the step that leaves it, x_{k+1} = Σ α_i x_i + β Σ α_i e_i.
  struct Step {
    LongVector x;
    LongVector residual;        // e = Tx − x
    LongVector tau;             // newest first: m entries, fewer at the start
    LongVector alpha;           // oldest first, one more; computed from tau so that they sum to 1
    LongVector mixed_residual;  // e^α = Σ α_i e_i
    long double defect = 0;     // ‖x_{k+1} − that sum‖∞ plus the sum's own rounding
  };

  MellowmaxMap map;
  double damping = 1;
  double eta = 0;
  std::vector<Step> steps = {};

  // ‖δ_k‖∞ with δ_k = x_k − x_{k−1}.
  long double Distance(std::size_t k) const { return SupNorm(steps[k].x - steps[k - 1].x); }

  // The window of step k, newest first.
  LongMatrix Iterates(std::size_t k) const;   // Δ_k
  LongMatrix Residuals(std::size_t k) const;  // H_k

 private:
  LongMatrix Differences(std::size_t k, LongVector Step::*column) const;
};

AcceleratedRun RunAccelerated(const MellowmaxMap& map, const LongVector& start,
                              const AcceleratedRunOptions& options);

// One absorbing state, r = 1, γ = .9, from 0: the slow mode alone.
AcceleratedRun RunOneState(const AcceleratedRunOptions& options);

// A run made from choices: tiny models number by number, so that a search can shape them, or small
// ones from the generators; with various γ, ω, m, β and, for kStable, η. `options` provides the
// rest.
AcceleratedRun ChooseRun(Choices& choices, AcceleratedRunOptions options, std::string* description);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_ACCELERATED_RUN_H_
