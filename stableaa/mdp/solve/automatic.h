// The method that chooses its method.
//
// It begins as mpi: a few backups and passes tell how fast the spans shrink, and so how many more
// passes mpi would take. If few, mpi goes on to the end: nothing is faster on models that mix fast,
// and the probe has cost nothing. Otherwise, or when mpi takes more than twice as long as foreseen,
// the work goes on by components in order (component_iteration.h), from the lower bound that the
// passes have proved, each component beginning as gs and going over to ipi where a policy's values
// come slowly. The thresholds are constants in the two source files, from measurements on the
// families of bench/peers/solve.py.
#ifndef STABLEAA_MDP_SOLVE_AUTOMATIC_H_
#define STABLEAA_MDP_SOLVE_AUTOMATIC_H_

#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

Solution SolveAutomatically(SolveRun& run);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_AUTOMATIC_H_
