// gs, ipi and pi: policy iteration in order, component by component, from below.
//
// The state order is that of solving_order.h, and the model is renumbered into it, so a pass reads
// neighbouring memory. Each component in turn repeats, until its plain residual is small enough:
//
//   1. one Gauss–Seidel pass over all its rows, which finds better values and a better policy;
//   2. an evaluation of that policy: by Gauss–Seidel passes over its rows alone (gs), by a
//      preconditioned Krylov method (ipi), or exactly (pi).
//
// The start is below the optimum (every state's value is at least min r/(1−γ)). Passes and exact
// evaluations keep it there: values only grow. Starting above, values that are too good would decay
// only at rate γ. If a Krylov method makes policies cycle, its accuracy is increased.
//
// When Gauss–Seidel evaluates, passes go outwards from the goals; with a Krylov method the goals
// matter little, and the direction alternates.
#ifndef STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_
#define STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_

#include <vector>

#include "stableaa/mdp/solve/solve_run.h"
#include "stableaa/mdp/solve/solving_order.h"

namespace stableaa {

struct ComponentPlan {
  // kGs, kIpi or kPi; kAuto chooses for each component.
  SolveMethod method = SolveMethod::kAuto;
  SolvingOrder order = {};
  // Values below the optimum, with TV ≥ V.
  std::vector<double> start = {};
  // auto: policies of small components are evaluated by elimination from the beginning, and passes
  // go outwards from the exits. Best for models with absorbing states, where a pass from the exits
  // finds a good policy. Otherwise components begin as gs.
  bool direct_first = false;
};

// The result's method is the one that handled the most states.
Solution SolveByComponents(SolveRun& run, ComponentPlan plan);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_
