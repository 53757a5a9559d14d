#include "stableaa/mdp/watch/solve_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "stableaa/base/process/gnuplot.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr std::size_t kMostPlotBytes = std::size_t{1} << 30;

constexpr std::string_view kDataBegin = "<metadata id=\"stableaa-solves\">\n";
constexpr std::string_view kDataEnd = "</metadata>\n";
constexpr std::string_view kDataHeader = "run,seconds,error,residual";

// ---- The data within the picture ----

std::string EscapedXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string UnescapedXml(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("&amp;")) {
      plain += '&';
      i += 5;
    } else if (rest.starts_with("&lt;")) {
      plain += '<';
      i += 4;
    } else if (rest.starts_with("&gt;")) {
      plain += '>';
      i += 4;
    } else {
      plain += rest.front();
      ++i;
    }
  }
  return plain;
}

std::string DataElement(const std::vector<SolveCurve>& curves) {
  std::string data = fmt::format("{}\n", kDataHeader);
  for (const SolveCurve& curve : curves) {
    const std::string label = TextCell(curve.label);
    for (const SolveCurve::Point& point : curve.points) {
      data += fmt::format("{},{},{},{}\n", label, NumberCell(point.seconds),
                          NumberCell(point.error), NumberCell(point.residual));
    }
  }
  return fmt::format("{}{}{}", kDataBegin, EscapedXml(data), kDataEnd);
}

// False if a line was not written by DataElement.
bool ParseData(const std::string& data, std::vector<SolveCurve>& curves) {
  bool header = true;
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin < data.size();) {
    const std::size_t end = std::min(data.find('\n', begin), data.size());
    const std::string_view line = std::string_view(data).substr(begin, end - begin);
    begin = end + 1;
    if (header) {
      if (line != kDataHeader) return false;
      header = false;
      continue;
    }
    if (!SplitLine(line, cells) || cells.size() != 4) return false;
    const auto seconds = NumberOf(cells[1]);
    const auto error = NumberOf(cells[2]);
    const auto residual = NumberOf(cells[3]);
    if (!seconds || !error || !residual) return false;
    if (curves.empty() || curves.back().label != cells[0]) curves.push_back({cells[0], {}});
    curves.back().points.push_back({*seconds, *error, *residual});
  }
  return !header;
}

// ---- The picture ----

bool Shows(double number) { return std::isfinite(number) && number > 0; }

using Number = double SolveCurve::Point::*;

std::size_t Count(const SolveCurve& curve, Number number) {
  return static_cast<std::size_t>(std::ranges::count_if(
      curve.points, [number](const SolveCurve::Point& point) { return Shows(point.*number); }));
}

std::string DataBlock(std::string_view name, const SolveCurve& curve, Number number) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (const SolveCurve::Point& point : curve.points) {
    if (Shows(point.*number)) block += fmt::format("{} {}\n", point.seconds, point.*number);
  }
  return block + "EOD\n";
}

// True if the longest and the shortest run end so far apart that one would be a line at the edge of
// the picture.
bool NeedsLogarithmicTime(const std::vector<SolveCurve>& curves) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const SolveCurve& curve : curves) {
    if (curve.points.empty() || !Shows(curve.points.back().seconds)) continue;
    least = std::min(least, curve.points.back().seconds);
    most = std::max(most, curve.points.back().seconds);
  }
  return most > 20 * least;
}

// The lower end of the picture: a little below the smallest bound. Changes may be far smaller or
// vanish, but say nothing there.
double LeastShown(const std::vector<SolveCurve>& curves, double tolerance) {
  double least = tolerance;
  for (const SolveCurve& curve : curves) {
    for (const SolveCurve::Point& point : curve.points) {
      if (Shows(point.error)) least = std::min(least, point.error);
    }
  }
  return least / 3;
}

std::string Script(const std::vector<SolveCurve>& curves, double tolerance) {
  constexpr std::size_t kFewPoints = 60;    // this many can be told apart
  constexpr std::size_t kEnoughPoints = 3;  // for a curve
  std::string script =
      "set terminal svg size 900, 540 dynamic noenhanced font 'DejaVu Sans,13' "
      "background rgb 'white'\n"
      "set encoding utf8\n"
      "set title 'Bound on the error of the values while solving'\n"
      "set xlabel \"seconds\\n \"\n"
      "set ylabel 'certified bound on |V* − V|'\n"
      "set logscale y\n"
      "set format y '1e%+03T'\n"
      "unset mytics\n"
      "set grid linecolor rgb '#d0d0d0' linewidth 0.6 dashtype solid\n"
      "set border 3\n"
      "set tics nomirror out\n"
      "set key outside bottom center horizontal maxcols 2 reverse Left samplen 2\n";
  script += fmt::format("set yrange [{}:*]\n", LeastShown(curves, tolerance));
  script +=
      NeedsLogarithmicTime(curves) ? "set logscale x\nset format x '%g'\n" : "set xrange [0:*]\n";
  std::string plots =
      fmt::format("plot {} with lines linecolor rgb '#808080' dashtype 2 title 'tolerance {}'",
                  tolerance, tolerance);
  bool dotted = false;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const SolveCurve& curve = curves[i];
    const std::string_view colour = GnuplotColour(i);
    const std::size_t bounds = Count(curve, &SolveCurve::Point::error);
    if (bounds > 0) {
      script += DataBlock(fmt::format("bounds{}", i), curve, &SolveCurve::Point::error);
      plots += fmt::format(
          ", $bounds{} using 1:2 with {} linecolor rgb '{}' linewidth 2 {} title {}", i,
          bounds <= kFewPoints ? "linespoints" : "lines", colour,
          bounds <= kFewPoints ? "pointtype 7 pointsize 0.5" : "", GnuplotQuoted(curve.label));
    }
    // If the passes prove nothing, their changes show how the run went.
    if (bounds < kEnoughPoints && Count(curve, &SolveCurve::Point::residual) > bounds) {
      script += DataBlock(fmt::format("changes{}", i), curve, &SolveCurve::Point::residual);
      plots += fmt::format(", $changes{} using 1:2 with lines linecolor rgb '{}' dashtype 3 {}", i,
                           colour,
                           bounds > 0 ? std::string("notitle")
                                      : fmt::format("title {}", GnuplotQuoted(curve.label)));
      dotted = true;
    }
  }
  if (dotted) script += "set xlabel \"seconds        (dotted: largest change of a sweep)\\n \"\n";
  return fmt::format("{}{}\n", script, plots);
}

}  // namespace

SolvePlot::SolvePlot(const std::filesystem::path& path) : file_(path) { CheckGnuplot(); }

void SolvePlot::Draw(const std::vector<SolveCurve>& curves, double tolerance) {
  std::string picture = RunGnuplot(Script(curves, tolerance));
  const std::size_t end = picture.rfind("</svg>");
  if (end == std::string::npos) throw WorkFailed("gnuplot has drawn no picture");
  picture.insert(end, DataElement(curves));
  file_.Write(picture);
  file_.Commit();
}

std::vector<SolveCurve> ReadPlot(const std::filesystem::path& path) {
  const std::string text = ReadFileToAddTo(path, kMostPlotBytes);
  if (text.empty()) return {};
  const std::size_t begin = text.find(kDataBegin);
  const std::size_t end = begin == std::string::npos ? begin : text.find(kDataEnd, begin);
  std::vector<SolveCurve> curves;
  if (end == std::string::npos ||
      !ParseData(UnescapedXml(std::string_view(text).substr(begin + kDataBegin.size(),
                                                            end - begin - kDataBegin.size())),
                 curves)) {
    throw BadInput(fmt::format(
        "{}: expected a plot of stableaa solve to add to, found another file", path.string()));
  }
  return curves;
}

}  // namespace stableaa
