// The bridge: boxes of actions of all kinds. The environments show the action that arrives and
// raise if it is not in their space.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/env/fixed_policy.h"
#include "stableaa/env/gymnasium/bridge_test.h"

namespace stableaa::action_boxes_test {

using bridge_test::Bridge;

using Floats = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The bounds of all elements, although a space may hold one for all of them.
Floats LowsOf(const Space& space) {
  Floats lows;
  for (std::size_t i = 0; i < space.size(); ++i) lows.push_back(space.LowOf(i));
  return lows;
}
Floats HighsOf(const Space& space) {
  Floats highs;
  for (std::size_t i = 0; i < space.size(); ++i) highs.push_back(space.HighOf(i));
  return highs;
}

// What the environment shows after a step: the action, and whether its elements are at the bounds.
struct Arrived {
  Floats action, at_low, at_high;
};

Arrived Send(Environment& env, const Floats& action) {
  env.Step({.values = action});
  const auto seen = env.observations().floats;
  const auto part = [&](std::size_t k) {
    const auto row = seen.subspan(k * action.size(), action.size());
    return Floats(row.begin(), row.end());
  };
  return {part(0), part(1), part(2)};
}

TEST_F(Bridge, EveryActionBetweenTheBoundsIsInTheBox) {
  for (const std::string name : {"Asymmetric", "Unbounded", "ZeroWidth", "TwoByThree", "Integers",
                                 "LongIntegers", "SignedIntegers", "Bytes", "Doubles"}) {
    SCOPED_TRACE(name);
    const auto env = Faulty(name);
    env->Reset(1);
    const Space& space = env->spec().action;
    EXPECT_EQ(space.type, ElementType::kFloat);
    FixedPolicy policy("random", env->spec(), 3);
    for (int t = 0; t < 100; ++t) env->Step(policy.Act(env->observations()));
    Floats lows = LowsOf(space), highs = HighsOf(space);
    for (std::size_t i = 0; i < lows.size(); ++i) {
      EXPECT_LE(lows[i], highs[i]);
      if (std::isinf(lows[i])) lows[i] = std::min(highs[i], std::numeric_limits<float>::lowest());
      if (std::isinf(highs[i])) highs[i] = std::numeric_limits<float>::max();
    }
    Send(*env, lows);
    const Arrived highest = Send(*env, highs);
    for (std::size_t i = 0; i < lows.size(); ++i) {
      if (lows[i] < highs[i]) {
        EXPECT_EQ(highest.at_low[i], 0) << "element " << i;
      }
    }
  }
}

TEST_F(Bridge, BoundsThatAreFloatsArriveAsTheyAre) {
  const auto asymmetric = Faulty("Asymmetric");
  EXPECT_EQ(LowsOf(asymmetric->spec().action), (Floats{-1, .5F, -3}));
  EXPECT_EQ(HighsOf(asymmetric->spec().action), (Floats{4, .75F, -2}));
  EXPECT_FALSE(asymmetric->spec().noop) << "0 is not in the box";
  asymmetric->Reset(1);
  EXPECT_EQ(Send(*asymmetric, {-1, .5F, -3}).at_low, (Floats{1, 1, 1}));
  EXPECT_EQ(Send(*asymmetric, {4, .75F, -2}).at_high, (Floats{1, 1, 1}));

  const auto unbounded = Faulty("Unbounded");
  EXPECT_EQ(LowsOf(unbounded->spec().action), (Floats{-kInfinity, -kInfinity, 2}));
  EXPECT_EQ(HighsOf(unbounded->spec().action), (Floats{kInfinity, -1, kInfinity}));

  const auto matrix = Faulty("TwoByThree");
  EXPECT_EQ(matrix->spec().action.shape, (std::vector<int>{2, 3}));
  EXPECT_EQ(LowsOf(matrix->spec().action), (Floats{-1, -2, -3, -4, -5, -6}));
  matrix->Reset(1);
  const Floats rows = {2, 3, 5, 7, 10, 12};
  const Arrived arrived = Send(*matrix, rows);
  EXPECT_EQ(arrived.action, rows);
  EXPECT_EQ(arrived.at_high, (Floats{1, 0, 0, 0, 1, 1}));
}

TEST_F(Bridge, BoundsThatAreNotFloatsAreRoundedInwards) {
  const auto env = Faulty("Doubles");
  const Floats lows = LowsOf(env->spec().action), highs = HighsOf(env->spec().action);
  constexpr float kMost = std::numeric_limits<float>::max();
  const std::vector<double> low = {.1, -.1, -1e300, 0}, high = {.3, .7, 1e300, 1.0 / 3};
  for (std::size_t i = 0; i < low.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_GE(double{lows[i]}, low[i]);
    EXPECT_LE(double{highs[i]}, high[i]);
    // No float is nearer.
    EXPECT_TRUE(lows[i] == -kMost || double{std::nextafter(lows[i], -kInfinity)} < low[i]);
    EXPECT_TRUE(highs[i] == kMost || double{std::nextafter(highs[i], kInfinity)} > high[i]);
  }
}

TEST_F(Bridge, AnElementWithoutAnyChoiceIsAlwaysItsBound) {
  const auto env = Faulty("ZeroWidth");
  EXPECT_EQ(LowsOf(env->spec().action), (Floats{.25F, .1F, -1}));
  EXPECT_EQ(HighsOf(env->spec().action), (Floats{.25F, .1F, 1}));
  env->Reset(1);
  const Arrived arrived = Send(*env, {.25F, .1F, .5F});
  EXPECT_EQ(arrived.at_low, (Floats{1, 1, 0}));
  EXPECT_EQ(arrived.action[2], .5F);
  const auto beyond = Faulty("BeyondFloats");
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_EQ(LowsOf(beyond->spec().action), (Floats{0, kMost}));
  EXPECT_EQ(HighsOf(beyond->spec().action), (Floats{1, kMost}));
}

TEST_F(Bridge, IntegersAreTheNearestOnes) {
  const auto env = Faulty("Integers");
  EXPECT_EQ(LowsOf(env->spec().action), (Floats{-3, 16777218}));
  EXPECT_EQ(HighsOf(env->spec().action), (Floats{9, 16777222}));
  env->Reset(1);
  EXPECT_EQ(Send(*env, {-2.6F, 16777218}).action, (Floats{-3, 16777218}));
  EXPECT_EQ(Send(*env, {8.4F, 16777220}).action, (Floats{8, 16777220}));
  const auto bytes = Faulty("Bytes");
  EXPECT_EQ(HighsOf(bytes->spec().action), (Floats{200, 200}));
  bytes->Reset(1);
  EXPECT_EQ(Send(*bytes, {199.7F, .3F}).action, (Floats{200, 0}));
}

}  // namespace stableaa::action_boxes_test
