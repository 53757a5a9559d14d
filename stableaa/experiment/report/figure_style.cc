#include "stableaa/experiment/report/figure_style.h"

#include <fmt/format.h>

#include <string>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// In millimetres.
constexpr double kPoint = 25.4 / 72;
constexpr double kPaperPixel = 0.25;
constexpr double kSlidePixel = 25.4 / 96;  // 96 to the inch, as in CSS

FigureStyle PaperStyle(std::string_view columns) {
  constexpr int kOneColumn = static_cast<int>(84 / kPaperPixel);
  constexpr int kTwoColumns = static_cast<int>(174 / kPaperPixel);
  FigureStyle style{.font = 7.5 * kPoint / kPaperPixel,
                    .line = 0.6,
                    .has_titles = false,
                    .narrow = kOneColumn,
                    .wide = kTwoColumns,
                    .narrow_panels = 2,
                    .most_panels = 20,
                    .pixel_millimetres = kPaperPixel};
  if (columns == "one") {
    style.wide = kOneColumn;
    style.wide_panels = style.narrow_panels;
    style.most_panels = 10;
  } else if (columns == "two") {
    style.narrow_panels = 0;
    style.narrow = kTwoColumns;
  } else if (!columns.empty()) {
    throw BadInput(fmt::format("columns of figures: expected one or two, found '{}'",
                               Shorten(std::string(columns))));
  }
  return style;
}

}  // namespace

FigureStyle FigureStyleOf(std::string_view name, std::string_view columns) {
  if (name == "paper") return PaperStyle(columns);
  if (!name.empty() && name != "page" && name != "talk") {
    throw BadInput(fmt::format("style of figures: expected page, paper or talk, found '{}'",
                               Shorten(std::string(name))));
  }
  if (!columns.empty()) {
    throw BadInput(fmt::format("columns of figures: only the style paper has them, found {}",
                               name.empty() ? "page" : name));
  }
  if (name != "talk") return {};
  return {.font = 18 * kPoint / kSlidePixel,
          .line = 2,
          .narrow = 1280,
          .wide = 1280,
          .most_panels = 8,
          .least_height = 720,
          .pixel_millimetres = kSlidePixel};
}

}  // namespace stableaa
