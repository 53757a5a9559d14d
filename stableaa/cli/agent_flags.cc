#include "stableaa/cli/agent_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/trust.h"

namespace stableaa {
namespace {

// Looks only at these settings: the run's other values are not the user's doing here.
void WarnOfIdleSettings(const std::vector<std::string>& settings, const std::string& env) {
  RunOptions options;
  Config config;
  Describe(config, options);
  const std::vector<ConfigKey> before = config.Keys();
  for (const std::string& setting : settings) config.Set(setting);
  options.train.env = env;
  WarnOfIdleKeys(before, config, IdleKeys(options));
}

std::string HowToTrust(const UntrustedCode& refused) {
  std::vector<std::string> named;
  if (refused.code().module) named.push_back(fmt::format("--env {}", ShellWord(refused.env())));
  if (const auto& python = refused.code().python) {
    named.push_back(fmt::format("--set {}", ShellWord("env.python=" + *python)));
  }
  if (!refused.code().wrappers.empty()) {
    RunOptions options;
    options.env.wrappers = refused.code().wrappers;
    for (const ConfigKey& key : AllKeys(options)) {
      if (key.key == "env.wrappers") {
        named.push_back(fmt::format("--set {}", ShellWord("env.wrappers=" + key.value)));
      }
    }
  }
  return fmt::format("to run it, add --trust, or name it yourself: {}", fmt::join(named, " "));
}

// On failure, the message names the flags that help.
SavedAgent ReadAgent(const SavedAgentSource& source) {
  try {
    return SavedAgent(source);
  } catch (const UntrustedCode& refused) {
    throw BadInput(fmt::format("{}; {}", refused.what(), HowToTrust(refused)));
  } catch (const IncompleteSource& error) {
    throw BadInput(error.what() + std::string(error.lack() == IncompleteSource::Lack::kBestWeights
                                                  ? "; --weights latest takes the newest"
                                                  : ": give --env, such as minatar/breakout"));
  }
}

}  // namespace

void AgentFlags::AddSourceTo(CLI::App& added_to, const KeyUse& uses) {
  command = added_to.get_name();
  use = uses;
  added_to.add_option("RUN", path, "Directory of a run, or a weights file")
      ->required()
      ->type_name("DIR|FILE.safetensors");
  added_to
      .add_option(
          "--env", env,
          "Environment (default: the run's, which its weights files name too; those of other "
          "programs need it, such as minatar/breakout, and their network if it is not the usual "
          "one: --set network.layers=..., --set agent.head=dueling, --set agent.algorithm=td3)")
      ->type_name("ID");
  added_to
      .add_option("--weights", weights,
                  "Which weights of the run: the newest, or those of the best evaluation "
                  "(default: latest)")
      ->check(CLI::IsMember({"latest", "best"}).description(""))
      ->type_name("latest|best");
  added_to
      .add_option("--set", settings,
                  "Value for a key of the run's configuration, such as eval.protocol=machado; may "
                  "be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  AddTrustFlag(added_to, &trust);
}

void AgentFlags::AddAtTo(CLI::App& added_to) {
  added_to
      .add_option("--at", at, "Weights that the run kept in this step (checkpoint.keep_weights)")
      ->transform(WholeBetween(0, std::uint64_t{1} << 40))
      ->excludes(added_to.get_option("--weights"))
      ->type_name("STEP");
}

void AgentFlags::AddTo(CLI::App& added_to, const std::string& default_episodes,
                       const KeyUse& uses) {
  AddSourceTo(added_to, uses);
  added_to
      .add_option("--episodes", episodes,
                  fmt::format("Games, with all their lives (default: {})", default_episodes))
      ->transform(WholeBetween(1, 1'000'000))
      ->type_name("N in [1, 1000000]");
  AddSeedFlag(added_to, &seed, "Seed of environment and agent (default: 1)");
}

void AgentFlags::RequireOutputs(
    const std::vector<std::pair<std::string_view, std::optional<std::string>>>& outputs) const {
  std::vector<FlagAndPath> taken = {{"RUN", path}};
  for (const auto& [flag, output] : outputs) {
    if (!output) continue;
    RequireAnotherFile({flag, *output}, taken);
    RequireNoFileOfRun({flag, *output});
    taken.emplace_back(flag, *output);
  }
}

SavedAgent AgentFlags::Load() const {
  using Weights = SavedAgentSource::Weights;
  std::error_code unknown;
  if ((weights || at) && std::filesystem::is_regular_file(path, unknown)) {
    throw BadInput(fmt::format("{} chooses among those of a run, and {} is a file",
                               at ? "--at" : "--weights", Shorten(path)));
  }
  for (const std::string& setting : settings) {
    RequireUse(ConfigSource::FromOverride(setting), command, use);
  }
  SavedAgent agent = ReadAgent({.path = path,
                                .weights = weights == "best" ? Weights::kBest : Weights::kLatest,
                                .step = at,
                                .env = env,
                                .settings = settings,
                                .trust = trust});
  WarnOfIdleSettings(settings, agent.options().train.env);
  return agent;
}

}  // namespace stableaa
