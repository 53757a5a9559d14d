#include "stableaa/mdp/formats/text_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/mdp/formats/exact_quotient.h"

namespace stableaa {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// True if the decimal number is below 1 in magnitude: tells underflow from overflow for a number
// that no double can hold. `number` is in a form std::from_chars accepts, and not zero.
bool IsSmall(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_not_of("0.");
  // The number is 0.d… · 10^magnitude with d from 1 to 9.
  const auto magnitude =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) + (first > point ? 1 : 0);
  if (e == number.size()) return magnitude <= 0;
  std::string_view digits = number.substr(e + 1);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (result.ec != std::errc()) exponent = std::numeric_limits<std::int64_t>::max() / 2;
  return magnitude + (negative ? -exponent : exponent) <= 0;
}

// Where a decimal number that starts at `first` ends; `first` if there is none.
const char* EndOfDecimal(const char* first, const char* end) {
  const char* digits = first;
  if (digits < end && (*digits == '-' || *digits == '+')) ++digits;
  // std::from_chars accepts nan and inf as well.
  if (digits == end || !(*digits == '.' || (*digits >= '0' && *digits <= '9'))) return first;
  double value = 0;
  const auto [stop, failure] = std::from_chars(digits, end, value);
  return failure == std::errc::invalid_argument ? first : stop;
}

// The whole number, if it is short enough to be exact as a double.
std::optional<double> ShortWhole(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  constexpr std::size_t kMostDigits = 15;  // 10^15 < 2^53
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return negative ? -static_cast<double>(value) : static_cast<double>(value);
}

}  // namespace

TextScanner::TextScanner(std::string_view text, std::string name)
    : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), name_(std::move(name)) {
  if (text.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
}

bool TextScanner::SkipLinesToContent(std::string_view comment) {
  while (AtLineEnd() || std::string_view(at_, end_).starts_with(comment)) {
    if (at_ == end_) return false;
    SkipLine();
  }
  return true;
}

void TextScanner::SkipLine() {
  at_ = std::find(at_, end_, '\n');
  if (at_ < end_) ++at_;
}

std::string_view TextScanner::RestOfLine() {
  SkipBlanks();
  const char* start = at_;
  const char* stop = std::find(at_, end_, '\n');
  at_ = stop < end_ ? stop + 1 : stop;
  while (stop > start && IsBlank(stop[-1])) --stop;
  return {start, stop};
}

std::string_view TextScanner::Word() {
  SkipBlanks();
  const char* start = at_;
  while (at_ < end_ && !IsBlank(*at_) && *at_ != '\n') ++at_;
  return {start, at_};
}

std::string_view TextScanner::Quoted(const char* what) {
  const char* start = at_;
  Expect('"');
  const char* first = at_;
  while (at_ < end_ && *at_ != '"' && *at_ != '\n') ++at_;
  if (at_ == end_ || *at_ == '\n') {
    at_ = start;
    throw Wrong(fmt::format("{} with a closing quote", what));
  }
  return {first, at_++};
}

bool TextScanner::AcceptWord(std::string_view word) {
  SkipBlanks();
  const char* start = at_;
  if (Word() == word) return true;
  at_ = start;
  return false;
}

void TextScanner::ExpectWord(std::string_view word) {
  if (!AcceptWord(word)) throw Wrong(fmt::format("'{}'", word));
}

// Handles everything but numbers of at most 19 digits: the last numbers below 2^64, leading zeros,
// errors.
std::uint64_t TextScanner::UnusualUnsigned(const char* what) {
  std::uint64_t value = 0;
  const auto [stop, failure] = std::from_chars(at_, end_, value);
  if (failure == std::errc::invalid_argument || (stop < end_ && ContinuesNumber(*stop))) {
    throw Wrong(what);
  }
  if (failure != std::errc()) throw Wrong(fmt::format("{} below 2^64", what));
  at_ = stop;
  return value;
}

double TextScanner::LongNumber(const char* what, Slash slash) {
  const char* const start = at_;
  const char* first = at_;
  if (first < end_ && *first == '+' && first + 1 < end_ && first[1] != '-') ++first;
  double value = 0;
  const auto [stop, failure] = std::from_chars(first, end_, value);
  if (slash == Slash::kDivides && stop > first && Divides(stop) &&
      EndOfDecimal(start, end_) == stop) {
    at_ = stop;
    return Quotient(start, what);
  }
  if (failure == std::errc::invalid_argument || (stop < end_ && ContinuesNumber(*stop))) {
    throw Wrong(what);
  }
  if (failure != std::errc()) {
    if (!IsSmall({first, stop})) throw Wrong(fmt::format("{} that a double can hold", what));
    value = *first == '-' ? -0.0 : 0.0;
  } else if (!std::isfinite(value)) {
    throw Wrong(fmt::format("{} that is finite", what));
  }
  at_ = stop;
  return value;
}

double TextScanner::Quotient(const char* start, const char* what) {
  const std::string_view dividend(start, at_);
  const char* const first = at_ + 1;
  const char* const stop = EndOfDecimal(first, end_);
  if (stop > first && (stop == end_ || !ContinuesNumber(*stop))) {
    const std::string_view divisor(first, stop);
    at_ = stop;
    const std::optional<double> a = ShortWhole(dividend);
    const std::optional<double> b = ShortWhole(divisor);
    if (a && b && *b != 0) return *a / *b;
    if (const std::optional<double> value = RoundedQuotient(dividend, divisor)) return *value;
  }
  at_ = start;
  throw Wrong(fmt::format("{} that is finite", what));
}

std::string TextScanner::WhereAt(std::size_t offset) const {
  const auto line = 1 + std::count(begin_, begin_ + offset, '\n');
  return fmt::format("{}:{}", name_, line);
}

std::string TextScanner::Found() const {
  if (at_ == end_) return "the end of the file";
  if (*at_ == '\n') return "the end of the line";
  const char* stop = at_ + 1;
  if (*at_ != ',') {
    while (stop < end_ && !IsBlank(*stop) && *stop != '\n' && *stop != ',') ++stop;
  }
  return fmt::format("'{}'", Shorten({at_, stop}));
}

Error TextScanner::Wrong(std::string_view expected) {
  SkipBlanks();
  return Fault(fmt::format("expected {}, found {}", expected, Found()));
}

Error TextScanner::WrongCharacter(char c) { return Wrong(fmt::format("'{}'", c)); }

Error TextScanner::WrongProbability(const char* start) {
  at_ = start;
  return Wrong("a probability in [0, 1]");
}

Error TextScanner::FaultAt(std::size_t offset, std::string_view sentence) const {
  return BadInput(fmt::format("{}: {}", WhereAt(offset), sentence));
}

}  // namespace stableaa
