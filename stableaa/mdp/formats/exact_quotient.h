// Exact fractions as tools for exact arithmetic write them, 1/3 or a quotient of two numbers with
// hundreds of digits, rounded once.
#ifndef STABLEAA_MDP_FORMATS_EXACT_QUOTIENT_H_
#define STABLEAA_MDP_FORMATS_EXACT_QUOTIENT_H_

#include <optional>
#include <string_view>

namespace stableaa {

// The double nearest to dividend / divisor (ties to even), neither of which needs to be near a
// double itself. Both are decimal numbers such as 12, -0.5 or 1e-3: digits with a point or without,
// then an exponent or none. Nothing if the divisor is 0 or the quotient too large for a double; too
// small a quotient is 0. Takes time proportional to the number of digits.
std::optional<double> RoundedQuotient(std::string_view dividend, std::string_view divisor);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_EXACT_QUOTIENT_H_
