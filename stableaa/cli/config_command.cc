// stableaa config keys | show: what can be configured, and what a configuration resolves to.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "stableaa/base/config/config.h"
#include "stableaa/base/config/schedule.h"
#include "stableaa/base/text/json_table.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"

namespace stableaa {
namespace {

struct ConfigCommand {
  SettingsFlags flags;
  bool json = false;
  bool markdown = false;
};

nlohmann::json JsonValue(const ConfigKey& key, const std::string& literal) {
  return nlohmann::json::parse(LiteralToJson(key.key, key.type, literal));
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
                                       {"default", JsonValue(key, key.default_value)},
                                       {"range", key.range},
                                       {"meaning", key.meaning}};
      if (!key.choices.empty()) object["choices"] = key.choices;
      fmt::print("{}\n", JsonText(object));
    } else {
      fmt::print("{} = {}\n    {}, {}\n    {}\n", key.key, key.default_value, key.type, key.range,
                 key.meaning);
    }
  }
  if (!command.json) fmt::print("\n{}", ScheduleForms());
}

// With an environment or a preset, this is the configuration of a run, without the keys of other
// commands, which `train --config` would refuse.
void PrintResolved(const ConfigCommand& command) {
  SettingsFlags flags = command.flags;
  Settings settings;
  Config config;
  if (flags.env || flags.preset) {
    flags.use.except = {
        {{"anderson."}, "with --env or --preset it shows a run, which has no keys anderson.*"}};
    Describe(config, settings.run);
  } else {
    Describe(config, settings);
  }
  flags.Apply(config);
  if (!command.json) {
    fmt::print("{}", config.ToToml());
    return;
  }
  nlohmann::ordered_json object;
  for (const ConfigKey& key : config.Keys()) object[key.key] = JsonValue(key, key.value);
  fmt::print("{}\n", JsonText(object));
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
  keys->footer(fmt::format(
      "{}Example: stableaa config keys --json\n"
      "         stableaa config show --set 'optimizer.learning_rate=linear(1e-3, 1e-5, 1e6)'\n",
      ScheduleForms()));
  keys->callback([command] { PrintKeys(*command); });

  CLI::App* show =
      config->add_subcommand("show", "Every key with its value, as TOML that --config reads back");
  command->flags.AddPresetTo(*show);
  command->flags.AddTo(*show, KeyUse::Everything());
  show->add_flag("--json", command->json, "One JSON object: keys and values");
  show->footer(
      "With --env or --preset only the keys of a run: 'stableaa train --config' takes the output.\n"
      "Example: stableaa config show --preset stable-aa --env minatar/breakout > my.toml\n");
  show->callback([command] { PrintResolved(*command); });
}

}  // namespace stableaa
