// Keys that have no effect given the other options: agent.eta where no weights are computed,
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

// All idle keys of a run with these options, each once. The table in idle_keys.cc is the only place
// that knows them: add a new key there if it depends on another.
std::vector<IdleKey> IdleKeys(const RunOptions& options);

// Only keys env.*. Throws BadInput for an id that does not exist.
std::vector<IdleKey> IdleEnvironmentKeys(const std::string& env);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_IDLE_KEYS_H_
