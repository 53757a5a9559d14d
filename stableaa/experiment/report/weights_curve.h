// A run's kept weights (rl/run/kept_weights.h), evaluated afterwards: a table and a picture of the
// return against the step.
//
//   WeightsCurveTable table("curve.csv");     // both before the games, so that a bad path fails first
//   WeightsCurvePlot plot("curve.svg");
//   for (...) table.Add(step, result);
//   table.Commit();
//   plot.Draw("minatar/breakout, 10 games each", points);
#ifndef STABLEAA_EXPERIMENT_REPORT_WEIGHTS_CURVE_H_
#define STABLEAA_EXPERIMENT_REPORT_WEIGHTS_CURVE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/rl/run/evaluation.h"

namespace stableaa {

// CSV, a row per evaluation: step, episodes, return_mean, return_std, length_mean, with 17
// significant digits. The standard deviation of one game is empty.
class WeightsCurveTable {
 public:
  explicit WeightsCurveTable(const std::filesystem::path& path);

  void Add(std::int64_t step, const EvaluationResult& result);
  // The file appears, with the rows so far.
  void Commit() { file_.Commit(); }

  int rows() const { return rows_; }

 private:
  AtomicFile file_;
  int rows_ = 0;
};

struct WeightsCurvePoint {
  std::int64_t step = 0;
  EvaluationResult result;
};

// The mean return, with a band of one standard deviation on either side. Drawn by gnuplot.
class WeightsCurvePlot {
 public:
  // Throws BadInput unless the path ends in .svg, .png or .pdf, and WorkFailed if there is no
  // gnuplot.
  explicit WeightsCurvePlot(const std::filesystem::path& path);

  // The file appears. The points are in order of their steps, at least one.
  void Draw(const std::string& title, const std::vector<WeightsCurvePoint>& points);

 private:
  const std::string ending_;
  AtomicFile file_;
};

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_WEIGHTS_CURVE_H_
