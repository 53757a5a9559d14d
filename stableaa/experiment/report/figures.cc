#include "stableaa/experiment/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace stableaa {
namespace {

// Small, so that text stays readable when a phone shrinks the picture.
constexpr int kWidth = 520;
constexpr int kHeight = 360;
constexpr int kLegendLine = 19;
constexpr std::size_t kLongestStem = 60;  // up to three of these make up a file name
constexpr std::size_t kFewPoints = 3;     // up to this many are marked, or a line would hide them

// gnuplot's dash types: solid first, then the most distinct ones.
int DashType(std::size_t style) {
  constexpr int kDashes[] = {1, 2, 4, 5, 3};
  return kDashes[(style / kGnuplotColours + style) % 5];
}

std::string Colour(std::size_t style) { return fmt::format("rgb '{}'", GnuplotColour(style)); }

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

std::string Blocks(const std::vector<FigureLine>& lines, const std::string& prefix) {
  std::string blocks;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    blocks += DataBlock(fmt::format("{}{}", prefix, i), lines[i].points);
  }
  return blocks;
}

// Draws all intervals first, so that no band hides a line.
std::vector<std::string> Plots(const std::vector<FigureLine>& lines, const std::string& prefix,
                               LineFigure::Looks looks) {
  std::vector<std::string> plots;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!HasIntervals(lines[i])) continue;
    plots.push_back(
        looks == LineFigure::Looks::kBands && lines[i].points.size() > 1
            ? fmt::format("${}{} using 1:3:4 with filledcurves fillcolor {} fillstyle transparent "
                          "solid 0.16 noborder",
                          prefix, i, Colour(lines[i].style))
            : fmt::format("${}{} using 1:2:3:4 with yerrorbars linecolor {} linewidth 1.4 "
                          "pointtype 7 pointsize 0.1",
                          prefix, i, Colour(lines[i].style)));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool with_points =
        looks == LineFigure::Looks::kBars || lines[i].points.size() <= kFewPoints;
    plots.push_back(fmt::format(
        "${}{} using 1:2 with {} linecolor {} dashtype {} linewidth 2{} title {}", prefix, i,
        with_points ? "linespoints" : "lines", Colour(lines[i].style), DashType(lines[i].style),
        with_points ? " pointtype 7 pointsize 0.6" : "", GnuplotQuoted(lines[i].label)));
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

// Starts at zero unless a value is negative.
std::string YRange(const std::vector<FigureLine>& lines) {
  for (const FigureLine& line : lines) {
    for (const FigurePoint& point : line.points) {
      if (point.y < 0 || (point.interval && point.interval->low < 0)) return "";
    }
  }
  return "set yrange [0:*]\n";
}

// Labels too long to fit in two columns get a line each.
int LegendColumns(const std::vector<FigureLine>& lines) {
  std::size_t longest = 0;
  for (const FigureLine& line : lines) longest = std::max(longest, line.label.size());
  return longest > 24 ? 1 : longest > 12 ? 2 : 3;
}

int LegendHeight(const std::vector<FigureLine>& lines) {
  const int columns = LegendColumns(lines);
  return 10 + kLegendLine * ((static_cast<int>(lines.size()) + columns - 1) / columns);
}

}  // namespace

ReportFigure Draw(const LineFigure& figure) {
  const std::string script = fmt::format(
      "{}{}set title {} font title_font\nset xlabel {} offset 0, 0.4\nset ylabel {}\n"
      "set key below center horizontal maxcols {} samplen 3\n{}{}{}{}",
      kGnuplotStyle, Blocks(figure.lines, "line"), GnuplotQuoted(figure.title),
      GnuplotQuoted(figure.x_label), GnuplotQuoted(figure.y_label), LegendColumns(figure.lines),
      YRange(figure.lines), figure.logarithmic_x ? "set logscale x\n" : "", figure.extra,
      PlotCommand(Plots(figure.lines, "line", figure.looks)));
  return {.name = figure.name,
          .caption = figure.caption,
          .picture = {
              .width = kWidth, .height = kHeight + LegendHeight(figure.lines), .script = script}};
}

ReportFigure Draw(const IntervalFigure& figure) {
  constexpr int kRowHeight = 40, kAround = 140;
  std::string data = "$rows << EOD\n", labels;
  const std::size_t count = figure.rows.size();
  for (std::size_t i = 0; i < count; ++i) {
    const IntervalFigure::Row& row = figure.rows[i];
    const Interval interval = row.interval.value_or(Interval{row.value, row.value});
    data += fmt::format("{} {} {} {} 0x{}\n", count - i, row.value, interval.low, interval.high,
                        GnuplotColour(row.style).substr(1));
    // Above its interval: a left margin has no room for long names.
    labels += fmt::format("set label {} {} at graph 0.01, first {}.42 left front\n", i + 1,
                          GnuplotQuoted(row.label), count - i);
  }
  const std::string reference =
      figure.reference
          ? fmt::format(
                "set xrange [0:1]\nset arrow 1 from {0}, graph 0 to {0}, graph 1 nohead back "
                "linecolor rgb '#808080' dashtype 2\n",
                *figure.reference)
          : "";
  const std::string script = fmt::format(
      "{}{}EOD\nset title {} font title_font\nset xlabel {}\nunset key\nset yrange [0.5:{}.9]\n"
      "set border 1\nunset ytics\nset offsets graph 0.02, graph 0.02, 0, 0\n{}{}"
      "plot $rows using 2:1:3:4:5 with xerrorbars linecolor rgb variable linewidth 2 pointtype 7 "
      "pointsize 0.8\n",
      kGnuplotStyle, data, GnuplotQuoted(figure.title), GnuplotQuoted(figure.x_label), count,
      labels, reference);
  return {.name = figure.name,
          .caption = figure.caption,
          .picture = {.width = kWidth,
                      .height = kAround + kRowHeight * static_cast<int>(count),
                      .script = script}};
}

ReportFigure Draw(const PanelFigure& figure) {
  // Terminals disagree about the width of letters, so the panel's title goes above it and the
  // legend beside it, where there is always room.
  constexpr double kLeft = 0.11, kRight = 0.79;
  constexpr int kPanelHeight = 240, kTitle = 40, kPanelTitle = 26, kTics = 42, kBelow = 20;
  const auto count = static_cast<int>(figure.panels.size());
  const int height = kTitle + count * kPanelHeight + kBelow;
  std::string script = fmt::format("{}set multiplot title {} font title_font\n", kGnuplotStyle,
                                   GnuplotQuoted(figure.title));
  for (int p = 0; p < count; ++p) {
    const PanelFigure::Panel& panel = figure.panels[static_cast<std::size_t>(p)];
    const double above = height - kTitle - p * kPanelHeight;
    const double top = above - kPanelTitle, bottom = above - kPanelHeight + kTics;
    const std::string prefix = fmt::format("panel{}_", p);
    std::vector<std::string> plots;
    if (panel.reference) {
      plots.push_back(fmt::format("{} with lines linecolor rgb '#808080' dashtype 3 linewidth 1",
                                  *panel.reference));
    }
    std::ranges::move(Plots(panel.lines, prefix, LineFigure::Looks::kBands),
                      std::back_inserter(plots));
    script += fmt::format(
        "{}set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen {}\n"
        "set bmargin at screen {}\nset label 1 {} at graph 0, screen {} left\nset xlabel {}\n"
        "set key at screen {}, screen {} left top vertical samplen 2 width 0\n{}",
        Blocks(panel.lines, prefix), kLeft, kRight, top / height, bottom / height,
        GnuplotQuoted(panel.title), (top + 13) / height,
        GnuplotQuoted(p + 1 == count ? figure.x_label : ""), kRight + 0.01, top / height,
        PlotCommand(plots));
  }
  return {.name = figure.name,
          .caption = figure.caption,
          .picture = {.width = kWidth, .height = height, .script = script + "unset multiplot\n"}};
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
