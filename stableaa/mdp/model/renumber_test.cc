#include "stableaa/mdp/model/renumber.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_rows_test.h"

namespace stableaa::renumber_test {

std::vector<std::uint64_t> RandomPermutation(std::uint64_t n, std::uint64_t seed) {
  std::vector<std::uint64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  RandomStream(seed, "renumber").Shuffle(std::span(numbers));
  return numbers;
}

// The same process: compared row by row, only the names of states differ.
void ExpectRenumbered(const Model& model, const Model& renumbered,
                      const std::vector<std::uint64_t>& number) {
  CheckCanonical(renumbered.arrays(), "renumbered", 1);
  ASSERT_EQ(renumbered.states(), model.states());
  ASSERT_EQ(renumbered.transitions(), model.transitions());
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    ASSERT_EQ(renumbered.actions(number[state]), model.actions(state));
    for (std::uint64_t action = 0; action < model.actions(state); ++action) {
      Distribution expected;
      for (const auto& [next, probability] : NextStates(model, state, action)) {
        expected[number[next]] = probability;
      }
      ASSERT_EQ(NextStates(renumbered, number[state], action), expected);
      ASSERT_EQ(RewardOf(renumbered, number[state], action), RewardOf(model, state, action));
    }
  }
}

TEST(Renumber, StatesTakeTheirRowsAlong) {
  for (const char* kind : {"garnet", "grid", "inventory", "queues"}) {
    const Model model = GenerateModel({.kind = kind, .discount = .9, .states = 500});
    const std::vector<std::uint64_t> number = RandomPermutation(model.states(), 1);
    const Model renumbered = Renumber(model, number);
    ExpectRenumbered(model, renumbered, number);
    EXPECT_EQ(renumbered.discount(), .9);
    EXPECT_FALSE(renumbered == model);
  }
}

TEST(Renumber, LongRowsAreSortedToo) {
  for (const std::uint64_t branching : {15, 16, 17, 60, 100}) {
    const Model model =
        GenerateModel({.kind = "garnet", .states = 100, .actions = 2, .branching = branching});
    const std::vector<std::uint64_t> number = RandomPermutation(100, branching);
    ExpectRenumbered(model, Renumber(model, number), number);
  }
}

TEST(Renumber, WideColumnsStayWide) {
  const Model model = ModelOfGraph({{{0, 1, 2}}, {{2}, {0}}, {{1, 0}}}, true);
  const std::vector<std::uint64_t> number = {2, 0, 1};
  const Model renumbered = Renumber(model, number);
  EXPECT_TRUE(renumbered.wide());
  ExpectRenumbered(model, renumbered, number);
}

TEST(Renumber, TheInverseLeadsBack) {
  const Model model = GenerateModel({.kind = "inventory", .discount = .99, .states = 2000});
  const std::vector<std::uint64_t> number = RandomPermutation(model.states(), 2);
  EXPECT_EQ(Renumber(Renumber(model, number), InversePermutation(number)), model);
}

TEST(Renumber, OwnNumbersChangeNothing) {
  const Model model = GenerateModel({.kind = "grid", .states = 400});
  std::vector<std::uint64_t> number(model.states());
  std::iota(number.begin(), number.end(), std::uint64_t{0});
  EXPECT_EQ(Renumber(model, number), model);
}

TEST(Renumber, NumbersThatAreNoPermutationAreRefused) {
  const Model model = ModelOfGraph({{{0}}, {{1}}, {{2}}});
  using Numbers = std::vector<std::uint64_t>;
  EXPECT_THROW(Renumber(model, Numbers{0, 1}), std::logic_error);
  EXPECT_THROW(Renumber(model, Numbers{0, 1, 1}), std::logic_error);
  EXPECT_THROW(Renumber(model, Numbers{0, 1, 3}), std::logic_error);
}

}  // namespace stableaa::renumber_test
