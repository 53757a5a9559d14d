#include "stableaa/core/option_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "stableaa/core/concat.h"

namespace stableaa {

bool RealRange::Contains(double value) const {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return (infinite || std::isfinite(value)) && value >= at_least && value <= at_most &&
         (value > above || above == -kInf) && (value < below || below == kInf);
}

std::string RealRange::Text() const {
  const double low = std::max(at_least, above);
  const double high = std::min(at_most, below);
  const bool closed_low = std::isinf(low) ? infinite : above < low;
  const bool closed_high = std::isinf(high) ? infinite : below > high;
  return Concat(closed_low ? '[' : '(', low, ", ", high, closed_high ? ']' : ')');
}

std::string RealLiteral(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value).ptr;
  const std::string text(buffer, end);
  // Without a decimal point TOML would read an integer and lose the sign of -0.
  const bool integer_like = text.find_first_not_of("-0123456789") == std::string::npos;
  return integer_like ? text + ".0" : text;
}

Error OutOfRange(const std::string& key, const std::string& literal, const std::string& range) {
  return BadInput(Concat(key, " = ", literal, " is outside its range ", range));
}

void RangeCheck::Bool(const std::string&, bool*, const std::string&) {}

void RangeCheck::Int(const std::string& key, int* field, IntRange range, const std::string&) {
  if (*field >= range.at_least && *field <= range.at_most) return;
  throw OutOfRange(key, std::to_string(*field),
                   Concat('[', range.at_least, ", ", range.at_most, ']'));
}

void RangeCheck::Real(const std::string& key, double* field, RealRange range, const std::string&) {
  if (!range.Contains(*field)) throw OutOfRange(key, RealLiteral(*field), range.Text());
}

void RangeCheck::AddChoice(const std::string&, const std::vector<std::string>& names,
                           const std::function<std::size_t()>& get,
                           const std::function<void(std::size_t)>&, const std::string&) {
  // A value without a name is a programming error: at() throws std::out_of_range.
  (void)names.at(get());
}

}  // namespace stableaa
