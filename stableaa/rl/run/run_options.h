// Everything that a training run depends on, in one struct, and where its values come from:
//
//   defaults < family of the environment < preset < values tuned for environment and algorithm
//   < the user's preset < the user's file < single keys
//
// Families (atari, minatar, classic), presets (stable-aa, dqn, ...) and tuned values are the TOML
// files under configs/, which are compiled into the library. A preset can also be a file of the
// user's, which may build on one of these.
#ifndef STABLEAA_RL_RUN_RUN_OPTIONS_H_
#define STABLEAA_RL_RUN_RUN_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/rl/control/control_options.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/value/actor.h"
#include "stableaa/rl/value/agent_options.h"

namespace stableaa {

// Keys train.*, and checkpoint.*. A "step" is one action in the environment, or 4 frames of Atari.
struct TrainOptions {
  // The environment's id (env/registry.h). Decides which family's defaults LoadPreset uses.
  std::string env = "minatar/breakout";

  // The preset that the run started from: a name for reports and directories. Has no effect by
  // itself; the preset's values are in the other keys.
  std::string preset = "stable-aa";

  // Determines everything random: initial weights, exploration, batches, the environment and the
  // evaluations, each through a stream of its own.
  std::uint64_t seed = 1;

  // Length of the whole run, 0 to 2^40. May be raised when a run is resumed.
  std::int64_t steps = 1'000'000;

  // Transitions per update, 1 to 65536. The time per update grows with it.
  int batch = 32;

  // Steps per update, 1 to 1e6. Most of a run's time goes into updates, so 4 (usual for Atari) is
  // nearly four times as fast as 1 and learns less from each step.
  std::int64_t update_interval_steps = 1;

  // Batches are drawn this many updates before they are used, 0 to 64, while another thread
  // computes their targets. 0 leaves a second thread little to do; more than a few makes batches
  // miss the newest transitions. The result depends on it, but not on the number of threads.
  int lookahead_updates = 1;

  // Learn from the sign of rewards, as is usual for Atari, whose games differ in scale. Returns in
  // logs and evaluations remain unclipped.
  bool clip_rewards = false;

  // Number of threads, 0 (all cores) to 1024. Affects only the speed; may be changed when resuming
  // a run.
  int threads = 0;

  // Steps between two rows of metrics.csv, 1 to 2^40; evaluations add rows of their own. A row
  // costs almost nothing; its means are over the steps since the previous row.
  std::int64_t log_interval_steps = 1000;

  // Key checkpoint.interval_steps: steps between two checkpoints, 1 to 2^40. A run also makes one
  // at its end and when stopped. Trades what a killed run loses against the time to write the
  // weights, the optimiser and the replay's new states. Does not change the result.
  std::int64_t checkpoint_interval_steps = 50'000;

  // Key checkpoint.keep_weights: "none", "every N steps" or "all evaluations" (kept_weights.h). The
  // weights at these times remain as files of their own, each of the size of the network: for 1.7
  // million parameters 7 MB. Does not change the result.
  std::string keep_weights = "none";
};

// All options. Each struct documents its keys, ranges and defaults where it is declared.
struct RunOptions {
  TrainOptions train;
  AgentOptions agent;
  ControlOptions control;
  ExplorationOptions exploration;
  ReplayOptions replay;
  OptimizerOptions optimizer;
  EvaluationOptions eval;
  EnvironmentOptions env;

  // Throws BadInput.
  void Validate() const;

  int threads() const;  // train.threads, or the number of cores if that is 0
  // The step in which the run ends: train.steps, rounded up to whole rounds of env.num_envs.
  std::int64_t last_step() const;
};

// Binds all keys, with their ranges and help, to the fields.
void Describe(Config& config, RunOptions& options);

struct Preset {
  std::string name;
  std::string summary;  // the first line of its file
};
std::vector<Preset> Presets();  // by name

// A preset that has been read.
struct PresetKeys {
  std::string name;                        // train.preset; that of a file is its stem
  std::vector<ConfigSource> sources = {};  // later ones win
  std::size_t built_in = 0;                // how many of them, the first ones, are built in
};

// `preset` is the name of a built-in preset or, if it ends in .toml or has a / in it, a file of
// keys; relative paths begin in `folder`. A file may name the preset that it builds on:
//
//   preset = "stable-aa"     # or another file, relative to this one
//   [agent]
//   targets = 3
//
// Throws BadInput: for a built-in preset that does not exist, with a suggestion; for a file, naming
// the line, as for any configuration.
PresetKeys ReadPreset(const std::string& preset, const std::filesystem::path& folder = {});

// Loads the family of `env`, then the preset, and sets train.env and train.preset to them. Either
// may be empty.
void LoadPreset(Config& config, const std::string& env, const PresetKeys& preset);
void LoadPreset(Config& config, const std::string& env, const std::string& preset);

// Every key with its value. ReadRunOptions reads it back to the same options and throws BadInput,
// naming the file, if that is not such a file. Its environment may be one that another program has
// registered; Validate refuses that.
std::string ToToml(const RunOptions& options);
RunOptions ReadRunOptions(const std::filesystem::path& config_file);

// Every key with its value.
std::vector<ConfigKey> AllKeys(const RunOptions& options);

// The keys that must not change when a run is resumed: all but train.steps, train.threads,
// env.python, env.workers and env.timeout_seconds.
std::vector<ConfigKey> LastingKeys(const RunOptions& options);

// A checksum over these keys and their values.
std::uint32_t Fingerprint(const RunOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_RUN_OPTIONS_H_
