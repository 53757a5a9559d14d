// Every option that the configuration knows, in one struct, and the flags by which a command takes
// them: --preset, --env, --config FILE and --set key=value.
#ifndef STABLEAA_CLI_SETTINGS_H_
#define STABLEAA_CLI_SETTINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/base/config/config.h"
#include "stableaa/rl/run/idle_keys.h"
#include "stableaa/rl/run/run_options.h"

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

// Which keys a command uses. All others are errors, so that nothing is silently ignored.
struct KeyUse {
  // Keys, or tables with a dot behind: "anderson.". "" is everything.
  std::vector<std::string> used;

  // Of these tables, what it does not use after all.
  struct Exception {
    std::vector<std::string> keys;
    std::string why;  // "it measures full steps"
  };
  std::vector<Exception> except = {};

  // In --config all keys of a run are welcome, so that the config.toml of one can be measured.
  bool takes_files_of_runs = false;

  static KeyUse Everything() { return {{""}}; }
  static KeyUse Runs();  // all keys of a run
};

// BadInput, naming the place and what the key is for, if `command` does not use one that the source
// has. Keys that do not exist are left to Config.
void RequireUse(const ConfigSource& source, const std::string& command, const KeyUse& use);

// One warning for each reason why keys that the user has set change nothing. `before`: the keys as
// they would be without the user. A key in a file counts only if its value differs from that: the
// config.toml of a run has every key.
void WarnOfIdleKeys(const std::vector<ConfigKey>& before, const Config& config,
                    const std::vector<IdleKey>& idle);

// `key`=`value` by a flag of its own, which wins over --config and --set. Warns if --set says
// something else.
void SetByFlag(Config& config, const std::string& key, const std::string& value,
               const std::string& flag);

// Environment and preset; empty: none.
struct RunChoice {
  std::string env, preset;
};

// The flags of one command. Lives as long as the command's callbacks.
struct SettingsFlags {
  std::optional<std::string> preset, env;
  std::optional<std::string> config_file;
  std::vector<std::string> overrides;
  std::string command;  // for messages
  KeyUse use = KeyUse::Everything();

  void AddTo(CLI::App& added_to, const KeyUse& uses);
  // --preset and --env besides.
  void AddPresetTo(CLI::App& added_to);

  // Defaults < family of the environment < preset < --config < --set, in the order given. Where no
  // flag names environment or preset, train.env and train.preset of --config and --set do, unless
  // they are empty, then `otherwise`; without any, families and presets are left out. Every source
  // is read once: it may be a pipe. Returns the keys as they are without --config and --set.
  std::vector<ConfigKey> Apply(Config& config, const RunChoice& otherwise = {}) const;
  Settings Resolve(const RunChoice& otherwise = {}) const;
};

}  // namespace stableaa

#endif  // STABLEAA_CLI_SETTINGS_H_
