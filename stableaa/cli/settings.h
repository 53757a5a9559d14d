// Every option that the configuration knows, in one struct, and the flags by which a command takes
// them: --preset, --env, --config FILE and --set key=value.
#ifndef STABLEAA_CLI_SETTINGS_H_
#define STABLEAA_CLI_SETTINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/base/config.h"
#include "stableaa/rl/run_options.h"

namespace CLI {
class App;
}

namespace stableaa {

struct Settings {
  RunOptions run;
  AcceleratorOptions anderson;
};

// All keys of the program; `stableaa config keys` and docs/configuration.md list them.
void Describe(Config& config, Settings& settings);

// The flags of one command. Lives as long as the command's callbacks.
struct SettingsFlags {
  std::optional<std::string> preset, env;
  std::optional<std::string> config_file;
  std::vector<std::string> overrides;

  void AddTo(CLI::App& command);
  // --preset and --env besides.
  void AddPresetTo(CLI::App& command);

  // Defaults < family of the environment < preset < --config < --set, in the order given. Where no
  // flag names environment or preset, train.env and train.preset of --config and --set do; where
  // they do neither, families and presets are left out.
  void Apply(Config& config) const;
  Settings Resolve() const;
};

}  // namespace stableaa

#endif  // STABLEAA_CLI_SETTINGS_H_
