#include "stableaa/mdp/solve/refinement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa::refinement_test {

using Extended = long double;

SolveOptions Options(double discount, double tolerance) {
  SolveOptions options;
  options.discount = discount;
  options.tolerance = tolerance;
  options.threads = 1;
  return options;
}

// A tolerance far below what the plain certificate can prove, so that every solve is refined.
TEST(Refinement, BoundsHoldAndAreCloseToTheTrueError) {
  int refined = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Model model = RandomModel(seed, 30);
    const double discount = seed % 2 == 0 ? 0.999 : 0.99999;
    const Solution solution = Solve(model, Options(discount, 1e-300));
    const std::vector<Extended> exact = ExactValues(model, discount);
    double largest = 0;
    for (const double value : solution.values) largest = std::max(largest, std::abs(value));
    for (std::size_t s = 0; s < exact.size(); ++s) {
      const Extended error = exact[s] - solution.values[s];
      // The reference's own rounding.
      const Extended slack = 1e-19L * std::abs(exact[s]) + 1e-28L * largest;
      ASSERT_LE(error, solution.upper + slack) << seed;
      ASSERT_GE(error, solution.lower - slack) << seed;
    }
    refined += static_cast<int>(solution.error <= 4 * largest * 0x1p-53);
  }
  EXPECT_GT(refined, 190);
}

// A chain that is left for good, with values of 1e9: the plain certificate charges
// 1e9·ε/(1−γ) ≈ 1e-2 to every state, but an error cannot grow along a chain.
TEST(Refinement, ErrorsGrowOnlyAsFarAsTheyCan) {
  ModelBuilder builder([] { return std::string("chain"); });
  constexpr std::uint64_t kStates = 100;
  for (std::uint64_t s = 0; s < kStates; ++s) {
    builder.BeginState();
    if (s + 1 == kStates) {
      builder.Transition(s, 1);
      builder.EndRow(0);
      break;
    }
    builder.Transition(s + 1, .7);
    builder.Transition(std::min(s + 2, kStates - 1), .3);
    builder.EndRow(1e7);
  }
  const Solution solution = Solve(builder.Finish(std::nullopt), Options(0.99999, 1e-6));
  EXPECT_TRUE(solution.converged());
  EXPECT_LE(solution.error, 1e-6);
  EXPECT_GT(solution.values[0], 7e8);
}

// One state that pays 1 for ever: V* = 1/(1−γ), and no double is closer than half a unit.
TEST(Refinement, ARealFloorIsReported) {
  ModelBuilder builder([] { return std::string("loop"); });
  builder.BeginState();
  builder.Transition(0, 1);
  builder.EndRow(1);
  const double discount = 1 - 0x1.8p-30;
  const Solution solution = Solve(builder.Finish(std::nullopt), Options(discount, 1e-12));
  EXPECT_EQ(solution.end, SolveEnd::kRounding);
  const Extended error = std::abs(1 / (1 - Extended{discount}) - solution.values[0]);
  EXPECT_GT(error, 1e-12L);
  EXPECT_LE(error, solution.error + 1e-19L * solution.values[0]);  // the reference rounds too
  EXPECT_LE(solution.error, 4 * static_cast<double>(error));
}

}  // namespace stableaa::refinement_test
