// Pictures drawn by gnuplot (Debian: gnuplot-nox), a separate program that only pictures need.
//
//   CheckGnuplot();                                    // before the work whose result is drawn
//   ...
//   const std::string svg = RunGnuplot(
//       "set terminal svg\n"
//       "plot x with lines linecolor rgb " + GnuplotQuoted(GnuplotColour(0)) +
//       " title " + GnuplotQuoted(name) + "\n");
//
// The script goes to gnuplot and the picture comes back in memory; no file is made. Data can be
// part of the script, as a block `$name << EOD`. The user's settings (~/.gnuplot) and language have
// no effect: for a given version of gnuplot, equal scripts give equal pictures.
#ifndef STABLEAA_BASE_PROCESS_GNUPLOT_H_
#define STABLEAA_BASE_PROCESS_GNUPLOT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace stableaa {

// Draws a throwaway picture. Throws as RunGnuplot does, and WorkFailed if no picture comes back.
void CheckGnuplot();

// What gnuplot prints for the script: the picture, unless the script sets an output. Throws
// WorkFailed if there is no gnuplot (naming the package to install), if it fails (quoting its
// message), if it takes longer than ToolSeconds (outside_tool.h: a minute) or if it is interrupted.
// It never outlives this process.
std::string RunGnuplot(std::string_view script);

// A gnuplot expression whose value is the text, with spaces for control characters (IsControl) and
// "?" for broken UTF-8. Whatever it holds, it stays text; use terminals with `noenhanced` to keep _
// and ^ literal.
std::string GnuplotQuoted(std::string_view text);

// "#0072B2", …: the i-th curve's colour, from the palette of Okabe and Ito, which people with any
// colour vision can tell apart. Leaves out its yellow, which is too faint on white. After
// kGnuplotColours they repeat; vary the dash type as well from there on.
std::string_view GnuplotColour(std::size_t i);
inline constexpr std::size_t kGnuplotColours = 7;

// A picture in any format, with the same proportions and letters in all formats.
struct GnuplotPicture {
  int width = 1000;  // in pixels of the SVG; the PNG has twice as many, the PDF 72 to the inch
  int height = 640;
  std::string script = {};  // all but the terminal; may use `font title_font`, a little larger
  double font_size = 12;    // in pixels of the SVG
  double line_width = 1;    // times the widths in the script
  // The size of a pixel in print, in mm. If given, the SVG and the PDF have their size in print and
  // the PNG has 300 dots to the inch.
  double pixel_millimetres = 0;
};

// The file's content. Throws as RunGnuplot does, and WorkFailed if no picture comes back.
std::string GnuplotSvg(const GnuplotPicture& picture);
std::string GnuplotPng(const GnuplotPicture& picture);
std::string GnuplotPdf(const GnuplotPicture& picture);

// The look of all our panels: axes on the left and bottom, a faint grid, lines before text in the
// legend.
inline constexpr std::string_view kGnuplotStyle =
    "set encoding utf8\n"
    "set border 3 linecolor rgb '#404040'\n"
    "set tics nomirror out\n"
    "set grid linetype 1 linecolor rgb '#e0e0e0' linewidth 0.7\n"
    "set key noautotitle reverse Left samplen 4 spacing 1.2 width 2\n";

}  // namespace stableaa

#endif  // STABLEAA_BASE_PROCESS_GNUPLOT_H_
