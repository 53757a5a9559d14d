#include "stableaa/rl/run/evaluation.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/core/moments.h"
#include "stableaa/core/random.h"

namespace stableaa {
namespace {

// Copies of the observations and frames that were acted on: a step overwrites the environment's
// views.
class Before {
 public:
  void Keep(const Environment& environment) {
    const Observations seen = environment.observations();
    bytes_.assign(seen.bytes.begin(), seen.bytes.end());
    floats_.assign(seen.floats.begin(), seen.floats.end());
    if (!environment.renders()) return;
    frames_.resize(static_cast<std::size_t>(environment.num_envs()));
    for (int i = 0; i < environment.num_envs(); ++i) {
      frames_[static_cast<std::size_t>(i)] = environment.frame(i);
    }
  }

  // What environment i showed.
  Observations Row(std::size_t i, std::size_t size) const {
    if (bytes_.empty()) return {.floats = std::span(floats_).subspan(i * size, size)};
    return {.bytes = std::span(bytes_).subspan(i * size, size)};
  }
  const Picture* frame(std::size_t i) const { return frames_.empty() ? nullptr : &frames_[i]; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
  std::vector<Picture> frames_;
};

// The action of environment i, if it is continuous.
std::span<const float> ElementsOf(const Actions& actions, std::size_t i, const Space& space) {
  if (space.kind == Space::Kind::kDiscrete) return {};
  return actions.values.subspan(i * space.size(), space.size());
}

// The game that an environment is playing.
struct GameUnderWay {
  std::int64_t game = 0;
  std::int64_t steps = 0;
  double sum = 0;
};

}  // namespace

void Describe(Config& config, EvaluationOptions& options) {
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 40;
  config.Int(
      "eval.interval_steps", &options.interval_steps, {0, kMaxSteps},
      "Steps of training between two evaluations; a run that ends before the first makes one "
      "at its end. 0: never.");
  config.Int("eval.episodes", &options.episodes, {1, 1'000'000},
             "Games per evaluation, with all their lives.");
  config.Real("eval.epsilon", &options.epsilon, {.at_least = 0, .at_most = 1},
              "Probability of a random action in an evaluation.");
  config.Int("eval.parallel", &options.parallel, {1, 256},
             "Games played side by side, at most. The result depends on it: which game gets which "
             "random numbers.");
  using Protocol = EnvironmentOptions::Protocol;
  config.Choice<std::optional<Protocol>>("eval.protocol", &options.protocol,
                                         {{"same", std::nullopt},
                                          {"authors", Protocol::kAuthors},
                                          {"nature", Protocol::kNature},
                                          {"machado", Protocol::kMachado}},
                                         "How Atari is played in evaluations; same: as "
                                         "env.protocol says. The actions are always those "
                                         "of training.");
}

EvaluationResult Evaluate(Environment& environment, Player& player, const Parameters& parameters,
                          std::int64_t episodes, double epsilon, std::uint64_t seed,
                          const std::function<void(const EvaluationStep&)>& on_step) {
  const auto envs = static_cast<std::size_t>(environment.num_envs());
  if (episodes < environment.num_envs()) {
    throw std::logic_error("Evaluate: more environments than games");
  }
  const std::size_t observation = environment.spec().observation.size();
  const Space& space = environment.spec().action;
  const std::size_t values =
      space.kind == Space::Kind::kDiscrete ? static_cast<std::size_t>(space.n) : 0;
  std::vector<GameUnderWay> under_way(envs);
  for (std::size_t i = 0; i < envs; ++i) under_way[i].game = static_cast<std::int64_t>(i);
  std::vector<double> returns(static_cast<std::size_t>(episodes)), lengths(returns.size());
  Before before;

  RandomStream random(seed, "evaluation");
  environment.Reset(random());
  for (std::int64_t left = episodes; left > 0;) {
    const Player::Choice choice =
        player.Play(parameters, environment.observations(), epsilon, random);
    if (on_step) before.Keep(environment);
    environment.Step(choice.actions);
    for (std::size_t i = 0; i < envs; ++i) {
      GameUnderWay& now = under_way[i];
      if (now.game >= episodes) continue;  // has played its games and waits for the others
      const bool game_ended = environment.game_ended(static_cast<int>(i));
      now.sum += environment.rewards()[i];
      if (on_step) {
        on_step({.game = now.game,
                 .step = now.steps,
                 .environment = i,
                 .before = before.Row(i, observation),
                 .values = choice.values.subspan(i * values, values),
                 .action = choice.actions.indices.empty() ? 0 : choice.actions.indices[i],
                 .action_values = ElementsOf(choice.actions, i, space),
                 .reward = environment.rewards()[i],
                 .terminated = environment.terminated()[i] != 0,
                 .truncated = environment.truncated()[i] != 0,
                 .game_ended = game_ended,
                 .return_so_far = now.sum,
                 .frame = before.frame(i)});
      }
      ++now.steps;
      if (!game_ended) continue;
      returns[static_cast<std::size_t>(now.game)] = now.sum;
      lengths[static_cast<std::size_t>(now.game)] = static_cast<double>(now.steps);
      now = {.game = now.game + environment.num_envs()};
      --left;
    }
  }
  const Moments of_returns = MomentsOf(returns);
  return {.episodes = episodes,
          .return_mean = of_returns.mean,
          .return_std = of_returns.standard_deviation,
          .length_mean = MomentsOf(lengths).mean,
          .returns = std::move(returns)};
}

std::optional<EvaluationResult> EvaluateUnlessStopped(Environment& environment, Player& player,
                                                      const Parameters& parameters,
                                                      const EvaluationOptions& options,
                                                      std::uint64_t seed,
                                                      const std::function<bool()>& stop) {
  struct Stopped {};
  try {
    return Evaluate(environment, player, parameters, options.episodes, options.epsilon, seed,
                    [&stop](const EvaluationStep&) {
                      if (stop && stop()) throw Stopped{};
                    });
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

}  // namespace stableaa
