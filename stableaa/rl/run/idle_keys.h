// Keys that change nothing as the other options are: agent.eta where no weights are computed,
// env.protocol where no Atari is played. A user who sets one expects an effect, so it is reported.
#ifndef STABLEAA_RL_RUN_IDLE_KEYS_H_
#define STABLEAA_RL_RUN_IDLE_KEYS_H_

#include <string>
#include <vector>

#include "stableaa/rl/run/run_options.h"

namespace stableaa {

struct IdleKey {
  std::string key;
  std::string reason;  // `agent.mixer = "single"`, `classic/cartpole does not use it`
};

// All of a run with these options, each once. The table in idle_keys.cc is the one place that knows
// them: a new key that depends on another goes there.
std::vector<IdleKey> IdleKeys(const RunOptions& options);

// Keys env.* alone. BadInput for an id that does not exist.
std::vector<IdleKey> IdleEnvironmentKeys(const std::string& env);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_IDLE_KEYS_H_
