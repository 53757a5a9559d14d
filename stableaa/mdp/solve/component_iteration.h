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

namespace stableaa {

// `method` is kGs, kIpi or kPi; kAuto begins each component as gs and switches to ipi if the passes
// converge slowly. `start` holds values below the optimum, with TV ≥ V. The result's method is the
// one that handled the most states.
Solution SolveByComponents(SolveRun& run, SolveMethod method, std::vector<double> start);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_
