#include "stableaa/cli/settings.h"

#include <CLI/CLI.hpp>

namespace stableaa {

void Describe(Config& config, Settings& settings) {
  Describe(config, settings.anderson);
  Describe(config, settings.optimizer);
  Describe(config, settings.env);
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

void SettingsFlags::Apply(Config& config) const {
  if (config_file) config.LoadFile(*config_file);
  for (const std::string& assignment : overrides) config.Set(assignment);
}

Settings SettingsFlags::Resolve() const {
  Settings settings;
  Config config;
  Describe(config, settings);
  Apply(config);
  return settings;
}

}  // namespace stableaa
