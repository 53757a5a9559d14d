// How well a network plays: whole games with little or no exploration, in environments and with
// random streams of their own.
//
// Games are played side by side. Environment i of E plays games i, i + E, i + 2E, ...: which games
// count is settled beforehand, so that short ones are not preferred. Where a lost life ends an
// episode (Atari), the episodes of a game count together.
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
#include "stableaa/rl/value/actor.h"

namespace stableaa {

class Config;

// Keys eval.*.
struct EvaluationOptions {
  // Steps of training between two evaluations, 0 to 2^40; 0: none. A run that ends before the first
  // makes one at its end. Training waits meanwhile, so an evaluation costs the time of its games.
  std::int64_t interval_steps = 10'000;

  // Games per evaluation, 1 to 1e6, each with all its lives. The error of the mean return falls
  // with the square root.
  std::int64_t episodes = 10;

  // Probability of a random action, 0 to 1. A little keeps greedy agents from being caught in a
  // loop for a whole game.
  double epsilon = 0.01;

  // Games played side by side, at most, 1 to 256: they share the passes through the network. The
  // result depends on it: which game gets which random numbers.
  int parallel = 10;

  // How Atari is played in evaluations; none: as in training (env.protocol). The actions are always
  // those of training. Changes nothing elsewhere.
  std::optional<EnvironmentOptions::Protocol> protocol = {};
};

void Describe(Config& config, EvaluationOptions& options);

// What has just happened in one environment. Views are valid during the call that gets them.
struct EvaluationStep {
  std::int64_t game = 0;  // from 0
  std::int64_t step = 0;  // in this game, from 0
  std::size_t environment = 0;
  Observations before = {};            // what was acted on; one environment's
  std::span<const float> values = {};  // of the actions
  std::int32_t action = 0;
  double reward = 0;
  bool terminated = false;
  bool truncated = false;
  bool game_ended = false;
  double return_so_far = 0;        // of the game
  const Picture* frame = nullptr;  // of `before`, if the environment renders
};

struct EvaluationResult {
  std::int64_t episodes = 0;               // games
  double return_mean = 0, return_std = 0;  // nan for the standard deviation of one game
  double length_mean = 0;
  std::vector<double> returns = {};  // by game
};

// `actor` is for environment.num_envs() environments, which must not exceed `episodes`. Draws from
// the stream "evaluation" of the seed: first the seed that the environments are reset with, then
// what the actor needs, so that neither meets what a training run with the same seed draws. on_step
// (may be empty) is called for each counted step, and may end it all by an exception; both
// environment and actor may be used again then.
EvaluationResult Evaluate(Environment& environment, Actor& actor, const Parameters& parameters,
                          std::int64_t episodes, double epsilon, std::uint64_t seed,
                          const std::function<void(const EvaluationStep&)>& on_step = {});

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_EVALUATION_H_
