// Every configurable option in one struct, and the flags that set them: --preset, --env, --config
// FILE and --set key=value.
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

// All keys of the program, as `stableaa config keys` and docs/configuration.md list them.
void Describe(Config& config, Settings& settings);

// Which keys a command uses. All others are errors: nothing is silently ignored.
struct KeyUse {
  // Keys, or tables with a trailing dot: "anderson.". "" is everything.
  std::vector<std::string> used;

  // Keys of these tables that the command does not use.
  struct Exception {
    std::vector<std::string> keys;
    std::string why;  // "it measures full steps"
  };
  std::vector<Exception> except = {};

  // --config may contain all keys of a run, so that a run's config.toml can be measured.
  bool takes_files_of_runs = false;

  static KeyUse Everything() { return {{""}}; }
  static KeyUse Runs();  // all keys of a run
};

// BadInput if the source has a key that `command` does not use; the message says where it is and
// what the key is for. Unknown keys are left to Config.
void RequireUse(const ConfigSource& source, const std::string& command, const KeyUse& use);

// Warns of keys that the user set and that have no effect, once per reason. `before` has the keys
// without the user's settings. A key in a file counts only if its value differs from that, because
// a run's config.toml has every key.
void WarnOfIdleKeys(const std::vector<ConfigKey>& before, const Config& config,
                    const std::vector<IdleKey>& idle);

// Sets `key` to the value of a dedicated flag, which overrides --config and --set. Warns if --set
// says something else.
void SetByFlag(Config& config, const std::string& key, const std::string& value,
               const std::string& flag);

// Empty: none.
struct RunChoice {
  std::string env, preset;
};

// The flags of one command. Must live as long as the command's callbacks.
struct SettingsFlags {
  std::optional<std::string> preset, env;
  std::optional<std::string> config_file;
  std::vector<std::string> overrides;
  std::string command;  // for messages
  KeyUse use = KeyUse::Everything();

  void AddTo(CLI::App& added_to, const KeyUse& uses);
  // Adds --preset and --env.
  void AddPresetTo(CLI::App& added_to);

  // Defaults < family of the environment < preset < --config < --set, in the order given.
  // Environment and preset come from their flags, else from train.env and train.preset in --config
  // and --set, else from `otherwise`; if nothing names them, families and presets are left out.
  // Every source is read only once, since it may be a pipe. Returns the keys as they are without
  // --config and --set.
  std::vector<ConfigKey> Apply(Config& config, const RunChoice& otherwise = {}) const;
  Settings Resolve(const RunChoice& otherwise = {}) const;
};

}  // namespace stableaa

#endif  // STABLEAA_CLI_SETTINGS_H_
