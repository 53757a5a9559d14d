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
//   vi      V ← TV. With span bounds the best on models that mix fast, and parallel.
//   jacobi  vi with the self-loop of each row solved out, q = (r + γ Σ_{s'≠s} p V)/(1 − γ p_ss).
//   mpi     modified policy iteration: a backup, then up to `evaluation_sweeps` of T_π.
//   gs      Gauss–Seidel: states in an order, each from the newest values, self-loops solved out,
//           the start below the optimum; between two full passes, passes of the policy alone. By
//           components, each finished before those that lead to it.
//   ipi     the same with each policy evaluated by a preconditioned Krylov method.
//   pi      the same with each policy evaluated exactly, by a sparse LU factorisation if it fits.
//   auto    begins as mpi; where that will take too long goes over to gs, and where a policy's
//           values come too slowly that way, to ipi. automatic.h says how it chooses.
//
// Certificate. Whatever the method, the result comes from one last plain backup: with d = TV − V
//
//   TV + γ/(1−γ) min d  ≤  V*  ≤  TV + γ/(1−γ) max d,
//
// widened by what rounding can do. The returned values are TV moved to the middle of that interval,
// and the policy is the one that attains the maxima of that backup. So `error` bounds |V*(s) −
// V(s)| in every state, and `policy_error` what following the policy can lose.
//
// The result has the same bits for any number of threads.
#ifndef STABLEAA_MDP_SOLVE_SOLVER_H_
#define STABLEAA_MDP_SOLVE_SOLVER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/bellman/backup.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

enum class SolveMethod { kAuto, kVi, kJacobi, kMpi, kGs, kIpi, kPi };

// "auto", "vi", "jacobi", "mpi", "gs", "ipi", "pi".
std::string_view Name(SolveMethod method);

// The order in which gs, ipi and pi go through the states of a component. The states are renumbered
// into it.
enum class StateOrder {
  kModel,  // as numbered in the model
  kBfs,    // by the number of steps to the absorbing states, or else to those with the best reward
};
std::string_view Name(StateOrder order);

enum class InnerSolver { kBicgstab, kGmres };
std::string_view Name(InnerSolver solver);

enum class Preconditioner {
  kIlu,          // incomplete LU factorisation without fill
  kGaussSeidel,  // one symmetric Gauss–Seidel pass; needs no factorisation
};
std::string_view Name(Preconditioner preconditioner);

// A number that there is none of.
inline constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// What a solve is doing, after a pass or a step of its own kind.
struct SolveStep {
  double iterations = 0;  // row updates so far ÷ rows of the model
  std::int64_t inner_iterations = 0;
  double seconds = 0;
  double residual =
      0;             // largest change of the last pass, whatever its kind; NaN where there is none
  double lower = 0;  // bounds of V* − V by a plain backup; NaN where this step was none
  double upper = 0;
  const AcceleratorStatistics* acceleration = nullptr;  // with `anderson` only
};

struct SolveOptions {
  SolveMethod method = SolveMethod::kAuto;

  // γ, [0, 1). Wins over the model's own; needed where the model has none.
  std::optional<double> discount = {};

  // The guaranteed bound on |V* − V|, > 0. Below the rounding floor (about |V|·ε/(1−γ)) the solve
  // stops at the floor, not converged.
  double tolerance = 1e-6;

  // Rewards are costs: the smallest value is the best. Values and bounds are those of the costs.
  bool minimize = false;

  // How action values become a state's value; other than max for vi only. mellowmax: the
  // certificate is for its own fixed point, and bias_bound tells how far that is from V*.
  // boltzmann: stops when the residual is at most the tolerance, and has no certificate.
  // dynamic-boltzmann: certified by max.
  Backup backup = {};

  // Anderson acceleration of the map of vi or mpi.
  bool anderson = false;
  AcceleratorOptions acceleration = {};

  StateOrder order = StateOrder::kBfs;  // gs, ipi, pi

  // Most passes of a policy between two improvements, [0, 1e6]; fewer when the policy's values are
  // near enough. Not set: 40 for mpi (accelerated: always 5), 20 for gs. 0 makes gs the classic
  // method.
  std::optional<int> evaluation_sweeps = {};

  InnerSolver inner = InnerSolver::kBicgstab;            // ipi, auto
  Preconditioner preconditioner = Preconditioner::kIlu;  // ipi, auto

  // [1, 1024]. The result does not depend on it. Gauss–Seidel passes and factorisations use one.
  int threads = 1;

  // Reaching one of these ends the solve with the best it has, its honest bounds, and `converged`
  // false. Iterations are row updates ÷ rows, the last backup included: at least 1.
  double max_seconds = std::numeric_limits<double>::infinity();
  double max_iterations = std::numeric_limits<double>::infinity();

  // Called after each pass; false ends the solve as a limit does. `stop` is asked between, more
  // often, and true has the same effect.
  //
  // Watching takes time, of which max_seconds is aware, but changes nothing else: the result has
  // the same bits with on_step and without. gs, ipi and pi, whose own passes prove no bounds, make
  // a plain backup for it every 25 iterations; these are counted in `watch_backups` and nowhere
  // else.
  std::function<bool(const SolveStep&)> on_step = {};
  std::function<bool()> stop = {};

  // Throws BadInput naming the option, its value and its range.
  void Validate() const;
};

enum class SolveEnd { kConverged, kTime, kIterations, kStopped, kRounding };

struct Solution {
  std::vector<double> values;         // of the states
  std::vector<std::uint32_t> policy;  // an action of each state

  SolveEnd end = SolveEnd::kConverged;
  bool converged() const { return end == SolveEnd::kConverged; }

  // V*(s) − V(s) is in [lower, upper] for all s; NaN without a certificate (boltzmann).
  double lower = 0;
  double upper = 0;
  double error = 0;         // max(|lower|, |upper|)
  double policy_error = 0;  // upper − lower: what the policy can lose in any state
  double residual = 0;      // ‖TV − V‖∞ of the returned values
  double rounding = 0;      // the part of `error` that is rounding, which no further pass removes
  std::optional<double> bias_bound;  // mellowmax: V* − V_mm is in [0, bias_bound]

  SolveMethod method = SolveMethod::kAuto;  // the one that finished
  std::string choice;                       // with auto: why, one line
  double discount = 0;
  double iterations = 0;  // row updates ÷ rows
  std::int64_t inner_iterations = 0;
  std::int64_t watch_backups = 0;  // for on_step alone, not among the iterations
  double seconds = 0;
  double bytes_per_second = 0;  // streamed by passes, per second in them
  std::optional<AcceleratorStatistics> acceleration;
};

// Throws BadInput for bad options and a missing discount, WorkFailed without memory.
Solution Solve(const Model& model, const SolveOptions& options);

// The value of a policy, one action per state, certified alike: solves the model in which every
// state has that action only. `policy` of the result is the one given. BadInput for an action that
// a state does not have.
Solution EvaluatePolicy(const Model& model, std::span<const std::uint32_t> policy,
                        const SolveOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_SOLVER_H_
