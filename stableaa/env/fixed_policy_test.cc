#include "stableaa/env/fixed_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "stableaa/core/error.h"
#include "stableaa/env/classic/classic.h"
#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/minatar/scripted_policy.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"

namespace stableaa::fixed_policy_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t kSeed = 11;

EnvironmentSpec WithActions(const Space& action) {
  return {.id = "test/test", .observation = Space::Bytes({1}), .action = action};
}

// For this many environments of WithActions.
Actions Act(FixedPolicy& policy, std::size_t count) {
  const std::vector<std::uint8_t> bytes(count);
  return policy.Act({.bytes = bytes});
}

std::vector<std::int32_t> Indices(const std::string& name, int n, std::size_t count,
                                  std::uint64_t seed = kSeed) {
  FixedPolicy policy(name, WithActions(Space::Discrete(n)), seed);
  const Actions actions = Act(policy, count);
  EXPECT_TRUE(actions.values.empty());
  return {actions.indices.begin(), actions.indices.end()};
}

std::vector<float> Values(const std::string& name, const Space& space, std::size_t count) {
  FixedPolicy policy(name, WithActions(space), kSeed);
  const Actions actions = Act(policy, count);
  EXPECT_TRUE(actions.indices.empty());
  return {actions.values.begin(), actions.values.end()};
}

void ExpectRefused(const std::string& name, const EnvironmentSpec& spec,
                   std::string_view part = "") {
  const std::string message = MessageOf([&] { const FixedPolicy policy(name, spec, kSeed); });
  EXPECT_NE(message, "no error") << name;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// Pearson's statistic for counts that should all be equal.
double ChiSquare(const std::vector<int>& counts) {
  double total = 0, statistic = 0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  for (const int count : counts) statistic += (count - expected) * (count - expected) / expected;
  return statistic;
}

// --- random

// Bounds that a uniform policy exceeds with probability 1e-6 each. The seed is fixed, so a test
// that passes once always passes; this is the chance that a change of the generator raises a false
// alarm.
TEST(RandomPolicy, IsUniformOverDiscreteActions) {
  const std::vector<std::pair<int, double>> bounds = {
      {2, 23.93}, {3, 27.63}, {6, 35.89}, {18, 60.13}};
  for (const auto& [n, bound] : bounds) {
    std::vector<int> counts(static_cast<std::size_t>(n));
    for (const std::int32_t index : Indices("random", n, 60'000)) {
      ASSERT_GE(index, 0);
      ASSERT_LT(index, n);
      ++counts[static_cast<std::size_t>(index)];
    }
    EXPECT_LT(ChiSquare(counts), bound) << n;
  }
}

// All 36 pairs of actions, side by side and in successive steps of one environment.
TEST(RandomPolicy, IsIndependentBetweenEnvironmentsAndSteps) {
  FixedPolicy policy("random", WithActions(Space::Discrete(6)), kSeed);
  std::vector<int> beside(36), after(36);
  std::size_t last = 0;
  for (int step = 0; step < 30'000; ++step) {
    const Actions actions = Act(policy, 2);
    const auto first = static_cast<std::size_t>(actions.indices[0]);
    ++beside[6 * first + static_cast<std::size_t>(actions.indices[1])];
    if (step % 2 == 1) ++after[6 * last + first];
    last = first;
  }
  EXPECT_LT(ChiSquare(beside), 89.94);  // exceeded with probability 1e-6, as above
  EXPECT_LT(ChiSquare(after), 89.94);
}

TEST(RandomPolicy, DrawsFromItsStreamOfTheSeed) {
  RandomStream random(kSeed, "policy");
  for (const std::int32_t index : Indices("random", 6, 100)) {
    ASSERT_EQ(static_cast<std::uint64_t>(index), random.Below(6));
  }
  EXPECT_NE(Indices("random", 6, 100), Indices("random", 6, 100, kSeed + 1));
  const std::vector<std::int32_t> zeros(100);
  EXPECT_EQ(Indices("random", 1, 100), zeros);
}

TEST(RandomPolicy, IsUniformOverABoxOfFiniteBounds) {
  const Space space = Space::Floats({2}, {-2, 10}, {2, 11});
  constexpr std::size_t kCount = 40'000;
  const std::vector<float> values = Values("random", space, kCount);
  ASSERT_EQ(values.size(), 2 * kCount);
  for (std::size_t element = 0; element < 2; ++element) {
    const double low = space.LowOf(element), high = space.HighOf(element);
    std::vector<int> counts(20);
    double sum = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double value = values[2 * i + element];
      ASSERT_GE(value, low);
      ASSERT_LE(value, high);
      sum += value;
      ++counts[std::min(std::size_t{19},
                        static_cast<std::size_t>((value - low) / (high - low) * 20))];
    }
    EXPECT_LT(ChiSquare(counts), 63.67) << element;  // exceeded with probability 1e-6
    // Within 5 standard deviations of the mean, exceeded with probability 6e-7.
    EXPECT_NEAR(sum / kCount, (low + high) / 2, 5 * (high - low) / std::sqrt(12.0 * kCount));
  }
}

TEST(RandomPolicy, IsNormalWhereABoxIsUnboundedAndStaysWithinTheBoundThereIs) {
  constexpr std::size_t kCount = 40'000;
  const Space space = Space::Floats({2}, {-kInfinity, .5F}, {kInfinity, kInfinity});
  const std::vector<float> values = Values("random", space, kCount);
  double sum = 0, squares = 0;
  int at_bound = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double value = values[2 * i];
    sum += value;
    squares += value * value;
    ASSERT_TRUE(std::isfinite(values[2 * i + 1]));
    ASSERT_GE(values[2 * i + 1], .5F);
    if (values[2 * i + 1] == .5F) ++at_bound;
  }
  // 5 standard deviations each.
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(at_bound / static_cast<double>(kCount), .691462, 5 * .4619 / std::sqrt(kCount));
}

TEST(RandomPolicy, OneBoundMayHoldForAllElements) {
  const std::vector<float> values = Values("random", Space::Floats({2, 3}, {-1}, {1}), 50);
  ASSERT_EQ(values.size(), 300U);
  for (const float value : values) EXPECT_LE(std::abs(value), 1);
}

// --- noop and constants

TEST(NoopPolicy, IsWhatTheEnvironmentSays) {
  for (const std::string& name : MinatarNames()) {
    EnvironmentSpec spec = MinatarEnvironmentSpec(name);
    FixedPolicy policy("noop", spec, kSeed);
    const std::vector<std::uint8_t> bytes(3 * spec.observation.size());
    const Actions actions = policy.Act({.bytes = bytes});
    EXPECT_TRUE(std::ranges::equal(actions.indices, std::array{0, 0, 0}));
  }
  FixedPolicy car("noop", ClassicEnvironmentSpec("mountain_car"), kSeed);
  const std::vector<float> floats(6);
  EXPECT_TRUE(std::ranges::equal(car.Act({.floats = floats}).indices, std::array{1, 1, 1}));
  FixedPolicy pendulum("noop", ClassicEnvironmentSpec("pendulum"), kSeed);
  EXPECT_TRUE(std::ranges::equal(pendulum.Act({.floats = floats}).values, std::array{0.F, 0.F}));
  ExpectRefused("noop", ClassicEnvironmentSpec("cartpole"), "constant:K");
}

TEST(ConstantPolicy, TakesAnyActionThereIs) {
  const std::vector<std::pair<std::string, std::int32_t>> valid = {
      {"constant:0", 0},  {"constant:5", 5},   {"constant:3.0", 3},
      {"constant:-0", 0}, {"constant:2e0", 2}, {"constant:04", 4}};
  for (const auto& [name, action] : valid) {
    const std::vector<std::int32_t> expected(4, action);
    EXPECT_EQ(Indices(name, 6, 4), expected) << name;
  }
  const std::vector<float> expected(6, -1.5F);
  EXPECT_EQ(Values("constant:-1.5", Space::Floats({2}, {-2, -3}, {2, 3}), 3), expected);
  const std::vector<float> bound(3, 2);
  EXPECT_EQ(Values("constant:2", Space::Floats({1}, {-2}, {2}), 3), bound);
  const std::vector<float> large(1, 1e30F);
  EXPECT_EQ(Values("constant:1e30", Space::Floats({1}, {-kInfinity}, {kInfinity}), 1), large);
}

TEST(ConstantPolicy, RefusesWhatIsNoNumberOrNoAction) {
  const EnvironmentSpec discrete = WithActions(Space::Discrete(6));
  const EnvironmentSpec box = WithActions(Space::Floats({2}, {-2, -1}, {2, 1}));
  const EnvironmentSpec unbounded = WithActions(Space::Floats({1}, {-kInfinity}, {kInfinity}));
  const std::vector<std::string> no_numbers = {
      "constant:",    "constant:x",   "constant:nan", "constant:inf", "constant:-inf",
      "constant: 1",  "constant:1 ",  "constant:1x",  "constant:0x1", "constant:1e999",
      "constant:1,2", "constant:--1", "constant:+1",  "constant::1",  "constant:1\n"};
  for (const std::string& name : no_numbers) {
    ExpectRefused(name, discrete, "expected a number behind the colon");
    ExpectRefused(name, box, "expected a number behind the colon");
    ExpectRefused(name, unbounded, "expected a number behind the colon");
  }
  const std::vector<std::string> no_actions = {"constant:1.5", "constant:99",    "constant:6",
                                               "constant:-1",  "constant:1e300", "constant:5.0001"};
  for (const std::string& name : no_actions) ExpectRefused(name, discrete, "actions 0 to 5");
  ExpectRefused("constant:2.1", box, "[-2, 2]");
  ExpectRefused("constant:1.5", box, "[-1, 1]");  // for the second element
  ExpectRefused("constant:-1.0001", box, "[-1, 1]");
}

TEST(FixedPolicy, UnknownNamesAreRefused) {
  const std::vector<std::string> names = {"",          "Random", "random ",
                                          "constant",  "greedy", "noop:1",
                                          "scripted2", "\xff",   std::string(100'000, 'r')};
  for (const std::string& name : names) {
    ExpectRefused(name, WithActions(Space::Discrete(6)), "expected a policy random, noop");
  }
}

// --- scripted

TEST(ScriptedPolicy, IsForMinatarOnly) {
  for (const std::string& name : ClassicNames()) {
    ExpectRefused("scripted", ClassicEnvironmentSpec(name), "minatar/ only");
  }
  ExpectRefused("scripted", WithActions(Space::Discrete(6)), "minatar/ only");
}

// Returns of four environments after this many steps.
std::vector<double> ScriptedReturns(const std::string& id, EnvironmentOptions::ActionSet action_set,
                                    int steps) {
  const auto environment = MakeEnvironment(id, {.num_envs = 4, .sticky = 0, .actions = action_set});
  FixedPolicy policy("scripted", environment->spec(), kSeed);
  environment->Reset(kSeed);
  std::vector<double> returns(4);
  for (int step = 0; step < steps; ++step) {
    environment->Step(policy.Act(environment->observations()));
    for (std::size_t i = 0; i < 4; ++i) returns[i] += environment->rewards()[i];
  }
  return returns;
}

// Without sticky actions the player never loses the ball: in 5000 steps, the limit, it hits 417
// bricks whichever way the ball starts.
TEST(ScriptedPolicy, PlaysBreakoutWithEitherSetOfActions) {
  using ActionSet = EnvironmentOptions::ActionSet;
  const std::vector<double> expected(4, 417);
  EXPECT_EQ(ScriptedReturns("minatar/breakout", ActionSet::kFull, 5000), expected);
  EXPECT_EQ(ScriptedReturns("minatar/breakout", ActionSet::kMinimal, 5000), expected);
}

TEST(ScriptedPolicy, DoesTheSameWithEitherSetOfActionsInEveryGame) {
  using ActionSet = EnvironmentOptions::ActionSet;
  for (const std::string& name : MinatarNames()) {
    const std::string id = MinatarEnvironmentSpec(name).id;
    const std::vector<double> returns = ScriptedReturns(id, ActionSet::kUsual, 1000);
    EXPECT_EQ(ScriptedReturns(id, ActionSet::kMinimal, 1000), returns) << id;
    EXPECT_GT(returns[0] + returns[1], 0) << id;
  }
}

TEST(ScriptedPolicy, LooksAtEachEnvironmentsOwnObservation) {
  const auto environment = MakeEnvironment("minatar/asterix", {.num_envs = 3});
  FixedPolicy policy("scripted", environment->spec(), kSeed);
  environment->Reset(kSeed);
  int different = 0;
  for (int step = 0; step < 200; ++step) {
    const Actions actions = policy.Act(environment->observations());
    for (std::size_t i = 0; i < 3; ++i) {
      const auto seen = environment->observations().bytes.subspan(i * 400, 400);
      ASSERT_EQ(actions.indices[i], ScriptedMinatarAction(MinatarGame::kAsterix, seen));
    }
    if (actions.indices[0] != actions.indices[2]) ++different;
    environment->Step(actions);
  }
  EXPECT_GT(different, 20);
}

TEST(FixedPolicy, TheNumberOfActionsFollowsTheObservations) {
  FixedPolicy policy("random", WithActions(Space::Discrete(6)), kSeed);
  for (const std::size_t count : {std::size_t{5}, std::size_t{1}, std::size_t{8}}) {
    EXPECT_EQ(Act(policy, count).indices.size(), count);
  }
}

}  // namespace stableaa::fixed_policy_test
