#include "stableaa/rl/value/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/value/mixing_problem_test.h"

namespace stableaa::bootstrap_test {

using mixing_problem_test::Problem;
using mixing_problem_test::RandomProblem;

TEST(CollectStates, AsksForNoNextStateOfAnEpisodeThatTerminated) {
  RandomStream random(3, "targets");
  const Problem problem = RandomProblem(random, 1, 50);
  const auto ended = static_cast<std::size_t>(std::ranges::count(problem.batch.discounts, 0.0F));
  ASSERT_GT(ended, 0U);
  std::vector<FrozenState> states(3);
  CollectStates(problem.batch, 1, false, states);
  EXPECT_EQ(states.size(), problem.n - ended);
  CollectStates(problem.batch, 1, true, states);
  ASSERT_EQ(states.size(), 2 * problem.n - ended);
  for (const FrozenState& state : states) EXPECT_NE(state.frames[0], nullptr);
}

TEST(CollectStates, TakesWholeStacksOfFrames) {
  RandomStream random(4, "targets");
  Problem problem = RandomProblem(random, 1, 3);
  problem.batch.discounts = {.9F, 0, .9F};
  std::vector<std::uint8_t> bytes(12);
  problem.batch.frames.clear();
  problem.batch.next_frames.clear();
  for (std::size_t k = 0; k < 6; ++k) {
    problem.batch.frames.push_back(&bytes[k]);
    problem.batch.next_frames.push_back(&bytes[6 + k]);
  }
  std::vector<FrozenState> states;
  CollectStates(problem.batch, 2, true, states);
  std::vector<std::ptrdiff_t> places;
  for (const FrozenState& state : states) {
    for (const std::uint8_t* const frame : state.frames) places.push_back(frame - bytes.data());
  }
  EXPECT_EQ(places, (std::vector<std::ptrdiff_t>{6, 7, 10, 11, 0, 1, 2, 3, 4, 5}));
}

}  // namespace stableaa::bootstrap_test
