// stableaa bench env: steps per second of an environment, and the cost of the bridge to Python.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/base/machine.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/env/environment_benchmark.h"
#include "stableaa/env/registry.h"

namespace stableaa {
namespace {

struct EnvBench {
  SettingsFlags settings;
  std::vector<std::string> ids;
  int num_envs = 0;  // 0: the default
  double seconds = 2;
  bool json = false;
};

// The bridge is at its best with a batch; a native environment does not need one.
int UsualEnvironments(const std::string& id) { return IsNative(id) ? 1 : 8; }

// Keys that none of the environments uses.
std::vector<IdleKey> IdleForAll(const std::vector<std::string>& ids) {
  std::vector<IdleKey> idle = IdleEnvironmentKeys(ids.front());
  for (const std::string& id : ids) {
    const std::vector<std::string> used = EnvironmentKeys(id);
    std::erase_if(
        idle, [&](const IdleKey& key) { return std::ranges::find(used, key.key) != used.end(); });
  }
  if (ids.size() > 1) {
    for (IdleKey& key : idle) key.reason = "none of the environments uses it";
  }
  return idle;
}

void RunEnvBench(const EnvBench& bench) {
  Settings settings;
  Config config;
  Describe(config, settings);
  const std::vector<ConfigKey> before = bench.settings.Apply(config);
  EnvironmentOptions options = settings.run.env;
  if (options.workers == 0) options.workers = 1;  // can be compared with Python alone
  std::vector<std::string> ids = bench.ids;
  if (ids.empty()) {
    for (const EnvironmentListing& entry : ListEnvironments()) {
      if (entry.id.starts_with("minatar/") || entry.id.starts_with("classic/")) {
        ids.push_back(entry.id);
      }
    }
  }
  WarnOfIdleKeys(before, config, IdleForAll(ids));  // a wrong id is reported before any work
  if (!bench.json) {
    PrintPlain("{}; {}\n{:<28} {:>5} {:>14} {:>16} {:>7}\n", MachineName(), CompilerName(), "env",
               "envs", "steps/s", "in Python alone", "ratio");
  }
  for (const std::string& id : ids) {
    options.num_envs = bench.num_envs > 0 ? bench.num_envs : UsualEnvironments(id);
    const std::unique_ptr<Environment> environment = MakeEnvironment(id, options);
    const EnvironmentTiming timing = MeasureEnvironment(*environment, bench.seconds);
    if (bench.json) {
      nlohmann::ordered_json object = {{"env", environment->spec().id},
                                       {"num_envs", options.num_envs},
                                       {"steps_per_second", timing.steps_per_second}};
      if (timing.ratio) {
        object["python_steps_per_second"] = *timing.python_steps_per_second;
        object["ratio"] = *timing.ratio;
      }
      fmt::print("{}\n", JsonText(object));
    } else {
      PrintPlain("{:<28} {:>5} {:>14.0f}", environment->spec().id, options.num_envs,
                 timing.steps_per_second);
      if (timing.ratio) {
        PrintPlain(" {:>16.0f} {:>7.2f}", *timing.python_steps_per_second, *timing.ratio);
      }
      PrintPlain("\n");
    }
    std::fflush(stdout);
  }
}

}  // namespace

void AddEnvBenchCommand(CLI::App& bench) {
  auto options = std::make_shared<EnvBench>();
  CLI::App* env = bench.add_subcommand(
      "env", "Steps per second of environments under random actions, on one core if native");
  env->add_option("ID", options->ids, "Environments (default: all native ones)");
  env->add_option("--num-envs", options->num_envs,
                  "Environments in the batch (default: 1, bridged ones 8)")
      ->transform(WholeBetween(1, kMaxEnvironments))
      ->type_name(fmt::format("N in [1, {}]", kMaxEnvironments));
  env->add_option("--seconds", options->seconds, "Time for each (default: 2)")
      ->check(CLI::Range(0.01, 3600.0).description(""))
      ->type_name("S in [0.01, 3600]");
  options->settings.AddTo(
      *env, {.used = {"env."}, .except = {{{"env.num_envs"}, "--num-envs says that"}}});
  env->add_flag("--json", options->json, "One JSON object per environment");
  env->footer(
      "For atari/ and gymnasium/ with one worker (the default here) the same environments are\n"
      "also stepped by a loop in Python without the bridge, in turns; the ratio is the speed that\n"
      "is left with it. Medians.\n"
      "Examples: stableaa bench env minatar/breakout\n"
      "          stableaa bench env atari/pong --num-envs 8 --set env.protocol=machado\n");
  env->callback([options] { RunEnvBench(*options); });
}

}  // namespace stableaa
