#include "stableaa/base/text/whole_number.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

namespace stableaa {
namespace {

constexpr std::size_t kMostDigits = 20;  // as in 2^64 - 1

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Removes "1_000" from the front of `text` and returns "1000"; empty if there are no digits.
std::string TakeDigits(std::string_view& text) {
  std::string digits;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const bool separator = text[i] == '_' && i > 0 && IsDigit(text[i - 1]) && i + 1 < text.size() &&
                           IsDigit(text[i + 1]);
    if (IsDigit(text[i])) {
      digits += text[i];
    } else if (!separator) {
      break;
    }
  }
  text.remove_prefix(i);
  return digits;
}

bool Take(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

bool TakeMinus(std::string_view& text) { return !Take(text, '+') && Take(text, '-'); }

// ±digits × 10^exponent, as written.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

std::optional<std::int64_t> ReadExponent(std::string_view& text) {
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 4;
  const bool negative = TakeMinus(text);
  const std::string digits = TakeDigits(text);
  if (digits.empty()) return std::nullopt;
  std::int64_t exponent = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (result.ec != std::errc() || exponent > kEndless) exponent = kEndless;
  return negative ? -exponent : exponent;
}

std::optional<Decimal> ReadDecimal(std::string_view text) {
  Decimal number;
  number.negative = TakeMinus(text);
  number.digits = TakeDigits(text);
  if (number.digits.empty()) return std::nullopt;
  if (Take(text, '.')) {
    const std::string fraction = TakeDigits(text);
    if (fraction.empty()) return std::nullopt;
    number.digits += fraction;
    number.exponent -= static_cast<std::int64_t>(fraction.size());
  }
  if (Take(text, 'e') || Take(text, 'E')) {
    const std::optional<std::int64_t> exponent = ReadExponent(text);
    if (!exponent) return std::nullopt;
    number.exponent += *exponent;
  }
  return text.empty() ? std::optional(std::move(number)) : std::nullopt;
}

// The magnitude, if it is whole and fits.
std::optional<std::uint64_t> Magnitude(const Decimal& number) {
  const std::size_t first = number.digits.find_first_not_of('0');
  if (first == std::string::npos) return 0;
  const std::size_t end = number.digits.find_last_not_of('0') + 1;
  std::string digits = number.digits.substr(first, end - first);
  const std::int64_t zeros =
      number.exponent + static_cast<std::int64_t>(number.digits.size() - end);
  if (zeros < 0 || zeros > static_cast<std::int64_t>(kMostDigits)) return std::nullopt;
  digits.append(static_cast<std::size_t>(zeros), '0');
  std::uint64_t magnitude = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  return result.ec == std::errc() ? std::optional(magnitude) : std::nullopt;
}

}  // namespace

std::optional<WholeNumber> ReadWholeNumber(std::string_view text) {
  const std::optional<Decimal> number = ReadDecimal(text);
  if (!number) return std::nullopt;
  const std::optional<std::uint64_t> magnitude = Magnitude(*number);
  if (!magnitude) return std::nullopt;
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 63;  // -2^63 is the least std::int64_t
  if (!number->negative) {
    if (std::in_range<std::int64_t>(*magnitude)) return static_cast<std::int64_t>(*magnitude);
    return *magnitude;
  }
  if (*magnitude > kLeast) return std::nullopt;
  return static_cast<std::int64_t>(0 - *magnitude);
}

}  // namespace stableaa
