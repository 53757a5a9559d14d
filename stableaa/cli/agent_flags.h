// The flags of the commands that take a saved agent: eval, play and export.
#ifndef STABLEAA_CLI_AGENT_FLAGS_H_
#define STABLEAA_CLI_AGENT_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/cli/settings.h"
#include "stableaa/rl/run/saved_agent.h"

namespace CLI {
class App;
}

namespace stableaa {

// Must live as long as the command's callbacks.
struct AgentFlags {
  std::string path;
  std::optional<std::string> env, weights;
  std::optional<std::int64_t> at;  // the step of kept weights
  std::vector<std::string> settings;
  std::optional<std::int64_t> episodes;
  std::uint64_t seed = 1;
  bool trust = false;

  std::string command;  // for messages
  KeyUse use;

  // Those that say which agent: RUN, --env, --weights, --set, --trust. `uses` are the keys of a run
  // that --set may change.
  void AddSourceTo(CLI::App& added_to, const KeyUse& uses);
  // --at STEP, for commands that take the weights of one step.
  void AddAtTo(CLI::App& added_to);
  // Also those that say how it plays: --episodes, --seed. `default_episodes` is how many there are
  // without the flag.
  void AddTo(CLI::App& added_to, const std::string& default_episodes, const KeyUse& uses);

  // Throws BadInput if one of these, a flag and its path, is RUN, a file of a run, or another one.
  void RequireOutputs(
      const std::vector<std::pair<std::string_view, std::optional<std::string>>>& outputs) const;

  // Warns of settings that the environment does not use.
  SavedAgent Load() const;
};

}  // namespace stableaa

#endif  // STABLEAA_CLI_AGENT_FLAGS_H_
