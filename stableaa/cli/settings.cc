#include "stableaa/cli/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// "anderson." for "anderson.memory".
std::string TableOf(const std::string& key) { return key.substr(0, key.find('.')) + '.'; }

// Whether `key`, a key or a table, equals `wanted` or is in that table.
bool IsIn(const std::string& key, const std::string& wanted) {
  return key == wanted || (wanted.ends_with('.') && (key + '.').starts_with(wanted)) ||
         wanted.empty();
}

bool IsInAny(const std::string& key, const std::vector<std::string>& wanted) {
  return std::ranges::any_of(wanted, [&](const std::string& one) { return IsIn(key, one); });
}

// A key, a member of a free-form table, or a table of keys.
bool Exists(const std::string& key) {
  static const std::vector<ConfigKey> kKeys = [] {
    Settings settings;
    Config config;
    Describe(config, settings);
    return config.Keys();
  }();
  return std::ranges::any_of(kKeys, [&](const ConfigKey& known) {
    return key == known.key || known.key.starts_with(key + '.') ||
           (known.type == "table" && key.starts_with(known.key + '.'));
  });
}

// The commands that use keys of this table.
std::string UsersOf(const std::string& table) {
  if (table == "anderson.") return "'solve', 'bench anderson' and 'bench solve'";
  if (table == "env.") return "'train', 'env rollout' and others that play";
  if (table == "optimizer.") return "'train' and 'bench nn'";
  return "'train'";
}

std::string WhyUnused(const std::string& key, const KeyUse& use) {
  for (const KeyUse::Exception& exception : use.except) {
    if (IsInAny(key, exception.keys)) return exception.why;
  }
  const std::string table = TableOf(key);
  return fmt::format("keys {}* are for {}", table, UsersOf(table));
}

bool Uses(const KeyUse& use, const std::string& key) {
  if (std::ranges::find(use.used, key) != use.used.end()) return true;
  const bool excepted = std::ranges::any_of(
      use.except, [&](const KeyUse::Exception& exception) { return IsInAny(key, exception.keys); });
  return IsInAny(key, use.used) && !excepted;
}

std::vector<ConfigSource> ReadSources(const SettingsFlags& flags) {
  std::vector<ConfigSource> sources;
  if (flags.config_file) sources.push_back(ConfigSource::FromFile(*flags.config_file));
  for (const std::string& assignment : flags.overrides) {
    sources.push_back(ConfigSource::FromOverride(assignment));
  }
  return sources;
}

// The choice made by the sources alone. Also finds mistakes in them.
RunChoice ChoiceOf(const std::vector<ConfigSource>& sources) {
  Settings settings;
  Config config;
  Describe(config, settings);
  for (const ConfigSource& source : sources) config.Apply(source);
  RunChoice choice;
  for (const ConfigKey& key : config.Keys()) {
    if (key.origin == "default") continue;
    if (key.key == "train.env") choice.env = settings.run.train.env;
    if (key.key == "train.preset") choice.preset = settings.run.train.preset;
  }
  return choice;
}

// Whether the preset is a mere label: a file with every key of a run, such as its config.toml, needs
// no preset, and the one that it names may have been a file.
bool IsLabelOf(const ConfigSource& file, const std::string& preset) {
  const std::vector<Preset> built_in = Presets();
  if (std::ranges::find(built_in, preset, &Preset::name) != built_in.end()) return false;
  const std::vector<ConfigSource::Mention> mentions = file.Mentions();
  const std::vector<ConfigKey> keys = AllKeys({});
  return ChoiceOf({file}).preset == preset &&
         std::ranges::all_of(keys, [&mentions](const ConfigKey& key) {
           return std::ranges::any_of(mentions, [&key](const ConfigSource::Mention& mention) {
             return mention.key == key.key || mention.key.starts_with(key.key + '.');
           });
         });
}

std::string FirstOf(const std::optional<std::string>& flag, const std::string& given,
                    const std::string& otherwise) {
  if (flag) return *flag;
  return given.empty() ? otherwise : given;
}

// "train", "bench anderson".
std::string NameOf(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  const bool is_nested = parent != nullptr && parent->get_parent() != nullptr;
  return (is_nested ? NameOf(*parent) + ' ' : std::string()) + command.get_name();
}

}  // namespace

void Describe(Config& config, Settings& settings) {
  Describe(config, settings.run);
  Describe(config, settings.anderson);
}

KeyUse KeyUse::Runs() {
  KeyUse use;
  for (const ConfigKey& key : AllKeys({})) {
    const std::string table = TableOf(key.key);
    if (std::ranges::find(use.used, table) == use.used.end()) use.used.push_back(table);
  }
  return use;
}

void RequireUse(const ConfigSource& source, const std::string& command, const KeyUse& use) {
  for (const ConfigSource::Mention& mention : source.Mentions()) {
    if (Uses(use, mention.key) || !Exists(mention.key)) continue;
    throw BadInput(fmt::format("{}: '{}' has no use for {}: {}", mention.place, command,
                               Shorten(mention.key), WhyUnused(mention.key, use)));
  }
}

void WarnOfIdleKeys(const std::vector<ConfigKey>& before, const Config& config,
                    const std::vector<IdleKey>& idle) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // and their keys
  const std::vector<ConfigKey> now = config.Keys();
  for (const IdleKey& one : idle) {
    const auto key = std::ranges::find(now, one.key, &ConfigKey::key);
    const auto former = std::ranges::find(before, one.key, &ConfigKey::key);
    if (key == now.end() || key->origin == former->origin) continue;
    if (key->origin != "--set" && key->value == former->value) continue;
    auto reason =
        std::ranges::find_if(reasons, [&](const auto& r) { return r.first == one.reason; });
    if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {one.reason, {}});
    reason->second.push_back(fmt::format("{} ({})", one.key, Shorten(key->origin, 200)));
  }
  for (const auto& [reason, keys] : reasons) {
    LogWarning(fmt::format("{} {} no effect: {}", fmt::join(keys, ", "),
                           keys.size() == 1 ? "has" : "have", reason));
  }
}

void SetByFlag(Config& config, const std::string& key, const std::string& value,
               const std::string& flag) {
  const auto find = [&] {
    const std::vector<ConfigKey> keys = config.Keys();
    return *std::ranges::find(keys, key, &ConfigKey::key);
  };
  const ConfigKey former = find();
  config.Set(fmt::format("{}={}", key, value), flag);
  if (former.origin == "--set" && former.value != find().value) {
    LogWarning(fmt::format("{}={} (--set) has no effect: {} says {}", key, Shorten(former.value),
                           flag, Shorten(value)));
  }
}

void SettingsFlags::AddTo(CLI::App& added_to, const KeyUse& uses) {
  command = NameOf(added_to);
  use = uses;
  added_to.add_option("--config", config_file, "TOML file with values for configuration keys")
      ->type_name("FILE");
  added_to
      .add_option("--set", overrides,
                  "Value for one key ('stableaa config keys' lists them); may be repeated, wins "
                  "over --config")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
}

void SettingsFlags::AddPresetTo(CLI::App& added_to) {
  std::vector<std::string> names;
  for (const Preset& known : Presets()) names.push_back(known.name);
  added_to
      .add_option("--preset", preset,
                  "Agent: a built-in one, or a TOML file of keys whose 'preset' names the one to "
                  "start from (default: stable-aa)")
      ->type_name(fmt::format("{}|FILE.toml", fmt::join(names, "|")));
  added_to
      .add_option("--env", env,
                  "Environment ('stableaa env list' shows all); its family (atari, minatar, "
                  "classic) sets defaults (default: minatar/breakout)")
      ->type_name("ID");
}

std::vector<ConfigKey> SettingsFlags::Apply(Config& config, const RunChoice& otherwise) const {
  if (preset && preset->empty()) {
    throw BadInput("--preset: expected a name or a file, found nothing");
  }
  const std::vector<ConfigSource> sources = ReadSources(*this);
  const RunChoice given = ChoiceOf(sources);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const bool is_file = config_file && i == 0;
    RequireUse(sources[i], command, is_file && use.takes_files_of_runs ? KeyUse::Runs() : use);
  }
  const std::string chosen_env = FirstOf(env, given.env, otherwise.env);
  const std::string chosen_preset = FirstOf(preset, given.preset, otherwise.preset);
  const bool is_label = !preset && config_file && IsLabelOf(sources.front(), chosen_preset);
  const PresetKeys keys = is_label ? PresetKeys{chosen_preset} : ReadPreset(chosen_preset);
  LoadPreset(config, chosen_env, keys);
  std::vector<ConfigKey> before = config.Keys();
  for (const ConfigSource& source : sources) config.Apply(source);
  // The choice itself, with the environment in its canonical spelling.
  if (!chosen_env.empty()) {
    const std::string id = NormalizedId(chosen_env);
    const bool same = given.env.empty() || NormalizedId(given.env) == id;
    same ? config.Set(fmt::format("train.env={}", id), "--env")
         : SetByFlag(config, "train.env", id, "--env");
  }
  if (preset) {
    SetByFlag(config, "train.preset", keys.name, "--preset");
  } else if (!keys.name.empty()) {
    config.Set(fmt::format("train.preset={}", keys.name), "--preset");
  }
  return before;
}

Settings SettingsFlags::Resolve(const RunChoice& otherwise) const {
  Settings settings;
  Config config;
  Describe(config, settings);
  Apply(config, otherwise);
  return settings;
}

}  // namespace stableaa
