// The TOML files of configs/families, configs/presets and configs/tuned, compiled in.
#ifndef STABLEAA_RL_RUN_BUILT_IN_CONFIGS_H_
#define STABLEAA_RL_RUN_BUILT_IN_CONFIGS_H_

#include <span>
#include <string_view>

namespace stableaa {

struct BuiltInConfig {
  std::string_view name;  // "families/atari", "presets/stable-aa"
  std::string_view text;
};

// By name.
std::span<const BuiltInConfig> BuiltInConfigs();

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_BUILT_IN_CONFIGS_H_
