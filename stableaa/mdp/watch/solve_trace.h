// The course of solves: a CSV file with a line per pass, several runs below each other.
//
//   run,iterations,seconds,residual,lower,upper,inner_iterations,accelerated,plain,rejected,
//   restarts,qr_solves
//
// `run` is the label of the solve, in quotes where it holds a comma or a quote. lower and upper are
// the bounds of V* − V. The last five count steps of the Accelerator so far. A cell is empty where
// there is nothing to tell: bounds in a pass that proves none, counters without acceleration.
//
// gs, ipi and pi, whose passes prove no bounds, make a plain backup for the trace every 25
// iterations. Its line has bounds and the iterations of the line before: the trace is no part of
// the work that it tells of (SolveOptions::on_step).
#ifndef STABLEAA_MDP_WATCH_SOLVE_TRACE_H_
#define STABLEAA_MDP_WATCH_SOLVE_TRACE_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa {

// One run, reduced to what a picture of it needs.
struct SolveCurve {
  struct Point {
    double seconds = 0;
    double error = 0;     // bound on |V* − V|; NaN where the pass proved none
    double residual = 0;  // NaN where there is none
  };

  std::string label;
  std::vector<Point> points;
};

// Collects a curve of at most kMost points, whatever the number of steps: when they are full, every
// second one goes and from then on only every second step is taken.
class CurveRecorder {
 public:
  static constexpr std::size_t kMost = 2000;

  explicit CurveRecorder(std::string label) { curve_.label = std::move(label); }
  const std::string& label() const { return curve_.label; }
  void Add(const SolveCurve::Point& point);
  // With the last point, which is always kept.
  SolveCurve Finish() const;

 private:
  SolveCurve curve_;
  SolveCurve::Point last_;
  std::size_t stride_ = 1;
  std::size_t seen_ = 0;
};

SolveCurve::Point PointOf(const SolveStep& step);

// The text of a file to add to: empty if it is missing. BadInput unless it is a regular file: a
// pipe would be waited for, for ever, and what was read from it is gone.
std::string ReadFileToAddTo(const std::filesystem::path& path, std::size_t max_bytes);

// What is in a trace file already.
struct SolveTrace {
  std::string text;  // all of it, the header included; the last line ends
  std::vector<SolveCurve> curves;
};

// An empty trace if the file is missing or empty. BadInput with file:line if it is not a trace.
SolveTrace ReadTrace(const std::filesystem::path& path);

// The label, or with " #2", " #3" … behind it if `taken` has it already.
std::string UnusedLabel(const std::string& label, const std::vector<SolveCurve>& taken);

class SolveTraceWriter {
 public:
  // Starts with `former`. Nothing is seen of the file before Commit.
  SolveTraceWriter(const std::filesystem::path& path, const SolveTrace& former,
                   std::string_view label);

  void Add(const SolveStep& step);
  void Commit() { file_.Commit(); }

 private:
  AtomicFile file_;
  std::string label_;  // as a cell
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_WATCH_SOLVE_TRACE_H_
