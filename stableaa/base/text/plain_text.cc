#include "stableaa/base/text/plain_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace stableaa {
namespace {

// The code point of the well-formed character of `length` bytes at the start of `text`.
unsigned CodePoint(std::string_view text, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0);
  unsigned code = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3FU);
  return code;
}

bool IsControlCode(unsigned code) {
  const auto within = [code](unsigned first, unsigned last) {
    return code >= first && code <= last;
  };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0x61C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

// Removes the first character of `text` and returns it as PlainText shows it.
std::string TakeShown(std::string_view& text) {
  const std::size_t length = Utf8Length(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
  text.remove_prefix(character.size());
  if (length == 0) return "?";
  if (!IsControl(character)) return std::string(character);
  return length == 1 ? Escaped(character[0])
                     : fmt::format("\\u{:04X}", CodePoint(character, length));
}

}  // namespace

std::string ShellWord(std::string_view text) {
  const auto is_harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=+,@%").find(c) != std::string_view::npos;
  };
  std::string plain = PlainText(text);
  if (!plain.empty() && std::ranges::all_of(plain, is_harmless)) return plain;
  std::string word = "'";
  for (const char c : plain) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + '\'';
}

bool IsControl(std::string_view text) {
  const std::size_t length = Utf8Length(text);
  return length > 0 && IsControlCode(CodePoint(text, length));
}

std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  // Overlong forms, surrogates and code points beyond U+10FFFF show in the second byte.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return byte(1) >= low && byte(1) <= high ? length : 0;
}

std::string Escaped(char c) {
  switch (c) {
    case '\b':
      return "\\b";
    case '\t':
      return "\\t";
    case '\n':
      return "\\n";
    case '\f':
      return "\\f";
    case '\r':
      return "\\r";
    case '"':
    case '\\':
      return {'\\', c};
    default:
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F
                 ? fmt::format("\\u{:04X}", static_cast<unsigned>(c))
                 : std::string(1, c);
  }
}

bool IsCleanUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0 || text[0] == '\0') return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string PlainText(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) shown += TakeShown(text);
  return shown;
}

std::string Shorten(std::string_view text, std::size_t limit) {
  std::string shown;
  while (!text.empty() && shown.size() < limit) shown += TakeShown(text);
  return text.empty() ? shown : shown + "...";
}

}  // namespace stableaa
