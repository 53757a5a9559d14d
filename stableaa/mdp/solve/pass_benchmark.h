// How long a pass takes, compared with streaming the same bytes, and what acceleration adds to it.
#ifndef STABLEAA_MDP_SOLVE_PASS_BENCHMARK_H_
#define STABLEAA_MDP_SOLVE_PASS_BENCHMARK_H_

#include <cstdint>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// Medians over rounds that measure all in turn, so a slow moment of the machine affects all.
struct PassTiming {
  int threads = 1;
  std::uint64_t bytes = 0;    // streamed by a pass, not counting values of next states
  double ms_per_sweep = 0;    // for vi: a backup with its bounds and its policy
  double triad_ms = 0;        // streaming the same number of bytes
  double ratio = 0;           // of the two
  double settled_ms = 0;      // a backup of mpi's, once no best action can change any more
  double evaluation_ms = 0;   // a pass of mpi's over a policy's rows, in 16 bits
  double anderson_ms = 0;     // a step of the accelerator on the same values
  double anderson_share = 0;  // of the pass
};

PassTiming MeasurePass(const Model& model, const AcceleratorOptions& acceleration, int threads,
                       int rounds);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_PASS_BENCHMARK_H_
