// A last attempt where rounding keeps the certificate from the tolerance.
//
// The certificate of a plain backup (certificate.h) charges every state the rounding of the largest
// value, magnified by 1/(1−γ). Here the values are improved and bounded once more, component by
// component, with
//
// - values and backups in twice the precision (double_double.h), corrected by elimination until their
//   residual is as small as that allows;
// - each row's own magnitudes, instead of the largest of the model;
// - errors that grow only as far as they can: within a component C everything is within
//
//     e⁺ = max_{s∈C, a} (q_a(s) − V(s) + γ Σ_{s'∉C} p e⁺(s')) / (1 − γ Σ_{s'∈C} p)
//
//   above V, because T(V + e⁺) ≤ V + e⁺ then; and within e⁻ below it, by the same formula with
//   V(s) − q_a(s) for the greedy action alone. A component that is left quickly magnifies little,
//   whatever γ.
//
// The greedy policy loses at most e⁺ + e⁻. What remains is the rounding of the values to double.
#ifndef STABLEAA_MDP_SOLVE_REFINEMENT_H_
#define STABLEAA_MDP_SOLVE_REFINEMENT_H_

#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

// Replaces the solution's values, policy and bounds if it can prove better ones: of a solve by max
// that rounding ended. Takes a few passes; gives up at the run's limits.
void Refine(SolveRun& run, Solution& solution);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_REFINEMENT_H_
