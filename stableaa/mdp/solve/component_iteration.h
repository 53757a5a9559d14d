// gs, ipi and pi: policy iteration in order, component by component, from below.
//
// The state order is that of solving_order.h, and the model is renumbered into it: a pass then
// reads neighbouring memory. For each component, in turn, until its plain residual is small enough:
//
//   1. one Gauss–Seidel pass over all its rows, which finds better values and a better policy;
//   2. an evaluation of that policy: by Gauss–Seidel passes over its rows alone (gs), by a
//      preconditioned Krylov method (ipi), or exactly (pi).
//
// The start is below the optimum (every state's value is at least min r/(1−γ)). Passes and exact
// evaluations keep it there: values only grow. From above, values that are too good would decay at
// rate γ only. A Krylov method that makes policies go in circles is made more exact.
//
// Where Gauss–Seidel evaluates, passes go outwards from the goals; where a Krylov method does, the
// goals do not matter much, and the direction alternates.
#ifndef STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_
#define STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_

#include <vector>

#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

// `method`: kGs, kIpi or kPi; kAuto begins each component as gs and goes over to ipi where the
// passes converge slowly. `start` are values below the optimum, with TV ≥ V. The result's method is
// the one that had the most states.
Solution SolveByComponents(SolveRun& run, SolveMethod method, std::vector<double> start);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_
