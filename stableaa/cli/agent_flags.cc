#include "stableaa/cli/agent_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "stableaa/base/error.h"
#include "stableaa/base/plain_text.h"
#include "stableaa/cli/flag_checks.h"

namespace stableaa {

void AgentFlags::AddTo(CLI::App& command, const std::string& default_episodes) {
  command.add_option("RUN", path, "Directory of a run, or a weights file")
      ->required()
      ->type_name("DIR|FILE.safetensors");
  command
      .add_option(
          "--env", env,
          "Environment (default: the run's, which its weights files name too; those of other "
          "programs need it, such as minatar/breakout)")
      ->type_name("ID");
  command
      .add_option("--weights", weights,
                  "Which weights of the run: the newest, or those of the best evaluation "
                  "(default: latest)")
      ->check(CLI::IsMember({"latest", "best"}).description(""))
      ->type_name("latest|best");
  command
      .add_option("--episodes", episodes,
                  fmt::format("Games, with all their lives (default: {})", default_episodes))
      ->transform(WholeBetween(1, 1'000'000))
      ->type_name("N in [1, 1000000]");
  AddSeedFlag(command, &seed, "Seed of environment and agent (default: 1)");
  command
      .add_option("--set", settings,
                  "Value for a key of the run's configuration, such as eval.protocol=machado; may "
                  "be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  AddTrustFlag(command, &trust);
}

SavedAgent AgentFlags::Load() const {
  using Weights = SavedAgentSource::Weights;
  std::error_code unknown;
  if (weights && std::filesystem::is_regular_file(path, unknown)) {
    throw BadInput(
        fmt::format("--weights chooses among those of a run, and {} is a file", Shorten(path)));
  }
  return SavedAgent({.path = path,
                     .weights = weights == "best" ? Weights::kBest : Weights::kLatest,
                     .env = env,
                     .settings = settings,
                     .trust = trust});
}

}  // namespace stableaa
