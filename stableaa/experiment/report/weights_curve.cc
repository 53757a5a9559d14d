#include "stableaa/experiment/report/weights_curve.h"

#include <fmt/format.h>

#include <cmath>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/gnuplot.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/report/figures.h"

namespace stableaa {
namespace {

std::string CheckedEnding(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  if (ending == ".svg" || ending == ".png" || ending == ".pdf") return ending;
  throw BadInput(
      fmt::format("{}: expected a picture whose name ends in .svg, .png or .pdf", ShownPath(path)));
}

std::string PictureText(const GnuplotPicture& picture, const std::string& ending) {
  if (ending == ".png") return GnuplotPng(picture);
  return ending == ".pdf" ? GnuplotPdf(picture) : GnuplotSvg(picture);
}

}  // namespace

WeightsCurveTable::WeightsCurveTable(const std::filesystem::path& path) : file_(path) {
  file_.Write("step,episodes,return_mean,return_std,length_mean\n");
}

void WeightsCurveTable::Add(std::int64_t step, const EvaluationResult& result) {
  file_.Write(fmt::format("{},{},{},{},{}\n", step, result.episodes, NumberCell(result.return_mean),
                          NumberCell(result.return_std), NumberCell(result.length_mean)));
  ++rows_;
}

WeightsCurvePlot::WeightsCurvePlot(const std::filesystem::path& path)
    : ending_(CheckedEnding(path)), file_(path) {
  CheckGnuplot();
}

void WeightsCurvePlot::Draw(const std::string& title,
                            const std::vector<WeightsCurvePoint>& points) {
  const StepUnit unit = UnitOf(points.back().step);
  FigureLine line{.label = "mean return, ± one standard deviation", .style = 0, .points = {}};
  for (const auto& [step, result] : points) {
    FigurePoint& point = line.points.emplace_back();
    point.x = static_cast<double>(step) / unit.size;
    point.y = result.return_mean;
    if (std::isnan(result.return_std)) continue;
    point.interval =
        Interval{result.return_mean - result.return_std, result.return_mean + result.return_std};
  }
  if (std::isnan(points.front().result.return_std)) line.label = "return";
  LineFigure figure;
  figure.title = title;
  figure.x_label = unit.label;
  figure.y_label = "return of a game";
  figure.lines = {line};
  file_.Write(PictureText(stableaa::Draw(figure).picture, ending_));
  file_.Commit();
}

}  // namespace stableaa
