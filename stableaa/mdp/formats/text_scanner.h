// A cursor over the text of a model file: reads numbers, words and line ends, reports file:line
// errors.
//
//   TextScanner in(text, "model.csv");
//   while (in.SkipToContent("#")) {              // blank lines and comments
//     const std::uint64_t state = in.Unsigned("a state");
//     in.Expect(',');
//     const double probability = in.Number("a probability");
//     in.ExpectLineEnd();
//   }
//
// Messages say what was expected: `throw in.Wrong("a state")` gives
//   model.csv:3: expected a state, found 'x7'
// Each reading function first skips blanks (space, tab, carriage return, so lines may end in CR LF)
// but never a line end, and on an error stays before the offending text. A UTF-8 byte order mark is
// skipped. Lines are counted only for messages, from the beginning of the text: a scanner costs
// nothing per line, and an offset is enough to find a line number later.
//
// Numbers are those of std::from_chars in decimal: 1, -1.5, .5, 1e-3, and +1. Overflow, nan and inf
// are errors; underflow gives 0.
#ifndef STABLEAA_MDP_FORMATS_TEXT_SCANNER_H_
#define STABLEAA_MDP_FORMATS_TEXT_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "stableaa/core/error.h"

namespace stableaa {

class TextScanner {
 public:
  // `text` must live as long as the scanner; `name` is used in messages.
  TextScanner(std::string_view text, std::string name);

  // Positions, as offsets from the beginning of the text.
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  void MoveTo(std::size_t offset) { at_ = begin_ + offset; }

  // The character at the cursor; NUL at the end of the text. Skips nothing.
  char Peek() const { return at_ < end_ ? *at_ : '\0'; }
  bool AtEnd() const { return at_ == end_; }

  void SkipBlanks() {
    while (at_ < end_ && IsBlank(*at_)) ++at_;
  }
  // Skips blanks; true before a line end or at the end of the text.
  bool AtLineEnd() {
    SkipBlanks();
    return at_ == end_ || *at_ == '\n';
  }
  // Skips blanks, line ends and comments, which run from `comment` (not empty, no digit) to the end
  // of the line. False at the end of the text.
  bool SkipToContent(std::string_view comment) {
    SkipBlanks();
    return (at_ < end_ && IsDigit(*at_)) || SkipLinesToContent(comment);
  }
  // The rest of the line, trimmed; the cursor moves to the next line.
  std::string_view RestOfLine();
  void SkipLine();

  // If `c` (or the whole word) comes next, reads it and returns true.
  bool Accept(char c) {
    SkipBlanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool AcceptWord(std::string_view word);
  void Expect(char c) {
    if (!Accept(c)) throw WrongCharacter(c);
  }
  void ExpectWord(std::string_view word);
  // Expects a line end or the end of the text.
  void ExpectLineEnd() {
    if (!AtLineEnd()) throw Wrong("the end of the line");
    if (at_ < end_) ++at_;
  }

  // The text up to the next blank or line end; may be empty.
  std::string_view Word();

  // A text in double quotes, which may contain neither a quote nor a line end.
  std::string_view Quoted(const char* what);
  // Everything from the cursor on.
  std::string_view Rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  // Numbers. `what` names the number in messages: "a state", "a probability". A number must not be
  // followed by a letter, digit, point or underscore, so 1.5 is not a state and 0x10 is not a
  // number.
  std::uint64_t Unsigned(const char* what) {
    SkipBlanks();
    const char* p = at_;
    std::uint64_t value = 0;
    while (p < end_ && IsDigit(*p)) value = 10 * value + static_cast<std::uint64_t>(*p++ - '0');
    constexpr std::ptrdiff_t kSafeDigits = 19;  // 10^19 − 1 < 2^64
    if (p == at_ || p - at_ > kSafeDigits || (p < end_ && ContinuesNumber(*p))) {
      return UnusualUnsigned(what);
    }
    at_ = p;
    return value;
  }
  double Number(const char* what) {
    SkipBlanks();
    double value = 0;
    return !LooksLong() && ShortNumber(value) ? value : LongNumber(what, Slash::kEnds);
  }
  // Also accepts a quotient of two numbers, 1/3, as tools for exact arithmetic write. It is rounded
  // once, whatever the size of the two.
  double NumberOrQuotient(const char* what) {
    SkipBlanks();
    const char* start = at_;
    double value = 0;
    if (LooksLong() || !ShortNumber(value)) return LongNumber(what, Slash::kDivides);
    return Divides(at_) ? Quotient(start, what) : value;
  }

  // A number or quotient from 0 to 1, which may exceed 1 by 1e-9, as the sum of a row may.
  double Probability() {
    SkipBlanks();
    const char* start = at_;
    const double value = NumberOrQuotient("a probability");
    if (!(value >= 0 && value <= 1 + 1e-9)) throw WrongProbability(start);
    return value;
  }

  // "name:line" for the cursor or an offset. A carriage return alone does not end a line.
  std::string Where() const { return WhereAt(offset()); }
  std::string WhereAt(std::size_t offset) const;
  const std::string& name() const { return name_; }

  // "name:line: expected ..., found ..." with the text at the cursor.
  Error Wrong(std::string_view expected);
  // "name:line: sentence", for the cursor or an offset.
  Error Fault(std::string_view sentence) const { return FaultAt(offset(), sentence); }
  Error FaultAt(std::size_t offset, std::string_view sentence) const;

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool ContinuesNumber(char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_';
  }

  // A guess: the ninth to sixteenth characters are digits. Saves trying ShortNumber in vain.
  bool LooksLong() const {
    if (end_ - at_ < 16) return false;
    std::uint64_t eight = 0;
    std::memcpy(&eight, at_ + 8, sizeof(eight));
    // Digits are 0x30 to 0x39: adding 6 leaves their high half at 3.
    constexpr std::uint64_t kHigh = 0xF0F0F0F0F0F0F0F0;
    constexpr std::uint64_t kThrees = 0x3030303030303030;
    return (eight & kHigh) == kThrees && ((eight + 0x0606060606060606) & kHigh) == kThrees;
  }
  // Reads a number of few digits without an exponent, such as 7, 0.25 or -1.5, if one comes next.
  // Its digits and the power of ten that divides them are exact as doubles, so one division rounds
  // correctly (W. D. Clinger, "How to read floating point numbers accurately", 1990).
  bool ShortNumber(double& value) {
    static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    constexpr std::ptrdiff_t kMostDigits = 15;  // 10^15 < 2^53
    const char* p = at_;
    const bool negative = p < end_ && *p == '-';
    if (negative) ++p;
    const char* first = p;
    std::uint64_t digits = 0;
    while (p < end_ && IsDigit(*p)) digits = 10 * digits + static_cast<std::uint64_t>(*p++ - '0');
    std::ptrdiff_t count = p - first;
    std::ptrdiff_t decimals = 0;
    if (p < end_ && *p == '.') {
      const char* point = p++;
      while (p < end_ && IsDigit(*p)) digits = 10 * digits + static_cast<std::uint64_t>(*p++ - '0');
      decimals = p - point - 1;
      count += decimals;
    }
    if (count == 0 || count > kMostDigits || (p < end_ && ContinuesNumber(*p))) return false;
    const double magnitude = static_cast<double>(digits) / kPowers[decimals];
    value = negative ? -magnitude : magnitude;
    at_ = p;
    return true;
  }
  // True at a single slash; two may begin a comment.
  bool Divides(const char* p) const {
    return p < end_ && *p == '/' && (p + 1 == end_ || p[1] != '/');
  }
  enum class Slash { kEnds, kDivides };
  double LongNumber(const char* what, Slash slash);

  bool SkipLinesToContent(std::string_view comment);
  std::uint64_t UnusualUnsigned(const char* what);
  // The cursor is before the slash; the dividend begins at `start`.
  double Quotient(const char* start, const char* what);
  Error WrongCharacter(char c);
  Error WrongProbability(const char* start);
  std::string Found() const;

  const char* begin_;
  const char* at_;
  const char* end_;
  std::string name_;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_TEXT_SCANNER_H_
