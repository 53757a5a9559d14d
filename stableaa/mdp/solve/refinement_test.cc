#include "stableaa/mdp/solve/refinement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/formats/csv_format.h"
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

// A model of which no state can be left for good, and its values: rewards are what these leave.
struct KnownModel {
  Model model;
  std::vector<Extended> values;
};
KnownModel RandomKnownModel(std::uint64_t states, double discount) {
  RandomStream random(1, "known");
  std::vector<Extended> values(states);
  for (Extended& value : values) value = 1e5 + random.Uniform();
  ModelBuilder builder([] { return std::string("known"); });
  for (std::uint64_t s = 0; s < states; ++s) {
    builder.BeginState();
    for (int action = 0; action < 3; ++action) {
      Extended next_value = 0;
      for (int i = 0; i < 4; ++i) {
        const std::uint64_t next = random.Below(states);
        builder.Transition(next, .25);
        next_value += values[next] / 4;
      }
      const Extended reward = values[s] - Extended{discount} * next_value;
      builder.EndRow(static_cast<double>(reward) - action);
    }
  }
  return {builder.Finish(std::nullopt), values};
}

// Too many states with too many neighbours for elimination.
TEST(Refinement, ComponentsThatAreNeverLeftAreLevelled) {
  const double discount = 0.999999;
  const KnownModel known = RandomKnownModel(1500, discount);
  const Solution solution = Solve(known.model, Options(discount, 1e-6));
  EXPECT_TRUE(solution.converged()) << solution.error;
  // The reference is rounded to 1e5·2⁻⁶⁴/(1−γ).
  for (std::size_t s = 0; s < known.values.size(); ++s) {
    ASSERT_NEAR(static_cast<double>(known.values[s] - solution.values[s]), 0,
                solution.error + 2e-8);
  }
}

TEST(Refinement, EndsAtTheRunsLimitsWithBoundsThatHold) {
  const double discount = 0.999999;
  const KnownModel known = RandomKnownModel(1500, discount);
  SolveOptions options = Options(discount, 1e-6);
  const double sweeps = Solve(known.model, options).iterations;
  int stopped_in_refinement = 0;
  for (int most = 1; most < 200; most += 3) {
    int asked = 0;
    options.stop = [&] { return ++asked > most; };
    const Solution solution = Solve(known.model, options);
    if (solution.converged()) break;
    EXPECT_EQ(solution.end, SolveEnd::kStopped);
    stopped_in_refinement += static_cast<int>(solution.iterations == sweeps);
    for (std::size_t s = 0; s < known.values.size(); ++s) {
      const auto error = static_cast<double>(known.values[s] - solution.values[s]);
      ASSERT_LE(error, solution.upper + 2e-8);
      ASSERT_GE(error, solution.lower - 2e-8);
    }
  }
  EXPECT_GT(stopped_in_refinement, 0);
}

// State 4 stays with a probability so close to 1 that 1 − γ·stay, computed as that, differs from
// what elimination takes for it: policies then never settled, 4e8 from the solution.
TEST(Refinement, StatesThatAreHardlyLeftAreSolved) {
  const LoadedModel loaded = ParseCsvModel(
      "s,a,next,p,r\n"
      "0,0,6,1.0,-0.22383521408666174\n1,0,7,.004417797110608663,0.5702110146972506\n"
      "1,0,7,.648574925215989,0.5702110146972506\n"
      "1,0,6,.3470072645165017,0.5702110146972506\n"
      "1,0,6,1.3156900586396654e-08,0.5702110146972506\n"
      "1,1,7,1.4285710204082799e-07,-0.5156088458672587\n"
      "1,1,0,1.4285710204082799e-07,-0.5156088458672587\n"
      "1,1,2,.571428408163312,-0.5156088458672587\n"
      "1,1,6,.42857130612248395,-0.5156088458672587\n2,0,8,1.0,-0.6298590417465366\n"
      "3,0,3,1.0,0.0\n4,0,4,.9999999998706113,0.0604475745393942\n"
      "4,0,4,8.329924156130773e-13,0.0604475745393942\n"
      "4,0,8,4.592120698031228e-11,0.0604475745393942\n"
      "4,0,0,8.263441997516656e-11,0.0604475745393942\n4,1,1,.25,-0.6031995839656472\n"
      "4,1,5,.25,-0.6031995839656472\n4,1,7,.25,-0.6031995839656472\n"
      "4,1,4,.25,-0.6031995839656472\n5,0,5,1.0,0.0\n6,0,0,1.0,0.7870866230740696\n"
      "6,1,3,.3333333333333333,-0.40530504490019204\n"
      "6,1,2,.3333333333333333,-0.40530504490019204\n"
      "6,1,7,.3333333333333333,-0.40530504490019204\n7,0,7,1.0,0.0\n"
      "8,0,9,1.0,-0.08622867944534596\n8,1,4,.23180720088065987,-0.2300876727694967\n"
      "8,1,9,.76819279911934,-0.2300876727694967\n9,0,9,1.0,0.0\n",
      "m.csv");
  const double discount = 1 - 1e-9;
  const Solution solution = Solve(loaded.model, Options(discount, 1e-6));
  EXPECT_TRUE(solution.converged()) << solution.error;
  const std::vector<Extended> exact = ExactValues(loaded.model, discount);
  for (std::size_t s = 0; s < exact.size(); ++s) {
    EXPECT_NEAR(static_cast<double>(exact[s] - solution.values[s]), 0, 1e-6) << s;
  }
}

// Sums that rounding leaves above 1/γ: the stored model has no finite values, nothing can be proved.
TEST(Refinement, ProvesNothingWhereRowsOutweighTheDiscount) {
  const LoadedModel loaded = ParseCsvModel(
      "s,a,next,p,r\n"
      "0,0,0,.5,1e-9\n0,0,1,.5000000000000004,1e-9\n"
      "1,0,0,.5000000000000004,1e-9\n1,0,1,.5,1e-9\n",
      "m.csv");
  SolveOptions options = Options(std::nextafter(1.0, 0.0), 1e-15);
  options.method = SolveMethod::kPi;
  const Solution solution = Solve(loaded.model, options);
  EXPECT_EQ(solution.end, SolveEnd::kRounding);
  EXPECT_GT(solution.upper, 1e6);
}

}  // namespace stableaa::refinement_test
