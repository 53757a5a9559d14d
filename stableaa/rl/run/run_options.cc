#include "stableaa/rl/run/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/built_in_configs.h"
#include "stableaa/rl/run/kept_weights.h"

namespace stableaa {
namespace {

constexpr std::int64_t kMaxSteps = std::int64_t{1} << 40;

// These may change from one part of a run to the next without changing its results.
constexpr std::array kFreeKeys = {"train.steps", "train.threads", "env.python", "env.workers",
                                  "env.timeout_seconds"};

constexpr std::size_t kLargestConfig = std::size_t{1} << 20;
constexpr int kMostPresetFiles = 8;  // that build on one another

std::optional<std::string_view> FindConfig(std::string_view name) {
  for (const BuiltInConfig& config : BuiltInConfigs()) {
    if (config.name == name) return config.text;
  }
  return std::nullopt;
}

// Gymnasium environments are treated as classic control, which most of them resemble.
std::string FamilyOf(const std::string& env) {
  std::string family = NormalizedId(env);
  family.resize(family.find('/'));
  return family == "gymnasium" ? "classic" : family;
}

// ---- Presets ----

bool IsPresetFile(const std::string& preset) {
  return preset.ends_with(".toml") || preset.find('/') != std::string::npos;
}

// Adds a built-in preset after the one that it builds on.
void AddBuiltInPreset(const std::string& preset, std::vector<ConfigSource>& sources) {
  const auto text = FindConfig("presets/" + preset);
  if (!text) {
    std::vector<std::string> names;
    for (const Preset& known : Presets()) names.push_back(known.name);
    const std::string suggestion = DidYouMean(preset, names);
    throw BadInput(fmt::format(
        "there is no preset '{}'{}", Shorten(preset),
        suggestion.empty()
            ? fmt::format(" (there are {}; a file ends in .toml)", fmt::join(names, ", "))
            : suggestion));
  }
  ConfigSource own = ConfigSource::FromText(*text, fmt::format("preset {}", preset));
  if (const auto base = own.TakeRemark("preset")) AddBuiltInPreset(base->text, sources);
  sources.push_back(std::move(own));
}

void AddPresetFile(const std::filesystem::path& file, int depth, PresetKeys& keys) {
  ConfigSource own = ConfigSource::FromText(ReadRegularFile(file, kLargestConfig), ShownPath(file));
  if (const auto base = own.TakeRemark("preset")) {
    if (!IsPresetFile(base->text)) {
      try {
        AddBuiltInPreset(base->text, keys.sources);
        keys.built_in = keys.sources.size();
      } catch (const Error& error) {
        throw BadInput(fmt::format("{}: {}", base->place, error.what()));
      }
    } else if (depth < kMostPresetFiles) {
      AddPresetFile(file.parent_path() / base->text, depth + 1, keys);
    } else {
      throw BadInput(
          fmt::format("{}: more than {} presets build on one another, or they do so in a circle",
                      base->place, kMostPresetFiles));
    }
  }
  for (const ConfigSource::Mention& mention : own.Mentions()) {
    if (mention.key == "train.preset") {
      throw BadInput(fmt::format(
          "{}: train.preset has no place in a preset: the one that it builds on is 'preset = ...'",
          mention.place));
    }
    if (mention.key == "train.env") {
      throw BadInput(
          fmt::format("{}: train.env has no place in a preset, which goes with any environment",
                      mention.place));
    }
  }
  keys.sources.push_back(std::move(own));
}

// ---- Values tuned for an environment and an algorithm ----

bool Lists(const std::string& words, const std::string& word) {
  std::istringstream in(words);
  for (std::string one; in >> one;) {
    if (one == word) return true;
  }
  return false;
}

// Each file says in its remarks what it is for.
void ApplyTuned(Config& config, const std::string& env) {
  const std::vector<ConfigKey> keys = config.Keys();
  const std::string algorithm = std::ranges::find(keys, "agent.algorithm", &ConfigKey::key)->value;
  for (const BuiltInConfig& built_in : BuiltInConfigs()) {
    if (!built_in.name.starts_with("tuned/")) continue;
    ConfigSource tuned = ConfigSource::FromText(built_in.text, std::string(built_in.name));
    const std::string environments = tuned.TakeRemark("environments")->text;
    const std::string algorithms = tuned.TakeRemark("algorithms")->text;
    if (!Lists(environments, env)) continue;
    if (Lists(algorithms, algorithm.substr(1, algorithm.size() - 2))) config.Apply(tuned);
  }
}

// Everything but whether the environment exists.
void ValidateValues(const RunOptions& options) {
  RunOptions copy = options;
  Config config;
  Describe(config, copy);
  options.agent.Validate();
  options.control.Validate();
  options.replay.Validate();
  options.optimizer.Validate();
  options.env.Validate();
  options.agent.Loss().Validate();
  Replay::RequireRoomForReturns(options.replay, options.agent.n_step, options.env.num_envs);
}

}  // namespace

void Describe(Config& config, RunOptions& options) {
  TrainOptions& train = options.train;
  config.Text("train.env", &train.env, "Environment; 'stableaa env list' shows all.");
  config.Text("train.preset", &train.preset,
              "The preset that the run began with, for reports: its values are in the other keys.");
  config.Int("train.seed", &train.seed, {},
             "Seed of everything random; each use draws from a stream of its own.");
  config.Int("train.steps", &train.steps, {0, kMaxSteps},
             "Steps of the environment (Atari: 4 frames each) in the whole run.");
  config.Int("train.batch", &train.batch, {1, 65536}, "Transitions per update.");
  config.Int("train.update_interval_steps", &train.update_interval_steps, {1, 1'000'000},
             "Steps of the environment per update.");
  config.Int("train.lookahead_updates", &train.lookahead_updates, {0, 64},
             "Batches are drawn so many updates before they are used, so that another thread can "
             "compute their targets meanwhile. The result is the same for any number of threads.");
  config.Bool("train.clip_rewards", &train.clip_rewards,
              "Learn from the sign of rewards. Returns are reported unclipped.");
  config.Int("train.threads", &train.threads, {0, 1024},
             "Threads; the result does not depend on it. 0: all cores.");
  config.Int("train.log_interval_steps", &train.log_interval_steps, {1, kMaxSteps},
             "Steps between two rows of metrics.csv; evaluations have rows besides.");
  Describe(config, options.agent);
  Describe(config, options.control);
  Describe(config, options.exploration);
  Describe(config, options.replay);
  Describe(config, options.optimizer);
  Describe(config, options.eval);
  config.Int("checkpoint.interval_steps", &train.checkpoint_interval_steps, {1, kMaxSteps},
             "Steps between two checkpoints; the end and Ctrl-C make one besides.");
  config.Text("checkpoint.keep_weights", &train.keep_weights,
              "Weights that are kept over time, for 'stableaa eval --at': none, every N steps, or "
              "all evaluations.",
              [](const std::string& rule) { (void)KeepRule::Parse(rule); });
  config.Int("env.num_envs", &options.env.num_envs, {1, Replay::kMaxStreams},
             "Environments that training steps at once. Updates still come every "
             "train.update_interval_steps steps, counting those of all environments.");
  Describe(config, options.env);
}

void RunOptions::Validate() const {
  ValidateValues(*this);
  (void)NormalizedId(train.env);
  RequireWrappable(train.env, env);
}

std::int64_t RunOptions::last_step() const {
  return (train.steps + env.num_envs - 1) / env.num_envs * env.num_envs;
}

int RunOptions::threads() const { return train.threads > 0 ? train.threads : CoreCount(); }

std::vector<Preset> Presets() {
  constexpr std::string_view kFolder = "presets/";
  std::vector<Preset> presets;
  for (const BuiltInConfig& config : BuiltInConfigs()) {
    if (!config.name.starts_with(kFolder)) continue;
    const std::string_view first_line = config.text.substr(0, config.text.find('\n'));
    presets.push_back({std::string(config.name.substr(kFolder.size())),
                       std::string(first_line.substr(first_line.find_first_not_of("# ")))});
  }
  return presets;
}

PresetKeys ReadPreset(const std::string& preset, const std::filesystem::path& folder) {
  PresetKeys keys;
  if (!IsPresetFile(preset)) {
    keys.name = preset;
    if (!preset.empty()) AddBuiltInPreset(preset, keys.sources);
    keys.built_in = keys.sources.size();
    return keys;
  }
  keys.name = std::filesystem::path(preset).stem().string();
  if (FindConfig("presets/" + keys.name)) {
    throw BadInput(
        fmt::format("{}: '{}' is the name of a built-in preset, and reports would take "
                    "runs of both for the same; rename the file",
                    ShownPath(preset), keys.name));
  }
  AddPresetFile(folder / preset, 1, keys);
  RunOptions options;
  Config config;
  Describe(config, options);
  for (const ConfigSource& source : keys.sources) config.Apply(source);
  return keys;
}

void LoadPreset(Config& config, const std::string& env, const PresetKeys& preset) {
  if (!env.empty()) {
    const std::string family = FamilyOf(env);
    if (const auto text = FindConfig("families/" + family)) {
      config.LoadText(*text, fmt::format("family {}", family));
    }
    config.Set(fmt::format("train.env={}", NormalizedId(env)), "environment");
  }
  for (std::size_t i = 0; i < preset.sources.size(); ++i) {
    config.Apply(preset.sources[i]);
    if (i + 1 == preset.built_in && !env.empty()) ApplyTuned(config, NormalizedId(env));
  }
  if (!preset.name.empty()) {
    config.Set(fmt::format("train.preset={}", preset.name), fmt::format("preset {}", preset.name));
  }
}

void LoadPreset(Config& config, const std::string& env, const std::string& preset) {
  LoadPreset(config, env, ReadPreset(preset));
}

std::string ToToml(const RunOptions& options) {
  RunOptions copy = options;
  Config config;
  Describe(config, copy);
  return config.ToToml();
}

RunOptions ReadRunOptions(const std::filesystem::path& config_file) {
  RunOptions options;
  Config config;
  Describe(config, options);
  config.LoadText(ReadRegularFile(config_file, kLargestConfig), config_file.string());
  ValidateValues(options);
  if (!CanBeRegistered(options.train.env)) (void)NormalizedId(options.train.env);
  return options;
}

std::vector<ConfigKey> AllKeys(const RunOptions& options) {
  RunOptions copy = options;
  Config config;
  Describe(config, copy);
  return config.Keys();
}

std::vector<ConfigKey> LastingKeys(const RunOptions& options) {
  std::vector<ConfigKey> keys = AllKeys(options);
  std::erase_if(keys, [](const ConfigKey& key) {
    return std::ranges::find(kFreeKeys, key.key) != kFreeKeys.end();
  });
  return keys;
}

std::uint32_t Fingerprint(const RunOptions& options) {
  uLong sum = crc32(0, nullptr, 0);
  for (const ConfigKey& key : LastingKeys(options)) {
    const std::string line = fmt::format("{}={}\n", key.key, key.value);
    sum = crc32(sum, reinterpret_cast<const Bytef*>(line.data()), static_cast<uInt>(line.size()));
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace stableaa
