// Measures how well a network plays: whole games with little or no exploration, in separate
// environments and with separate random streams.
//
// Games are played side by side. Environment i of E plays games i, i + E, i + 2E, ...: which games
// count is settled in advance, so short ones are not favoured. Where a lost life ends an episode
// (Atari), the episodes of a game count together.
#ifndef STABLEAA_RL_RUN_EVALUATION_H_
#define STABLEAA_RL_RUN_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/rl/player.h"

namespace stableaa {

class Config;

// Keys eval.*.
struct EvaluationOptions {
  // Training steps between two evaluations, 0 (none) to 2^40. A run that ends before the first
  // makes one at its end. Training waits meanwhile, so an evaluation costs the time of its games.
  std::int64_t interval_steps = 10'000;

  // Games per evaluation, 1 to 1e6, each with all its lives. The error of the mean return falls
  // with the square root of their number.
  std::int64_t episodes = 10;

  // Probability of a random action, 0 to 1. A little randomness keeps greedy agents from looping
  // for a whole game.
  double epsilon = 0.01;

  // Maximum number of games played side by side, 1 to 256; they share passes through the network.
  // The result depends on it, since it decides which game gets which random numbers.
  int parallel = 10;

  // How Atari is played in evaluations; none: as in training (env.protocol). The actions are always
  // those of training. Has no effect on other environments.
  std::optional<EnvironmentOptions::Protocol> protocol = {};
};

void Describe(Config& config, EvaluationOptions& options);

// What just happened in one environment. Views are valid only during the callback.
struct EvaluationStep {
  std::int64_t game = 0;  // from 0
  std::int64_t step = 0;  // in this game, from 0
  std::size_t environment = 0;
  Observations before = {};  // what was acted on, in this environment
  // Numbered actions: their values and the one chosen. Continuous ones: the elements of the action,
  // in the environment's units.
  std::span<const float> values = {};
  std::int32_t action = 0;
  std::span<const float> action_values = {};
  double reward = 0;
  bool terminated = false;
  bool truncated = false;
  bool game_ended = false;
  double return_so_far = 0;        // in the game
  const Picture* frame = nullptr;  // shows `before`, if the environment renders
};

struct EvaluationResult {
  std::int64_t episodes = 0;               // games
  double return_mean = 0, return_std = 0;  // the standard deviation of one game is NaN
  double length_mean = 0;
  std::vector<double> returns = {};  // by game
};

// `player` is for environment.num_envs() environments, which must not exceed `episodes`. Draws from
// the seed's stream "evaluation": first the seed for resetting the environments, then what the
// player needs. So neither overlaps with what a training run draws from the same seed. on_step (may
// be empty) is called for each counted step and may abort everything by throwing; environment and
// player can then be used again.
EvaluationResult Evaluate(Environment& environment, Player& player, const Parameters& parameters,
                          std::int64_t episodes, double epsilon, std::uint64_t seed,
                          const std::function<void(const EvaluationStep&)>& on_step = {});

// The same with options.episodes and options.epsilon. Polls `stop` (may be empty) in every step and
// returns nothing as soon as it is true.
std::optional<EvaluationResult> EvaluateUnlessStopped(Environment& environment, Player& player,
                                                      const Parameters& parameters,
                                                      const EvaluationOptions& options,
                                                      std::uint64_t seed,
                                                      const std::function<bool()>& stop);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_EVALUATION_H_
