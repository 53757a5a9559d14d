#include "stableaa/rl/control/control_player.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"

namespace stableaa::control_player_test {

constexpr int kEnvs = 3;

// Two numbers observed, two per action, with different bounds.
EnvironmentSpec World() {
  return {.id = "test/player",
          .observation = Space::Floats({2}, {-10}, {10}),
          .action = Space::Floats({2}, {-2, 0}, {2, 10})};
}

std::shared_ptr<const Plan> PlanOf(const std::string& text) {
  return std::make_shared<const Plan>(MakePlan(ParseSpec(text)));
}

// Output k is `factors[k]` times the sum of what is observed.
Parameters Summing(const std::shared_ptr<const Plan>& plan, const std::vector<float>& factors) {
  Parameters parameters(plan);
  std::vector<float> weights;
  for (const float factor : factors) weights.insert(weights.end(), {factor, factor});
  parameters.Set(ParameterTensors(*plan).front(), weights);
  return parameters;
}

const std::vector<float> kSeen = {1, 0, -1, 0.5F, 0, 0};  // sums 1, -0.5, 0

TEST(ControlPlayer, PlaysTheActorsActionsWithinTheBounds) {
  const auto plan = PlanOf("vector(2) linear(2) tanh");
  ControlPlayer player(plan, World(), kEnvs);
  RandomStream random(1, "player");
  const Actions actions = player.Play(Summing(plan, {1, -2}), {.floats = kSeen}, 0, random).actions;
  ASSERT_EQ(actions.values.size(), 6U);
  EXPECT_TRUE(actions.indices.empty());
  const double sums[] = {1, -.5, 0};
  for (std::size_t i = 0; i < kEnvs; ++i) {
    EXPECT_NEAR(actions.values[2 * i], 2 * std::tanh(sums[i]), 1e-6);
    EXPECT_NEAR(actions.values[2 * i + 1], 5 + 5 * std::tanh(-2 * sums[i]), 1e-5);
  }
}

TEST(ControlPlayer, PlaysTheMeansOfAGaussianActor) {
  const auto plan = PlanOf("vector(2) linear(4)");
  ControlPlayer player(plan, World(), kEnvs);
  RandomStream random(1, "player");
  const Actions actions =
      player.Play(Summing(plan, {1, -2, 30, 40}), {.floats = kSeen}, 0, random).actions;
  EXPECT_NEAR(actions.values[0], 2 * std::tanh(1), 1e-6);
  EXPECT_NEAR(actions.values[3], 5 + 5 * std::tanh(1), 1e-5);
}

TEST(ControlPlayer, PlaysUniformActionsAsOftenAsEpsilonSays) {
  constexpr int kRounds = 20'000;
  const auto plan = PlanOf("vector(2) linear(2) tanh");
  ControlPlayer player(plan, World(), kEnvs);
  const Parameters parameters(plan);  // the actor's action is the middle
  RandomStream random(1, "player");
  int at_random = 0;
  double sum = 0;
  for (int k = 0; k < kRounds; ++k) {
    const Actions actions = player.Play(parameters, {.floats = kSeen}, .25, random).actions;
    for (std::size_t i = 0; i < kEnvs; ++i) {
      const float first = actions.values[2 * i], second = actions.values[2 * i + 1];
      ASSERT_TRUE(first >= -2 && first <= 2 && second >= 0 && second <= 10);
      at_random += first != 0;
      sum += static_cast<double>(first) + static_cast<double>(second) - 5;
    }
  }
  // Five standard deviations: a false alarm has probability 6e-7. Uniform numbers in halves of 2 and
  // 5 have variances 4/3 and 25/3.
  const double n = kRounds * kEnvs;
  EXPECT_NEAR(at_random / n, .25, 5 * std::sqrt(.25 * .75 / n));
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(.25 * (4 + 25) / 3 / n));
}

TEST(ControlPlayer, StopsWhenTheActorHasDiverged) {
  const auto plan = PlanOf("vector(2) linear(2) tanh");
  ControlPlayer player(plan, World(), kEnvs);
  RandomStream random(1, "player");
  const Parameters parameters = Summing(plan, {1, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(MessageOf([&] { player.Play(parameters, {.floats = kSeen}, 0, random); },
                      Error::Kind::kWorkFailed),
            "output 1 of the actor is nan: it has diverged");
}

// Although its action, tanh of it, is a number.
TEST(ControlPlayer, StopsWhenAMeanIsInfinite) {
  const auto plan = PlanOf("vector(2) linear(4)");
  ControlPlayer player(plan, World(), kEnvs);
  RandomStream random(1, "player");
  Parameters parameters(plan);
  std::ranges::fill(parameters.block(), std::numeric_limits<float>::max());
  EXPECT_EQ(MessageOf([&] { player.Play(parameters, {.floats = kSeen}, 0, random); },
                      Error::Kind::kWorkFailed),
            "output 0 of the actor is inf: it has diverged");
}

TEST(ControlPlayer, KnowsActorsByTheirEnds) {
  const auto fits = [](const std::string& text, std::size_t elements) {
    return IsActorFor(*PlanOf(text), elements);
  };
  EXPECT_TRUE(fits("vector(2) linear(2) tanh", 2));
  EXPECT_TRUE(fits("vector(2) linear(5) relu linear(4)", 2));
  EXPECT_FALSE(fits("vector(2) linear(2)", 2));
  EXPECT_FALSE(fits("vector(2) linear(4) tanh", 2));
  EXPECT_FALSE(fits("vector(2) linear(4) relu", 2));
  EXPECT_FALSE(fits("vector(2) linear(3) tanh", 2));
  EXPECT_TRUE(IsGaussianActor(*PlanOf("vector(2) linear(4)"), 2));
  EXPECT_FALSE(IsGaussianActor(*PlanOf("vector(2) linear(2) tanh"), 2));
}

}  // namespace stableaa::control_player_test
