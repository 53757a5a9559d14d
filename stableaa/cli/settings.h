// Every option that the configuration knows, in one struct, and the flags by which a command takes
// them: --config FILE and --set key=value.
#ifndef STABLEAA_CLI_SETTINGS_H_
#define STABLEAA_CLI_SETTINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/base/config.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/optimizer.h"

namespace CLI {
class App;
}

namespace stableaa {

struct Settings {
  AcceleratorOptions anderson;
  OptimizerOptions optimizer;
  EnvironmentOptions env;
};

// All keys of the program; `stableaa config keys` and docs/configuration.md list them.
void Describe(Config& config, Settings& settings);

// The flags of one command. Lives as long as the command's callbacks.
struct SettingsFlags {
  std::optional<std::string> config_file;
  std::vector<std::string> overrides;

  void AddTo(CLI::App& command);

  // Defaults < --config < --set, in the order given.
  void Apply(Config& config) const;
  Settings Resolve() const;
};

}  // namespace stableaa

#endif  // STABLEAA_CLI_SETTINGS_H_
