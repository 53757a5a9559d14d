// stableaa config keys | show: what can be configured, and what a configuration resolves to.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "stableaa/base/config.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"

namespace stableaa {
namespace {

struct ConfigCommand {
  SettingsFlags flags;
  bool json = false;
  bool markdown = false;
};

// TOML's literals are JSON's, except for the infinities.
nlohmann::json JsonValue(const std::string& literal) {
  nlohmann::json value = nlohmann::json::parse(literal, nullptr, false);
  return value.is_discarded() ? nlohmann::json() : value;
}

void PrintKeys(const ConfigCommand& command) {
  Settings settings;
  Config config;
  Describe(config, settings);
  if (command.markdown) {
    fmt::print("{}", config.KeysAsMarkdown());
    return;
  }
  for (const ConfigKey& key : config.Keys()) {
    if (command.json) {
      nlohmann::ordered_json object = {{"key", key.key},
                                       {"type", key.type},
                                       {"default", JsonValue(key.default_value)},
                                       {"range", key.range},
                                       {"meaning", key.meaning}};
      if (!key.choices.empty()) object["choices"] = key.choices;
      fmt::print("{}\n", object.dump());
    } else {
      fmt::print("{} = {}\n    {}, {}\n    {}\n", key.key, key.default_value, key.type, key.range,
                 key.meaning);
    }
  }
}

void PrintResolved(const ConfigCommand& command) {
  Settings settings;
  Config config;
  Describe(config, settings);
  command.flags.Apply(config);
  if (!command.json) {
    fmt::print("{}", config.ToToml());
    return;
  }
  nlohmann::ordered_json object;
  for (const ConfigKey& key : config.Keys()) object[key.key] = JsonValue(key.value);
  fmt::print("{}\n", object.dump());
}

}  // namespace

void AddConfigCommand(CLI::App& program) {
  auto command = std::make_shared<ConfigCommand>();
  CLI::App* config =
      program.add_subcommand("config", "List the configuration keys, or show a configuration");
  config->require_subcommand(1);
  config->footer("Example: stableaa config show --preset stable-aa\n");

  CLI::App* keys = config->add_subcommand("keys", "Every key: default, type, range, meaning");
  auto* json = keys->add_flag("--json", command->json, "One JSON object per key");
  keys->add_flag("--markdown", command->markdown, "A Markdown table, as in docs/configuration.md")
      ->excludes(json);
  keys->footer("Example: stableaa config keys --json\n");
  keys->callback([command] { PrintKeys(*command); });

  CLI::App* show =
      config->add_subcommand("show", "Every key with its value, as TOML that --config reads back");
  command->flags.AddPresetTo(*show);
  command->flags.AddTo(*show);
  show->add_flag("--json", command->json, "One JSON object: keys and values");
  show->footer(
      "Example: stableaa config show --preset stable-aa --env minatar/breakout > my.toml\n");
  show->callback([command] { PrintResolved(*command); });
}

}  // namespace stableaa
