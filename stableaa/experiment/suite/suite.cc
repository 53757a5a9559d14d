#include "stableaa/experiment/suite/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <variant>

#include "stableaa/base/config/config.h"
#include "stableaa/base/config/toml_values.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/text/json_table.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa {
namespace {

constexpr std::size_t kMostSuiteBytes = std::size_t{1} << 20;
// File names are limited to 255 bytes, which must also hold the seed, a suffix and ".tmp".
constexpr std::size_t kMaxName = 180;
constexpr int kMaxThreads = 1024;
constexpr std::size_t kMaxLabel = 100;

constexpr std::string_view kEnv = "env";
constexpr std::string_view kPreset = "preset";

// ---- Values ----

// For people and names: 1 for 1.0, raa for "raa".
std::string PlainText(const TomlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.is)) return *text;
  if (const auto* real = std::get_if<double>(&value.is)) return fmt::format("{}", *real);
  if (const auto* list = std::get_if<TomlValue::List>(&value.is)) {
    std::vector<std::string> elements;
    for (const TomlValue& element : *list) elements.push_back(PlainText(element));
    return fmt::format("[{}]", fmt::join(elements, ", "));
  }
  if (const auto* table = std::get_if<TomlValue::Table>(&value.is)) return TableToToml(*table);
  return ShortLiteral(value);
}

bool HoldsOther(const TomlValue& value) {
  const auto* list = std::get_if<TomlValue::List>(&value.is);
  return std::holds_alternative<TomlValue::Other>(value.is) ||
         (list != nullptr && std::ranges::any_of(*list, HoldsOther));
}

bool IsLeftToThePreset(const TomlValue& value) {
  const auto* text = std::get_if<std::string>(&value.is);
  return text != nullptr && text->empty();
}

std::string Safe(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool kept = letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    // "[16, 16]" gets one hyphen between the numbers and none around them.
    if (kept || (!safe.empty() && safe.back() != '-')) safe += kept ? c : '-';
  }
  while (safe.ends_with('-')) safe.pop_back();
  if (safe.size() <= kMaxName) return safe;
  // A hash of the full name keeps shortened names distinct, whatever else is in the suite.
  const auto mark = static_cast<std::uint32_t>(RandomStream(0, text)());
  return fmt::format("{}-{:08x}", safe.substr(0, kMaxName - 9), mark);
}

// "eta" of "agent.eta".
std::string LastPart(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// ---- The file ----

// A value for a configuration key, or for env or preset.
struct Setting {
  std::string key;
  TomlValue value;
};

// One value of an axis: what it sets, nothing if it leaves all to the preset.
struct Choice {
  std::string text;  // for people
  std::vector<Setting> settings = {};
};

// One entry of the file: one or several values for a key.
struct Given {
  enum class Kind { kKey, kTables, kDraws };

  std::string key;  // a configuration key, or env or preset, or the name of an axis of tables
  std::vector<Choice> choices;
  std::string place;  // file:line
  Kind kind = Kind::kKey;
};

// Axes that advance together.
using Axis = std::vector<Given>;

struct SuiteFile {
  std::string title, env, preset;
  std::vector<std::uint64_t> seeds = {1};
  int threads = 1;
  std::optional<Given> steps;
  StopRules stop;
  std::vector<Given> set;
  std::vector<ConfigSource> overrides;
  std::vector<Axis> axes;  // the draws of a search are the last one
  std::optional<SearchPlan> search;
  std::map<std::string, PresetKeys> presets;  // that the file names, by how it does
};

// BadInput names the file and line.
void ApplyAll(const Given& given, const Choice& choice, Config& config) {
  for (const Setting& setting : choice.settings) {
    if (setting.key == kEnv || setting.key == kPreset) continue;
    config.Apply(ConfigSource::FromValue(setting.key, setting.value, given.place));
  }
}

// "env" and "preset" for their long names.
std::string ShortKey(const std::string& key) {
  return key == "train.env" || key == "train.preset" ? LastPart(key) : key;
}

// Whether a value for one of the keys is, or is part of, a value for the other. `env` is short for
// train.env, not the table of the keys env.*.
bool Overlap(const std::string& a, const std::string& b) {
  const auto is_within = [](const std::string& key, const std::string& table) {
    return table != "env" && key.starts_with(table + '.');
  };
  return a == b || is_within(a, b) || is_within(b, a);
}

// The settings of a table, with dotted keys.
void Flatten(const TomlValue::Table& table, const std::string& prefix,
             const std::function<bool(const std::string&)>& takes_tables,
             std::vector<Setting>& settings) {
  for (const TomlValue::Member& member : table) {
    const std::string key = prefix + member.key;
    const auto* inner = std::get_if<TomlValue::Table>(&member.value.is);
    if (inner == nullptr || takes_tables(key)) {
      settings.push_back({ShortKey(key), member.value});
    } else {
      Flatten(*inner, key + '.', takes_tables, settings);
    }
  }
}

// "stable-aa, targets 3"
std::string LabelFor(const std::vector<Setting>& settings) {
  std::vector<std::string> parts;
  for (const Setting& setting : settings) {
    const bool is_name = setting.key == kEnv || setting.key == kPreset;
    const std::string text = PlainText(setting.value);
    const std::string part = is_name ? text : fmt::format("{} {}", LastPart(setting.key), text);
    parts.insert(setting.key == kPreset ? parts.begin() : parts.end(), part);
  }
  return parts.empty() ? "base" : fmt::format("{}", fmt::join(parts, ", "));
}

// Reads the keys of the file and its sections.
class SuiteReader {
 public:
  SuiteReader(std::string name, const SuiteContext& context)
      : name_(std::move(name)), context_(context) {
    for (const ConfigKey& key : AllKeys({})) {
      run_keys_.push_back(key.key);
      if (key.type == "table") table_keys_.push_back(key.key);
    }
  }

  SuiteFile Read(std::string_view text) {
    for (const TomlEntry& entry : ReadToml(text, name_)) {
      place_ = fmt::format("{}:{}", name_, entry.line);
      Take(entry.key, entry.value);
    }
    CheckZip();
    if (!zip_.empty()) file_.axes.push_back(zip_);
    TakeSearch();
    for (const ConfigSource& source : context_.overrides) TakeOverride(source);
    if (file_.env.empty()) file_.env = TrainOptions().env;
    if (file_.preset.empty()) file_.preset = TrainOptions().preset;
    CheckPreset(file_.preset);
    return std::move(file_);
  }

 private:
  [[noreturn]] void Refuse(const std::string& message) const {
    throw BadInput(fmt::format("{}: {}", place_, message));
  }

  [[noreturn]] void RefuseType(const std::string& key, const std::string& wants,
                               const TomlValue& value) const {
    Refuse(fmt::format("{} wants {}, found {}", key, wants, WhatIs(value)));
  }

  void Take(const std::string& key, const TomlValue& value) {
    const std::size_t dot = key.find('.');
    const std::string section = key.substr(0, dot);
    const bool is_table =
        section == "stop" || section == "set" || section == "axes" || section == "zip";
    if (is_table && dot == std::string::npos) {
      if (!std::holds_alternative<TomlValue::Table>(value.is)) RefuseType(key, "a table", value);
    } else if (section == "stop") {
      TakeStop(key, value);
    } else if (section == "set") {
      TakeSet(key.substr(dot + 1), value);
    } else if (section == "axes" || section == "zip") {
      TakeAxis(section, key.substr(dot + 1), value);
    } else if (section == "search") {
      search_.Take(key, value, place_);
    } else {
      TakeHead(key, value);
    }
  }

  void TakeHead(const std::string& key, const TomlValue& value) {
    if (key == "title") {
      file_.title = Text(key, value);
    } else if (key == kEnv) {
      file_.env = Text(key, value);
      CheckEnv(file_.env);
    } else if (key == kPreset) {
      file_.preset = Text(key, value);
      CheckPreset(file_.preset);
    } else if (key == "seeds") {
      file_.seeds = Seeds(WholeRealToInteger(value));
    } else if (key == "threads") {
      const TomlValue number = WholeRealToInteger(value);
      const auto* threads = std::get_if<std::int64_t>(&number.is);
      if (threads == nullptr || *threads < 1 || *threads > kMaxThreads) {
        RefuseType(key, fmt::format("an integer in [1, {}]", kMaxThreads), value);
      }
      file_.threads = static_cast<int>(*threads);
    } else {
      RefuseKey(key);
    }
  }

  [[noreturn]] void RefuseKey(const std::string& key) const {
    if (std::ranges::find(run_keys_, key) != run_keys_.end()) {
      Refuse(fmt::format("the key '{}' of runs belongs in [set] or [axes]", key));
    }
    static const std::vector<std::string> kKeys = {
        "title", "env",        "preset",           "seeds",        "threads", "stop",  "set",
        "axes",  "stop.steps", "stop.eval_return", "stop.minutes", "zip",     "search"};
    const std::string suggestion = DidYouMean(key, kKeys);
    Refuse(fmt::format("unknown key '{}'{}", Shorten(key),
                       suggestion.empty() ? "; a suite has title, env, preset, seeds, threads, "
                                            "[stop], [set], [axes], [zip] and [search]"
                                          : suggestion));
  }

  std::string Text(const std::string& key, const TomlValue& value) const {
    const auto* text = std::get_if<std::string>(&value.is);
    if (text == nullptr || !IsCleanUtf8(*text)) RefuseType(key, "a string", value);
    return *text;
  }

  double Number(const std::string& key, const TomlValue& value) const {
    if (const auto* whole = std::get_if<std::int64_t>(&value.is)) {
      return static_cast<double>(*whole);
    }
    const auto* real = std::get_if<double>(&value.is);
    if (real == nullptr || !std::isfinite(*real)) RefuseType(key, "a number", value);
    return *real;
  }

  std::vector<std::uint64_t> Seeds(const TomlValue& value) const {
    std::vector<std::uint64_t> seeds;
    if (const auto* list = std::get_if<TomlValue::List>(&value.is)) {
      if (list->empty()) Refuse("seeds: expected at least one, found none");
      for (const TomlValue& seed : *list) seeds.push_back(Seed(WholeRealToInteger(seed)));
    } else {
      const auto* count = std::get_if<std::int64_t>(&value.is);
      const auto limit = static_cast<std::int64_t>(kMaxSuiteRuns);
      if (count == nullptr || *count < 1 || *count > limit) {
        RefuseType("seeds", fmt::format("a list of seeds, or their number in [1, {}]", limit),
                   value);
      }
      for (std::int64_t seed = 1; seed <= *count; ++seed) {
        seeds.push_back(static_cast<std::uint64_t>(seed));
      }
    }
    std::set<std::uint64_t> seen;
    for (const std::uint64_t seed : seeds) {
      if (!seen.insert(seed).second) Refuse(fmt::format("seeds has {} twice", seed));
    }
    return seeds;
  }

  // Like train.seed: values beyond TOML's integers are strings of digits.
  std::uint64_t Seed(const TomlValue& value) const {
    if (const auto* whole = std::get_if<std::int64_t>(&value.is); whole != nullptr && *whole >= 0) {
      return static_cast<std::uint64_t>(*whole);
    }
    if (const auto* digits = std::get_if<std::string>(&value.is)) {
      std::uint64_t seed = 0;
      const char* const end = digits->data() + digits->size();
      const auto [stop, error] = std::from_chars(digits->data(), end, seed);
      if (error == std::errc() && stop == end && !digits->empty()) return seed;
    }
    RefuseType("seeds", "integers of at least 0", value);
  }

  void TakeStop(const std::string& key, const TomlValue& value) {
    if (key == "stop.steps") {
      file_.steps = Single("train.steps", value);
    } else if (key == "stop.eval_return") {
      file_.stop.eval_return = Number(key, value);
    } else if (key == "stop.minutes") {
      file_.stop.minutes = Number(key, value);
      if (*file_.stop.minutes <= 0) RefuseType(key, "a number above 0", value);
    } else {
      RefuseKey(key);
    }
  }

  void TakeSet(const std::string& key, const TomlValue& value) {
    CheckPlace(key, "[set]");
    if (key == kEnv || key == kPreset || key == "train.env" || key == "train.preset") {
      Refuse(fmt::format("{0} has no place in [set]: write '{0} = ...' above all tables",
                         LastPart(key)));
    }
    Claim(key);
    file_.set.push_back(Single(key, value));
  }

  // One value for a key, checked.
  Given Single(const std::string& key, const TomlValue& value) {
    CheckValue(key, value);
    return {key, {{PlainText(value), {{key, value}}}}, place_};
  }

  void TakeAxis(const std::string& section, const std::string& long_key, const TomlValue& value) {
    const std::string key = ShortKey(long_key);
    const auto* tables = std::get_if<TomlValue::List>(&value.is);
    if (tables != nullptr && IsNameOfTables(key, *tables)) {
      AddAxis(section, TablesAxis(section, key, *tables));
      return;
    }
    CheckPlace(key, fmt::format("[{}]", section));
    Claim(key);
    const auto* list = std::get_if<TomlValue::List>(&value.is);
    if (list == nullptr) RefuseType(fmt::format("{}.{}", section, key), "a list of values", value);
    if (list->empty()) {
      Refuse(fmt::format("{}.{}: expected at least one value, found none", section, key));
    }
    Given axis{key, {}, place_};
    for (const TomlValue& one : *list) {
      Choice& choice = axis.choices.emplace_back(Choice{PlainText(one)});
      if (IsLeftToThePreset(one)) continue;
      CheckValue(key, one);
      choice.settings = {{key, one}};
    }
    AddAxis(section, std::move(axis));
  }

  void AddAxis(const std::string& section, Given axis) {
    if (section == "zip") {
      zip_.push_back(std::move(axis));
    } else {
      file_.axes.push_back({std::move(axis)});
    }
  }

  // Whether these are tables of keys, rather than values of a key that takes tables.
  bool IsNameOfTables(const std::string& key, const TomlValue::List& list) const {
    const auto is_table = [](const TomlValue& value) {
      return std::holds_alternative<TomlValue::Table>(value.is);
    };
    return std::ranges::any_of(list, is_table) && !TakesTables(key) && key != kEnv &&
           key != kPreset && std::ranges::find(run_keys_, key) == run_keys_.end();
  }

  Given TablesAxis(const std::string& section, const std::string& name,
                   const TomlValue::List& list) {
    const std::string axis_name = fmt::format("{}.{}", section, Shorten(name));
    const bool is_plain = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    });
    const bool has_keys_below = std::ranges::any_of(
        run_keys_, [&name](const std::string& key) { return key.starts_with(name + '.'); });
    if (!is_plain || has_keys_below || name == "label" || name == "draw") {
      Refuse(
          fmt::format("{}: an axis of tables wants a name of its own, of letters, digits, _ and "
                      "-, such as variant",
                      axis_name));
    }
    Claim(name);
    Given axis{name, {}, place_, Given::Kind::kTables};
    std::set<std::string> labels, keys;
    for (const TomlValue& value : list) {
      const auto* table = std::get_if<TomlValue::Table>(&value.is);
      if (table == nullptr) RefuseType(axis_name, "tables only", value);
      Choice choice = TableChoice(axis_name, *table);
      if (!labels.insert(choice.text).second) {
        Refuse(fmt::format("{} has the label '{}' twice", axis_name, Shorten(choice.text)));
      }
      for (const Setting& setting : choice.settings) keys.insert(setting.key);
      axis.choices.push_back(std::move(choice));
    }
    for (const std::string& key : keys) ClaimAlone(key);
    return axis;
  }

  Choice TableChoice(const std::string& axis, const TomlValue::Table& table) {
    Choice choice;
    Flatten(
        table, "", [this](const std::string& key) { return TakesTables(key); }, choice.settings);
    std::set<std::string> seen;
    std::erase_if(choice.settings, [&](const Setting& setting) {
      if (!seen.insert(setting.key).second) {
        Refuse(fmt::format("{} sets {} twice", axis, Shorten(setting.key)));
      }
      if (IsLeftToThePreset(setting.value) && setting.key != "label") return true;
      if (setting.key == "label") {
        choice.text = Text(axis + ": label", setting.value);
        const bool is_shown = !Trim(choice.text).empty() && choice.text.size() <= kMaxLabel &&
                              Shorten(choice.text, kMaxLabel) == choice.text;
        if (!is_shown) {
          RefuseType(axis + ": label", fmt::format("printable text of at most {} bytes", kMaxLabel),
                     setting.value);
        }
        return true;
      }
      CheckPlace(setting.key, axis);
      CheckValue(setting.key, setting.value);
      return false;
    });
    if (choice.text.empty()) choice.text = LabelFor(choice.settings);
    return choice;
  }

  void TakeSearch() {
    file_.search = search_.Finish();
    if (!file_.search) return;
    Given draws{"draw", {}, file_.search->place, Given::Kind::kDraws};
    for (const SearchKey& key : file_.search->keys) {
      place_ = key.place;
      CheckPlace(key.key, "[search]");
      ClaimAlone(key.key);
    }
    place_ = file_.search->place;
    for (const std::vector<TomlValue>& point : DrawPoints(*file_.search)) {
      Choice choice{fmt::format("{}", draws.choices.size() + 1)};
      for (std::size_t k = 0; k < point.size(); ++k) {
        choice.settings.push_back({file_.search->keys[k].key, point[k]});
      }
      draws.choices.push_back(std::move(choice));
    }
    file_.axes.push_back({std::move(draws)});
  }

  void TakeOverride(const ConfigSource& source) {
    RunOptions options;
    Config config;
    Describe(config, options);
    config.Apply(source);
    for (const ConfigSource::Mention& mention : source.Mentions()) {
      place_ = mention.place;
      const std::string key = ShortKey(mention.key);
      if (key != "train.steps") CheckPlace(key, "an override");
      RefuseIfVaries(key);
      if (key == kEnv) {
        file_.env = options.train.env;
        CheckEnv(file_.env);
      } else if (key == kPreset) {
        file_.preset = options.train.preset;
        CheckPreset(file_.preset);
      } else {
        if (key == "train.steps") file_.steps.reset();
        file_.overrides.push_back(source);
      }
    }
  }

  // Refuses keys that belong elsewhere in the file.
  void CheckPlace(const std::string& key, const std::string& section) const {
    const std::pair<std::string_view, std::string_view> own[] = {
        {"train.seed", "seeds"}, {"train.steps", "[stop] steps"}, {"train.threads", "threads"}};
    for (const auto& [run_key, place] : own) {
      if (key == run_key) {
        Refuse(
            fmt::format("{} has no place in {}: '{}' says it for all runs", key, section, place));
      }
    }
    if (key.find('"') != std::string::npos) {
      Refuse(fmt::format("unknown key {}; keys are written without quotes: agent.eta = ...",
                         Shorten(key)));
    }
  }

  void RefuseIfVaries(const std::string& key) const {
    for (const Axis& axis : file_.axes) {
      for (const Given& given : axis) {
        for (const Choice& choice : given.choices) {
          for (const Setting& setting : choice.settings) {
            if (!Overlap(key, setting.key)) continue;
            Refuse(fmt::format("{} varies in the suite, {}", Shorten(setting.key), given.place));
          }
        }
      }
    }
  }

  // A key may appear in one place only.
  void Claim(const std::string& key) {
    const auto [found, is_new] = places_.try_emplace(key, place_);
    if (!is_new) RefuseTaken(key, found->second);
  }

  // Nor may a part of it, or a table that it is part of.
  void ClaimAlone(const std::string& key) {
    for (const auto& [taken, place] : places_) {
      if (Overlap(key, taken)) RefuseTaken(taken, place);
    }
    Claim(key);
  }

  [[noreturn]] void RefuseTaken(const std::string& key, const std::string& place) const {
    Refuse(fmt::format("{} stands in line {} already", Shorten(key),
                       place.substr(place.rfind(':') + 1)));
  }

  void CheckValue(const std::string& key, const TomlValue& value) {
    const bool is_table = std::holds_alternative<TomlValue::Table>(value.is);
    if (HoldsOther(value) || (is_table && !TakesTables(key))) RefuseType(key, "a value", value);
    if (key == kEnv) {
      CheckEnv(Text(key, value));
    } else if (key == kPreset) {
      CheckPreset(Text(key, value));
      RequireOwnName(Text(key, value));
    } else {
      Config config;
      RunOptions options;
      Describe(config, options);
      config.Apply(ConfigSource::FromValue(key, value, place_));
    }
  }

  // Free-form tables and their contents.
  bool TakesTables(const std::string& key) const {
    return std::ranges::any_of(table_keys_, [&key](const std::string& table) {
      return key == table || key.starts_with(table + '.');
    });
  }

  void CheckEnv(const std::string& env) const {
    try {
      if (!env.empty()) (void)NormalizedId(env);
    } catch (const UnknownEnvironment& error) {
      throw UnknownEnvironment(fmt::format("{}: {}", place_, error.what()));
    }
  }

  // A file is read only once.
  void CheckPreset(const std::string& preset) {
    if (file_.presets.contains(preset)) return;
    try {
      file_.presets[preset] = ReadPreset(preset, context_.folder);
    } catch (const Error& error) {
      Refuse(error.what());
    }
  }

  // Two files with one name could not be told apart.
  void RequireOwnName(const std::string& preset) const {
    const std::string& name = file_.presets.at(preset).name;
    for (const auto& [other, keys] : file_.presets) {
      if (other == preset || keys.name != name) continue;
      Refuse(fmt::format("the presets {} and {} would both be called '{}'", Shorten(other),
                         Shorten(preset), Shorten(name)));
    }
  }

  void CheckZip() {
    for (const Given& given : zip_) {
      if (given.choices.size() == zip_.front().choices.size()) continue;
      place_ = given.place;
      Refuse(fmt::format("zip.{} has {} values and zip.{} has {}: those of [zip] advance together",
                         given.key, given.choices.size(), zip_.front().key,
                         zip_.front().choices.size()));
    }
  }

  const std::string name_;
  const SuiteContext& context_;
  std::vector<std::string> run_keys_, table_keys_;
  std::string place_;  // of the entry being read
  SuiteFile file_;
  Axis zip_;
  SearchReader search_;
  std::map<std::string, std::string> places_;
};

// ---- The runs ----

std::size_t Length(const Axis& axis) { return axis.front().choices.size(); }

// All runs that differ only in their seeds.
struct SeededRuns {
  RunOptions options;
  std::string toml;
  std::string name;  // without environment, preset and seed
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> labels;  // of all axes but environments and draws
  std::size_t draw = 0;
};

// The part of a run's name that an axis of tables contributes. Labels with equal letters get a mark.
std::string NameOfLabel(const Given& axis, const std::string& label) {
  std::string safe = Safe(label);
  const auto same = std::ranges::count_if(
      axis.choices, [&safe](const Choice& choice) { return Safe(choice.text) == safe; });
  if (!safe.empty() && same == 1) return safe;
  const auto mark = static_cast<std::uint32_t>(RandomStream(0, label)());
  return fmt::format("{}{}{:08x}", safe, safe.empty() ? "" : "-", mark);
}

class Expansion {
 public:
  Expansion(const SuiteFile& file, std::string name) : file_(file), name_(std::move(name)) {}

  // Fills in runs, variants and the rungs of the search.
  void Expand(Suite& suite) {
    CheckCount();
    std::vector<SeededRuns> all;
    std::vector<std::size_t> choice(file_.axes.size());
    do {
      all.push_back(Resolve(choice));
    } while (Advance(choice));
    CheckDifferent(all);
    if (suite.search) FitSearch(all, *suite.search);

    std::set<std::string> taken;
    for (const std::uint64_t seed : file_.seeds) {
      for (const SeededRuns& runs : all) {
        SuiteRun run{{}, runs.options, runs.values};
        run.options.train.seed = seed;
        run.name = Unused(RunName(run.options.train, runs.name), taken);
        run.draw = runs.draw;
        run.label = LabelOf(runs);
        run.variant = NumberOf(runs, suite.variants);
        suite.runs.push_back(std::move(run));
      }
    }
  }

 private:
  void CheckCount() const {
    std::size_t room = kMaxSuiteRuns / file_.seeds.size();
    for (const Axis& axis : file_.axes) room /= Length(axis);
    if (room > 0) return;
    throw BadInput(fmt::format("{}: more than {} runs, {} seeds times the lengths of the axes",
                               name_, kMaxSuiteRuns, file_.seeds.size()));
  }

  // Moves to the next combination; the last axis changes fastest.
  bool Advance(std::vector<std::size_t>& choice) const {
    for (std::size_t i = choice.size(); i-- > 0;) {
      if (++choice[i] < Length(file_.axes[i])) return true;
      choice[i] = 0;
    }
    return false;
  }

  SeededRuns Resolve(const std::vector<std::size_t>& choice) const {
    std::string env = file_.env, preset = file_.preset;
    ForEachChoice(choice, [&](const Given&, const Choice& chosen) {
      for (const Setting& setting : chosen.settings) {
        if (setting.key == kEnv) env = std::get<std::string>(setting.value.is);
        if (setting.key == kPreset) preset = std::get<std::string>(setting.value.is);
      }
    });

    SeededRuns runs;
    Config config;
    Describe(config, runs.options);
    LoadPreset(config, env, file_.presets.at(preset));
    for (const Given& given : file_.set) ApplyAll(given, given.choices.front(), config);
    for (const ConfigSource& source : file_.overrides) config.Apply(source);
    ForEachChoice(choice, [&](const Given& given, const Choice& chosen) {
      ApplyAll(given, chosen, config);
      Note(given, chosen, runs);
    });
    if (file_.steps) ApplyAll(*file_.steps, file_.steps->choices.front(), config);
    runs.options.train.threads = file_.threads;
    CheckSense(runs);
    runs.toml = config.ToToml(false);
    return runs;
  }

  // Adds what the choice means to names, labels and values.
  static void Note(const Given& given, const Choice& chosen, SeededRuns& runs) {
    const auto add_name = [&runs](const std::string& part) {
      runs.name += fmt::format("{}{}", runs.name.empty() ? "" : "-", part);
    };
    if (given.kind == Given::Kind::kDraws) {
      runs.draw = static_cast<std::size_t>(&chosen - given.choices.data()) + 1;
      add_name("draw-" + chosen.text);
      for (const Setting& setting : chosen.settings) {
        runs.values.emplace_back(setting.key, PlainText(setting.value));
      }
    } else if (given.kind == Given::Kind::kTables) {
      runs.labels.push_back(chosen.text);
      runs.values.emplace_back(given.key, chosen.text);
      const std::string name = NameOfLabel(given, chosen.text);
      if (name != Safe(runs.options.train.preset)) add_name(name);
    } else if (given.key == kPreset) {
      runs.labels.push_back(runs.options.train.preset);
    } else if (given.key != kEnv) {
      runs.labels.push_back(fmt::format("{} {}", LastPart(given.key), chosen.text));
      runs.values.emplace_back(given.key, chosen.text);
      add_name(fmt::format("{}-{}", LastPart(given.key), Safe(chosen.text)));
    }
  }

  // Calls `call` for each choice of this combination that is not left to the preset.
  template <typename Call>
  void ForEachChoice(const std::vector<std::size_t>& choice, const Call& call) const {
    for (std::size_t i = 0; i < choice.size(); ++i) {
      for (const Given& given : file_.axes[i]) {
        const Choice& chosen = given.choices[choice[i]];
        if (given.kind != Given::Kind::kKey || !chosen.settings.empty()) call(given, chosen);
      }
    }
  }

  // Without environment and draw.
  static std::string VariantOf(const SeededRuns& runs) {
    return runs.labels.empty() ? runs.options.train.preset
                               : fmt::format("{}", fmt::join(runs.labels, ", "));
  }

  static std::size_t NumberOf(const SeededRuns& runs, std::vector<std::string>& variants) {
    const std::string variant = VariantOf(runs);
    const auto found = std::ranges::find(variants, variant);
    const auto number = static_cast<std::size_t>(found - variants.begin());
    if (found == variants.end()) variants.push_back(variant);
    return number;
  }

  std::string LabelOf(const SeededRuns& runs) const {
    const bool has_tables = std::ranges::any_of(file_.axes, [](const Axis& axis) {
      return std::ranges::any_of(
          axis, [](const Given& given) { return given.kind == Given::Kind::kTables; });
    });
    if (runs.draw > 0) return fmt::format("{}, draw {}", VariantOf(runs), runs.draw);
    return has_tables ? VariantOf(runs) : "";
  }

  // A search judges by evaluations, at the same steps of all runs.
  void FitSearch(const std::vector<SeededRuns>& all, SearchPlan& plan) const {
    const std::int64_t steps = all.front().options.train.steps;
    if (plan.halving && file_.stop.minutes) {
      throw BadInput(
          fmt::format("{}: search.halving has no use for stop.minutes, which make runs "
                      "depend on the machine",
                      plan.halving->place));
    }
    for (const SeededRuns& runs : all) {
      if (runs.options.train.steps != steps) {
        throw BadInput(fmt::format(
            "{}: a search wants one number of steps for all runs: stop.steps", plan.place));
      }
    }
    SetRungs(plan, steps);
    for (const SeededRuns& runs : all) {
      const std::int64_t interval = runs.options.eval.interval_steps;
      if (interval == 0) {
        throw BadInput(fmt::format("{}: a search needs evaluations, but eval.interval_steps is 0",
                                   Where(runs)));
      }
      if (plan.rung_steps.size() > 1 && interval > plan.rung_steps.front()) {
        throw BadInput(fmt::format(
            "{}: the first rung of search.halving ends in step {}, before the first evaluation "
            "(eval.interval_steps is {})",
            Where(runs), plan.rung_steps.front(), interval));
      }
    }
  }

  std::string Where(const SeededRuns& runs) const {
    return fmt::format("{}: {}", name_, RunName(runs.options.train, runs.name));
  }

  void CheckSense(const SeededRuns& runs) const {
    try {
      CheckTrainable(runs.options);
    } catch (const Error& error) {
      throw BadInput(fmt::format("{}: {}", Where(runs), error.what()));
    }
    if (file_.stop.eval_return && runs.options.eval.interval_steps == 0) {
      throw BadInput(fmt::format(
          "{}: stop.eval_return needs evaluations, but eval.interval_steps is 0", Where(runs)));
    }
  }

  void CheckDifferent(const std::vector<SeededRuns>& all) const {
    std::map<std::string_view, std::size_t> numbers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto [found, is_new] = numbers.try_emplace(all[i].toml, i);
      if (is_new) continue;
      throw BadInput(fmt::format("{}: combinations {} and {} of the axes are the same run, {}",
                                 name_, found->second + 1, i + 1,
                                 RunName(all[i].options.train, all[i].name)));
    }
  }

  static std::string Unused(const std::string& name, std::set<std::string>& taken) {
    std::string unused = name;
    for (int number = 2; !taken.insert(unused).second; ++number) {
      unused = fmt::format("{}-{}", name, number);
    }
    return unused;
  }

  const SuiteFile& file_;
  const std::string name_;
};

std::vector<SuiteAxis> AxesForPeople(const SuiteFile& file) {
  std::vector<SuiteAxis> axes;
  for (const Axis& together : file.axes) {
    for (const Given& given : together) {
      if (given.kind == Given::Kind::kDraws) continue;
      SuiteAxis axis{given.key, {}};
      for (const Choice& choice : given.choices) axis.values.push_back(choice.text);
      axes.push_back(std::move(axis));
    }
  }
  return axes;
}

}  // namespace

void Suite::SetThreads(int threads) {
  for (SuiteRun& run : runs) run.options.train.threads = threads;
}

Suite ParseSuite(std::string_view text, const std::string& name, const SuiteContext& context) {
  const SuiteFile file = SuiteReader(name, context).Read(text);
  Suite suite{.title = file.title,
              .text = std::string(text),
              .stop = file.stop,
              .seeds = file.seeds,
              .axes = AxesForPeople(file),
              .runs = {},
              .search = file.search};
  Expansion(file, name).Expand(suite);
  for (const ConfigSource& source : context.overrides) {
    for (const ConfigSource::Mention& mention : source.Mentions()) {
      suite.text += fmt::format("\n# and over it: {}\n", mention.place);
    }
  }
  return suite;
}

Suite ReadSuite(const std::filesystem::path& file, const std::vector<ConfigSource>& overrides) {
  return ParseSuite(ReadTextFile(file, kMostSuiteBytes), Shorten(file.string(), 200),
                    {.folder = file.parent_path(), .overrides = overrides});
}

std::string RunName(const TrainOptions& train, const std::string& variant) {
  std::string name = fmt::format("{}-{}", Safe(train.env), Safe(train.preset));
  if (!variant.empty()) name += fmt::format("-{}", variant);
  return fmt::format("{}-{}", Safe(name), train.seed);
}

}  // namespace stableaa
