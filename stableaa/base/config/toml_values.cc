#include "stableaa/base/config/toml_values.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/base/text/whole_number.h"
#include "stableaa/core/error.h"
#include "stableaa/core/option_table.h"

namespace stableaa {
namespace {

constexpr int kMaxNesting = 32;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsQuote(char c) { return c == '"' || c == '\''; }

// The position after the string that starts at `text[begin]`, by TOML's rules. An unclosed string
// ends with its line, or with the text if it may span lines.
std::size_t SkipString(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string triple(3, quote);
  const bool multi_line = text.substr(begin, 3) == triple;
  std::size_t i = begin + (multi_line ? 3 : 1);
  while (i < text.size()) {
    if (quote == '"' && text[i] == '\\') {
      i += 2;
    } else if (multi_line && text.substr(i, 3) == triple) {
      i += 3;
      // Up to two quotes may directly precede the closing three.
      for (int extra = 0; extra < 2 && i < text.size() && text[i] == quote; ++extra) ++i;
      return i;
    } else if (!multi_line && text[i] == quote) {
      return i + 1;
    } else if (!multi_line && text[i] == '\n') {
      return i;
    } else {
      ++i;
    }
  }
  return text.size();
}

// Refuses what toml++ 3.3 cannot be trusted with, outside strings and comments:
//
// - Depth. toml++ limits the nesting of values but not of dotted keys, and frees its tree
//   recursively: half a megabyte of "a.a.a..." overflows the stack. A dot either belongs to a
//   number, one each, or joins the parts of a key; so dots without a separator between them give a
//   key's depth.
// - Non-ASCII characters. TOML has none there, and toml++ tests each of them for being a blank in a
//   function that has no answer for some (it runs into __builtin_unreachable).
class OutlineCheck {
 public:
  OutlineCheck(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void Run() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    std::size_t i = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    while (i < text_.size()) {
      Look(i);
      const std::size_t next = Next(i);
      const std::string_view passed = text_.substr(i, next - i);
      line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
      i = next;
    }
  }

 private:
  std::size_t Next(std::size_t i) const {
    if (IsQuote(text_[i])) return SkipString(text_, i);
    if (text_[i] == '#') return std::min(text_.find('\n', i), text_.size());
    return i + 1;
  }

  void Look(std::size_t i) {
    const char c = text_[i];
    if (c == '.') ++dots_;
    if (c == '[' || c == '{') ++brackets_;
    if (c == ']' || c == '}') brackets_ = std::max(brackets_ - 1, 0);
    if (std::string_view("[]{}=,\n").find(c) != std::string_view::npos) dots_ = 0;
    if (dots_ > kMaxNesting || brackets_ > kMaxNesting) {
      throw BadInput(fmt::format("{}:{}: nested deeper than {} levels", name_, line_, kMaxNesting));
    }
    if (static_cast<unsigned char>(c) >= 0x80) RefuseCharacter(text_.substr(i));
  }

  [[noreturn]] void RefuseCharacter(std::string_view rest) const {
    const std::size_t length = Utf8Length(rest);
    if (length == 0) throw BadInput(fmt::format("{}:{}: not valid UTF-8", name_, line_));
    throw BadInput(fmt::format("{}:{}: '{}' can stand only in a string or a comment", name_, line_,
                               rest.substr(0, length)));
  }

  const std::string_view text_;
  const std::string& name_;
  int line_ = 1;
  int brackets_ = 0;
  int dots_ = 0;
};

// toml++ says "Error while parsing key-value pair: cannot redefine ..."; the first words are noise.
std::string Reason(const toml::parse_error& error) {
  constexpr std::string_view kNoise = "Error while parsing ";
  std::string_view reason = error.description();
  if (reason.starts_with(kNoise)) reason.remove_prefix(kNoise.size());
  return Shorten(reason, 300);
}

toml::table Parse(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    throw BadInput(fmt::format("{}:{}:{}: {}", name, at.line, at.column, Reason(error)));
  }
}

TomlValue FromNode(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return {boolean->get()};
  if (const auto* integer = node.as_integer()) return {std::int64_t{integer->get()}};
  if (const auto* real = node.as_floating_point()) return {real->get()};
  if (const auto* text = node.as_string()) return {text->get()};
  if (const auto* array = node.as_array()) {
    TomlValue::List list;
    for (const toml::node& element : *array) list.push_back(FromNode(element));
    return {std::move(list)};
  }
  if (const auto* table = node.as_table()) {
    TomlValue::Table members;  // toml++ keeps them sorted
    for (const auto& [key, member] : *table) {
      members.push_back({std::string(key.str()), FromNode(member)});
    }
    return {std::move(members)};
  }
  return {TomlValue::Other{"a date or time"}};
}

bool IsBare(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

void Flatten(const toml::table& table, const std::string& prefix, std::vector<TomlEntry>& entries) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + KeyPart(key.str());
    const toml::table* inner = node.as_table();
    if (inner != nullptr && !inner->empty()) {
      Flatten(*inner, path + ".", entries);
    } else {
      entries.push_back({path, FromNode(node), key.source().begin.line});
    }
  }
}

// TOML's separator: 1_000_000. An underscore anywhere else stays, so the number is refused.
std::string WithoutSeparators(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separator = text[i] == '_' && i > 0 && i + 1 < text.size() && IsDigit(text[i - 1]) &&
                           IsDigit(text[i + 1]);
    if (!separator) digits += text[i];
  }
  return digits;
}

template <typename Number>
std::optional<Number> ReadWhole(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range && std::is_floating_point_v<Number>) {
    throw BadInput(fmt::format("{} does not fit a double", Shorten(text)));
  }
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::optional<TomlValue> ReadNumber(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const std::string_view unsigned_part = text.substr(text.starts_with('-') ? 1 : 0);
  // from_chars accepts more spellings of these two than TOML does.
  const bool named = unsigned_part == "inf" || unsigned_part == "nan";
  const bool digits =
      !unsigned_part.empty() && (IsDigit(unsigned_part[0]) || unsigned_part[0] == '.');
  if (!named && !digits) return std::nullopt;
  const std::string number = WithoutSeparators(text);
  if (const auto integer = ReadWhole<std::int64_t>(number)) return TomlValue{*integer};
  if (const auto large = ReadWhole<std::uint64_t>(number)) return TomlValue{*large};
  const auto real = ReadWhole<double>(number);
  if (!real) return std::nullopt;
  if (std::abs(*real) >= kInexactReals) {
    if (const auto whole = ReadWholeNumber(text)) {
      return std::visit([](auto exact) { return TomlValue{exact}; }, *whole);
    }
  }
  return TomlValue{*real};
}

TomlValue ReadQuoted(std::string_view text) {
  if (SkipString(text, 0) != text.size()) {
    throw BadInput(fmt::format("the closing quote is missing or not the end of {}", Shorten(text)));
  }
  try {
    return FromNode(*toml::parse("text = " + std::string(text)).get("text"));
  } catch (const toml::parse_error& error) {
    throw BadInput(fmt::format("{}: {}", Shorten(text), Reason(error)));
  }
}

// Parses a one-line document that contains `text`.
toml::table ParseLine(const std::string& line, std::string_view text) {
  const std::string name = Shorten(text);
  if (text.find('\n') != std::string_view::npos) {
    throw BadInput(fmt::format("{}: expected one line", name));
  }
  OutlineCheck(line, name).Run();
  try {
    return toml::parse(line);
  } catch (const toml::parse_error& error) {
    throw BadInput(fmt::format("{}: {}", name, Reason(error)));
  }
}

TomlValue ReadScalar(std::string_view text, bool text_wanted) {
  if (!text.empty() && IsQuote(text[0])) return ReadQuoted(text);
  if (text_wanted) return {std::string(text)};
  if (text.empty()) return {TomlValue::Other{"nothing"}};
  if (text == "true" || text == "false") return {text == "true"};
  if (auto number = ReadNumber(text)) return *std::move(number);
  return {std::string(text)};
}

TomlValue::List ReadList(std::string_view text, bool text_wanted) {
  TomlValue::List list;
  if (text.starts_with('[') && text.ends_with(']')) {
    text = Trim(text.substr(1, text.size() - 2));
  }
  while (!text.empty()) {
    const std::size_t behind_quotes = IsQuote(text[0]) ? SkipString(text, 0) : 0;
    const std::size_t comma = std::min(text.find(',', behind_quotes), text.size());
    const std::string_view element = Trim(text.substr(0, comma));
    if (element.empty()) throw BadInput("an element of the list is empty");
    list.push_back(ReadScalar(element, text_wanted));
    text = Trim(text.substr(std::min(comma + 1, text.size())));
  }
  return list;
}

struct LiteralOf {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return RealLiteral(value); }
  std::string operator()(const std::string& value) const { return '"' + Shorten(value) + '"'; }
  std::string operator()(const TomlValue::List&) const { return "a list"; }
  std::string operator()(const TomlValue::Table&) const { return "a table"; }
  std::string operator()(const TomlValue::Other& value) const { return value.name; }
};

}  // namespace

TomlValue WholeRealToInteger(const TomlValue& value) {
  const double* real = std::get_if<double>(&value.is);
  const bool whole =
      real != nullptr && std::abs(*real) < kInexactReals && *real == std::trunc(*real);
  return whole ? TomlValue{static_cast<std::int64_t>(*real)} : value;
}

std::vector<TomlEntry> ReadToml(std::string_view text, const std::string& name) {
  OutlineCheck(text, name).Run();
  std::vector<TomlEntry> entries;
  Flatten(Parse(text, name), "", entries);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TomlEntry& a, const TomlEntry& b) { return a.line < b.line; });
  return entries;
}

TomlValue ReadOverride(std::string_view text, bool text_wanted, bool list_wanted) {
  if (list_wanted) return {ReadList(text, text_wanted)};
  return ReadScalar(text, text_wanted);
}

TomlValue ReadAnyOverride(std::string_view text) {
  if (!text.starts_with('{') && !text.starts_with('[')) return ReadScalar(text, false);
  return FromNode(*ParseLine("value = " + std::string(text), text).get("value"));
}

std::size_t EndOfKey(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && text[i] != '=') i = IsQuote(text[i]) ? SkipString(text, i) : i + 1;
  return i < text.size() ? i : std::string_view::npos;
}

std::vector<std::string> SplitKey(std::string_view key) {
  if (IsBare(key)) return {std::string(key)};  // most are, and a table may have thousands
  const toml::table document = ParseLine(std::string(key) + " = 0", key);
  std::vector<std::string> parts;
  const toml::table* table = &document;
  while (table != nullptr && !table->empty()) {
    const auto first = table->begin();
    parts.emplace_back(first->first.str());
    table = first->second.as_table();
  }
  if (parts.empty()) throw BadInput(fmt::format("'{}' is no key", Shorten(key)));
  return parts;
}

std::string KeyPart(std::string_view part) {
  return IsBare(part) ? std::string(part) : TomlText(part);
}

std::string TomlText(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) text += Escaped(c);
  return PlainText(text + '"');  // "\u009B" is the same string, and harmless on a terminal
}

std::string ShortLiteral(const TomlValue& value) { return std::visit(LiteralOf(), value.is); }

std::string WhatIs(const TomlValue& value) {
  std::string literal = ShortLiteral(value);
  if (std::holds_alternative<bool>(value.is)) return "the boolean " + literal;
  if (std::holds_alternative<std::int64_t>(value.is)) return "the integer " + literal;
  if (std::holds_alternative<std::uint64_t>(value.is)) return "the integer " + literal;
  if (std::holds_alternative<double>(value.is)) return "the real " + literal;
  if (std::holds_alternative<std::string>(value.is)) return "the string " + literal;
  return literal;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::size_t end = text.find_last_not_of(kBlanks) + 1;
  return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

}  // namespace stableaa
