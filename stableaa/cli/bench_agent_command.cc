// stableaa bench update, bench act and bench train: the speed of an update, of a decision and of
// the whole loop.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/base/machine.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/network.h"
#include "stableaa/rl/control/control_agent.h"
#include "stableaa/rl/control/control_benchmark.h"
#include "stableaa/rl/run/train_benchmark.h"
#include "stableaa/rl/value/dqn_agent.h"
#include "stableaa/rl/value/update_benchmark.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

struct AgentBench {
  SettingsFlags settings;
  std::optional<std::string> network = {};  // none: the usual one for the preset
  int threads = 1;
  double seconds = 10;
  bool json = false;
};

// "nature" for "nature-dueling": the preset chooses the head.
std::string Family(const std::string& network) { return network.substr(0, network.find('-')); }

// Sizes of the networks of agents with continuous actions.
constexpr const char* kControlNetwork = "half_cheetah";

std::string NetworkName(const RunOptions& options, const std::string& network) {
  return Family(network) + (options.agent.head == HeadKind::kDueling ? "-dueling" : "");
}

enum class Warnings { kYes, kNo };  // of idle keys; once is enough

// `env` is the network's, or none if the user chooses.
RunOptions Options(const AgentBench& bench, const std::optional<std::string>& env = {},
                   Warnings warnings = Warnings::kYes) {
  SettingsFlags flags = bench.settings;
  if (env) flags.env = *env;
  const TrainOptions defaults;
  Settings settings;
  Config config;
  Describe(config, settings);
  const std::vector<ConfigKey> before =
      flags.Apply(config, {.env = defaults.env, .preset = defaults.preset});
  settings.run.train.threads = bench.threads;
  settings.run.Validate();
  if (warnings == Warnings::kYes) WarnOfIdleKeys(before, config, IdleKeys(settings.run));
  return settings.run;
}

// The network's family; for agents with continuous actions kControlNetwork.
std::string FamilyFor(const AgentBench& bench) {
  const RunOptions options = Options(bench, HalfCheetahSizes().id, Warnings::kNo);
  const bool is_control = IsControl(options.agent.algorithm);
  std::string family = Family(bench.network.value_or(is_control ? kControlNetwork : "minatar"));
  if (is_control != (family == kControlNetwork)) {
    throw BadInput(fmt::format(
        "--network: {} is not for preset {}: {}", family, options.train.preset,
        is_control ? "its actions are continuous, take half_cheetah" : "its actions are numbered"));
  }
  return family;
}

void AnnounceFilling(const AgentBench& bench, const RunOptions& options, std::uint64_t bytes) {
  RequireMemory("bench update", bytes, "try --set replay.size=100000");
  if (bench.json) return;
  PrintPlain("{}; {}\nfilling the replay with {} states\n", MachineName(), CompilerName(),
             options.replay.size);
  std::fflush(stdout);
}

void PrintUpdate(const AgentBench& bench, const RunOptions& options, const std::string& network,
                 const UpdateTiming& timing) {
  if (bench.json) {
    const Json object = {{"preset", options.train.preset},
                         {"network", network},
                         {"batch", options.train.batch},
                         {"threads", bench.threads},
                         {"replay_size", options.replay.size},
                         {"ms_per_update", timing.ms_per_update},
                         {"gflops", timing.gflops},
                         {"sgemm_gflops", timing.sgemm_gflops},
                         {"hit_rate", timing.hit_rate},
                         {"sampling_share", timing.sampling_share},
                         {"targets_share", timing.targets_share},
                         {"gradient_share", timing.gradient_share}};
    fmt::print("{}\n", JsonText(object));
    return;
  }
  PrintPlain("{:<18} {:<16} {:>5} {:>7} {:>9} {:>8} {:>8} {:>8} {:>9} {:>8} {:>9}\n", "preset",
             "network", "batch", "threads", "ms", "GFLOP/s", "sgemm", "hits", "sampling", "targets",
             "gradient");
  PrintPlain(
      "{:<18} {:<16} {:>5} {:>7} {:>9.4g} {:>8.1f} {:>8} {:>6.0f} % {:>7.1f} % {:>6.0f} "
      "% {:>7.0f} %\n",
      options.train.preset, network, options.train.batch, bench.threads, timing.ms_per_update,
      timing.gflops,
      std::isnan(timing.sgemm_gflops) ? "-" : fmt::format("{:.1f}", timing.sgemm_gflops),
      100 * timing.hit_rate, 100 * timing.sampling_share, 100 * timing.targets_share,
      100 * timing.gradient_share);
}

void RunUpdate(const AgentBench& bench) {
  const std::string family = FamilyFor(bench);
  if (family == kControlNetwork) {
    const RunOptions options = Options(bench, HalfCheetahSizes().id);
    const ControlLearnerOptions update = ControlAgent::LearnerOptionsOf(options);
    AnnounceFilling(bench, options, ControlBenchmarkBytes(update));
    return PrintUpdate(bench, options, family, MeasureControlUpdate(update));
  }
  const RunOptions options = Options(bench, EnvironmentOf(family));
  const LearnerOptions update = DqnAgent::LearnerOptionsOf(options);
  AnnounceFilling(bench, options, UpdateBenchmarkBytes(update, family));
  PrintUpdate(bench, options, NetworkName(options, family), MeasureUpdate(update, family));
}

void RunAct(const AgentBench& bench) {
  const std::string family = FamilyFor(bench);
  const bool is_control = family == kControlNetwork;
  const RunOptions options =
      Options(bench, is_control ? HalfCheetahSizes().id : EnvironmentOf(family));
  const std::string name = is_control ? family : NetworkName(options, family);
  const double us = 1e6 * (is_control ? MeasureControlDecision(options.agent, options.threads())
                                      : MeasureDecision(options.agent, options.exploration.policy,
                                                        options.threads(), family));
  if (bench.json) {
    const Json object = {{"preset", options.train.preset},
                         {"network", name},
                         {"threads", bench.threads},
                         {"us_per_action", us}};
    fmt::print("{}\n", JsonText(object));
  } else {
    PrintPlain("{}, {}, threads: {}: {:.4g} us per decision\n", options.train.preset, name,
               bench.threads, us);
  }
}

void RunTrain(const AgentBench& bench) {
  const RunOptions options = Options(bench);
  const TrainTiming timing = MeasureTraining(options, bench.seconds);
  if (bench.json) {
    const Json object = {{"preset", options.train.preset},
                         {"env", options.train.env},
                         {"threads", bench.threads},
                         {"num_envs", options.env.num_envs},
                         {"update_interval_steps", options.train.update_interval_steps},
                         {"steps_per_second", timing.steps_per_second},
                         {"environment", timing.environment},
                         {"acting", timing.acting},
                         {"sampling", timing.sampling},
                         {"targets", timing.targets},
                         {"gradient", timing.gradient},
                         {"other", timing.other}};
    fmt::print("{}\n", JsonText(object));
    return;
  }
  PrintPlain(
      "{}; {}\n{} on {}, threads: {}, environments: {}, steps per update: {}: {:.4g} steps/s\n",
      MachineName(), CompilerName(), options.train.preset, options.train.env, bench.threads,
      options.env.num_envs, options.train.update_interval_steps, timing.steps_per_second);
  const std::vector<std::pair<const char*, double>> parts = {
      {"environment", timing.environment}, {"acting", timing.acting},
      {"sampling", timing.sampling},       {"targets", timing.targets},
      {"gradient", timing.gradient},       {"other", timing.other}};
  for (const auto& [part, share] : parts) PrintPlain("  {:<12} {:>5.1f} %\n", part, 100 * share);
}

void AddNetworkFlag(CLI::App& command, AgentBench& bench) {
  std::vector<std::string> names = NetworkNames();
  names.emplace_back(kControlNetwork);
  command
      .add_option("--network", bench.network,
                  "Network; whether it is dueling, the preset says (default: minatar, and "
                  "half_cheetah for agents with continuous actions)")
      ->check(CLI::IsMember(names).description(""))
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

void AddAgentThreadsFlag(CLI::App& command, AgentBench& bench) {
  command.add_option("--threads", bench.threads, "Threads (default: 1)")
      ->transform(WholeBetween(1, kMaxThreads))
      ->type_name(fmt::format("N in [1, {}]", kMaxThreads));
}

}  // namespace

void AddAgentBenchCommands(CLI::App& bench) {
  auto update = std::make_shared<AgentBench>();
  CLI::App* update_command = bench.add_subcommand(
      "update", "One update of an agent, with full replay, target networks and cache");
  update->settings.AddPresetTo(*update_command);
  update_command->remove_option(update_command->get_option("--env"));
  AddNetworkFlag(*update_command, *update);
  AddAgentThreadsFlag(*update_command, *update);
  update->settings.AddTo(
      *update_command,
      {.used = {"train.preset", "train.seed", "train.batch", "train.update_interval_steps",
                "train.lookahead_updates", "agent.", "control.", "network.", "replay.",
                "optimizer."},
       .except = {{{"train.env"}, "--network says that"},
                  {{"train.threads"}, "--threads says that"},
                  {{"train.", "exploration.", "eval.", "checkpoint.", "env.", "replay.start"},
                   "an update does not depend on it"}},
       .takes_files_of_runs = true});
  update_command->add_flag("--json", update->json, "One JSON object");
  update_command->footer(
      "The hyperparameters are those of the network's family (nature: Atari, a replay of a million "
      "made-up\n"
      "pictures, which takes about 1.5 GB; half_cheetah: made-up transitions of 17 observed "
      "numbers "
      "and 6 per action). 200 updates, evenly spread over the time between two "
      "shifts of the\n"
      "target networks, and the work of a shift; hits: values of target networks found in the "
      "cache.\n"
      "Example: stableaa bench update --preset stable-aa --network nature --threads 1\n");
  update_command->callback([update] { RunUpdate(*update); });

  auto act = std::make_shared<AgentBench>();
  CLI::App* act_command = bench.add_subcommand("act", "One decision of an agent");
  act->settings.AddPresetTo(*act_command);
  act_command->remove_option(act_command->get_option("--env"));
  AddNetworkFlag(*act_command, *act);
  AddAgentThreadsFlag(*act_command, *act);
  act_command->add_flag("--json", act->json, "One JSON object");
  act_command->footer("Example: stableaa bench act --network nature\n");
  act_command->callback([act] { RunAct(*act); });

  auto train = std::make_shared<AgentBench>();
  CLI::App* train_command =
      bench.add_subcommand("train", "Steps per second of the whole loop, and where the time goes");
  train->settings.AddPresetTo(*train_command);
  AddAgentThreadsFlag(*train_command, *train);
  train_command->add_option("--seconds", train->seconds, "Time to measure (default: 10)")
      ->check(CLI::Range(0.1, 1e5).description(""))
      ->type_name("S in [0.1, 100000]");
  KeyUse loop = KeyUse::Runs();
  loop.except = {{{"train.threads"}, "--threads says that"},
                 {{"train.steps"}, "--seconds says how long it runs"},
                 {{"eval.", "checkpoint."}, "it measures without evaluations and checkpoints"},
                 {{"exploration.epsilon_start", "exploration.epsilon_steps"},
                  "it measures with exploration.epsilon_end throughout"}};
  loop.takes_files_of_runs = true;
  train->settings.AddTo(*train_command, loop);
  train_command->add_flag("--json", train->json, "One JSON object");
  train_command->footer(
      "A run in a temporary directory, measured from step 1000 on, without evaluations and "
      "checkpoints.\n"
      "What targets cost once replay and target networks are all there: 'bench update'.\n"
      "Example: stableaa bench train --preset dueling-dqn --env minatar/breakout\n");
  train_command->callback([train] { RunTrain(*train); });
}

}  // namespace stableaa
