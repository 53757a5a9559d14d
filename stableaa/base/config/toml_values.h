// The values of a TOML document, flattened, and their text; config.cc builds on this. Hides toml++
// and shields it from documents that would exhaust the stack.
#ifndef STABLEAA_BASE_CONFIG_TOML_VALUES_H_
#define STABLEAA_BASE_CONFIG_TOML_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stableaa {

// Below this, a whole real is exactly what was written; from here on it may only be the nearest
// double.
inline constexpr double kInexactReals = 0x1p53;

struct TomlValue {
  // A value of an unsupported type; `name` is for messages: "a date or time".
  struct Other {
    std::string name;
  };
  struct Member;
  using List = std::vector<TomlValue>;
  using Table = std::vector<Member>;  // sorted by key, each once

  // An integer is unsigned only if it does not fit std::int64_t, which only overrides can produce.
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string, List, Table, Other> is;
};

struct TomlValue::Member {
  std::string key;
  TomlValue value;
};

// One line of a document: a value, or a table without entries (other tables show in their entries).
struct TomlEntry {
  std::string key;  // dotted; parts that need quotes in TOML are quoted
  TomlValue value;
  std::uint32_t line = 0;
};

// 1e5 is a real in TOML, but a whole number all the same. Returns an integer for a whole real below
// kInexactReals, otherwise the value itself.
TomlValue WholeRealToInteger(const TomlValue& value);

// The entries in line order. Throws BadInput: "my.toml:3:7: <reason>".
std::vector<TomlEntry> ReadToml(std::string_view text, const std::string& name);

// The right side of an override. With `text_wanted`, anything not in quotes is taken literally as a
// string; otherwise numbers and booleans are recognised first. With `list_wanted`, the text is a
// comma-separated list, with or without brackets.
TomlValue ReadOverride(std::string_view text, bool text_wanted, bool list_wanted);

// The same where any type is allowed: text starting with a brace or bracket is TOML, the rest is
// read as by ReadOverride with both flags false.
TomlValue ReadAnyOverride(std::string_view text);

// Where the key ends in `text`, "key=value": the position of its '=', or npos if there is none.
std::size_t EndOfKey(std::string_view text);

// The parts of a dotted key: a and b.c for `a."b.c"`. Throws BadInput if it is not a TOML key.
std::vector<std::string> SplitKey(std::string_view key);

// The reverse for one part: quoted if necessary.
std::string KeyPart(std::string_view part);

// A literal that is valid as both TOML and JSON; for reals see RealLiteral (option_table.h).
std::string TomlText(std::string_view value);

// A value as messages describe it: `the string "five"`, `the integer 7`, `a table`.
std::string WhatIs(const TomlValue& value);
// Only the literal, shortened if it is very long.
std::string ShortLiteral(const TomlValue& value);

// `text` without blanks at both ends.
std::string_view Trim(std::string_view text);

}  // namespace stableaa

#endif  // STABLEAA_BASE_CONFIG_TOML_VALUES_H_
