// The figures of a report, each a gnuplot script with a caption that explains it.
//
// Everything outside the axes has a place of its own: titles above, labels of axes beside and
// below, the legend below or to the right. No text overlaps another, an axis or a line.
#ifndef STABLEAA_EXPERIMENT_REPORT_FIGURES_H_
#define STABLEAA_EXPERIMENT_REPORT_FIGURES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/experiment/report/content.h"
#include "stableaa/experiment/report/figure_style.h"
#include "stableaa/experiment/report/ticks.h"
#include "stableaa/experiment/results/comparison.h"

namespace stableaa {

// A line in a figure: points with intervals, in the colour of one variant or environment.
struct FigurePoint {
  double x = 0;
  double y = 0;
  std::optional<Interval> interval = {};
};
struct FigureLine {
  std::string label;
  std::size_t style = 0;  // colour and dashes
  std::vector<FigurePoint> points;
  std::string colour = {};  // "#rrggbb" instead of the style's
  // For LineFigure::Looks::kPoints.
  std::size_t symbol = 0;  // a circle, a square, ...
  double size = 1;         // times the usual one
};

struct LineFigure {
  std::string name, caption, title, x_label, y_label;
  std::vector<FigureLine> lines;
  // Points have no lines, and open symbols, so that none hides another.
  enum class Looks { kBands, kBars, kPoints } looks = Looks::kBands;
  bool logarithmic_x = false;
  // If given, the only ticks, and the axis ends a little beyond the first and the last.
  std::vector<Tick> x_ticks = {};
  std::optional<Interval> x_range = {}, y_range = {};  // instead of what the points need
  // One below the other instead of one of the lines; points are ignored.
  std::vector<std::vector<FigureLine>> legends = {};
};
ReportFigure Draw(const LineFigure& figure, const FigureStyle& style = {});

// Values with intervals, one below the other.
struct IntervalFigure {
  std::string name, caption, title, x_label;
  struct Row {
    std::string label;
    double value = 0;
    std::optional<Interval> interval = {};
    std::size_t style = 0;
    std::string colour = {};
  };
  std::vector<Row> rows;
  std::optional<double> reference = {};  // draws a line there; all values are then in [0, 1]
};
ReportFigure Draw(const IntervalFigure& figure, const FigureStyle& style = {});

// Two panels of lines, one above the other, over the same steps.
struct PanelFigure {
  std::string name, caption, title, x_label;
  struct Panel {
    std::string title;
    std::vector<FigureLine> lines;
    std::optional<double> reference = {};
  };
  std::vector<Panel> panels;
};
ReportFigure Draw(const PanelFigure& figure, const FigureStyle& style = {});

// Panels side by side, in rows if there are many, with one legend below all of them. A line that
// appears in several panels has the same label, colour and dashes in each.
struct GridFigure {
  std::string name, caption, x_label, y_label;
  struct Panel {
    std::string title;
    std::vector<FigureLine> lines;
  };
  std::vector<Panel> panels;
  std::vector<FigureLine> legend;  // points are ignored
};
// More panels than the style has room for are spread over several figures: NAME, NAME-2, ...
std::vector<ReportFigure> Draw(const GridFigure& figure, const FigureStyle& style = {});

// A unit that keeps step counts short: {1000, "thousand steps"}.
struct StepUnit {
  double size = 1;
  std::string label;
};
StepUnit UnitOf(std::int64_t last_step);

// The letters, digits, - and _ of the text, for file names: "minatar/breakout" →
// "minatar-breakout".
std::string FileStem(std::string_view text);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_FIGURES_H_
