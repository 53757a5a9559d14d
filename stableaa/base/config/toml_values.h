// The values of a TOML document, flat, and their text: what config.cc builds upon. Hides toml++ and
// keeps documents from it that would exhaust the stack.
#ifndef STABLEAA_BASE_CONFIG_TOML_VALUES_H_
#define STABLEAA_BASE_CONFIG_TOML_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stableaa {

// Below, a whole real is what was written; from here on it may be the nearest that there is.
inline constexpr double kInexactReals = 0x1p53;

struct TomlValue {
  // Found where a value may not stand; `name` is for messages: "a date or time".
  struct Other {
    std::string name;
  };
  struct Member;
  using List = std::vector<TomlValue>;
  using Table = std::vector<Member>;  // by key, each once

  // An integer is unsigned only when it does not fit std::int64_t, which overrides alone can reach.
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string, List, Table, Other> is;
};

struct TomlValue::Member {
  std::string key;
  TomlValue value;
};

// One line of a document: a value, or a table without entries (a table with entries shows in them).
struct TomlEntry {
  std::string key;  // dotted; parts that TOML would have to quote are quoted
  TomlValue value;
  std::uint32_t line = 0;
};

// 1e5 is a real of TOML, but no less a whole number: an integer for a real that is one and below
// kInexactReals, else the value.
TomlValue WholeRealToInteger(const TomlValue& value);

// The entries in the order of their lines. Throws BadInput: "my.toml:3:7: <reason>".
std::vector<TomlEntry> ReadToml(std::string_view text, const std::string& name);

// The right side of an override. With `text_wanted` anything that is not in quotes is a string as
// it stands; otherwise numbers and booleans are recognised first. With `list_wanted` the text is a
// comma-separated list, in brackets or not.
TomlValue ReadOverride(std::string_view text, bool text_wanted, bool list_wanted);

// The same where anything may stand: what begins with a brace or a bracket is TOML, the rest as in
// an override without wishes.
TomlValue ReadAnyOverride(std::string_view text);

// Where the key of `text`, "key=value", ends: the position of its '=', npos if there is none.
std::size_t EndOfKey(std::string_view text);

// The parts of a dotted key: a and b.c of `a."b.c"`. Throws BadInput for what is no key of TOML.
std::vector<std::string> SplitKey(std::string_view key);

// The other way round for one part: quoted if it has to be.
std::string KeyPart(std::string_view part);

// A literal, valid both as TOML and as JSON; that of a real is RealLiteral (option_table.h).
std::string TomlText(std::string_view value);

// What a message says about a value: `the string "five"`, `the integer 7`, `a table`.
std::string WhatIs(const TomlValue& value);
// The literal alone, shortened if it is very long.
std::string ShortLiteral(const TomlValue& value);

// `text` without blanks at both ends.
std::string_view Trim(std::string_view text);

}  // namespace stableaa

#endif  // STABLEAA_BASE_CONFIG_TOML_VALUES_H_
