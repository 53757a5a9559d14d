// All that a training run depends on, in one struct, and where its values come from:
//
//   defaults < family of the environment < preset < --config < --set and flags
//
// Families (atari, minatar, classic) and presets (stable-aa, dqn, ...) are the TOML files under
// configs/, which are compiled into the library.
#ifndef STABLEAA_RL_RUN_RUN_OPTIONS_H_
#define STABLEAA_RL_RUN_RUN_OPTIONS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/env/registry.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/value/actor.h"
#include "stableaa/rl/value/agent_options.h"

namespace stableaa {

class Config;
struct ConfigKey;

struct TrainOptions {
  // Keys train.*; Describe says what they mean.
  std::string env = "minatar/breakout";
  std::string preset = "stable-aa";  // for people; its values are in the other keys
  std::uint64_t seed = 1;
  std::int64_t steps = 1'000'000;
  int batch = 32;
  std::int64_t update_interval_steps = 1;
  int lookahead_updates = 1;
  bool clip_rewards = false;
  int threads = 0;  // 0: all cores
  std::int64_t log_interval_steps = 1000;
  std::int64_t checkpoint_interval_steps = 50'000;  // key checkpoint.interval_steps
};

struct RunOptions {
  TrainOptions train;
  AgentOptions agent;
  ExplorationOptions exploration;
  ReplayOptions replay;
  OptimizerOptions optimizer;
  EvaluationOptions eval;
  EnvironmentOptions env;

  // Throws BadInput.
  void Validate() const;

  int threads() const;  // those of train.threads, all cores for 0
};

void Describe(Config& config, RunOptions& options);

struct Preset {
  std::string name;
  std::string summary;  // the first line of its file
};
std::vector<Preset> Presets();

// Loads the family of `env` and then the preset, in that order; BadInput, with what was probably
// meant, for a preset that does not exist. Both may be empty. train.env and train.preset are set to
// them.
void LoadPreset(Config& config, const std::string& env, const std::string& preset);

// Every key with its value; ReadRunOptions reads it back to the same. BadInput, naming the file,
// for what is not such a file.
std::string ToToml(const RunOptions& options);
RunOptions ReadRunOptions(const std::filesystem::path& config_file);

// Every key with its value.
std::vector<ConfigKey> AllKeys(const RunOptions& options);

// What a run must have in common with one that goes on with its checkpoint: all keys but
// train.steps, train.threads, env.python, env.workers and env.timeout_seconds.
std::vector<ConfigKey> LastingKeys(const RunOptions& options);

// A checksum over these and their values.
std::uint32_t Fingerprint(const RunOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_RUN_OPTIONS_H_
