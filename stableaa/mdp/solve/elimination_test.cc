#include "stableaa/mdp/solve/elimination.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/component_model.h"

namespace stableaa::elimination_test {

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

std::vector<std::uint32_t> AllStates(const Model& model) {
  std::vector<std::uint32_t> states(model.states());
  std::iota(states.begin(), states.end(), 0U);
  return states;
}

// The values of the copy's actions, by many passes over the plain equations of the model.
std::vector<double> ByPasses(const Model& model, double discount, const ComponentModel& copy) {
  std::vector<double> values(model.states());
  for (int pass = 0; pass < 20'000; ++pass) {
    for (std::uint64_t s = 0; s < model.states(); ++s) {
      const std::uint64_t row = model.state_rows()[s] + copy.actions[s];
      double sum = 0;
      for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
           ++k) {
        sum += model.probabilities()[k] * values[model.column(k)];
      }
      values[s] = model.rewards()[row] + discount * sum;
    }
  }
  return values;
}

TEST(Elimination, GivesThePolicysValuesInAnyOrder) {
  RandomStream stream(1, "elimination");
  Elimination elimination;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Model model = RandomModel(seed, 25);
    const double discount = 0.99;
    ComponentModel copy;
    copy.Take(model, discount, AllStates(model), std::vector<double>(model.states()));
    for (std::uint64_t s = 0; s < model.states(); ++s) {
      copy.actions[s] = static_cast<std::uint32_t>(stream.Below(model.actions(s)));
    }
    const std::vector<double> expected = ByPasses(model, discount, copy);
    std::vector<double> constants;
    copy.GatherConstants(constants);
    std::vector<std::uint32_t> order;  // as placed, then shuffled
    for (int trial = 0; trial < 3; ++trial) {
      std::vector<double> values(model.states());
      ASSERT_TRUE(elimination.Solve(copy, order, kAny, constants, values));
      for (std::size_t s = 0; s < values.size(); ++s) {
        ASSERT_NEAR(values[s], expected[s], 1e-9 * (1 + std::abs(expected[s])));
      }
      order = AllStates(model);
      stream.Shuffle(std::span(order));
    }
  }
}

TEST(Elimination, StopsAtItsLimitAndLeavesTheValues) {
  const Model model = GenerateModel({.kind = "garnet", .states = 300});
  ComponentModel copy;
  copy.Take(model, 0.9, AllStates(model), std::vector<double>(model.states()));
  std::vector<double> constants;
  copy.GatherConstants(constants);
  std::vector<double> values(model.states(), 7);
  Elimination elimination;
  ASSERT_FALSE(elimination.Solve(copy, {}, 1000, constants, values));
  EXPECT_EQ(values, std::vector<double>(model.states(), 7));
  ASSERT_TRUE(elimination.Solve(copy, {}, kAny, constants, values));
  const std::uint64_t needed = elimination.operations();
  EXPECT_GT(needed, 1000U);
  EXPECT_TRUE(elimination.Solve(copy, {}, needed, constants, values));
  EXPECT_FALSE(elimination.Solve(copy, {}, needed - 1, constants, values));
}

// A cycle of n states that pays 1 a step and is never left: every value is 1/(1−γ). Finding what the
// last equation leaves to 1 by subtraction would lose as many digits as 1−γ has zeros.
TEST(Elimination, KeepsAllDigitsInACycleThatIsHardlyLeft) {
  for (const double discount : {0.9, 0.99999, 1 - 0x1p-40}) {
    constexpr std::uint64_t kStates = 1000;
    ModelBuilder builder([] { return std::string("cycle"); });
    for (std::uint64_t s = 0; s < kStates; ++s) {
      builder.BeginState();
      builder.Transition((s + 1) % kStates, .75);
      builder.Transition((s + 2) % kStates, .25);
      builder.EndRow(1);
    }
    const Model model = builder.Finish(std::nullopt);
    ComponentModel copy;
    copy.Take(model, discount, AllStates(model), std::vector<double>(kStates));
    std::vector<double> constants;
    copy.GatherConstants(constants);
    std::vector<double> values(kStates);
    Elimination elimination;
    ASSERT_TRUE(elimination.Solve(copy, {}, 20 * kStates, constants, values));
    const double expected = 1 / (1 - discount);
    for (const double value : values) ASSERT_NEAR(value, expected, 1e-12 * expected);
  }
}

}  // namespace stableaa::elimination_test
