// Solves a model: the optimal value of every state, a policy that attains it, and a proof of how
// far off both can be.
//
//   Solution solution = Solve(model, {.discount = .99});
//   solution.values[s]            // V(s), within solution.error of the optimal value
//   solution.policy[s]            // the action to take in s
//
// Methods (T is the Bellman backup, (TV)(s) = max_a r(s,a) + γ Σ p(s'|s,a) V(s'), T_π that of a
// policy π):
//
//   vi      V ← TV. Parallel and, with span bounds, best on models that mix fast.
//   jacobi  vi with the self-loop of each row solved out, q = (r + γ Σ_{s'≠s} p V)/(1 − γ p_ss).
//   mpi     modified policy iteration: a backup, then up to `evaluation_sweeps` of T_π.
//   gs      Gauss–Seidel: visits states in order, each using the newest values, with self-loops
//           solved out, starting below the optimum; between two full passes, passes over the policy
//           alone. Works by components, each finished before those that lead to it.
//   ipi     the same with each policy evaluated by a preconditioned Krylov method.
//   pi      the same with each policy evaluated exactly, by a sparse LU factorisation if it fits.
//   auto    by components with what fits each if there are absorbing states; otherwise begins as
//           mpi and goes by components if that would take too long. automatic.h says how it chooses.
//
// Certificate. Whatever the method, the result comes from one last plain backup: with d = TV − V
//
//   TV + γ/(1−γ) min d  ≤  V*  ≤  TV + γ/(1−γ) max d,
//
// widened by the possible rounding error. The returned values are TV moved to the middle of that
// interval (or V, with 1/(1−γ), if that meets the tolerance), and the policy is the one that attains
// the maxima in that backup. So `error` bounds |V*(s) − V(s)| in every state, and `policy_error`
// bounds what following the policy can lose. Where rounding keeps the bounds from the tolerance,
// values and bounds are refined in twice the precision (refinement.h).
//
// The result has the same bits for any number of threads.
#ifndef STABLEAA_MDP_SOLVE_SOLVER_H_
#define STABLEAA_MDP_SOLVE_SOLVER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/solve_options.h"

namespace stableaa {

enum class SolveEnd { kConverged, kTime, kIterations, kStopped, kRounding };

struct Solution {
  std::vector<double> values;         // of the states
  std::vector<std::uint32_t> policy;  // one action per state

  SolveEnd end = SolveEnd::kConverged;
  bool converged() const { return end == SolveEnd::kConverged; }

  // V*(s) − V(s) is in [lower, upper] for all s; NaN without a certificate (boltzmann).
  double lower = 0;
  double upper = 0;
  double error = 0;         // max(|lower|, |upper|)
  double policy_error = 0;  // upper − lower: what the policy can lose in any state
  double residual = 0;      // ‖TV − V‖∞ of the returned values
  double rounding = 0;      // the part of `error` due to rounding, which no further pass removes
  std::optional<double> bias_bound;  // mellowmax: V* − V_mm is in [0, bias_bound]

  SolveMethod method = SolveMethod::kAuto;  // the one that finished
  std::string choice;                       // with auto: why, in one line
  double discount = 0;
  double iterations = 0;  // row updates ÷ rows
  std::int64_t inner_iterations = 0;
  std::int64_t watch_backups = 0;  // made only for on_step, not counted in the iterations
  double seconds = 0;
  double bytes_per_second = 0;  // streamed by passes, per second spent in them
  std::optional<AcceleratorStatistics> acceleration;
};

// The discount that Solve uses: the options', or else the model's.
std::optional<double> DiscountFor(const Model& model, const SolveOptions& options);

// Throws BadInput for bad options or a missing discount, WorkFailed if memory runs out.
Solution Solve(const Model& model, const SolveOptions& options);

// The value of a policy, one action per state, certified in the same way: solves the model in which
// every state has only that action. The result's `policy` is the one given. BadInput for an action
// that a state does not have.
Solution EvaluatePolicy(const Model& model, std::span<const std::uint32_t> policy,
                        const SolveOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_SOLVER_H_
