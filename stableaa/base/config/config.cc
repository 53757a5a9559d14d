#include "stableaa/base/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "stableaa/base/config/toml_values.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/text/json_table.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {

// Only the two functions know the field's type; everything else works on text.
struct ConfigField {
  using Store = std::function<void()>;

  ConfigKey about;          // except `value`, which lives in the described struct
  std::string wants;        // for messages: "an integer"
  bool wants_text = false;  // strings in an override need no quotes
  bool wants_list = false;
  bool wants_table = false;
  std::function<std::string()> write;
  // Checks a value and returns a function that stores it, so that everything is checked before
  // anything is stored. Empty if the type is wrong.
  std::function<std::optional<Store>(const TomlValue&)> read;

  // The right side of an override.
  TomlValue Parse(std::string_view text) const {
    return wants_table ? ReadAnyOverride(text) : ReadOverride(text, wants_text, wants_list);
  }
};

// One value from a source.
struct ConfigEntry {
  std::string key;
  std::string origin;
  std::string place;
  TomlValue value = {};
  std::optional<std::string> text = {};  // an override's raw text, parsed once the key is known
};

namespace {

using Store = ConfigField::Store;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr std::size_t kCommentColumns = 98;

Error WrongType(const std::string& key, const std::string& wants, const std::string& found) {
  return BadInput(fmt::format("{} wants {}, found {}", key, wants, found));
}

ConfigKey About(const std::string& key, const std::string& type, const std::string& range,
                const std::string& meaning) {
  ConfigKey about;
  about.key = key;
  about.type = type;
  about.range = range;
  about.meaning = meaning;
  return about;
}

// `convert` returns the value as a T, or nothing if its type is wrong.
template <typename T, typename Convert, typename Literal>
ConfigField MakeField(T* field, const ConfigKey& about, const std::string& wants, Convert convert,
                      Literal literal) {
  const auto write = [field, literal] { return literal(*field); };
  const auto read = [field, convert](const TomlValue& value) -> std::optional<Store> {
    std::optional<T> converted = convert(value);
    if (!converted) return std::nullopt;
    return [field, stored = *std::move(converted)] { *field = stored; };
  };
  return {.about = about, .wants = wants, .write = write, .read = read};
}

// The same value, once it has passed; a value of a wrong type is not there.
template <typename T>
std::optional<T> Passed(std::optional<T> value, const std::function<void(const T&)>& check) {
  if (value && check) check(*value);
  return value;
}

// ---- Integers ----

// An integer beyond 64 bits arrives as a real; report its size as the mistake, not its type.
bool IsHugeInteger(const TomlValue& value) {
  const double* real = std::get_if<double>(&value.is);
  return real != nullptr && std::isfinite(*real) && std::abs(*real) >= 0x1p63;
}

bool IsInteger(const TomlValue& value) {
  return std::holds_alternative<std::int64_t>(value.is) ||
         std::holds_alternative<std::uint64_t>(value.is) || IsHugeInteger(value);
}

template <typename Integer>
std::optional<Integer> IntegerWithin(const TomlValue& value, Integer low, Integer high) {
  std::optional<Integer> within;
  const auto check = [&](auto number) {
    if (!std::in_range<Integer>(number)) return;
    const auto converted = static_cast<Integer>(number);
    if (converted >= low && converted <= high) within = converted;
  };
  if (const auto* number = std::get_if<std::int64_t>(&value.is)) check(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value.is)) check(*number);
  return within;
}

// An unsigned value may be given as a string of digits, because TOML's integers end at 2^63 - 1.
TomlValue DigitsToInteger(const TomlValue& value) {
  const std::string* text = std::get_if<std::string>(&value.is);
  if (text == nullptr) return value;
  std::uint64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  return stop == end && error == std::errc() ? TomlValue{number} : value;
}

std::string UnsignedLiteral(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  return std::in_range<std::int64_t>(value) ? digits : '"' + digits + '"';
}

template <typename Integer>
ConfigField IntegerField(const std::string& key, Integer* field, Integer low, Integer high,
                         const std::string& meaning) {
  constexpr bool kUnsigned = std::is_unsigned_v<Integer>;
  const std::string range = fmt::format("[{}, {}]", low, high);
  const auto convert = [=](const TomlValue& value) -> std::optional<Integer> {
    const TomlValue number = WholeRealToInteger(kUnsigned ? DigitsToInteger(value) : value);
    if (!IsInteger(number)) {
      if (!std::holds_alternative<double>(number.is)) return std::nullopt;
      throw WrongType(key, "an integer in " + range, WhatIs(number));
    }
    const std::optional<Integer> within = IntegerWithin<Integer>(number, low, high);
    if (!within) throw OutOfRange(key, ShortLiteral(number), range);
    return within;
  };
  const auto literal = [](Integer value) {
    if constexpr (kUnsigned) return UnsignedLiteral(value);
    return std::to_string(value);
  };
  return MakeField(field, About(key, "integer", range, meaning), "an integer", convert, literal);
}

// ---- Reals ----

std::optional<double> AsReal(const TomlValue& value) {
  if (const auto* real = std::get_if<double>(&value.is)) return *real;
  if (const auto* number = std::get_if<std::int64_t>(&value.is)) {
    return static_cast<double>(*number);
  }
  if (const auto* number = std::get_if<std::uint64_t>(&value.is)) {
    return static_cast<double>(*number);
  }
  return std::nullopt;
}

std::optional<double> RealWithin(const std::string& key, const RealRange& range,
                                 const TomlValue& value) {
  const std::optional<double> real = AsReal(value);
  if (real && !range.Contains(*real)) throw OutOfRange(key, ShortLiteral(value), range.Text());
  return real;
}

// ---- Schedules ----

// Nothing for what is neither a number nor text.
std::optional<Schedule> ScheduleWithin(const std::string& key, const RealRange& range,
                                       const TomlValue& value) {
  const std::string* text = std::get_if<std::string>(&value.is);
  if (text == nullptr) {
    const std::optional<double> constant = RealWithin(key, range, value);
    return constant ? std::optional<Schedule>(*constant) : std::nullopt;
  }
  std::optional<Schedule> schedule;
  try {
    schedule = Schedule::Parse(*text);
  } catch (const Error& error) {
    throw BadInput(fmt::format("{}: {}", key, error.what()));
  }
  for (const auto& [step, number] : schedule->points()) {
    if (range.Contains(number)) continue;
    if (schedule->kind() == Schedule::Kind::kConstant) {
      throw OutOfRange(key, RealLiteral(number), range.Text());
    }
    throw BadInput(fmt::format("{}: expected values in {}, found {} at step {}", key, range.Text(),
                               RealLiteral(number), step));
  }
  return schedule;
}

std::string ScheduleLiteral(const Schedule& schedule) {
  const bool is_number = schedule.kind() == Schedule::Kind::kConstant;
  return is_number ? schedule.Text() : TomlText(schedule.Text());
}

const char* const kWantsSchedule = "a real number or a schedule such as linear(1e-3, 1e-5, 1e6)";

// ---- Text and lists ----

std::optional<std::string> CleanText(const std::string& key, const TomlValue& value) {
  const std::string* text = std::get_if<std::string>(&value.is);
  if (text == nullptr) return std::nullopt;
  if (!IsCleanUtf8(*text)) {
    throw WrongType(key, "valid UTF-8 without NUL characters", WhatIs(value));
  }
  return *text;
}

template <typename T, typename Convert>
std::optional<std::vector<T>> EachElement(const std::string& key, const std::string& wants,
                                          const TomlValue& value, Convert convert) {
  const auto* list = std::get_if<TomlValue::List>(&value.is);
  if (list == nullptr) return std::nullopt;
  std::vector<T> converted;
  for (const TomlValue& element : *list) {
    std::optional<T> one = convert(element);
    if (!one) throw WrongType(key, wants, WhatIs(element) + " in it");
    converted.push_back(*std::move(one));
  }
  return converted;
}

template <typename T, typename Literal>
std::string ListLiteral(const std::vector<T>& list, Literal literal) {
  std::vector<std::string> elements;
  for (const T& element : list) elements.push_back(literal(element));
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

// ---- Keys ----

bool IsPlainKey(std::string_view key) {
  bool part_started = false;
  for (const char c : key) {
    if (c == '.' && !part_started) return false;
    part_started = c != '.';
    const bool allowed = c == '.' || c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!allowed) return false;
  }
  return part_started;
}

// True for "anderson" and "anderson.memory".
bool IsTableOf(std::string_view table, std::string_view key) {
  return key.size() > table.size() && key.starts_with(table) && key[table.size()] == '.';
}

// "anderson" for "anderson.memory", empty for "seed".
std::string TableName(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string LastPart(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// ---- Free-form tables ----

// Collects the members that a source names.
class GatheredTable {
 public:
  GatheredTable(ConfigField* field, const ConfigEntry& first, bool changes_members)
      : field_(field),
        entry_{.key = field->about.key, .origin = first.origin, .place = first.place} {
    entry_.value = changes_members ? field->Parse(field->write()) : TomlValue{TomlValue::Table()};
  }

  const ConfigField* field() const { return field_; }

  void Add(const ConfigEntry& member) {
    constexpr std::size_t kLeastBytes = 5;  // shortest member: "a":1 and a comma, except the first
    if (members_.size() > kMaxTableBytes / kLeastBytes) {
      throw BadInput(fmt::format("{} has too many members", entry_.key));
    }
    TomlValue value = member.text ? ReadAnyOverride(*member.text) : member.value;
    CheckTableValue(member.key, value);  // separately, so that its own line is blamed
    members_.emplace_back(SplitKey(std::string_view(member.key).substr(entry_.key.size() + 1)),
                          std::move(value));
  }

  // The whole table as one entry.
  ConfigEntry Take() {
    // Sorted, each is appended after the last, so nothing has to move.
    std::ranges::sort(members_, {}, &std::pair<std::vector<std::string>, TomlValue>::first);
    for (auto& [path, value] : members_) {
      SetMember(std::get<TomlValue::Table>(entry_.value.is), path, std::move(value));
    }
    return std::move(entry_);
  }

 private:
  ConfigField* field_;
  ConfigEntry entry_;
  std::vector<std::pair<std::vector<std::string>, TomlValue>> members_;
};

// ---- Text for people ----

std::string Comment(const std::string& text) {
  std::string comment = "#";
  std::size_t column = 1;
  std::size_t begin = 0;
  while ((begin = text.find_first_not_of(" \n", begin)) != std::string::npos) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::size_t length = end - begin;
    if (column > 1 && column + 1 + length > kCommentColumns) {
      comment += "\n#";
      column = 1;
    }
    comment += ' ' + text.substr(begin, length);
    column += 1 + length;
    begin = end;
  }
  return comment + '\n';
}

// A bar would end the cell in a Markdown table.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

std::string CodeCell(const std::string& text) { return text.empty() ? "" : '`' + Cell(text) + '`'; }

}  // namespace

Config::Config() = default;
Config::~Config() = default;

// ---- Declarations ----

void Config::Add(ConfigField field) {
  const std::string& key = field.about.key;
  if (!IsPlainKey(key)) throw std::logic_error("not a configuration key: " + key);
  for (const auto& other : fields_) {
    const std::string& taken = other->about.key;
    if (key == taken || IsTableOf(key, taken) || IsTableOf(taken, key)) {
      throw std::logic_error("configuration key " + key + " clashes with " + taken);
    }
  }
  field.about.origin = "default";
  field.about.default_value = field.write();
  field.read(field.Parse(field.about.default_value));
  fields_.push_back(std::make_unique<ConfigField>(std::move(field)));
}

void Config::Bool(const std::string& key, bool* field, const std::string& meaning) {
  const auto convert = [](const TomlValue& value) -> std::optional<bool> {
    const bool* boolean = std::get_if<bool>(&value.is);
    return boolean == nullptr ? std::nullopt : std::optional(*boolean);
  };
  const auto literal = [](bool value) { return std::string(value ? "true" : "false"); };
  Add(MakeField(field, About(key, "boolean", "true | false", meaning), "true or false", convert,
                literal));
}

void Config::Int(const std::string& key, int* field, IntRange range, const std::string& meaning) {
  using Limits = std::numeric_limits<int>;
  const auto low = static_cast<int>(std::max<std::int64_t>(range.at_least, Limits::min()));
  const auto high = static_cast<int>(std::min<std::int64_t>(range.at_most, Limits::max()));
  Add(IntegerField(key, field, low, high, meaning));
}

void Config::Int(const std::string& key, std::int64_t* field, IntRange range,
                 const std::string& meaning) {
  Add(IntegerField(key, field, range.at_least, range.at_most, meaning));
}

void Config::Int(const std::string& key, std::uint64_t* field, UnsignedRange range,
                 const std::string& meaning) {
  Add(IntegerField(key, field, range.at_least, range.at_most, meaning));
}

void Config::Real(const std::string& key, double* field, RealRange range,
                  const std::string& meaning) {
  const auto convert = [=](const TomlValue& value) { return RealWithin(key, range, value); };
  Add(MakeField(field, About(key, "real", range.Text(), meaning), "a real number", convert,
                RealLiteral));
}

void Config::Scheduled(const std::string& key, Schedule* field, RealRange range,
                       const std::string& meaning) {
  const auto convert = [=](const TomlValue& value) { return ScheduleWithin(key, range, value); };
  Add(MakeField(field, About(key, "schedule", range.Text(), meaning), kWantsSchedule, convert,
                ScheduleLiteral));
}

void Config::Scheduled(const std::string& key, std::optional<Schedule>* field, RealRange range,
                       const std::string& meaning) {
  // The outer optional says whether the type is right.
  const auto convert = [=](const TomlValue& value) -> std::optional<std::optional<Schedule>> {
    const std::string* text = std::get_if<std::string>(&value.is);
    if (text != nullptr && text->empty()) return std::optional<Schedule>();
    std::optional<Schedule> schedule = ScheduleWithin(key, range, value);
    if (!schedule) return std::nullopt;
    return schedule;
  };
  const auto literal = [](const std::optional<Schedule>& schedule) {
    return schedule ? ScheduleLiteral(*schedule) : TomlText("");
  };
  ConfigField scheduled = MakeField(field, About(key, "schedule", range.Text(), meaning),
                                    kWantsSchedule, convert, literal);
  scheduled.wants_text = true;  // an override may be empty
  Add(std::move(scheduled));
}

void Config::Text(const std::string& key, std::string* field, const std::string& meaning,
                  const std::function<void(const std::string&)>& check) {
  const auto convert = [=](const TomlValue& value) { return Passed(CleanText(key, value), check); };
  ConfigField text =
      MakeField(field, About(key, "text", "", meaning), "a string", convert, TomlText);
  text.wants_text = true;
  Add(std::move(text));
}

void Config::List(const std::string& key, std::vector<double>* field, RealRange range,
                  const std::string& meaning,
                  const std::function<void(const std::vector<double>&)>& check) {
  const std::string wants = "a list of real numbers";
  const auto convert = [=](const TomlValue& value) {
    return Passed(EachElement<double>(
                      key, wants, value,
                      [&](const TomlValue& element) { return RealWithin(key, range, element); }),
                  check);
  };
  const auto literal = [](const std::vector<double>& list) {
    return ListLiteral(list, RealLiteral);
  };
  ConfigField reals =
      MakeField(field, About(key, "list of reals", range.Text(), meaning), wants, convert, literal);
  reals.wants_list = true;
  Add(std::move(reals));
}

void Config::List(const std::string& key, std::vector<std::string>* field,
                  const std::string& meaning,
                  const std::function<void(const std::vector<std::string>&)>& check) {
  const std::string wants = "a list of strings";
  const auto convert = [=](const TomlValue& value) {
    return Passed(
        EachElement<std::string>(key, wants, value,
                                 [&](const TomlValue& element) { return CleanText(key, element); }),
        check);
  };
  const auto literal = [](const std::vector<std::string>& list) {
    return ListLiteral(list, TomlText);
  };
  ConfigField texts =
      MakeField(field, About(key, "list of texts", "", meaning), wants, convert, literal);
  texts.wants_text = true;
  texts.wants_list = true;
  Add(std::move(texts));
}

void Config::Table(const std::string& key, std::string* json, const std::string& meaning) {
  const auto convert = [=](const TomlValue& value) -> std::optional<std::string> {
    const auto* table = std::get_if<TomlValue::Table>(&value.is);
    return table == nullptr ? std::nullopt : std::optional(TableToJson(key, *table));
  };
  const auto literal = [=](const std::string& object) {
    const TomlValue::Table table = TableFromJson(key, object);
    (void)TableToJson(key, table);  // refuses what TOML cannot represent
    return TableToToml(table);
  };
  ConfigField table = MakeField(json, About(key, "table", "", meaning),
                                "a table such as {size = 5}", convert, literal);
  table.wants_table = true;
  Add(std::move(table));
}

void Config::AddChoice(const std::string& key, const std::vector<std::string>& names,
                       const std::function<std::size_t()>& get,
                       const std::function<void(std::size_t)>& set, const std::string& meaning) {
  const std::string range = fmt::format("{}", fmt::join(names, " | "));
  const auto read = [=](const TomlValue& value) -> std::optional<Store> {
    const std::optional<std::string> name = CleanText(key, value);
    if (!name) return std::nullopt;
    const auto found = std::find(names.begin(), names.end(), *name);
    if (found == names.end()) {
      throw BadInput(fmt::format("{} = {} is none of {}", key, ShortLiteral(value), range));
    }
    return [set, i = static_cast<std::size_t>(found - names.begin())] { set(i); };
  };
  // A value without a name is a programming error: at() throws std::out_of_range.
  const auto write = [get, names] { return TomlText(names.at(get())); };
  ConfigField choice = {.about = About(key, "choice", range, meaning),
                        .wants = "a string",
                        .wants_text = true,
                        .write = write,
                        .read = read};
  choice.about.choices = names;
  Add(std::move(choice));
}

// ---- Sources ----

ConfigSource ConfigSource::FromFile(const std::string& path) {
  if (path.empty()) throw BadInput("expected a configuration file, found an empty path");
  return FromText(ReadTextFile(path, kMaxBytes), path);
}

ConfigSource ConfigSource::FromText(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes) {
    throw BadInput(fmt::format("{}: longer than the {} bytes of a configuration", name, kMaxBytes));
  }
  std::vector<ConfigEntry> entries;
  for (TomlEntry& entry : ReadToml(text, name)) {
    const std::string place = fmt::format("{}:{}", name, entry.line);
    entries.push_back({entry.key, place, place, std::move(entry.value)});
  }
  ConfigSource source;
  source.entries_ = std::make_shared<const std::vector<ConfigEntry>>(std::move(entries));
  return source;
}

ConfigSource ConfigSource::FromOverride(std::string_view assignment, const std::string& origin) {
  const std::string place = fmt::format("{} {}", origin, Shorten(assignment));
  if (!IsCleanUtf8(assignment)) {
    throw BadInput(place + ": not valid UTF-8, or with a NUL character in it");
  }
  const std::size_t equals = EndOfKey(assignment);
  if (equals == std::string_view::npos) {
    throw BadInput(place + ": expected key=value, found no '='");
  }
  const ConfigEntry entry = {.key = std::string(Trim(assignment.substr(0, equals))),
                             .origin = origin,
                             .place = place,
                             .text = std::string(Trim(assignment.substr(equals + 1)))};
  ConfigSource source;
  source.changes_members_ = true;
  source.entries_ = std::make_shared<const std::vector<ConfigEntry>>(1, entry);
  return source;
}

ConfigSource ConfigSource::FromValue(const std::string& key, const TomlValue& value,
                                     const std::string& place) {
  ConfigSource source;
  source.changes_members_ = true;
  source.entries_ = std::make_shared<const std::vector<ConfigEntry>>(
      1, ConfigEntry{.key = key, .origin = place, .place = place, .value = value});
  return source;
}

std::vector<ConfigSource::Mention> ConfigSource::Mentions() const {
  std::vector<Mention> mentions;
  for (const ConfigEntry& entry : *entries_) mentions.push_back({entry.key, entry.place});
  return mentions;
}

std::optional<ConfigSource::Remark> ConfigSource::TakeRemark(const std::string& name) {
  const auto found = std::ranges::find(*entries_, name, &ConfigEntry::key);
  if (found == entries_->end()) return std::nullopt;
  const auto* text = std::get_if<std::string>(&found->value.is);
  if (text == nullptr) {
    throw BadInput(
        fmt::format("{}: {} wants a string, found {}", found->place, name, WhatIs(found->value)));
  }
  Remark remark{*text, found->place};
  auto rest = std::make_shared<std::vector<ConfigEntry>>(*entries_);
  rest->erase(rest->begin() + (found - entries_->begin()));
  entries_ = std::move(rest);
  return remark;
}

// ---- Reading ----

ConfigField* Config::Find(std::string_view key) const {
  for (const auto& field : fields_) {
    if (field->about.key == key) return field.get();
  }
  return nullptr;
}

// The free-form table that the key is a member of, if any.
ConfigField* Config::FindTableAbove(std::string_view key) const {
  for (const auto& field : fields_) {
    if (field->wants_table && IsTableOf(field->about.key, key)) return field.get();
  }
  return nullptr;
}

bool Config::IsTable(std::string_view key) const {
  return std::any_of(fields_.begin(), fields_.end(),
                     [&](const auto& field) { return IsTableOf(key, field->about.key); });
}

// For an invalid key: it leads below a value, or names a table, or is unknown.
void Config::RefuseKey(const std::string& key, const std::string& found) const {
  std::vector<std::string> keys;
  for (const auto& field : fields_) {
    const std::string& known = field->about.key;
    if (IsTableOf(known, key)) throw WrongType(known, field->wants, "a table");
    if (IsTableOf(key, known)) {
      throw BadInput(
          fmt::format("{} is a table with keys such as {}, found {}", key, known, found));
    }
    keys.push_back(known);
  }
  const std::string suggestion = DidYouMean(key, keys);
  throw BadInput(
      fmt::format("unknown key '{}'{}", Shorten(key),
                  suggestion.empty() ? "; `stableaa config keys` lists them all" : suggestion));
}

// Checks a value and returns a function that stores it.
Store Config::Check(const ConfigEntry& entry) const {
  ConfigField* field = Find(entry.key);
  if (field == nullptr) {
    const auto* table = std::get_if<TomlValue::Table>(&entry.value.is);
    if (!entry.text && table != nullptr && table->empty() && IsTable(entry.key)) return [] {};
    RefuseKey(entry.key, entry.text ? "a value" : WhatIs(entry.value));
  }
  const TomlValue value = entry.text ? field->Parse(*entry.text) : entry.value;
  const std::optional<Store> store = field->read(value);
  if (!store) throw WrongType(entry.key, field->wants, WhatIs(value));
  return [field, origin = entry.origin, store = *store] {
    store();
    field->about.origin = origin;
  };
}

void Config::Apply(const ConfigSource& source) {
  std::vector<Store> stores;
  std::vector<GatheredTable> tables;
  for (const ConfigEntry& entry : *source.entries_) {
    try {
      if (ConfigField* const field = FindTableAbove(entry.key)) {
        auto table = std::ranges::find(tables, field, &GatheredTable::field);
        if (table == tables.end()) {
          tables.emplace_back(field, entry, source.changes_members_);
          table = tables.end() - 1;
        }
        table->Add(entry);
      } else {
        stores.push_back(Check(entry));
      }
    } catch (const Error& error) {
      throw BadInput(entry.place + ": " + error.what());
    }
  }
  for (GatheredTable& table : tables) {
    const ConfigEntry entry = table.Take();
    try {
      stores.push_back(Check(entry));
    } catch (const Error& error) {
      throw BadInput(entry.place + ": " + error.what());
    }
  }
  for (const Store& store : stores) store();
}

void Config::LoadFile(const std::string& path) { Apply(ConfigSource::FromFile(path)); }

void Config::LoadText(std::string_view text, const std::string& name) {
  Apply(ConfigSource::FromText(text, name));
}

void Config::Set(std::string_view assignment, const std::string& origin) {
  Apply(ConfigSource::FromOverride(assignment, origin));
}

// ---- Writing ----

std::vector<ConfigKey> Config::Keys() const {
  std::vector<ConfigKey> keys;
  for (const auto& field : fields_) {
    keys.push_back(field->about);
    keys.back().value = field->write();
  }
  return keys;
}

std::string Config::ToToml(bool comments) const {
  // TOML wants each table's keys together, and keys outside any table first.
  std::vector<std::pair<std::string, std::string>> tables = {{"", ""}};
  for (const ConfigKey& key : Keys()) {
    const std::string table = TableName(key.key);
    auto body = std::find_if(tables.begin(), tables.end(),
                             [&](const auto& known) { return known.first == table; });
    if (body == tables.end()) body = tables.insert(tables.end(), {table, ""});
    if (comments) body->second += Comment(key.meaning + ' ' + key.range);
    body->second += fmt::format("{} = {}\n", LastPart(key.key), key.value);
  }
  std::string text;
  for (const auto& [table, body] : tables) {
    if (!table.empty()) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", table);
    text += body;
  }
  return text;
}

std::string Config::KeysAsMarkdown() const {
  std::string text = "| key | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const ConfigKey& key : Keys()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", CodeCell(key.key), key.type,
                        CodeCell(key.default_value), CodeCell(key.range), Cell(key.meaning));
  }
  return text;
}

}  // namespace stableaa
