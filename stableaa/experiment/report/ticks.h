// Where the ticks of an axis stand and what they say, and how much room words take.
#ifndef STABLEAA_EXPERIMENT_REPORT_TICKS_H_
#define STABLEAA_EXPERIMENT_REPORT_TICKS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/experiment/results/statistics.h"

namespace stableaa {

struct Tick {
  double at = 0;
  std::string label;
};

// Up to `most` (at least two) multiples of 1, 2 or 5 times a power of ten within the range,
// labelled 0.5, 1000, 250k, 1M. None if the range is empty or not finite.
std::vector<Tick> TicksWithin(const Interval& range, std::size_t most);

// The same for a logarithmic axis: powers of ten, all or every second or third ..., with their
// multiples by 2 and 5, or by 3, if there is room; as above where that gives too few.
std::vector<Tick> LogTicksWithin(const Interval& range, std::size_t most);

// The width in letters' heights (em) in DejaVu Sans, rather too wide than too narrow.
double TextEms(std::string_view text);
// The text, or its beginning and "…" if it is wider than that.
std::string FittedText(std::string_view text, double ems);
// The text in lines that are no wider than that, broken at spaces, but not in "η = 0.1". A word for
// which a line has no room is broken after a "-", "_", "/" or "."; "…" as above if it has none.
std::vector<std::string> WrappedText(std::string_view text, double ems);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_TICKS_H_
