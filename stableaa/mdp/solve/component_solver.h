// One component of several states: policy iteration on a copy of its rows (component_model.h), from
// below, until its plain residual is small enough:
//
//   1. one Gauss–Seidel pass over all its rows, which finds better values and a better policy;
//   2. an evaluation of that policy: by Gauss–Seidel passes over its rows alone (gs), by a
//      preconditioned Krylov method (ipi), or exactly (pi).
//
// auto evaluates by elimination where that is cheap (direct_factors.h), otherwise as gs, and as ipi
// if the passes converge slowly.
#ifndef STABLEAA_MDP_SOLVE_COMPONENT_SOLVER_H_
#define STABLEAA_MDP_SOLVE_COMPONENT_SOLVER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/component_model.h"
#include "stableaa/mdp/solve/component_policy.h"
#include "stableaa/mdp/solve/elimination.h"
#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

// The order in which passes visit the states of a component, and what is known of others.
struct ComponentStates {
  std::span<const std::uint32_t> states = {};
  // The same states as a depth-first search left them, if that is another order.
  std::span<const std::uint32_t> depth_first = {};
  // auto: policies are evaluated by elimination from the beginning; otherwise it begins as gs.
  bool direct_first = false;
};

class ComponentSolver {
 public:
  // `method` is kGs, kIpi, kPi or kAuto. `values` are of all states of the model; they and the run
  // must outlive it.
  ComponentSolver(SolveRun& run, SolveMethod method, std::vector<double>& values)
      : run_(run), method_(method), values_(values) {}

  // Solves a component from its states' values, which must be below the optimum. Everything it leads
  // to is final. `goal` is for the plain residual. False if a limit was reached.
  bool Solve(const ComponentStates& component, double goal);

  // auto: the states in components that ended up with these evaluations.
  std::uint64_t direct_states() const { return direct_states_; }
  std::uint64_t krylov_states() const { return krylov_states_; }

 private:
  friend class ComponentSolve;

  SolveRun& run_;
  const SolveMethod method_;
  std::vector<double>& values_;
  ComponentModel component_;  // the one being solved
  ComponentBuffers buffers_;
  Elimination elimination_;
  std::vector<double> constants_;           // of a component's policy
  std::vector<std::uint32_t> other_order_;  // of a component's places
  bool prefers_other_order_ = false;        // elimination in the last component was cheaper so
  double bounds_shown_ = 0;                 // iterations when bounds were last shown
  std::uint64_t direct_states_ = 0;
  std::uint64_t krylov_states_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_SOLVER_H_
