// The sizes of a report's figures, by what they are for.
#ifndef STABLEAA_EXPERIMENT_REPORT_FIGURE_STYLE_H_
#define STABLEAA_EXPERIMENT_REPORT_FIGURE_STYLE_H_

#include <cstddef>
#include <string_view>

namespace stableaa {

// All lengths are in pixels. The default is for the page on a screen.
struct FigureStyle {
  double font = 12;        // size of letters
  double line = 1;         // times the widths of lines and points
  bool has_titles = true;  // panels of one figure always have theirs
  int narrow = 520;        // width of a figure with up to `narrow_panels` side by side
  int wide = 1040;         // width of all others, with up to `wide_panels` side by side
  std::size_t narrow_panels = 1;
  std::size_t wide_panels = 4;
  std::size_t most_panels = 400;  // more make a second figure
  int least_height = 0;           // what a figure needs beyond it makes it higher
  double pixel_millimetres = 0;   // in print; 0: no size in print
};

// By name:
//   page   the default
//   paper  84 mm wide, or 174 mm where more than two panels stand side by side; letters of 7.5 pt,
//          thin lines, no titles. `columns` "one" or "two" gives all figures one of these widths.
//   talk   a slide of 16 : 9, 338.7 mm x 190.5 mm; letters of 18 pt, thick lines. A figure with too
//          many rows for a slide is higher.
// BadInput for other names, and for columns of another style than paper. Empty: the default.
FigureStyle FigureStyleOf(std::string_view name, std::string_view columns = {});

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_FIGURE_STYLE_H_
