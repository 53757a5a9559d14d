#include "stableaa/rl/run/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/rl/control/control_player.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/value/actor.h"

namespace stableaa::evaluation_test {

TEST(EvaluationOptions, KeysHaveTheirRanges) {
  EvaluationOptions options;
  Config config;
  Describe(config, options);
  for (const char* right : {"eval.interval_steps=0", "eval.interval_steps=1099511627776",
                            "eval.episodes=1", "eval.episodes=1000000", "eval.epsilon=0",
                            "eval.epsilon=1", "eval.parallel=1", "eval.parallel=256"}) {
    EXPECT_NO_THROW(config.Set(right)) << right;
  }
  for (const char* wrong : {"eval.interval_steps=-1", "eval.interval_steps=1099511627777",
                            "eval.episodes=0", "eval.episodes=1000001", "eval.epsilon=-0.1",
                            "eval.epsilon=1.1", "eval.parallel=0", "eval.parallel=257"}) {
    EXPECT_THROW(config.Set(wrong), Error) << wrong;
  }
}

// An environment, and a network with parameters that depend on its seed.
struct Table {
  Table(const std::string& id, const NetworkSpec& network, int num_envs,
        EnvironmentOptions options = {}) {
    options.num_envs = num_envs;
    environment = MakeEnvironment(id, options);
    const auto plan = std::make_shared<const Plan>(MakePlan(network));
    parameters = std::make_unique<Parameters>(plan);
    RandomStream random(2, "test/network");
    parameters->Initialise(random);
    actor = std::make_unique<Actor>(plan, ObservationLayout(environment->spec()),
                                    PolicyKind::kGreedy, 5, num_envs);
  }

  EvaluationResult Run(std::int64_t episodes, double epsilon, std::uint64_t seed,
                       const std::function<void(const EvaluationStep&)>& on_step = {}) const {
    return Evaluate(*environment, *actor, *parameters, episodes, epsilon, seed, on_step);
  }

  std::unique_ptr<Environment> environment;
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<Actor> actor;
};

Table CartPole(int num_envs) {
  return {"classic/cartpole", MlpSpec({.inputs = 4, .hidden = {8}, .actions = 2}), num_envs};
}
Table Breakout(int num_envs) {
  return {"minatar/breakout", MinatarSpec({.channels = 4}), num_envs};
}

// Plays one environment of a batch game after game, in a plain loop.
struct PlainGame {
  double sum = 0;
  double steps = 0;
};

std::vector<PlainGame> PlayPlainly(const Table& table, std::size_t i, std::size_t games,
                                   double epsilon, std::uint64_t seed) {
  RandomStream random(seed, "evaluation");
  Environment& environment = *table.environment;
  environment.Reset(random());
  std::vector<PlainGame> played;
  PlainGame now;
  while (played.size() < games) {
    const auto actions =
        table.actor->Act(*table.parameters, environment.observations(), epsilon, random);
    environment.Step({.indices = actions});
    now.sum += environment.rewards()[i];
    now.steps += 1;
    if (!environment.ended(static_cast<int>(i))) continue;
    played.push_back(now);
    now = {};
  }
  return played;
}

TEST(Evaluate, OneEnvironmentPlaysGameAfterGame) {
  for (const double epsilon : {0., .3}) {
    const Table table = Breakout(1);
    const std::vector<PlainGame> plain = PlayPlainly(table, 0, 7, epsilon, 11);
    const EvaluationResult result = table.Run(7, epsilon, 11);
    double returns = 0, lengths = 0, squares = 0;
    for (std::size_t g = 0; g < 7; ++g) {
      EXPECT_EQ(result.returns[g], plain[g].sum);
      returns += plain[g].sum / 7;
      lengths += plain[g].steps / 7;
    }
    for (const PlainGame& game : plain) squares += std::pow(game.sum - returns, 2);
    EXPECT_EQ(result.episodes, 7);
    EXPECT_EQ(result.returns.size(), 7U);
    EXPECT_NEAR(result.return_mean, returns, 1e-12);
    EXPECT_NEAR(result.return_std, std::sqrt(squares / 6), 1e-12);
    EXPECT_NEAR(result.length_mean, lengths, 1e-12);
    EXPECT_TRUE(epsilon == 0 || result.return_std > 0);
  }
}

TEST(Evaluate, EnvironmentIPlaysEveryEthGameFromI) {
  constexpr std::size_t kEnvs = 3, kGames = 8;  // the last environment plays one game fewer
  const Table table = CartPole(kEnvs);
  const EvaluationResult result = table.Run(kGames, .2, 5);
  double lengths = 0;
  for (std::size_t i = 0; i < kEnvs; ++i) {
    const std::size_t games = (kGames - i + kEnvs - 1) / kEnvs;
    const std::vector<PlainGame> plain = PlayPlainly(table, i, games, .2, 5);
    for (std::size_t k = 0; k < games; ++k) {
      EXPECT_EQ(result.returns[i + k * kEnvs], plain[k].sum) << i << ' ' << k;
      lengths += plain[k].steps / kGames;
    }
  }
  EXPECT_NEAR(result.length_mean, lengths, 1e-12);
  EXPECT_NEAR(result.return_mean, lengths, 1e-12) << "a reward of 1 per step";
}

TEST(Evaluate, StepsTellWhatHappened) {
  constexpr std::size_t kEnvs = 2;
  const Table table = CartPole(kEnvs);
  std::vector<std::vector<EvaluationStep>> games(5);
  std::vector<std::vector<float>> seen(5);
  const EvaluationResult result = table.Run(5, .1, 3, [&](const EvaluationStep& step) {
    const auto game = static_cast<std::size_t>(step.game);
    ASSERT_EQ(step.before.floats.size(), 4U);
    ASSERT_EQ(step.values.size(), 2U);
    EXPECT_EQ(step.environment, game % kEnvs);
    EXPECT_EQ(step.frame, nullptr);
    seen[game].insert(seen[game].end(), step.before.floats.begin(), step.before.floats.end());
    // The values belong to this observation.
    auto alone = CompileNetwork(std::make_shared<const Plan>(table.parameters->plan()),
                                {.batch = 1, .training = false});
    std::vector<float> values(2);
    alone->Forward(*table.parameters, {.count = 1, .vectors = step.before.floats}, values);
    EXPECT_NEAR(values[0], step.values[0], 1e-5F);
    EXPECT_NEAR(values[1], step.values[1], 1e-5F);
    games[game].push_back(step);
  });
  for (std::size_t g = 0; g < 5; ++g) {
    ASSERT_FALSE(games[g].empty());
    double sum = 0;
    for (std::size_t k = 0; k < games[g].size(); ++k) {
      const EvaluationStep& step = games[g][k];
      EXPECT_EQ(step.step, static_cast<std::int64_t>(k));
      sum += step.reward;
      EXPECT_EQ(step.return_so_far, sum);
      const bool last = k + 1 == games[g].size();
      EXPECT_EQ(step.game_ended, last);
      EXPECT_EQ(step.terminated || step.truncated, last);
      EXPECT_TRUE(step.action == 0 || step.action == 1);
    }
    EXPECT_EQ(sum, result.returns[g]);
    // At the start of an episode, CartPole's four numbers are within 0.05.
    for (std::size_t k = 0; k < 4; ++k) EXPECT_LE(std::abs(seen[g][k]), .05F);
  }
}

// ---- Continuous actions ----

// Plays Pendulum by an actor, also of SAC's kind, whose parameters depend on its seed.
struct PendulumTable {
  PendulumTable(bool is_gaussian, int num_envs)
      : environment(MakeEnvironment("classic/pendulum", {.num_envs = num_envs})),
        plan(std::make_shared<const Plan>(
            MakePlan(ParseSpec(is_gaussian ? "vector(3) linear(8) relu linear(2)"
                                           : "vector(3) linear(8) relu linear(1) tanh")))),
        parameters(plan),
        player(plan, environment->spec(), num_envs) {
    RandomStream random(2, "test/network");
    parameters.Initialise(random);
  }

  EvaluationResult Run(std::int64_t episodes, double epsilon,
                       const std::function<void(const EvaluationStep&)>& on_step = {}) {
    return Evaluate(*environment, player, parameters, episodes, epsilon, 3, on_step);
  }

  std::unique_ptr<Environment> environment;
  std::shared_ptr<const Plan> plan;
  Parameters parameters;
  ControlPlayer player;
};

TEST(Evaluate, ContinuousActionsAreTheActorsInTheBoundsOfTheEnvironment) {
  for (const bool is_gaussian : {false, true}) {
    PendulumTable table(is_gaussian, 2);
    auto alone = CompileNetwork(table.plan, {.batch = 1, .training = false});
    double sum = 0;
    int steps = 0;
    const EvaluationResult result = table.Run(3, 0, [&](const EvaluationStep& step) {
      ASSERT_EQ(step.action_values.size(), 1U);
      EXPECT_TRUE(step.values.empty());
      std::vector<float> outputs(static_cast<std::size_t>(table.plan->outputs()));
      alone->Forward(table.parameters, {.count = 1, .vectors = step.before.floats}, outputs);
      const double unit = is_gaussian ? std::tanh(static_cast<double>(outputs[0]))
                                      : static_cast<double>(outputs[0]);
      EXPECT_NEAR(static_cast<double>(step.action_values[0]), 2 * unit, 1e-5);
      // Gymnasium's reward: of angle, speed and torque.
      const double angle = std::atan2(static_cast<double>(step.before.floats[1]),
                                      static_cast<double>(step.before.floats[0]));
      const double reward = -(angle * angle + .1 * std::pow(step.before.floats[2], 2) +
                              .001 * std::pow(step.action_values[0], 2));
      EXPECT_NEAR(step.reward, reward, 1e-4);
      sum += step.reward;
      ++steps;
    });
    EXPECT_EQ(steps, 600);
    EXPECT_NEAR(result.return_mean, sum / 3, 1e-9);
  }
}

TEST(Evaluate, RandomContinuousActionsFillTheBox) {
  PendulumTable table(true, 1);
  double low = 0, high = 0, sum = 0;
  table.Run(5, 1, [&](const EvaluationStep& step) {
    const auto torque = static_cast<double>(step.action_values[0]);
    low = std::min(low, torque);
    high = std::max(high, torque);
    sum += torque / 1000;
  });
  EXPECT_GE(low, -2);
  EXPECT_LE(high, 2);
  EXPECT_LT(low, -1.95);
  EXPECT_GT(high, 1.95);
  EXPECT_NEAR(sum, 0, .15);  // four standard deviations
}

TEST(Evaluate, BeforeIsTheObservationThatWasActedOn) {
  const Table table = Breakout(1);
  std::vector<std::uint8_t> seen, expected;
  std::vector<std::int32_t> actions;
  table.Run(1, .5, 9, [&](const EvaluationStep& step) {
    seen.insert(seen.end(), step.before.bytes.begin(), step.before.bytes.end());
    actions.push_back(step.action);
  });
  RandomStream random(9, "evaluation");
  table.environment->Reset(random());
  for (const std::int32_t action : actions) {
    const auto now = table.environment->observations().bytes;
    expected.insert(expected.end(), now.begin(), now.end());
    table.environment->Step({.indices = {&action, 1}});
  }
  EXPECT_TRUE(table.environment->ended(0));
  EXPECT_EQ(seen, expected);
}

TEST(Evaluate, FramesAreOfTheObservationThatWasActedOn) {
  const Table table("classic/cartpole", MlpSpec({.inputs = 4, .hidden = {8}, .actions = 2}), 2,
                    {.render = true});
  RandomStream random(4, "evaluation");
  table.environment->Reset(random());
  const Picture first = table.environment->frame(1);
  int steps = 0;
  table.Run(2, 0, 4, [&](const EvaluationStep& step) {
    ASSERT_NE(step.frame, nullptr);
    if (step.game == 1 && step.step % 5 == 0) {
      EXPECT_EQ(*step.frame == first, step.step == 0) << step.step;
    }
    ++steps;
  });
  EXPECT_GT(steps, 10);
}

TEST(Evaluate, TheSeedDecidesAndNothingElse) {
  const Table table = Breakout(2);
  const std::vector<double> once = table.Run(6, .1, 7).returns;
  EXPECT_NE(table.Run(6, .1, 8).returns, once);
  int calls = 0;
  EXPECT_EQ(table.Run(6, .1, 7, [&](const EvaluationStep&) { ++calls; }).returns, once);
  EXPECT_GT(calls, 0);
  EXPECT_EQ(Breakout(2).Run(6, .1, 7).returns, once);
}

// A run resets its environment with the seed itself.
TEST(Evaluate, MeetsOtherGamesThanTrainingWithTheSameSeed) {
  const Table table = CartPole(1);
  std::vector<float> first;
  table.Run(1, 0, 7, [&](const EvaluationStep& step) {
    if (step.step == 0) first.assign(step.before.floats.begin(), step.before.floats.end());
  });
  table.environment->Reset(7);
  EXPECT_FALSE(std::ranges::equal(first, table.environment->observations().floats));
}

TEST(Evaluate, OneGameHasNoDeviation) {
  const EvaluationResult result = CartPole(1).Run(1, 0, 1);
  EXPECT_TRUE(std::isnan(result.return_std));
  EXPECT_EQ(result.return_mean, result.returns[0]);
  EXPECT_EQ(result.length_mean, result.returns[0]);
}

TEST(Evaluate, GamesThatAreCutCountAsTheyAre) {
  const Table table("minatar/seaquest", MinatarSpec({.channels = 10}), 2, {.max_episode_steps = 9});
  int cut = 0;
  const EvaluationResult result = table.Run(4, 0, 1, [&](const EvaluationStep& step) {
    cut += step.truncated ? 1 : 0;
    EXPECT_EQ(step.truncated, step.step == 8);
  });
  EXPECT_EQ(result.length_mean, 9);
  EXPECT_EQ(cut, 4);
}

TEST(Evaluate, AnExceptionLeavesAllUsable) {
  struct Stop {};
  const Table table = Breakout(2);
  const std::vector<double> whole = table.Run(4, .1, 7).returns;
  int left = 20;
  EXPECT_THROW(table.Run(4, .1, 7,
                         [&](const EvaluationStep&) {
                           if (--left == 0) throw Stop{};
                         }),
               Stop);
  EXPECT_EQ(table.Run(4, .1, 7).returns, whole);
}

TEST(Evaluate, MoreEnvironmentsThanGamesAreAMistake) {
  EXPECT_THROW(CartPole(3).Run(2, 0, 1), std::logic_error);
}

// Five lives are five episodes but one game, with the return and length of all five.
class Lives : public Environment {
 public:
  explicit Lives(int num_envs)
      : Environment({.id = "test/lives",
                     .observation = Space::Floats({4}, {0}, {100}),
                     .action = Space::Discrete(2)},
                    num_envs),
        seen_(4 * static_cast<std::size_t>(num_envs)),
        reward_(static_cast<std::size_t>(num_envs), 1),
        term_(reward_.size()),
        trunc_(reward_.size()),
        steps_(reward_.size()) {
    observations_ = final_observations_ = {.floats = seen_};
    rewards_ = reward_;
    terminated_ = term_;
    truncated_ = trunc_;
  }
  bool game_ended(int i) const override {
    return ended(i) && steps_[static_cast<std::size_t>(i)] % 10 == 0;
  }
  void Save(ByteWriter&) const override {}
  void Load(ByteReader&) override {}

 private:
  void DoReset(std::uint64_t) override { std::ranges::fill(steps_, 0); }
  void DoSend(Actions) override {
    for (std::size_t i = 0; i < steps_.size(); ++i) term_[i] = ++steps_[i] % 2 == 0 ? 1 : 0;
  }
  void DoRecv() override {}

  std::vector<float> seen_;
  std::vector<double> reward_;
  std::vector<std::uint8_t> term_, trunc_;
  std::vector<int> steps_;
};

TEST(Evaluate, TheLivesOfAGameCountTogether) {
  Lives environment(2);
  const auto plan = std::make_shared<const Plan>(MakePlan(MlpSpec({})));
  const Parameters parameters(plan);
  Actor actor(plan, ObservationLayout(environment.spec()), PolicyKind::kGreedy, 5, 2);
  int episodes = 0, games = 0;
  const EvaluationResult result =
      Evaluate(environment, actor, parameters, 3, 0, 1, [&](const EvaluationStep& step) {
        episodes += step.terminated ? 1 : 0;
        games += step.game_ended ? 1 : 0;
      });
  EXPECT_EQ(result.returns, (std::vector<double>{10, 10, 10}));
  EXPECT_EQ(result.length_mean, 10);
  EXPECT_EQ(result.return_std, 0);
  EXPECT_EQ(episodes, 15);
  EXPECT_EQ(games, 3);
}

}  // namespace stableaa::evaluation_test
