// gs, ipi and pi, and auto where it works by components: each component is finished before those
// that lead to it, so that everything it depends on is final before its turn.
//
// A component of one state has a closed form. In others, Gauss–Seidel passes over the model as it is
// stored come first (auto): they are enough where a component is left quickly. Otherwise policy
// iteration takes over (component_solver.h).
//
// The start is below the optimum (every state's value is at least min r/(1−γ)). Passes and exact
// evaluations keep it there: values only grow. Starting above, values that are too good would decay
// only at rate γ.
#ifndef STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_
#define STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_

#include <cstdint>
#include <vector>

#include "stableaa/mdp/solve/solve_run.h"
#include "stableaa/mdp/solve/state_sequence.h"

namespace stableaa {

struct ComponentPlan {
  // kGs, kIpi or kPi; kAuto chooses for each component.
  SolveMethod method = SolveMethod::kAuto;
  // The order of the states within a component. Without one (auto only), that in which a depth-first
  // search leaves them, which goes against most transitions (component_search.h). Large components
  // then go by `large`.
  StateSequence sequence = {};
  enum class Large { kDescending, kAscending, kOutwards } large = Large::kOutwards;
  // Values below the optimum, with TV ≥ V.
  std::vector<double> start = {};
};

struct ComponentOutcome {
  Solution solution;             // its method is the one that handled the most states
  std::uint64_t components = 0;  // 0 if passes over the whole model were enough
  std::uint64_t largest = 0;     // in states
};

ComponentOutcome SolveByComponents(SolveRun& run, ComponentPlan plan);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_ITERATION_H_
