// stableaa env list and env rollout: the available environments, and a look at them.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/env/fixed_policy.h"
#include "stableaa/env/registry.h"
#include "stableaa/env/rollout.h"
#include "stableaa/env/terminal_view.h"
#include "stableaa/env/video.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

void RunList(bool json) {
  if (!json) {
    PrintPlain("{:<34} {:<30} {:<18} {:>6}  {}\n", "id", "observation", "actions", "limit",
               "keys env.*");
  }
  for (const EnvironmentListing& entry : ListEnvironments()) {
    if (json) {
      const Json object = {{"env", entry.id},
                           {"observation", entry.observation},
                           {"actions", entry.actions},
                           {"max_episode_steps", entry.max_episode_steps},
                           {"options", entry.options}};
      fmt::print("{}\n", JsonText(object));
      continue;
    }
    std::string keys;
    for (const std::string& key : entry.options) {
      keys += fmt::format(" {}", key.substr(key.find('.') + 1));
    }
    PrintPlain("{:<34} {:<30} {:<18} {:>6} {}\n", entry.id, entry.observation, entry.actions,
               entry.max_episode_steps, keys);
  }
}

struct RolloutFlags {
  SettingsFlags settings;
  std::string id;
  std::string policy = "random";
  std::int64_t episodes = 10;
  std::optional<std::int64_t> max_episode_steps;
  std::uint64_t seed = 1;
  std::optional<std::string> trace, gif, video;
  bool terminal = false;
  bool json = false;
};

std::string ActionText(const EnvironmentSpec& spec, const Actions& action) {
  if (action.indices.empty()) return fmt::format("{:.3g}", fmt::join(action.values, " "));
  return spec.action_name(action.indices[0]);
}

// Everything a rollout may be written to or shown on. Constructed before the first step, so that an
// unwritable path is reported before any work.
class Outputs {
 public:
  Outputs(const RolloutFlags& flags, const EnvironmentSpec& spec) : spec_(spec) {
    const VideoOptions video{.frames_per_second = spec.frames_per_second};
    if (flags.trace) trace_.emplace(*flags.trace, spec);
    if (flags.gif) videos_.push_back(std::make_unique<VideoWriter>(*flags.gif, video));
    if (flags.video) videos_.push_back(std::make_unique<VideoWriter>(*flags.video, video));
    if (flags.terminal) {
      view_.emplace(flags.json ? stderr : stdout,
                    TerminalViewOptions{.frames_per_second = spec.frames_per_second});
    }
  }

  void Add(const RolloutStep& step) {
    if (trace_) trace_->Add(step);
    for (const auto& video : videos_) video->Add(*step.frame);
    if (view_) {
      view_->Show(
          *step.frame,
          fmt::format("episode {}  step {}  action {}  reward {:g}  return {:g}", step.episode,
                      step.step, ActionText(spec_, step.action), step.reward, step.return_so_far));
    }
  }

  void Finish() {
    if (trace_) trace_->Finish();
    for (const auto& video : videos_) video->Finish();
  }

 private:
  const EnvironmentSpec spec_;
  std::optional<TraceWriter> trace_;
  std::vector<std::unique_ptr<VideoWriter>> videos_;
  std::optional<TerminalView> view_;
};

void PrintSummary(const std::string& id, const std::string& policy, const RolloutSummary& summary,
                  const EnvironmentSpec& spec, bool json) {
  if (json) {
    Json object = {{"env", id},
                   {"policy", policy},
                   {"episodes", summary.episodes},
                   {"return_mean", summary.return_mean},
                   {"return_std", summary.return_std},
                   {"length_mean", summary.length_mean},
                   {"length_std", summary.length_std}};
    if (!summary.channel_mean.empty()) object["channel_mean"] = summary.channel_mean;
    fmt::print("{}\n", JsonText(object));
    return;
  }
  const auto spread = [](double deviation) {
    return std::isnan(deviation) ? std::string() : fmt::format(" ± {:.5g}", deviation);
  };
  PrintPlain("{}, policy {}, episodes: {}\n", id, policy, summary.episodes);
  if (!spec.protocol.empty()) PrintPlain("protocol  {}\n", spec.protocol);
  PrintPlain("return    {:.6g}{}\nlength    {:.6g}{}\n", summary.return_mean,
             spread(summary.return_std), summary.length_mean, spread(summary.length_std));
  for (std::size_t c = 0; c < summary.channel_mean.size(); ++c) {
    PrintPlain("{}{:.6g}{}\n", c == 0 ? "channels  " : "          ", summary.channel_mean[c],
               c < spec.channel_names.size() ? "  " + spec.channel_names[c] : std::string());
  }
}

// The progress bar is gone when this returns.
RolloutSummary RolloutShowingProgress(const RolloutFlags& flags, Environment& environment,
                                      FixedPolicy& policy, Outputs& outputs,
                                      const InterruptGuard& interrupt) {
  using Mode = ProgressOptions::Mode;
  Progress progress({.label = environment.spec().id,
                     .unit = "episodes",
                     .total = static_cast<std::uint64_t>(flags.episodes),
                     .mode = flags.terminal ? Mode::kSilent : Mode::kAuto});
  return Rollout(environment, policy, flags.episodes, flags.seed, [&](const RolloutStep& step) {
    interrupt.ThrowIfRequested();
    outputs.Add(step);
    progress.Advance(step.terminated || step.truncated ? 1 : 0);
  });
}

void RunRollout(const RolloutFlags& flags) {
  CheckEnding(flags.gif, "--gif", ".gif");
  CheckEnding(flags.video, "--video", ".mp4");
  if (flags.trace) {
    for (const auto& picture : {flags.gif, flags.video}) {
      if (picture) RequireAnotherFile({"--trace", *flags.trace}, {{"a picture", *picture}});
    }
  }
  for (const auto& [flag, path] :
       {std::pair{"--trace", flags.trace}, {"--gif", flags.gif}, {"--video", flags.video}}) {
    if (path) RequireNoFileOfRun({flag, *path});
  }
  Settings settings;
  Config config;
  Describe(config, settings);
  const std::vector<ConfigKey> before = flags.settings.Apply(config);
  EnvironmentOptions& options = settings.run.env;
  options.render = flags.gif || flags.video || flags.terminal;
  if (flags.max_episode_steps) options.max_episode_steps = *flags.max_episode_steps;
  const std::unique_ptr<Environment> environment = MakeEnvironment(flags.id, options);
  WarnOfIdleKeys(before, config, IdleEnvironmentKeys(flags.id));
  const EnvironmentSpec& spec = environment->spec();
  FixedPolicy policy(flags.policy, spec, flags.seed);
  Outputs outputs(flags, spec);
  const InterruptGuard interrupt;  // an unfinished trace or video is removed
  const RolloutSummary summary =
      RolloutShowingProgress(flags, *environment, policy, outputs, interrupt);
  outputs.Finish();
  PrintSummary(spec.id, flags.policy, summary, spec, flags.json);
}

}  // namespace

void AddEnvCommand(CLI::App& program) {
  CLI::App* env = program.add_subcommand("env", "List environments and watch them");
  env->require_subcommand(1);
  env->footer("Example: stableaa env rollout minatar/breakout --policy scripted --terminal\n");

  auto list_json = std::make_shared<bool>(false);
  CLI::App* list = env->add_subcommand(
      "list", "All environments: observation, actions, limit of steps, options");
  list->add_flag("--json", *list_json, "One JSON object per environment");
  list->footer(
      "The options are configuration keys: --set env.sticky=0. A limit of 0 means none, or that "
      "it\n"
      "depends. Case, hyphens and underscores in ids do not matter, but in Gymnasium's own.\n"
      "Example: stableaa env list --json\n");
  list->callback([list_json] { RunList(*list_json); });

  auto flags = std::make_shared<RolloutFlags>();
  CLI::App* rollout = env->add_subcommand(
      "rollout", "Play episodes with a policy that needs no learning, and sum them up");
  rollout->add_option("ID", flags->id, "Environment, such as minatar/breakout")->required();
  rollout
      ->add_option("--policy", flags->policy, "Policy; scripted is for minatar/ (default: random)")
      ->type_name("random|noop|constant:K|scripted");
  rollout->add_option("--episodes", flags->episodes, "Episodes (default: 10)")
      ->transform(WholeBetween(1, std::uint64_t{1} << 40))
      ->type_name("N in [1, 2^40]");
  rollout
      ->add_option("--max-episode-steps", flags->max_episode_steps,
                   "Cut episodes after N steps (default: env.max_episode_steps)")
      ->transform(WholeBetween(1, std::uint64_t{1} << 40))
      ->type_name("N in [1, 2^40]");
  AddSeedFlag(*rollout, &flags->seed, "Seed of environment and policy (default: 1)");
  rollout
      ->add_option("--trace", flags->trace,
                   "CSV with a line per step: step, action, reward, terminated, truncated, "
                   "observation")
      ->type_name("FILE");
  rollout->add_option("--gif", flags->gif, "Animated picture of all steps (needs ffmpeg)")
      ->type_name("FILE.gif");
  rollout->add_option("--video", flags->video, "Video of all steps (needs ffmpeg)")
      ->type_name("FILE.mp4");
  rollout->add_flag("--terminal", flags->terminal, "Watch in the terminal, at the usual speed");
  flags->settings.AddTo(
      *rollout,
      {.used = {"env."}, .except = {{{"env.num_envs"}, "episodes are played one by one"}}});
  rollout->add_flag("--json", flags->json, "One JSON object with the statistics");
  rollout->footer(
      "Standard deviations divide by n - 1. Channel means are over the observations after each "
      "step.\n"
      "Examples: stableaa env rollout minatar/seaquest --policy scripted --episodes 100\n"
      "          stableaa env rollout atari/pong --episodes 1 --video pong.mp4\n");
  rollout->callback([flags] { RunRollout(*flags); });
}

}  // namespace stableaa
