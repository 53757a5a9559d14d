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

struct EvaluationOptions {
  // Keys eval.*; Describe says what they mean.
  std::int64_t interval_steps = 10'000;
  std::int64_t episodes = 10;
  double epsilon = 0.01;
  int parallel = 10;
  std::optional<EnvironmentOptions::Protocol> protocol = {};  // of Atari; none: that of training
};

void Describe(Config& config, EvaluationOptions& options);

// What has just happened in one environment. Views hold during the call that gets it.
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
