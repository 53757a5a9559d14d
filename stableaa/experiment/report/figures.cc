#include "stableaa/experiment/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace stableaa {
namespace {

constexpr std::size_t kLongestStem = 60;  // up to three of these make up a file name
constexpr std::size_t kFewPoints = 3;     // up to this many are marked, or a line would hide them

// ---- Lengths, in letters' heights (em) ----

constexpr double kTitle = 2.6;       // a figure's title, with the space below it
constexpr double kPanelTitle = 1.8;  // likewise a panel's
constexpr double kTop = 0.8;         // above a panel without a title
constexpr double kTickLabels = 2.4;  // below a panel
constexpr double kAxisLabel = 1.6;   // below these or left of them
constexpr double kLegendRow = 19.0 / 12;
constexpr double kLegendGap = 0.7;  // above the legend
constexpr double kSample = 2.4;     // a line in the legend
constexpr double kBetween = 0.6;    // from one to its label
constexpr double kTicks = 1.8;      // between the labels of an upward axis and the axis
constexpr double kEnd = 1.3;        // right of a panel: half of the last tick's label

// ---- Lines ----

// gnuplot's dash types: solid first, then the most distinct ones.
int DashType(std::size_t style) {
  constexpr int kDashes[] = {1, 2, 4, 5, 3};
  return kDashes[(style / kGnuplotColours + style) % 5];
}

std::string ColourOf(std::size_t style, const std::string& given) {
  return given.empty() ? std::string(GnuplotColour(style)) : given;
}
std::string Colour(const FigureLine& line) {
  return fmt::format("rgb '{}'", ColourOf(line.style, line.colour));
}

std::string DataBlock(const std::string& name, const std::vector<FigurePoint>& points) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (const FigurePoint& point : points) {
    const Interval interval = point.interval.value_or(Interval{point.y, point.y});
    block += fmt::format("{} {} {} {}\n", point.x, point.y, interval.low, interval.high);
  }
  return block + "EOD\n";
}

bool HasIntervals(const FigureLine& line) {
  return std::ranges::any_of(line.points,
                             [](const FigurePoint& point) { return point.interval.has_value(); });
}

// gnuplot's open symbols, and crosses once these are used up.
int PointType(std::size_t symbol) {
  constexpr auto kTypes = std::to_array<int>({6, 4, 8, 12, 10, 14, 1, 2});
  return kTypes[symbol % kTypes.size()];
}

std::string PointLooks(const FigureLine& line, double size) {
  return fmt::format("linecolor {} linewidth 1.4 pointtype {} pointsize {:.4g}", Colour(line),
                     PointType(line.symbol), 1.3 * size * line.size);
}

bool HasPoints(const FigureLine& line, LineFigure::Looks looks) {
  return looks == LineFigure::Looks::kBars ||
         (!line.points.empty() && line.points.size() <= kFewPoints);
}

std::string Blocks(const std::vector<FigureLine>& lines, const std::string& prefix) {
  std::string blocks;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    blocks += DataBlock(fmt::format("{}{}", prefix, i), lines[i].points);
  }
  return blocks;
}

// Draws all intervals first, so that no band hides a line.
std::vector<std::string> Plots(const std::vector<FigureLine>& lines, const std::string& prefix,
                               LineFigure::Looks looks, double size) {
  std::vector<std::string> plots;
  if (looks == LineFigure::Looks::kPoints) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      plots.push_back(
          fmt::format("${}{} using 1:2 with points {}", prefix, i, PointLooks(lines[i], size)));
    }
    return plots;
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!HasIntervals(lines[i])) continue;
    plots.push_back(
        looks == LineFigure::Looks::kBands && lines[i].points.size() > 1
            ? fmt::format("${}{} using 1:3:4 with filledcurves fillcolor {} fillstyle transparent "
                          "solid 0.16 noborder",
                          prefix, i, Colour(lines[i]))
            : fmt::format("${}{} using 1:2:3:4 with yerrorbars linecolor {} linewidth 1.4 "
                          "pointtype 7 pointsize {}",
                          prefix, i, Colour(lines[i]), 0.1 * size));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool with_points = HasPoints(lines[i], looks);
    plots.push_back(fmt::format(
        "${}{} using 1:2 with {} linecolor {} dashtype {} linewidth 2{}", prefix, i,
        with_points ? "linespoints" : "lines", Colour(lines[i]), DashType(lines[i].style),
        with_points ? fmt::format(" pointtype 7 pointsize {}", 0.6 * size) : ""));
  }
  return plots;
}

std::string PlotCommand(const std::vector<std::string>& plots) {
  std::string command;
  for (const std::string& plot : plots) {
    command += fmt::format("{}{}", command.empty() ? "plot " : ", \\\n  ", plot);
  }
  return command.empty() ? "plot NaN\n" : command + "\n";
}

// ---- Axes ----

// The finite values, or nothing.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void Add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Neither empty nor a single value. Infinite if the values are nearly so: gnuplot then says why
  // it cannot draw them.
  Interval Range() const {
    if (low > high) return {0, 1};
    if (low < high) return {low, high};
    const double around = low == 0 ? 1 : 0.1 * std::abs(low);
    return {low - around, high + around};
  }
};

Interval Widened(Interval range, double share_below, double share_above) {
  const double width = range.high - range.low;
  return {range.low - share_below * width, range.high + share_above * width};
}

Interval XRange(const std::vector<FigureLine>& lines) {
  Extent extent;
  for (const FigureLine& line : lines) {
    for (const FigurePoint& point : line.points) extent.Add(point.x);
  }
  if (extent.low >= 0 && extent.high > 0) extent.low = 0;
  return extent.Range();
}

// From a little below the first place to a little beyond the last.
Interval XRangeAround(const std::vector<double>& places, bool logarithmic) {
  constexpr double kBeyond = 0.08;
  Extent extent;
  for (const double place : places) extent.Add(logarithmic ? std::log(place) : place);
  const Interval range = Widened(extent.Range(), kBeyond, kBeyond);
  return logarithmic ? Interval{std::exp(range.low), std::exp(range.high)} : range;
}

Interval XRange(const LineFigure& figure) {
  if (figure.x_range) return *figure.x_range;
  std::vector<double> places;
  for (const Tick& tick : figure.x_ticks) places.push_back(tick.at);
  if (places.empty() && figure.looks != LineFigure::Looks::kPoints) return XRange(figure.lines);
  for (const FigureLine& line : figure.lines) {
    if (!figure.x_ticks.empty()) break;
    for (const FigurePoint& point : line.points) places.push_back(point.x);
  }
  return XRangeAround(places, figure.logarithmic_x);
}

// Nothing is drawn from zero to points. Bands begin at zero unless something is below; bars do only if that leaves little empty.
Interval YRange(const std::vector<FigureLine>& lines, LineFigure::Looks looks) {
  constexpr double kBeyond = 0.05, kMostEmpty = 0.4;
  Extent extent;
  for (const FigureLine& line : lines) {
    for (const FigurePoint& point : line.points) {
      extent.Add(point.y);
      if (!point.interval) continue;
      extent.Add(point.interval->low);
      extent.Add(point.interval->high);
    }
  }
  const bool from_zero =
      extent.low >= 0 && looks != LineFigure::Looks::kPoints &&
      (looks == LineFigure::Looks::kBands || extent.low < kMostEmpty * extent.high);
  if (from_zero && extent.high > 0) extent.low = 0;
  return Widened(extent.Range(), from_zero ? 0 : kBeyond, kBeyond);
}

std::string TicksCommand(char axis, const std::vector<Tick>& ticks, bool labelled = true) {
  std::string list;
  for (const Tick& tick : ticks) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ",
                        labelled ? GnuplotQuoted(tick.label) : "''", tick.at);
  }
  return list.empty() ? fmt::format("set {}tics autofreq\n", axis)
                      : fmt::format("set {}tics ({})\n", axis, list);
}

// Nothing if gnuplot should choose, since the numbers are not for us.
std::string RangeCommand(char axis, const Interval& range) {
  return std::isfinite(range.high - range.low)
             ? fmt::format("set {}range [{}:{}]\n", axis, range.low, range.high)
             : fmt::format("set {}range [*:*]\n", axis);
}

double WidestLabel(const std::vector<Tick>& ticks) {
  if (ticks.empty()) return 4;  // gnuplot's own
  double widest = 0;
  for (const Tick& tick : ticks) widest = std::max(widest, TextEms(tick.label));
  return widest;
}

// True if neighbouring labels would touch on an axis of that many em, or the last would be cut off.
bool AreCrowded(const std::vector<Tick>& ticks, const Interval& range, bool logarithmic,
                double ems) {
  const auto place = [&](double at) {
    const double share = logarithmic ? std::log(at / range.low) / std::log(range.high / range.low)
                                     : (at - range.low) / (range.high - range.low);
    return share * ems;
  };
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const double apart = place(ticks[i].at) - place(ticks[i - 1].at);
    if (apart < (TextEms(ticks[i].label) + TextEms(ticks[i - 1].label)) / 2 + 0.5) return true;
  }
  return !ticks.empty() && ems - place(ticks.back().at) + kEnd < TextEms(ticks.back().label) / 2;
}

// As many as have room side by side on so many em.
std::vector<Tick> TicksAcross(const Interval& range, double ems, bool logarithmic = false) {
  for (std::size_t most = 9; most > 2; --most) {
    std::vector<Tick> ticks = logarithmic ? LogTicksWithin(range, most) : TicksWithin(range, most);
    const double widest = std::max(WidestLabel(ticks), 1.2);
    const bool have_room = logarithmic ? !AreCrowded(ticks, range, true, ems)
                                       : static_cast<double>(ticks.size()) * (widest + 1) <= ems;
    if (have_room) return ticks;
  }
  return logarithmic ? LogTicksWithin(range, 2) : TicksWithin(range, 2);
}

std::vector<Tick> TicksUpward(const Interval& range, double ems) {
  return TicksWithin(range, std::clamp<std::size_t>(static_cast<std::size_t>(ems / 2.2), 3, 9));
}

// ---- The picture ----

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;  // in pixels from the left and the top

  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

// A gnuplot script in the making, with lengths in pixels from the left and the top.
class Canvas {
 public:
  Canvas(const FigureStyle& style, double width) : style_(style), width_(width) {}

  double Em(double ems) const { return ems * style_.font; }
  double Ems(double pixels) const { return pixels / style_.font; }
  double width() const { return width_; }
  const FigureStyle& style() const { return style_; }
  // The height of axes that would be that high, or lower so that all fits on a slide.
  double PlotHeight(double usual, double least_ems = 8) const {
    return style_.least_height > 0 ? std::min(usual, Em(least_ems)) : usual;
  }
  // Comes before anything is placed.
  void SetHeight(double height) {
    height_ = std::max(std::ceil(height), double(style_.least_height));
  }
  double height() const { return height_; }

  void Add(std::string_view commands) { script_ += commands; }

  enum class Align { kLeft, kCenter, kUpward };
  void Text(std::string_view text, double x, double y, Align align, std::string_view font = "") {
    if (text.empty()) return;
    constexpr auto kWords =
        std::to_array<std::string_view>({"left", "center", "center rotate by 90"});
    Add(fmt::format("set label {} at {} {}{}\n", GnuplotQuoted(text), At(x, y),
                    kWords[static_cast<std::size_t>(align)], font));
  }
  void Line(const FigureLine& line, double x, double y, double length, bool with_point) {
    Add(fmt::format("set arrow from {} to {} nohead linecolor {} dashtype {} linewidth 2\n",
                    At(x, y), At(x + length, y), Colour(line), DashType(line.style)));
    if (!with_point) return;
    Add(fmt::format("set label '' at {} point pointtype 7 pointsize {} linecolor {}\n",
                    At(x + length / 2, y), 0.6 * style_.line, Colour(line)));
  }
  void Point(const FigureLine& line, double x, double y) {
    Add(fmt::format("set label '' at {} point {}\n", At(x, y), PointLooks(line, style_.line)));
  }
  void Title(const std::string& title) {
    if (!style_.has_titles) return;
    Text(FittedText(title, Ems(width_) / 1.15), width_ / 2, Em(1.3), Align::kCenter,
         " font title_font");
  }
  // Where the axes of the next plot are.
  void Axes(const Box& box) {
    Add(fmt::format(
        "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n"
        "set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n",
        box.left / width_, box.right / width_, 1 - box.top / height_, 1 - box.bottom / height_));
  }
  void XLabel(const std::string& label, const Box& axes, double ticks) {
    const double middle = (axes.left + axes.right) / 2;
    Text(FittedText(label, Ems(2 * std::min(middle, width_ - middle))), middle,
         axes.bottom + Em(ticks + kAxisLabel / 2), Align::kCenter);
  }
  void YLabel(const std::string& label, double top, double bottom) {
    Text(FittedText(label, Ems(bottom - top)), Em(kAxisLabel / 2), (top + bottom) / 2,
         Align::kUpward);
  }
  // Draws the plot with all texts and lines placed since the last one.
  void Plot(const std::vector<std::string>& plots) {
    Add(PlotCommand(plots));
    Add("unset label\nunset arrow\n");
  }

  ReportFigure Done(std::string name, std::string caption) const {
    return {.name = std::move(name),
            .caption = std::move(caption),
            // The box would interrupt bars at their points.
            .picture =
                {.width = static_cast<int>(width_),
                 .height = static_cast<int>(height_),
                 .script = fmt::format(
                     "{}unset key\nset pointintervalbox 0.01\nset multiplot\n{}unset multiplot\n",
                     kGnuplotStyle, script_),
                 .font_size = style_.font,
                 .line_width = style_.line,
                 .pixel_millimetres = style_.pixel_millimetres},
            .is_wide = width_ > style_.narrow};
  }

 private:
  std::string At(double x, double y) const {
    return fmt::format("screen {:.5f}, screen {:.5f}", x / width_, 1 - y / height_);
  }

  const FigureStyle style_;
  const double width_;
  double height_ = 0;
  std::string script_;
};

// A legend in as many columns as there is room for. A label too long for one is wrapped.
class Legend {
 public:
  Legend(const Canvas& canvas, const std::vector<FigureLine>& lines, LineFigure::Looks looks)
      : lines_(lines),
        looks_(looks),
        sample_(looks == LineFigure::Looks::kPoints ? kPointSample : kSample),
        room_(canvas.Ems(canvas.width()) - 1) {
    for (const FigureLine& line : lines) {
      texts_.push_back(WrappedText(line.label, room_ - sample_ - kBetween));
    }
    for (std::size_t columns = lines.size(); columns > 0; --columns) {
      widths_.assign(columns, 0);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        double& width = widths_[i % columns];
        for (const std::string& text : texts_[i]) {
          width = std::max(width, sample_ + kBetween + TextEms(text));
        }
      }
      // No emptier than needed: five in rows of three and two, not of four and one.
      const bool is_even = (lines.size() + Rows() - 1) / Rows() == columns;
      if (is_even && Width() <= room_) break;
    }
  }

  double Ems() const {
    double ems = kLegendGap + 0.3;
    for (std::size_t row = 0; row < Rows(); ++row) ems += RowEms(row);
    return ems;
  }

  // Centred below `top`.
  void Place(Canvas& canvas, double top) const {
    const double left = std::max((canvas.Ems(canvas.width()) - Width()) / 2, 0.5);
    double x = left, y = top + canvas.Em(kLegendGap);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::size_t column = i % widths_.size();
      if (column == 0) {
        x = left;
        y += i == 0 ? 0 : canvas.Em(RowEms(i / widths_.size() - 1));
      }
      const double middle = y + canvas.Em(kLegendRow / 2);
      if (looks_ == LineFigure::Looks::kPoints) {
        canvas.Point(lines_[i], canvas.Em(x + sample_ / 2), middle);
      } else {
        canvas.Line(lines_[i], canvas.Em(x), middle, canvas.Em(sample_),
                    HasPoints(lines_[i], looks_));
      }
      for (std::size_t line = 0; line < texts_[i].size(); ++line) {
        canvas.Text(texts_[i][line], canvas.Em(x + sample_ + kBetween),
                    middle + canvas.Em(kFurtherLine * static_cast<double>(line)),
                    Canvas::Align::kLeft);
      }
      x += widths_[column] + kGap;
    }
  }

 private:
  static constexpr double kGap = 1.6;           // between columns
  static constexpr double kFurtherLine = 1.25;  // of a label
  static constexpr double kPointSample = 1.2;

  std::size_t Rows() const {
    return widths_.empty() ? 0 : (lines_.size() + widths_.size() - 1) / widths_.size();
  }
  double RowEms(std::size_t row) const {
    std::size_t most = 1;
    const std::size_t first = row * widths_.size();
    for (std::size_t i = first; i < std::min(first + widths_.size(), texts_.size()); ++i) {
      most = std::max(most, texts_[i].size());
    }
    return kLegendRow + kFurtherLine * static_cast<double>(most - 1);
  }
  double Width() const {
    return std::accumulate(widths_.begin(), widths_.end(), -kGap,
                           [](double sum, double width) { return sum + width + kGap; });
  }

  const std::vector<FigureLine>& lines_;
  LineFigure::Looks looks_;
  double sample_, room_;
  std::vector<std::vector<std::string>> texts_;  // the lines of each label
  std::vector<double> widths_;                   // of the columns
};

// One below the other.
class Legends {
 public:
  Legends(const Canvas& canvas, const LineFigure& figure) {
    if (figure.legends.empty()) legends_.emplace_back(canvas, figure.lines, figure.looks);
    for (const std::vector<FigureLine>& lines : figure.legends) {
      legends_.emplace_back(canvas, lines, figure.looks);
    }
  }

  double Ems() const {
    return std::accumulate(legends_.begin(), legends_.end(), 0.0,
                           [](double sum, const Legend& legend) { return sum + legend.Ems(); });
  }
  void Place(Canvas& canvas, double top) const {
    for (const Legend& legend : legends_) {
      legend.Place(canvas, top);
      top += canvas.Em(legend.Ems());
    }
  }

 private:
  std::vector<Legend> legends_;
};

}  // namespace

ReportFigure Draw(const LineFigure& figure, const FigureStyle& style) {
  constexpr double kProportion = 0.66;
  Canvas canvas(style, style.narrow);
  const Legends legend(canvas, figure);
  const Interval y = figure.y_range.value_or(YRange(figure.lines, figure.looks));
  const Interval x = XRange(figure);
  const double above = canvas.Em(style.has_titles ? kTitle : kTop);
  const double most_left = canvas.Em(kAxisLabel + kTicks + 4);
  const double across = canvas.Ems(canvas.width() - most_left) - kEnd;
  const bool is_turned = AreCrowded(figure.x_ticks, x, figure.logarithmic_x, across);
  const double ticks_below = is_turned ? WidestLabel(figure.x_ticks) + 1.1 : kTickLabels;
  const double below = canvas.Em(ticks_below + kAxisLabel + legend.Ems());
  canvas.SetHeight(
      above + below +
      canvas.PlotHeight(kProportion * std::min(canvas.width() - most_left, canvas.Em(43))));
  const std::vector<Tick> y_ticks = TicksUpward(y, canvas.Ems(canvas.height() - above - below));
  const Box axes{.left = canvas.Em(kAxisLabel + kTicks + WidestLabel(y_ticks)),
                 .top = above,
                 .right = canvas.width() - canvas.Em(kEnd),
                 .bottom = canvas.height() - below};
  canvas.Add(Blocks(figure.lines, "line"));
  canvas.Title(figure.title);
  canvas.Axes(axes);
  canvas.XLabel(figure.x_label, axes, ticks_below);
  canvas.YLabel(figure.y_label, 0, axes.bottom + axes.top);
  legend.Place(canvas, canvas.height() - canvas.Em(legend.Ems()));
  if (figure.logarithmic_x) canvas.Add("set logscale x\n");
  if (is_turned) canvas.Add("set xtics rotate by 90 right\n");
  if (figure.logarithmic_x || !figure.x_ticks.empty()) canvas.Add("unset mxtics\n");
  canvas.Add(RangeCommand('x', x));
  canvas.Add(RangeCommand('y', y));
  canvas.Add(TicksCommand('x', figure.x_ticks.empty()
                                   ? TicksAcross(x, canvas.Ems(axes.width()), figure.logarithmic_x)
                                   : figure.x_ticks));
  canvas.Add(TicksCommand('y', y_ticks));
  canvas.Plot(Plots(figure.lines, "line", figure.looks, style.line));
  return canvas.Done(figure.name, figure.caption);
}

ReportFigure Draw(const IntervalFigure& figure, const FigureStyle& style) {
  constexpr double kSide = 1.6, kLine = 1.3;  // of labels of several lines
  Canvas canvas(style, style.narrow);
  const double height = style.pixel_millimetres > 0 ? 2.6 : 40.0 / 12;  // of a row, in em
  const std::size_t count = figure.rows.size();
  std::string data;
  std::vector<std::vector<std::string>> labels(count);
  std::vector<double> places(count);
  Extent extent;
  // From the last row upwards, in rows; a label of several lines needs more room.
  double place = 1, above_place = 0.9;
  for (std::size_t i = count; i-- > 0;) {
    const IntervalFigure::Row& row = figure.rows[i];
    const Interval interval = row.interval.value_or(Interval{row.value, row.value});
    if (i + 1 < count) place += above_place + 0.1;
    data = fmt::format("{:.6g} {} {} {} 0x{}\n", place, row.value, interval.low, interval.high,
                       ColourOf(row.style, row.colour).substr(1)) +
           data;
    for (const double value : {row.value, interval.low, interval.high}) extent.Add(value);
    // Above its interval: a left margin has no room for long names.
    labels[i] = WrappedText(row.label, canvas.Ems(canvas.width()) - 2 * kSide - 0.5);
    above_place = 0.9 + kLine * static_cast<double>(labels[i].size() - 1) / height;
    places[i] = place;
  }
  const double top = place + above_place;
  const Interval x = figure.reference ? Interval{0, 1} : Widened(extent.Range(), 0.03, 0.03);
  const double above = canvas.Em(style.has_titles ? kTitle : 0);
  const double below = canvas.Em(kTickLabels + kAxisLabel + 0.2);
  canvas.SetHeight(above + below + canvas.Em(height * (top - 0.5)));
  const Box axes{.left = canvas.Em(kSide),
                 .top = above,
                 .right = canvas.width() - canvas.Em(kSide),
                 .bottom = canvas.height() - below};
  // Rows of a picture with a least height are higher than wanted; letters are not.
  const double row_ems = canvas.Ems(axes.height()) / (top - 0.5);
  for (std::size_t i = count; i-- > 0;) {
    for (std::size_t line = 0; line < labels[i].size(); ++line) {
      const auto lines_below = static_cast<double>(labels[i].size() - 1 - line);
      canvas.Add(fmt::format("set label {} at graph 0.01, first {:.4f} left front\n",
                             GnuplotQuoted(labels[i][line]),
                             places[i] + (1.4 + kLine * lines_below) / row_ems));
    }
    if (!figure.reference) continue;
    // A piece for each interval, so that it crosses no label.
    canvas.Add(fmt::format(
        "set arrow from {0}, {1:.4f} to {0}, {2:.4f} nohead back linecolor rgb '#808080' "
        "dashtype 2\n",
        *figure.reference, places[i] - 0.6 / row_ems, places[i] + 0.6 / row_ems));
  }
  canvas.Add(fmt::format("$rows << EOD\n{}EOD\n", data));
  canvas.Title(figure.title);
  canvas.Axes(axes);
  canvas.XLabel(figure.x_label, axes, kTickLabels);
  canvas.Add(RangeCommand('x', x));
  canvas.Add(TicksCommand('x', TicksAcross(x, canvas.Ems(axes.width()))));
  // No grid, which would cross the labels.
  canvas.Add(fmt::format("set yrange [0.5:{:.6g}]\nset border 1\nunset ytics\nunset grid\n", top));
  canvas.Plot(
      {fmt::format("$rows using 2:1:3:4:5 with xerrorbars linecolor rgb variable linewidth "
                   "2 pointtype 7 pointsize {}",
                   0.8 * style.line)});
  return canvas.Done(figure.name, figure.caption);
}

ReportFigure Draw(const PanelFigure& figure, const FigureStyle& style) {
  constexpr double kPanelHeight = 14;  // the height of its axes
  constexpr double kMostLegend = 9;
  Canvas canvas(style, style.narrow);
  const auto count = static_cast<double>(figure.panels.size());
  double legend = 0, ticks_width = 0;
  for (const PanelFigure::Panel& panel : figure.panels) {
    for (const FigureLine& line : panel.lines) {
      legend = std::max(legend,
                        std::min(kBetween + kSample + kBetween + TextEms(line.label), kMostLegend));
    }
  }
  const double above = canvas.Em(style.has_titles ? kTitle : 0.3);
  const double below = canvas.Em(kAxisLabel + 0.2);
  const double around = canvas.Em(kPanelTitle + kTickLabels);
  canvas.SetHeight(above + below + count * (around + canvas.PlotHeight(canvas.Em(kPanelHeight))));
  const double each = (canvas.height() - above - below) / count;
  const auto range_of = [](const PanelFigure::Panel& panel) {
    std::vector<FigureLine> lines = panel.lines;
    if (panel.reference) {
      lines.push_back(
          {.label = "", .points = {{lines.front().points.front().x, *panel.reference}}});
    }
    return YRange(lines, LineFigure::Looks::kBars);
  };
  const auto ticks_of = [&](const Interval& range) {
    return TicksUpward(range, canvas.Ems(each - around));
  };
  for (const PanelFigure::Panel& panel : figure.panels) {
    ticks_width = std::max(ticks_width, WidestLabel(ticks_of(range_of(panel))));
  }
  canvas.Title(figure.title);
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    const PanelFigure::Panel& panel = figure.panels[p];
    const double top = above + static_cast<double>(p) * each;
    const Box axes{.left = canvas.Em(kTicks + ticks_width),
                   .top = top + canvas.Em(kPanelTitle),
                   .right = canvas.width() - canvas.Em(std::max(legend + 0.3, kEnd)),
                   .bottom = top + each - canvas.Em(kTickLabels)};
    const std::string prefix = fmt::format("panel{}_", p);
    canvas.Add(Blocks(panel.lines, prefix));
    canvas.Axes(axes);
    canvas.Text(FittedText(panel.title, canvas.Ems(canvas.width() - axes.left)), axes.left,
                top + canvas.Em(kPanelTitle / 2), Canvas::Align::kLeft);
    for (std::size_t i = 0; i < panel.lines.size(); ++i) {
      const double y = axes.top + canvas.Em(kLegendRow * (static_cast<double>(i) + 0.5));
      const double x = axes.right + canvas.Em(kBetween);
      canvas.Line(panel.lines[i], x, y, canvas.Em(kSample),
                  HasPoints(panel.lines[i], LineFigure::Looks::kBands));
      canvas.Text(FittedText(panel.lines[i].label, kMostLegend - kSample - 2 * kBetween),
                  x + canvas.Em(kSample + kBetween), y, Canvas::Align::kLeft);
    }
    if (p + 1 == figure.panels.size()) canvas.XLabel(figure.x_label, axes, kTickLabels);
    const Interval x = XRange(panel.lines), y = range_of(panel);
    canvas.Add(RangeCommand('x', x));
    canvas.Add(RangeCommand('y', y));
    canvas.Add(TicksCommand('x', TicksAcross(x, canvas.Ems(axes.width()))));
    canvas.Add(TicksCommand('y', ticks_of(y)));
    std::vector<std::string> plots;
    if (panel.reference) {
      plots.push_back(fmt::format("{} with lines linecolor rgb '#808080' dashtype 3 linewidth 1",
                                  *panel.reference));
    }
    std::ranges::move(Plots(panel.lines, prefix, LineFigure::Looks::kBands, style.line),
                      std::back_inserter(plots));
    canvas.Plot(plots);
  }
  return canvas.Done(figure.name, figure.caption);
}

// ---- Grids ----

namespace {

// A grid's layout: rows of equal cells.
struct Grid {
  std::size_t count = 0, columns = 0, rows = 0;

  Grid(std::size_t panels, std::size_t most_columns) : count(panels) {
    rows = (count + most_columns - 1) / most_columns;
    columns = (count + rows - 1) / rows;  // as even as possible
  }
  bool IsLowest(std::size_t panel) const { return panel + columns >= count; }
};

bool HaveOneRange(std::span<const GridFigure::Panel> panels) {
  return std::ranges::all_of(panels, [&panels](const GridFigure::Panel& panel) {
    return XRange(panel.lines).low == XRange(panels.front().lines).low &&
           XRange(panel.lines).high == XRange(panels.front().lines).high;
  });
}

// "minatar/breakout", all without the family if that makes one of them too wide.
std::vector<std::string> PanelTitles(std::span<const GridFigure::Panel> panels, double ems) {
  const bool all_fit = std::ranges::all_of(
      panels, [ems](const GridFigure::Panel& panel) { return TextEms(panel.title) <= ems; });
  std::vector<std::string> titles;
  for (const GridFigure::Panel& panel : panels) {
    const std::size_t begin = all_fit ? 0 : panel.title.rfind('/') + 1;
    titles.push_back(FittedText(panel.title.substr(begin), ems));
  }
  return titles;
}

ReportFigure DrawGrid(const GridFigure& figure, std::span<const GridFigure::Panel> panels,
                      std::string name, const FigureStyle& style) {
  constexpr auto kLooks = LineFigure::Looks::kBands;
  constexpr double kProportion = 0.8, kMostHeight = 20;
  const bool is_narrow = panels.size() <= style.narrow_panels;
  const Grid grid(panels.size(), is_narrow ? style.narrow_panels : style.wide_panels);
  Canvas canvas(style, is_narrow ? style.narrow : style.wide);
  const Legend legend(canvas, figure.legend, kLooks);
  const bool shares_x = HaveOneRange(panels);
  const double across =
      (canvas.width() - canvas.Em(kAxisLabel)) / static_cast<double>(grid.columns);
  const double inner_ticks = shares_x ? 0.9 : kTickLabels;
  const double above = canvas.Em(0.2);
  const double below = canvas.Em(kTickLabels - inner_ticks + kAxisLabel + legend.Ems());
  const double around = canvas.Em(kPanelTitle + inner_ticks);
  const double wanted =
      canvas.PlotHeight(std::min(kProportion * (across - canvas.Em(4)), canvas.Em(kMostHeight)), 5);
  canvas.SetHeight(above + below + static_cast<double>(grid.rows) * (around + wanted));
  const double down = (canvas.height() - above - below) / static_cast<double>(grid.rows);
  const auto ticks_of = [&](const GridFigure::Panel& panel) {
    return TicksUpward(YRange(panel.lines, kLooks), canvas.Ems(down - around));
  };
  double ticks_width = 0;
  for (const GridFigure::Panel& panel : panels) {
    ticks_width = std::max(ticks_width, WidestLabel(ticks_of(panel)));
  }
  const std::vector<std::string> titles = PanelTitles(panels, canvas.Ems(across) - 0.5);
  canvas.YLabel(figure.y_label, 0, canvas.height() - below);
  legend.Place(canvas, canvas.height() - canvas.Em(legend.Ems()));
  for (std::size_t p = 0; p < panels.size(); ++p) {
    const GridFigure::Panel& panel = panels[p];
    const double left = canvas.Em(kAxisLabel) + across * static_cast<double>(p % grid.columns);
    const std::size_t row = p / grid.columns;
    const double top = above + down * static_cast<double>(row);
    const Box axes{.left = left + canvas.Em(ticks_width + kTicks),
                   .top = top + canvas.Em(kPanelTitle),
                   .right = left + across - canvas.Em(kEnd),
                   .bottom = top + down - canvas.Em(inner_ticks)};
    const std::string prefix = fmt::format("panel{}_", p);
    const Interval x = XRange(panel.lines), y = YRange(panel.lines, kLooks);
    canvas.Add(Blocks(panel.lines, prefix));
    canvas.Axes(axes);
    canvas.Text(titles[p], left + across / 2, top + canvas.Em(kPanelTitle / 2),
                Canvas::Align::kCenter);
    if (grid.IsLowest(p)) canvas.XLabel(figure.x_label, axes, kTickLabels);
    canvas.Add(RangeCommand('x', x));
    canvas.Add(RangeCommand('y', y));
    canvas.Add(
        TicksCommand('x', TicksAcross(x, canvas.Ems(axes.width())), !shares_x || grid.IsLowest(p)));
    canvas.Add(TicksCommand('y', ticks_of(panel)));
    canvas.Plot(Plots(panel.lines, prefix, kLooks, style.line));
  }
  return canvas.Done(std::move(name), figure.caption);
}

}  // namespace

std::vector<ReportFigure> Draw(const GridFigure& figure, const FigureStyle& style) {
  const std::size_t pictures = (figure.panels.size() + style.most_panels - 1) / style.most_panels;
  std::vector<ReportFigure> drawn;
  for (std::size_t i = 0; i < pictures; ++i) {
    // As even as possible.
    const std::size_t begin = i * figure.panels.size() / pictures;
    const std::size_t end = (i + 1) * figure.panels.size() / pictures;
    drawn.push_back(DrawGrid(figure, std::span(figure.panels).subspan(begin, end - begin),
                             i == 0 ? figure.name : fmt::format("{}-{}", figure.name, i + 1),
                             style));
  }
  return drawn;
}

StepUnit UnitOf(std::int64_t last_step) {
  if (last_step >= 2'000'000) return {1e6, "million steps"};
  if (last_step >= 5'000) return {1e3, "thousand steps"};
  return {1, "steps"};
}

std::string FileStem(std::string_view text) {
  std::string stem;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.';
    if (plain) {
      stem += c;
    } else if (!stem.empty() && stem.back() != '-') {
      stem += '-';
    }
  }
  while (stem.ends_with('-') || stem.ends_with('.')) stem.pop_back();
  if (stem.size() > kLongestStem) stem.resize(kLongestStem);
  return stem.empty() ? "figure" : stem;
}

}  // namespace stableaa
