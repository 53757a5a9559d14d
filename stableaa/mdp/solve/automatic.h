// The method that chooses the method.
//
// One look at all transitions decides. Where all lead to higher numbers, or all to lower, one pass
// against them is enough. With absorbing states, components are solved depth first, each as soon as
// the search completes it (component_iteration.h): that is what models with goals look like, and
// analysing them first would take as long as solving them.
//
// Otherwise it begins as mpi: a few backups and passes show how fast the spans shrink, and so how
// many more passes mpi would take. If few, mpi runs to the end: nothing is faster on models that mix
// fast, and the probe has cost nothing. If not, or if mpi takes more than twice as long as predicted,
// the work continues by components in order, starting from the lower bound that the passes have
// proved. Each component begins as gs and switches to elimination or ipi if a policy's values
// converge slowly.
//
// The thresholds are constants in the source files, from measurements on the families in
// bench/peers/solve.py and on models of the Quantitative Verification Benchmark Set.
#ifndef STABLEAA_MDP_SOLVE_AUTOMATIC_H_
#define STABLEAA_MDP_SOLVE_AUTOMATIC_H_

#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

Solution SolveAutomatically(SolveRun& run);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_AUTOMATIC_H_
