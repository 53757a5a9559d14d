#include "stableaa/rl/control/action_box.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"

namespace stableaa::action_box_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

EnvironmentSpec World(std::vector<float> low, std::vector<float> high) {
  const int elements = static_cast<int>(std::max(low.size(), high.size()));
  return {.id = "test/box",
          .observation = Space::Floats({1}, {-1}, {1}),
          .action = Space::Floats({elements}, std::move(low), std::move(high))};
}

float MappedTo(float low, float high, float unit) {
  float out = 0;
  ActionBox(World({low}, {high})).ToEnvironment({&unit, 1}, {&out, 1});
  return out;
}

TEST(ActionBox, StretchesEachElementToItsBounds) {
  const ActionBox box(World({-2, 10, 0}, {2, 20, 1}));
  ASSERT_EQ(box.size(), 3U);
  std::vector<float> out(3);
  box.ToEnvironment(std::vector<float>{0.5F, 0, -0.5F}, out);
  EXPECT_EQ(out, (std::vector<float>{1, 15, 0.25F}));
}

TEST(ActionBox, TakesOnePairOfBoundsForAllElements) {
  const EnvironmentSpec spec = {.id = "test/box",
                                .observation = Space::Floats({1}, {-1}, {1}),
                                .action = Space::Floats({2}, {-3}, {5})};
  std::vector<float> out(2);
  ActionBox(spec).ToEnvironment(std::vector<float>{-1, 0}, out);
  EXPECT_EQ(out, (std::vector<float>{-3, 1}));
}

TEST(ActionBox, CountsWhatIsBeyondOneAsOne) {
  EXPECT_EQ(MappedTo(-2, 7, 1.5F), 7);
  EXPECT_EQ(MappedTo(-2, 7, -kLargest), -2);
  EXPECT_EQ(MappedTo(-2, 7, kInfinity), 7);
}

// Bounds of any size, also far apart in size, and next to each other.
std::vector<std::pair<float, float>> Boxes() {
  std::vector<std::pair<float, float>> boxes = {
      {-1e30F, 1e-30F},       {-1e-30F, 1e30F},    {-kLargest, kLargest}, {kLargest, kLargest},
      {-kLargest, -kLargest}, {0, kSmallest},      {-kSmallest, 0},       {kSmallest, kSmallest},
      {-kSmallest, kLargest}, {-16777217.F, 0.1F}, {0.1F, 0.3F},          {0, 0}};
  RandomStream random(1, "boxes");
  while (boxes.size() < 2000) {
    const auto number = [&random] {
      const double size = std::exp2(random.Uniform(-149, 127));
      return static_cast<float>(random.Bernoulli(.5) ? size : -size);
    };
    float low = number(), high = number();
    if (random.Bernoulli(.1)) high = std::nextafter(low, kInfinity);
    if (low > high) std::swap(low, high);
    boxes.emplace_back(low, high);
  }
  return boxes;
}

TEST(ActionBox, ReachesItsBoundsExactlyAndNeverLeavesThem) {
  RandomStream random(1, "units");
  for (const auto& [low, high] : Boxes()) {
    ASSERT_EQ(MappedTo(low, high, -1), low) << high;
    ASSERT_EQ(MappedTo(low, high, 1), high) << low;
    std::vector<float> units = {std::nextafter(1.F, 0.F), std::nextafter(-1.F, 0.F), kSmallest,
                                -kSmallest, 0};
    for (int k = 0; k < 20; ++k) units.push_back(static_cast<float>(random.Uniform(-1, 1)));
    std::ranges::sort(units);
    float before = low;
    for (const float unit : units) {
      const float action = MappedTo(low, high, unit);
      ASSERT_GE(action, before) << "[" << low << ", " << high << "] at " << unit;
      ASSERT_LE(action, high);
      before = action;
    }
  }
}

TEST(ActionBox, IsExactToTheRoundingOfFloats) {
  RandomStream random(2, "units");
  for (const auto& [low, high] : Boxes()) {
    const auto unit = static_cast<float>(random.Uniform(-1, 1));
    const long double share = (1 + static_cast<long double>(unit)) / 2;
    const long double exact =
        static_cast<long double>(low) +
        share * (static_cast<long double>(high) - static_cast<long double>(low));
    // Half a unit in the last place, or where both ends nearly cancel, of the larger end in double.
    const double size = std::max({std::abs(static_cast<double>(low)), static_cast<double>(high)});
    const double allowed =
        std::max(6e-8 * std::abs(static_cast<double>(exact)), 4e-16 * size) + 1e-45;
    EXPECT_NEAR(static_cast<double>(MappedTo(low, high, unit)), static_cast<double>(exact), allowed)
        << "[" << low << ", " << high << "] at " << unit;
  }
}

TEST(ActionBox, OfNoWidthIsAlwaysTheSameNumber) {
  for (const float unit : {-1.F, -.3F, 0.F, 1.F}) EXPECT_EQ(MappedTo(0.1F, 0.1F, unit), 0.1F);
}

TEST(ActionBox, RefusesBoundsThatAreNotFiniteAndNamesThem) {
  EXPECT_EQ(MessageOf([] {
              ActionBox(World({-1, -kInfinity}, {1, 3}));
            }),
            "test/box: element 1 of its actions lies in [-inf, 3]; agents need finite bounds, "
            "which a wrapper of your own can give (env.wrappers)");
  ExpectBadInput([] { ActionBox(World({-1}, {kInfinity})); }, "element 0");
  ExpectBadInput([] { ActionBox(World({std::nanf("")}, {1})); }, "element 0");
  ExpectBadInput([] { ActionBox(World({2}, {1})); }, "[2, 1]");
}

TEST(ActionBox, RefusesActionsThatAreNoRealNumbers) {
  EnvironmentSpec spec = World({0}, {1});
  spec.action = Space::Bytes({3});
  ExpectBadInput([&] { ActionBox{spec}; }, "test/box: expected actions that are real numbers");
  spec.action = Space::Discrete(4);
  ExpectBadInput([&] { ActionBox{spec}; }, "found 4 actions");
}

}  // namespace stableaa::action_box_test
