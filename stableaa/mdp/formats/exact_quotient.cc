#include "stableaa/mdp/formats/exact_quotient.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

namespace stableaa {
namespace {

// digits · 10^exponent, with no zero in front.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;

  // The number is in [10^(magnitude − 1), 10^magnitude).
  std::int64_t magnitude() const { return static_cast<std::int64_t>(digits.size()) + exponent; }
};

Decimal ParseDecimal(std::string_view text) {
  Decimal number;
  if (text.starts_with('-') || text.starts_with('+')) {
    number.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) {
    std::string_view power = text.substr(e + 1);
    const bool down = power.starts_with('-');
    if (down || power.starts_with('+')) power.remove_prefix(1);
    const auto result = std::from_chars(power.data(), power.data() + power.size(), number.exponent);
    // Beyond what any number of digits can make up for, and far from overflow.
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 8;
    if (result.ec != std::errc() || number.exponent > kFar) number.exponent = kFar;
    if (down) number.exponent = -number.exponent;
  }
  bool decimals = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') {
      decimals = true;
      continue;
    }
    number.exponent -= decimals ? 1 : 0;
    if (c != '0' || !number.digits.empty()) number.digits += c;
  }
  return number;
}

// A whole number of any size, in base 10^9.
class Whole {
 public:
  // `digits` and then so many zeros.
  Whole(std::string_view digits, std::size_t zeros) {
    const std::size_t total = digits.size() + zeros;
    limbs_.assign((total + kDigits - 1) / kDigits, 0);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const std::size_t limb = (total - 1 - i) / kDigits;
      limbs_[limb] = 10 * limbs_[limb] + static_cast<std::uint32_t>(digits[i] - '0');
    }
    // The limb in which the digits end has some of the zeros.
    for (std::size_t i = 0; i < zeros % kDigits; ++i) limbs_[zeros / kDigits] *= 10;
  }

  // Multiplies by 2^power.
  void Scale(std::int64_t power) {
    constexpr std::int64_t kMost = 32;  // 10^9 · 2^32 < 2^64
    for (; power > 0; power -= kMost) {
      const std::uint64_t factor = std::uint64_t{1} << std::min(power, kMost);
      std::uint64_t carry = 0;
      for (std::uint32_t& limb : limbs_) {
        const std::uint64_t product = limb * factor + carry;
        limb = static_cast<std::uint32_t>(product % kBase);
        carry = product / kBase;
      }
      for (; carry > 0; carry /= kBase) limbs_.push_back(static_cast<std::uint32_t>(carry % kBase));
    }
  }

  std::strong_ordering operator<=>(const Whole& other) const {
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() <=> other.limbs_.size();
    return std::lexicographical_compare_three_way(limbs_.rbegin(), limbs_.rend(),
                                                  other.limbs_.rbegin(), other.limbs_.rend());
  }
  bool operator==(const Whole& other) const = default;

  // REQUIRES: other <= *this.
  void Subtract(const Whole& other) {
    std::uint32_t borrow = 0;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      const std::uint32_t less = borrow + (i < other.limbs_.size() ? other.limbs_[i] : 0);
      borrow = limbs_[i] < less ? 1 : 0;
      limbs_[i] += (borrow != 0 ? kBase : 0) - less;
    }
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }

  // Of a positive number, nearly exact.
  double Log2() const {
    double leading = 0;
    const std::size_t few = std::min<std::size_t>(limbs_.size(), 3);
    for (std::size_t i = 1; i <= few; ++i) leading = leading * kBase + limbs_[limbs_.size() - i];
    return std::log2(leading) +
           static_cast<double>(limbs_.size() - few) * std::log2(static_cast<double>(kBase));
  }

 private:
  static constexpr std::size_t kDigits = 9;
  static constexpr std::uint32_t kBase = 1'000'000'000;

  std::vector<std::uint32_t> limbs_;  // the lowest first, the highest not 0
};

// The double nearest to a/b, both positive, for a quotient within the range of doubles or little
// outside. Long division in binary, after scaling to 1 ≤ a/b < 2.
double Divide(Whole a, Whole b) {
  auto exponent = static_cast<std::int64_t>(std::floor(a.Log2() - b.Log2()));
  a.Scale(-exponent);
  b.Scale(exponent);
  // The logarithms may have been off by a little.
  for (; a < b; --exponent) a.Scale(1);
  for (Whole twice = b; twice.Scale(1), a >= twice; ++exponent) b = twice;

  constexpr std::int64_t kLeastExponent = -1022;  // of a double with all its bits
  const std::int64_t bits = std::min<std::int64_t>(53, 53 - (kLeastExponent - exponent));
  if (bits < 0) return 0;
  std::uint64_t significand = 0;
  for (std::int64_t i = 0; i < bits; ++i) {
    significand *= 2;
    if (a >= b) {
      a.Subtract(b);
      ++significand;
    }
    a.Scale(1);
  }
  const std::strong_ordering rest = a <=> b;  // to half of the last bit
  if (std::is_gt(rest) || (std::is_eq(rest) && significand % 2 == 1)) ++significand;
  return std::ldexp(static_cast<double>(significand), static_cast<int>(exponent - bits + 1));
}

}  // namespace

std::optional<double> RoundedQuotient(std::string_view dividend, std::string_view divisor) {
  const Decimal a = ParseDecimal(dividend);
  const Decimal b = ParseDecimal(divisor);
  if (b.digits.empty()) return std::nullopt;
  const double sign = a.negative != b.negative ? -1 : 1;
  if (a.digits.empty()) return sign * 0.0;
  // The quotient is between 10^(magnitude − 1) and 10^(magnitude + 1).
  const std::int64_t magnitude = a.magnitude() - b.magnitude();
  if (magnitude > std::numeric_limits<double>::max_exponent10 + 1) return std::nullopt;
  if (magnitude < std::numeric_limits<double>::min_exponent10 - 20) return sign * 0.0;
  const std::int64_t shift = a.exponent - b.exponent;
  const double quotient =
      Divide(Whole(a.digits, static_cast<std::size_t>(std::max<std::int64_t>(shift, 0))),
             Whole(b.digits, static_cast<std::size_t>(std::max<std::int64_t>(-shift, 0))));
  if (!std::isfinite(quotient)) return std::nullopt;
  return sign * quotient;
}

}  // namespace stableaa
