// A picture of solves: the bound on |V* − V| on a logarithmic scale against time, one curve per
// run.
//
//   SolvePlot plot("solve.svg");                    // before the solve
//   plot.Draw(curves, 1e-6);         // after it
//
// Drawn by gnuplot (Debian: gnuplot-nox), a separate program that only this needs. A thin dotted
// curve shows the largest change of a pass where passes prove no bounds.
//
// The picture keeps the curves it shows, as CSV (run,seconds,error,residual) in a <metadata>
// element, from which ReadPlot recovers them. So a later solve can add its own.
#ifndef STABLEAA_MDP_WATCH_SOLVE_PLOT_H_
#define STABLEAA_MDP_WATCH_SOLVE_PLOT_H_

#include <filesystem>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/mdp/watch/solve_trace.h"

namespace stableaa {

class SolvePlot {
 public:
  // Opens the file. Throws BadInput if there is no gnuplot.
  explicit SolvePlot(const std::filesystem::path& path);

  // Call once; the file appears complete. `tolerance` becomes a dashed line. Throws WorkFailed,
  // quoting gnuplot, if it fails.
  void Draw(const std::vector<SolveCurve>& curves, double tolerance);

 private:
  AtomicFile file_;
};

// The curves of a picture that SolvePlot drew; none if the file is missing or empty. BadInput if it
// is anything else.
std::vector<SolveCurve> ReadPlot(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_MDP_WATCH_SOLVE_PLOT_H_
