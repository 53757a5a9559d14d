// Free-form tables of a configuration: what a struct keeps as the text of a JSON object, and users
// write as a table of TOML.
//
// Both know strings, whole numbers, reals, booleans, lists and tables, and those go back and forth
// unchanged. What only one of them has is refused: null, whole numbers beyond 64 bits, infinities
// and nan, dates.
#ifndef STABLEAA_BASE_TEXT_JSON_TABLE_H_
#define STABLEAA_BASE_TEXT_JSON_TABLE_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stableaa/base/config/toml_values.h"

namespace stableaa {

// A file that nests deeper, or has more, is a mistake or an attack.
// Depth: tables and lists around a value, the outermost included.
inline constexpr int kMaxTableDepth = 16;
inline constexpr std::size_t kMaxTableBytes = 65536;  // of JSON

// BadInput, naming `key` and what is in the way.
std::string TableToJson(const std::string& key, const TomlValue::Table& table);
TomlValue::Table TableFromJson(const std::string& key, std::string_view json);

// BadInput, naming `key`, for what no table can hold.
void CheckTableValue(const std::string& key, const TomlValue& value);

// An inline table, {names = ["a"], size = 5}.
std::string TableToToml(const TomlValue::Table& table);

// Gives the member at `path`, not empty, a value; tables on the way to it are made.
void SetMember(TomlValue::Table& table, std::span<const std::string> path, TomlValue value);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_JSON_TABLE_H_
