// A record of solves: a CSV file with one line per pass and several runs one below another.
//
//   run,iterations,seconds,residual,lower,upper,inner_iterations,accelerated,plain,rejected,
//   restarts,qr_solves
//
// `run` is the solve's label, quoted if it contains a comma or a quote. lower and upper are bounds
// on V* − V. The last five count the Accelerator's steps so far. A cell is empty if it does not
// apply: bounds in a pass that proves none, counters without acceleration.
//
// gs, ipi and pi, whose passes prove no bounds, make a plain backup for the trace every 25
// iterations. Its line has bounds and repeats the previous line's iterations: the trace is not part
// of the work it records (SolveOptions::on_step).
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
    double error = 0;     // bound on |V* − V|; NaN if the pass proved none
    double residual = 0;  // NaN if there is none
  };

  std::string label;
  std::vector<Point> points;
};

// Collects a curve of at most kMost points, whatever the number of steps: when it is full, every
// second point is dropped and from then on only every second step is recorded.
class CurveRecorder {
 public:
  static constexpr std::size_t kMost = 2000;

  explicit CurveRecorder(std::string label) { curve_.label = std::move(label); }
  const std::string& label() const { return curve_.label; }
  void Add(const SolveCurve::Point& point);
  // Includes the last point, which is always kept.
  SolveCurve Finish() const;

 private:
  SolveCurve curve_;
  SolveCurve::Point last_;
  std::size_t stride_ = 1;
  std::size_t seen_ = 0;
};

SolveCurve::Point PointOf(const SolveStep& step);

// The text of a file to append to; empty if it is missing. BadInput unless it is a regular file:
// reading a pipe could wait forever, and what was read from it is gone.
std::string ReadFileToAddTo(const std::filesystem::path& path, std::size_t max_bytes);

// The existing contents of a trace file.
struct SolveTrace {
  std::string text;  // all of it, including the header; ends with a line end
  std::vector<SolveCurve> curves;
};

// An empty trace if the file is missing or empty. BadInput with file:line if it is not a trace.
SolveTrace ReadTrace(const std::filesystem::path& path);

// The label, with " #2", " #3" … appended if `taken` already has it.
std::string UnusedLabel(const std::string& label, const std::vector<SolveCurve>& taken);

class SolveTraceWriter {
 public:
  // Starts with `former`. The file does not appear before Commit.
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
