#include "stableaa/rl/run/saved_number.h"

#include <fmt/format.h>

#include <cmath>

#include "stableaa/core/binary_io.h"

namespace stableaa {

std::int64_t LoadCount(ByteReader& in, std::string_view what, std::int64_t most) {
  const std::int64_t count = in.I64();
  if (count >= 0 && count <= most) return count;
  throw in.Wrong(fmt::format("expected 0 to {} {}, found {}", most, what, count));
}

double LoadNumber(ByteReader& in, std::string_view what, double least) {
  const double number = in.F64();
  if (std::isfinite(number) && number >= least) return number;
  throw in.Wrong(fmt::format("expected {}, found {}", what, number));
}

void ExpectCount(const ByteReader& in, std::string_view what, std::uint64_t expected,
                 std::uint64_t found) {
  if (found == expected) return;
  throw in.Wrong(fmt::format("expected {} {}, found {}", expected, what, found));
}

}  // namespace stableaa
