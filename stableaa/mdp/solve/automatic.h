// The method that chooses the method.
//
// It begins as mpi: a few backups and passes show how fast the spans shrink, and so how many more
// passes mpi would take. If few, mpi runs to the end: nothing is faster on models that mix fast,
// and the probe has cost nothing. Otherwise, or if mpi takes more than twice as long as predicted,
// the work continues by components in order (component_iteration.h), starting from the lower bound
// that the passes have proved. Each component begins as gs and switches to ipi if a policy's values
// converge slowly. The thresholds are constants in the two source files, from measurements on the
// families in bench/peers/solve.py.
#ifndef STABLEAA_MDP_SOLVE_AUTOMATIC_H_
#define STABLEAA_MDP_SOLVE_AUTOMATIC_H_

#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

Solution SolveAutomatically(SolveRun& run);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_AUTOMATIC_H_
