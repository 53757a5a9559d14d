#include "stableaa/env/minatar/saved_number.h"

#include <fmt/format.h>

#include <cstdint>

#include "stableaa/core/binary_io.h"

namespace stableaa::minatar {
namespace {

int InRange(const ByteReader& in, std::int64_t value, std::string_view what, int low, int high) {
  if (value >= low && value <= high) return static_cast<int>(value);
  throw in.Wrong(fmt::format("expected {} of {} to {}, found {}", what, low, high, value));
}

}  // namespace

void SaveSmall(ByteWriter& out, int value) { out.U8(static_cast<std::uint8_t>(value)); }

int LoadSmall(ByteReader& in, std::string_view what, int low, int high) {
  const std::uint8_t value = in.U8();
  return InRange(in, value, what, low, high);
}

int LoadNumber(ByteReader& in, std::string_view what, int low, int high) {
  const std::int64_t value = in.I64();
  return InRange(in, value, what, low, high);
}

}  // namespace stableaa::minatar
