// Shows a solve on the terminal: how close the error bound has come to the tolerance, on a
// logarithmic scale.
//
//   grid.drn  45% |█████████▍      | 12s elapsed  8.3s left  134 passes, gap 3.2e-04 → 1e-06
//
// After a pass that proves no bounds, the line shows the largest change instead, and the bar shows
// what it would mean for the error if the pass were plain: γ/(1−γ) times as much.
#ifndef STABLEAA_MDP_WATCH_SOLVE_PROGRESS_H_
#define STABLEAA_MDP_WATCH_SOLVE_PROGRESS_H_

#include <string>

#include "stableaa/base/terminal/progress.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa {

class SolveProgress {
 public:
  // Uses the label, mode, stream, columns and clock of `options`.
  SolveProgress(ProgressOptions options, double discount, double tolerance);

  void Add(const SolveStep& step);

 private:
  const double discount_;
  const double tolerance_;
  double first_ = 0;  // the first gap; 0 if none yet
  Progress progress_;
};

// log(first/gap) / log(first/tolerance), within [0, 1]: 0 at the first gap, 1 at the tolerance.
double LogarithmicShare(double first, double gap, double tolerance);

}  // namespace stableaa

#endif  // STABLEAA_MDP_WATCH_SOLVE_PROGRESS_H_
