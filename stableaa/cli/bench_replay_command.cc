// stableaa bench replay: microseconds per sampled batch, and bytes per stored frame.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
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
#include "stableaa/env/registry.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/replay/replay_benchmark.h"

namespace stableaa {
namespace {

constexpr const char* kSynthetic = "synthetic";
constexpr std::int64_t kMaxFrames = 100'000'000;

struct ReplayBench {
  SettingsFlags settings;
  std::string env;          // empty: synthetic pictures
  std::int64_t frames = 0;  // 0: the default
  std::string compression;  // empty: all
  bool json = false;
};

// Enough to take a few seconds to play.
std::int64_t UsualFrames(const std::string& env) {
  return env.empty() || IsNative(env) ? 100'000 : 10'000;
}

Replay MakeFull(Environment* environment, const ReplayOptions& options) {
  const ReturnOptions returns = {};
  const ActionShape actions = {.count = 1};  // the fillers store no other
  if (environment == nullptr) {
    RequireMemory("bench replay", Replay::EstimateBytes(options, kPictureShape, actions, 0),
                  "try fewer --frames");
    Replay replay(options, returns, kPictureShape, actions, 0);
    PlayPictures(options.size, replay);
    return replay;
  }
  const ObservationLayout layout(environment->spec());
  RequireMemory("bench replay", Replay::EstimateBytes(options, layout.frames(), actions, 0),
                "try fewer --frames");
  Replay replay(options, returns, layout.frames(), actions, 0);
  PlayRandomly(*environment, layout, options.size, replay);
  return replay;
}

void RunReplayBench(const ReplayBench& bench) {
  SettingsFlags flags = bench.settings;
  if (bench.env.empty()) {
    flags.use.except = {{{"env."}, "without --env no environment is played"}};
  }
  Settings settings;
  Config config;
  Describe(config, settings);
  const std::vector<ConfigKey> before = flags.Apply(config);
  const EnvironmentOptions& env_options = settings.run.env;
  const std::int64_t frames = bench.frames > 0 ? bench.frames : UsualFrames(bench.env);
  std::unique_ptr<Environment> environment;
  if (!bench.env.empty()) {
    WarnOfIdleKeys(before, config, IdleEnvironmentKeys(bench.env));
    environment = MakeEnvironment(bench.env, env_options);
  }
  const std::string env = environment ? environment->spec().id : kSynthetic;
  if (!bench.json) {
    PrintPlain("{}; {}\n{:<28} {:<11} {:>10} {:>11} {:>13}\n", MachineName(), CompilerName(), "env",
               "compression", "frames", "bytes/frame", "us/batch");
  }
  for (const auto& [name, compression] : Compressions()) {
    if (!bench.compression.empty() && bench.compression != name) continue;
    const Replay replay = MakeFull(environment.get(), {.size = frames, .compression = compression});
    const ReplayTiming timing = MeasureReplay(replay);
    if (bench.json) {
      const nlohmann::ordered_json object = {{"env", env},
                                             {"compression", name},
                                             {"frames", frames},
                                             {"bytes_per_frame", timing.bytes_per_frame},
                                             {"us_per_batch", timing.us_per_batch}};
      fmt::print("{}\n", JsonText(object));
    } else {
      PrintPlain("{:<28} {:<11} {:>10} {:>11.0f} {:>13.1f}\n", env, name, frames,
                 timing.bytes_per_frame, timing.us_per_batch);
    }
    std::fflush(stdout);
  }
}

}  // namespace

void AddReplayBenchCommand(CLI::App& bench) {
  auto options = std::make_shared<ReplayBench>();
  CLI::App* replay = bench.add_subcommand(
      "replay", "Microseconds per batch of 32 transitions out of the replay, bytes per frame");
  replay
      ->add_option("--env", options->env,
                   "Environment, played at random (default: pictures that look like Atari)")
      ->type_name("ID");
  replay
      ->add_option("--frames", options->frames,
                   "States in the replay (default: 100000, for atari/ and gymnasium/ 10000)")
      ->transform(WholeBetween(100, kMaxFrames))
      ->type_name(fmt::format("N in [100, {}]", kMaxFrames));
  std::vector<std::string> names;
  std::string type;
  for (const auto& [name, compression] : Compressions()) {
    names.push_back(name);
    type += (type.empty() ? "" : "|") + name;
  }
  replay->add_option("--compression", options->compression, "Of the frames (default: each in turn)")
      ->check(CLI::IsMember(names).description(""))
      ->type_name(type);
  options->settings.AddTo(
      *replay, {.used = {"env."}, .except = {{{"env.num_envs"}, "one environment is played"}}});
  replay->add_flag("--json", options->json, "One JSON object per compression");
  replay->footer(
      "Sampling and copying out, median of one second; one core.\n"
      "Example: stableaa bench replay --env minatar/breakout --compression lz4\n");
  replay->callback([options] { RunReplayBench(*options); });
}

}  // namespace stableaa
