#include "stableaa/cli/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace stableaa {
namespace {

void ApplySources(const SettingsFlags& flags, Config& config) {
  if (flags.config_file) config.LoadFile(*flags.config_file);
  for (const std::string& assignment : flags.overrides) config.Set(assignment);
}

// The value that --config or --set gives to a key, if any.
std::string Given(const SettingsFlags& flags, const std::string& key,
                  std::string TrainOptions::*member) {
  Settings settings;
  Config config;
  Describe(config, settings);
  ApplySources(flags, config);
  for (const ConfigKey& entry : config.Keys()) {
    if (entry.key == key && entry.origin != "default") return settings.run.train.*member;
  }
  return "";
}

}  // namespace

void Describe(Config& config, Settings& settings) {
  Describe(config, settings.run);
  Describe(config, settings.anderson);
}

void SettingsFlags::AddTo(CLI::App& command) {
  command.add_option("--config", config_file, "TOML file with values for configuration keys")
      ->type_name("FILE");
  command
      .add_option("--set", overrides,
                  "Value for one key ('stableaa config keys' lists them); may be repeated, wins "
                  "over --config")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
}

void SettingsFlags::AddPresetTo(CLI::App& command) {
  std::vector<std::string> names;
  for (const Preset& known : Presets()) names.push_back(known.name);
  command.add_option("--preset", preset, "Agent (default: stable-aa)")
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
  command
      .add_option("--env", env,
                  "Environment ('stableaa env list' shows all); its family (atari, minatar, "
                  "classic) sets defaults (default: minatar/breakout)")
      ->type_name("ID");
}

void SettingsFlags::Apply(Config& config) const {
  LoadPreset(config, env ? *env : Given(*this, "train.env", &TrainOptions::env),
             preset ? *preset : Given(*this, "train.preset", &TrainOptions::preset));
  ApplySources(*this, config);
  if (env) config.Set(fmt::format("train.env={}", NormalizedId(*env)), "--env");
  if (preset) config.Set(fmt::format("train.preset={}", *preset), "--preset");
}

Settings SettingsFlags::Resolve() const {
  Settings settings;
  Config config;
  Describe(config, settings);
  Apply(config);
  return settings;
}

}  // namespace stableaa
