#include "stableaa/experiment/suite/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
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

// One entry of the file: one or several values for a key.
struct Given {
  std::string key;  // a configuration key, or env or preset
  std::vector<TomlValue> values;
  std::string place;  // file:line
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
  std::vector<Axis> axes;
};

// BadInput names the file and line.
void Apply(const Given& given, const TomlValue& value, Config& config) {
  config.Apply(ConfigSource::FromValue(given.key, value, given.place));
}

// Reads the keys of the file and its sections.
class SuiteReader {
 public:
  explicit SuiteReader(std::string name) : name_(std::move(name)) {
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
        "title", "env",        "preset",           "seeds",        "threads", "stop",
        "set",   "stop.steps", "stop.eval_return", "stop.minutes", "axes",    "zip"};
    const std::string suggestion = DidYouMean(key, kKeys);
    Refuse(fmt::format("unknown key '{}'{}", Shorten(key),
                       suggestion.empty() ? "; a suite has title, env, preset, seeds, threads, "
                                            "[stop], [set], [axes] and [zip]"
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
      file_.steps = Given{"train.steps", {value}, place_};
      CheckValues(*file_.steps);
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
    file_.set.push_back({key, {value}, place_});
    CheckValues(file_.set.back());
  }

  void TakeAxis(const std::string& section, std::string key, const TomlValue& value) {
    CheckPlace(key, fmt::format("[{}]", section));
    if (key == "train.env" || key == "train.preset") key = LastPart(key);
    Claim(key);
    const auto* list = std::get_if<TomlValue::List>(&value.is);
    if (list == nullptr) RefuseType(fmt::format("{}.{}", section, key), "a list of values", value);
    if (list->empty()) {
      Refuse(fmt::format("{}.{}: expected at least one value, found none", section, key));
    }
    const Given axis{key, *list, place_};
    CheckValues(axis, /*may_be_left=*/true);
    if (section == "zip") {
      zip_.push_back(axis);
    } else {
      file_.axes.push_back({axis});
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

  // A key may appear in one place only.
  void Claim(const std::string& key) {
    const auto [found, is_new] = places_.try_emplace(key, place_);
    if (!is_new) {
      Refuse(fmt::format("{} stands in line {} already", key,
                         found->second.substr(found->second.rfind(':') + 1)));
    }
  }

  // `may_be_left`: "" stands for the preset's value.
  void CheckValues(const Given& given, bool may_be_left = false) const {
    for (const TomlValue& value : given.values) {
      if (may_be_left && IsLeftToThePreset(value)) continue;
      const bool is_table = std::holds_alternative<TomlValue::Table>(value.is);
      if (HoldsOther(value) || (is_table && !TakesTables(given.key))) {
        RefuseType(given.key, "a value", value);
      }
      if (given.key == kEnv) {
        CheckEnv(Text(given.key, value));
      } else if (given.key == kPreset) {
        CheckPreset(Text(given.key, value));
      } else {
        Config config;
        RunOptions options;
        Describe(config, options);
        Apply(given, value, config);
      }
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

  void CheckPreset(const std::string& preset) const {
    try {
      Config config;
      RunOptions options;
      Describe(config, options);
      LoadPreset(config, "", preset);
    } catch (const Error& error) {
      Refuse(error.what());
    }
  }

  void CheckZip() {
    for (const Given& given : zip_) {
      if (given.values.size() == zip_.front().values.size()) continue;
      place_ = given.place;
      Refuse(fmt::format("zip.{} has {} values and zip.{} has {}: those of [zip] advance together",
                         given.key, given.values.size(), zip_.front().key,
                         zip_.front().values.size()));
    }
  }

  const std::string name_;
  std::vector<std::string> run_keys_, table_keys_;
  std::string place_;  // of the entry being read
  SuiteFile file_;
  Axis zip_;
  std::map<std::string, std::string> places_;
};

// ---- The runs ----

std::size_t Length(const Axis& axis) { return axis.front().values.size(); }

// All runs that differ only in their seeds.
struct Variant {
  RunOptions options;
  std::string toml;
  std::string name;  // without environment, preset and seed
  std::vector<std::pair<std::string, std::string>> values;
};

class Expansion {
 public:
  Expansion(const SuiteFile& file, std::string name) : file_(file), name_(std::move(name)) {}

  std::vector<SuiteRun> Runs() {
    CheckCount();
    std::vector<Variant> variants;
    std::vector<std::size_t> choice(file_.axes.size());
    do {
      variants.push_back(Resolve(choice));
    } while (Advance(choice));
    CheckDifferent(variants);

    std::vector<SuiteRun> runs;
    std::set<std::string> taken;
    for (const std::uint64_t seed : file_.seeds) {
      for (const Variant& variant : variants) {
        SuiteRun run{{}, variant.options, variant.values};
        run.options.train.seed = seed;
        run.name = Unused(RunName(run.options.train, variant.name), taken);
        runs.push_back(std::move(run));
      }
    }
    return runs;
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

  Variant Resolve(const std::vector<std::size_t>& choice) const {
    const TrainOptions defaults;
    std::string env = file_.env.empty() ? defaults.env : file_.env;
    std::string preset = file_.preset.empty() ? defaults.preset : file_.preset;
    ForEachChoice(choice, [&](const Given& given, const TomlValue& value) {
      if (given.key == kEnv) env = std::get<std::string>(value.is);
      if (given.key == kPreset) preset = std::get<std::string>(value.is);
    });

    Variant variant;
    Config config;
    Describe(config, variant.options);
    LoadPreset(config, env, preset);
    for (const Given& given : file_.set) Apply(given, given.values.front(), config);
    ForEachChoice(choice, [&](const Given& given, const TomlValue& value) {
      if (given.key == kEnv || given.key == kPreset) return;
      Apply(given, value, config);
      const std::string text = PlainText(value);
      variant.values.emplace_back(given.key, text);
      variant.name +=
          fmt::format("{}{}-{}", variant.name.empty() ? "" : "-", LastPart(given.key), Safe(text));
    });
    if (file_.steps) Apply(*file_.steps, file_.steps->values.front(), config);
    variant.options.train.threads = file_.threads;
    CheckSense(variant);
    variant.toml = config.ToToml(false);
    return variant;
  }

  // Calls `call` for each value of this combination that is not left to the preset.
  template <typename Call>
  void ForEachChoice(const std::vector<std::size_t>& choice, const Call& call) const {
    for (std::size_t i = 0; i < choice.size(); ++i) {
      for (const Given& given : file_.axes[i]) {
        const TomlValue& value = given.values[choice[i]];
        if (!IsLeftToThePreset(value)) call(given, value);
      }
    }
  }

  std::string Where(const Variant& variant) const {
    return fmt::format("{}: {}", name_, RunName(variant.options.train, variant.name));
  }

  void CheckSense(const Variant& variant) const {
    try {
      CheckTrainable(variant.options);
    } catch (const Error& error) {
      throw BadInput(fmt::format("{}: {}", Where(variant), error.what()));
    }
    if (file_.stop.eval_return && variant.options.eval.interval_steps == 0) {
      throw BadInput(fmt::format(
          "{}: stop.eval_return needs evaluations, but eval.interval_steps is 0", Where(variant)));
    }
  }

  void CheckDifferent(const std::vector<Variant>& variants) const {
    std::map<std::string_view, std::size_t> numbers;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const auto [found, is_new] = numbers.try_emplace(variants[i].toml, i);
      if (is_new) continue;
      throw BadInput(fmt::format("{}: combinations {} and {} of the axes are the same run, {}",
                                 name_, found->second + 1, i + 1,
                                 RunName(variants[i].options.train, variants[i].name)));
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
      SuiteAxis axis{given.key, {}};
      for (const TomlValue& value : given.values) axis.values.push_back(PlainText(value));
      axes.push_back(std::move(axis));
    }
  }
  return axes;
}

}  // namespace

void Suite::SetThreads(int threads) {
  for (SuiteRun& run : runs) run.options.train.threads = threads;
}

Suite ParseSuite(std::string_view text, const std::string& name) {
  const SuiteFile file = SuiteReader(name).Read(text);
  return {.title = file.title,
          .text = std::string(text),
          .stop = file.stop,
          .seeds = file.seeds,
          .axes = AxesForPeople(file),
          .runs = Expansion(file, name).Runs()};
}

Suite ReadSuite(const std::filesystem::path& file) {
  return ParseSuite(ReadTextFile(file, kMostSuiteBytes), Shorten(file.string(), 200));
}

std::string RunName(const TrainOptions& train, const std::string& variant) {
  std::string name = fmt::format("{}-{}", Safe(train.env), Safe(train.preset));
  if (!variant.empty()) name += fmt::format("-{}", variant);
  return fmt::format("{}-{}", Safe(name), train.seed);
}

}  // namespace stableaa
