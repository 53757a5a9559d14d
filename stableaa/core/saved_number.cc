#include "stableaa/core/saved_number.h"

#include <cmath>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/concat.h"

namespace stableaa {
namespace {

int InRange(const ByteReader& in, std::int64_t value, std::string_view what, int low, int high) {
  if (value >= low && value <= high) return static_cast<int>(value);
  throw in.Wrong(Concat("expected ", what, " of ", low, " to ", high, ", found ", value));
}

}  // namespace

void SaveSmall(ByteWriter& out, int value) { out.U8(static_cast<std::uint8_t>(value)); }

int LoadSmall(ByteReader& in, std::string_view what, int low, int high) {
  const std::uint8_t value = in.U8();
  return InRange(in, value, what, low, high);
}

int LoadWhole(ByteReader& in, std::string_view what, int low, int high) {
  const std::int64_t value = in.I64();
  return InRange(in, value, what, low, high);
}

std::int64_t LoadCount(ByteReader& in, std::string_view what, std::int64_t most) {
  const std::int64_t count = in.I64();
  if (count >= 0 && count <= most) return count;
  throw in.Wrong(Concat("expected 0 to ", most, " ", what, ", found ", count));
}

double LoadNumber(ByteReader& in, std::string_view what, double least) {
  const double number = in.F64();
  if (std::isfinite(number) && number >= least) return number;
  throw in.Wrong(Concat("expected ", what, ", found ", number));
}

void ExpectCount(const ByteReader& in, std::string_view what, std::uint64_t expected,
                 std::uint64_t found) {
  if (found == expected) return;
  throw in.Wrong(Concat("expected ", expected, " ", what, ", found ", found));
}

}  // namespace stableaa
