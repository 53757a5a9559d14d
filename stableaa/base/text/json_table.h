// Free-form tables in a configuration, which a struct keeps as the text of a JSON object and users
// write as a TOML table.
//
// Both have strings, whole numbers, reals, booleans, lists and tables, which convert back and forth
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

// A file that exceeds these is a mistake or an attack. Depth counts the tables and lists around a
// value, including the outermost.
inline constexpr int kMaxTableDepth = 16;
inline constexpr std::size_t kMaxTableBytes = 65536;  // of JSON

// Throws BadInput that names `key` and the obstacle.
std::string TableToJson(const std::string& key, const TomlValue::Table& table);
TomlValue::Table TableFromJson(const std::string& key, std::string_view json);

// Throws BadInput, naming `key`, for a value that no table can hold.
void CheckTableValue(const std::string& key, const TomlValue& value);

// An inline table, {names = ["a"], size = 5}.
std::string TableToToml(const TomlValue::Table& table);

// The JSON of a key's value (ConfigKey::value) of that type: TOML's literals are JSON's, except for
// tables, and for infinities, which become null.
std::string LiteralToJson(const std::string& key, const std::string& type,
                          const std::string& literal);

// Sets the member at `path`, which must not be empty, creating tables along the way.
void SetMember(TomlValue::Table& table, std::span<const std::string> path, TomlValue value);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_JSON_TABLE_H_
