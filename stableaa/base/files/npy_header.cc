#include "stableaa/base/files/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>
#include <string_view>

#include "stableaa/base/files/npz_format.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

// Reads the dictionary's text from left to right.
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, std::string where)
      : text_(text), where_(std::move(where)) {}

  void ReadInto(NpyDescription& description) {
    std::set<std::string, std::less<>> seen;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = Quoted();
      Expect(':');
      if (!seen.insert(key).second) throw Wrong("each key once");
      if (key == "descr") {
        description.dtype = Quoted();
      } else if (key == "fortran_order") {
        description.fortran_order = Boolean();
      } else if (key == "shape") {
        description.shape = Tuple();
      } else {
        throw Wrong("the keys descr, fortran_order and shape");
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipBlanks();
    if (!text_.empty()) throw Wrong("nothing behind the dictionary");
    if (seen.size() != 3) throw Wrong("the keys descr, fortran_order and shape");
  }

 private:
  void SkipBlanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n\r"), text_.size()));
  }

  bool Accept(char c) {
    SkipBlanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) throw Wrong(fmt::format("'{}'", c));
  }

  // Does not handle escapes: no name in a header needs them.
  std::string Quoted() {
    SkipBlanks();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      // A structured dtype is a list.
      throw Wrong(quote == '[' ? "plain numbers, not records" : "a text in quotes");
    }
    std::string text(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return text;
  }

  bool Boolean() {
    SkipBlanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    throw Wrong("True or False");
  }

  std::vector<std::uint64_t> Tuple() {
    std::vector<std::uint64_t> numbers;
    Expect('(');
    while (!Accept(')')) {
      numbers.push_back(Length());
      if (Accept(',')) continue;
      Expect(')');
      break;
    }
    return numbers;
  }

  std::uint64_t Length() {
    SkipBlanks();
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (failure != std::errc()) throw Wrong("a length below 2^64");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2's long integers
    return number;
  }

  Error Wrong(std::string_view expected) const {
    return BadInput(
        fmt::format("{}: header: expected {}, found '{}'", where_, expected, Shorten(text_, 30)));
  }

  std::string_view text_;
  std::string where_;
};

std::string_view DictionaryText(std::span<const std::byte> start, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (!text.starts_with(kNpyMagic)) throw BadInput(fmt::format("{}: not in .npy format", where));
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(start[i]); };
  const std::size_t version_at = kNpyMagic.size();
  const std::size_t length_at = version_at + 2;
  const std::size_t major = text.size() > version_at ? byte(version_at) : 1;
  if (major < 1 || major > 3) {
    throw BadInput(fmt::format("{}: expected .npy version 1 to 3, found {}", where, major));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t dictionary_at = length_at + length_bytes;
  if (text.size() < dictionary_at) throw BadInput(fmt::format("{}: truncated header", where));
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(length_at + i) << (8 * i);
  if (length > text.size() - dictionary_at) {
    throw BadInput(
        fmt::format("{}: its header of {} bytes is truncated or too long", where, length));
  }
  return text.substr(dictionary_at, length);
}

}  // namespace

NpyDescription ParseNpyHeader(std::span<const std::byte> start, const std::string& where) {
  start = start.first(std::min(start.size(), kMostNpyHeaderBytes));
  const std::string_view text = DictionaryText(start, where);
  NpyDescription description;
  description.header_bytes = static_cast<std::size_t>(text.data() + text.size() -
                                                      reinterpret_cast<const char*>(start.data()));
  DictionaryReader(text, where).ReadInto(description);

  try {
    description.element_bytes = DtypeSize(description.dtype);
  } catch (const std::logic_error&) {
    throw BadInput(fmt::format("{}: expected numbers, found the dtype '{}'", where,
                               Shorten(description.dtype)));
  }
  for (const std::uint64_t length : description.shape) {
    if (__builtin_mul_overflow(description.elements, length, &description.elements) ||
        __builtin_mul_overflow(description.element_bytes, length, &description.element_bytes)) {
      throw BadInput(fmt::format("{}: the shape is too large for any memory", where));
    }
  }
  return description;
}

}  // namespace stableaa
