#include "stableaa/base/text/json_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

using Json = nlohmann::json;

std::string MemberKey(const std::string& key, const std::string& member) {
  return fmt::format("{}.{}", key, KeyPart(member));
}

Error Refused(const std::string& key, const std::string& found) {
  return BadInput(fmt::format("{} wants a string, number, boolean, list or table, found {}",
                              Shorten(key, 200), found));
}

void CheckDepth(const std::string& key, int depth) {
  if (depth <= kMaxTableDepth) return;
  throw BadInput(
      fmt::format("{}: nested deeper than {} levels", Shorten(key, 200), kMaxTableDepth));
}

void CheckSize(const std::string& key, std::size_t bytes) {
  if (bytes <= kMaxTableBytes) return;
  throw BadInput(fmt::format("{}: longer than the {} bytes of JSON that a table may have", key,
                             kMaxTableBytes));
}

// Writes values and refuses those that JSON cannot represent.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void Write(const std::string& key, const TomlValue::Table& table, int depth) {
    CheckDepth(key, depth);
    out_ += '{';
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (i > 0) out_ += ',';
      const std::string member = MemberKey(key, table[i].key);
      WriteText(member, table[i].key);
      out_ += ':';
      Write(member, table[i].value, depth);
    }
    out_ += '}';
  }

  void Write(const std::string& key, const TomlValue& value, int depth) {
    const auto* real = std::get_if<double>(&value.is);
    if (const auto* table = std::get_if<TomlValue::Table>(&value.is)) {
      Write(key, *table, depth + 1);
    } else if (const auto* list = std::get_if<TomlValue::List>(&value.is)) {
      Write(key, *list, depth + 1);
    } else if (const auto* text = std::get_if<std::string>(&value.is)) {
      WriteText(key, *text);
    } else if (std::holds_alternative<std::uint64_t>(value.is) ||
               std::holds_alternative<TomlValue::Other>(value.is) ||
               (real != nullptr && !std::isfinite(*real))) {
      throw Refused(key, WhatIs(value));
    } else {
      out_ += ShortLiteral(value);  // numbers and booleans are never shortened
    }
    CheckSize(key, out_.size());
  }

 private:
  void Write(const std::string& key, const TomlValue::List& list, int depth) {
    CheckDepth(key, depth);
    out_ += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ',';
      Write(key, list[i], depth);
    }
    out_ += ']';
  }

  void WriteText(const std::string& key, const std::string& text) {
    if (!IsCleanUtf8(text)) throw BadInput(key + " wants valid UTF-8 without NUL characters");
    out_ += TomlText(text);
  }

  std::string& out_;
};

TomlValue FromJson(const std::string& key, const Json& json);

TomlValue::Table TableOf(const std::string& key, const Json& json) {
  TomlValue::Table table;  // nlohmann keeps the members sorted
  for (const auto& [member, value] : json.items()) {
    table.push_back({member, FromJson(MemberKey(key, member), value)});
  }
  return table;
}

TomlValue FromJson(const std::string& key, const Json& json) {
  if (json.is_object()) return {TableOf(key, json)};
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_string()) return {json.get<std::string>()};
  if (json.is_number_float()) return {json.get<double>()};
  if (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>())) {
    return {json.get<std::uint64_t>()};
  }
  if (json.is_number()) return {json.get<std::int64_t>()};
  if (!json.is_array()) throw Refused(key, json.type_name());
  TomlValue::List list;
  for (const Json& element : json) list.push_back(FromJson(key, element));
  return {std::move(list)};
}

// The nesting depth of brackets outside strings; checked before anything recurses into them.
int DepthOf(std::string_view json) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == '{' || c == '[')) deepest = std::max(deepest, ++depth);
    if (!in_string && (c == '}' || c == ']')) --depth;
  }
  return deepest;
}

std::string ToToml(const TomlValue& value) {
  if (const auto* table = std::get_if<TomlValue::Table>(&value.is)) return TableToToml(*table);
  if (const auto* text = std::get_if<std::string>(&value.is)) return TomlText(*text);
  const auto* list = std::get_if<TomlValue::List>(&value.is);
  if (list == nullptr) return ShortLiteral(value);
  std::string text;
  for (const TomlValue& element : *list) text += (text.empty() ? "" : ", ") + ToToml(element);
  return fmt::format("[{}]", text);
}

}  // namespace

std::string TableToJson(const std::string& key, const TomlValue::Table& table) {
  std::string json;
  JsonWriter(json).Write(key, table, 1);
  CheckSize(key, json.size());
  return json;
}

void CheckTableValue(const std::string& key, const TomlValue& value) {
  std::string json;
  JsonWriter(json).Write(key, value, 1);
}

TomlValue::Table TableFromJson(const std::string& key, std::string_view json) {
  CheckSize(key, json.size());
  CheckDepth(key, DepthOf(json));
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    throw BadInput(fmt::format("{}: expected a JSON object, found '{}'", key, Shorten(json)));
  }
  return TableOf(key, parsed);
}

std::string TableToToml(const TomlValue::Table& table) {
  std::string text;
  for (const TomlValue::Member& member : table) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", KeyPart(member.key),
                        ToToml(member.value));
  }
  return fmt::format("{{{}}}", text);
}

std::string LiteralToJson(const std::string& key, const std::string& type,
                          const std::string& literal) {
  const TomlValue table = type == "table" ? ReadAnyOverride(literal) : TomlValue();
  const auto* const members = std::get_if<TomlValue::Table>(&table.is);
  std::string json = members != nullptr ? TableToJson(key, *members) : literal;
  return Json::accept(json) ? json : "null";
}

void SetMember(TomlValue::Table& table, std::span<const std::string> path, TomlValue value) {
  auto place = std::ranges::lower_bound(table, path.front(), {}, &TomlValue::Member::key);
  if (place == table.end() || place->key != path.front()) {
    place = table.insert(place, {path.front(), {TomlValue::Table()}});
  }
  if (path.size() == 1) {
    place->value = std::move(value);
    return;
  }
  if (!std::holds_alternative<TomlValue::Table>(place->value.is)) {
    place->value.is = TomlValue::Table();
  }
  SetMember(std::get<TomlValue::Table>(place->value.is), path.subspan(1), std::move(value));
}

}  // namespace stableaa
