#include "stableaa/mdp/solve/coarse_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa::coarse_evaluation_test {

// T_π^{passes+1} V by passes in 16 bits and in full, starting from V = scale · (a backup's values),
// with the policy greedy for V.
struct Evaluations {
  double start = 0;  // the span of d
  std::vector<double> values;
  std::vector<double> coarse;
  std::vector<double> exact;
  double coarse_span = 0;  // of the last pass
  double exact_span = 0;
  Differences change;  // as AddTo says
};

Evaluations Evaluate(const Model& model, double discount, int passes, int threads = 1) {
  Evaluations result;
  std::vector<std::uint32_t> actions(model.states());
  result.values.resize(model.states());
  result.exact.resize(model.states());
  std::vector<double> next(model.states());
  BackupPass(model, discount, std::vector<double>(model.states()), result.values, actions, 1);
  const Differences differences =
      BackupPass(model, discount, result.values, result.exact, actions, 1);
  result.start = differences.span();
  PolicyRows rows(/*for_coarse_passes=*/true);
  rows.Gather(model, discount, actions, threads);
  result.coarse = result.values;
  if (CoarseEvaluation::CanStart(differences)) {
    CoarseEvaluation evaluation;
    evaluation.Start(result.values, result.exact, differences, passes, threads);
    for (int i = 0; i < passes; ++i) {
      result.coarse_span = evaluation.Pass(rows, discount, threads);
    }
    result.change = evaluation.AddTo(result.coarse, threads);
  }
  for (int i = 0; i < passes; ++i) {
    result.exact_span = rows.Pass(result.exact, next, 1).span();
    result.exact.swap(next);
  }
  return result;
}

// Each pass rounds by half a unit, and the first image as well.
double MostError(const Evaluations& result, int passes) {
  const double unit = result.start / 2 * (passes + 1) / 32000;
  return (passes + 2) * unit;
}

TEST(CoarseEvaluation, IsThePassesOfThePolicyUpToItsUnit) {
  std::vector<Model> models = {GenerateModel({.kind = "garnet", .states = 60'000}),
                               GenerateModel({.kind = "garnet", .states = 210'000, .actions = 2}),
                               GenerateModel({.kind = "chain", .states = 300})};
  for (std::uint64_t seed = 0; seed < 200; ++seed) models.push_back(RandomModel(seed));
  for (const Model& model : models) {
    for (const int passes : {1, 5, CoarseEvaluation::kMostPasses}) {
      const Evaluations result = Evaluate(model, 0.999, passes);
      if (!(result.start > 0)) continue;
      const double most = MostError(result, passes);
      double magnitude = 0;
      for (const double value : result.exact) magnitude = std::max(magnitude, std::abs(value));
      for (std::uint64_t s = 0; s < model.states(); ++s) {
        ASSERT_NEAR(result.coarse[s], result.exact[s], most + 1e-14 * magnitude) << s;
      }
      EXPECT_NEAR(result.coarse_span, result.exact_span, 2 * most);
      const Differences change = DifferencesOf(result.values, result.coarse, 1);
      EXPECT_EQ(result.change.least, change.least);
      EXPECT_EQ(result.change.largest, change.largest);
    }
  }
}

// States that stay where they are: the change grows by d in each pass, as much as it can.
TEST(CoarseEvaluation, HoldsTheLargestChange) {
  ModelBuilder builder([] { return std::string("stays"); });
  for (std::uint64_t s = 0; s < 3; ++s) {
    builder.BeginState();
    builder.Transition(s, 1);
    builder.EndRow(static_cast<double>(s) - 1);
  }
  const Model model = builder.Finish(std::nullopt);
  constexpr double kDiscount = 1 - 1e-9;
  const int passes = CoarseEvaluation::kMostPasses;
  const Evaluations result = Evaluate(model, kDiscount, passes);
  for (std::uint64_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(result.coarse[s], (static_cast<double>(s) - 1) * (passes + 2),
                MostError(result, passes));
  }
}

TEST(CoarseEvaluation, StartsFromAnyScaleThatDoesNotUnderflow) {
  const Model model = GenerateModel({.kind = "garnet", .states = 100});
  for (const double scale : {1e-200, 1e-30, 1e30, 1e200}) {
    std::vector<double> rewards(model.rewards().begin(), model.rewards().end());
    for (double& reward : rewards) reward *= scale;
    const Evaluations result = Evaluate(model.WithRewards(rewards), 0.9, 10);
    for (std::uint64_t s = 0; s < model.states(); ++s) {
      ASSERT_NEAR(result.coarse[s], result.exact[s], MostError(result, 10)) << scale;
    }
  }
  EXPECT_FALSE(CoarseEvaluation::CanStart({1, 1, 1}));
  EXPECT_FALSE(CoarseEvaluation::CanStart({0, 1e-300, 1}));
  EXPECT_FALSE(CoarseEvaluation::CanStart({-1e308, 1e308, 1}));
  EXPECT_FALSE(CoarseEvaluation::CanStart({0, HUGE_VAL, 1}));
}

TEST(CoarseEvaluation, HasTheSameBitsForAnyNumberOfThreads) {
  const Model model = GenerateModel({.kind = "garnet", .states = 210'000, .actions = 2});
  const Evaluations expected = Evaluate(model, 0.99, 5);
  for (const int threads : {2, 3}) {
    const Evaluations found = Evaluate(model, 0.99, 5, threads);
    EXPECT_EQ(found.coarse, expected.coarse);
    EXPECT_EQ(found.coarse_span, expected.coarse_span);
  }
}

// Large enough that mpi makes its passes in 16 bits.
TEST(CoarseEvaluation, LeadsToTheSameSolutionAsValueIteration) {
  const Model model = GenerateModel({.kind = "garnet", .states = 210'000, .actions = 3});
  SolveOptions options{.method = SolveMethod::kMpi, .discount = 0.99, .threads = 1};
  const Solution mpi = Solve(model, options);
  options.threads = 3;
  const Solution threaded = Solve(model, options);
  options.method = SolveMethod::kVi;
  const Solution vi = Solve(model, options);
  EXPECT_TRUE(mpi.converged());
  EXPECT_TRUE(vi.converged());
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    ASSERT_NEAR(mpi.values[s], vi.values[s], mpi.error + vi.error) << s;
  }
  EXPECT_EQ(threaded.values, mpi.values);
  EXPECT_EQ(threaded.policy, mpi.policy);
  EXPECT_EQ(threaded.iterations, mpi.iterations);
  EXPECT_LT(mpi.iterations, vi.iterations);
}

// A cycle: 40 passes shrink the span by less than 16 bits round it, and bounds would never improve.
TEST(CoarseEvaluation, IsGivenUpWherePassesGainLittle) {
  constexpr std::uint64_t kStates = 210'000;
  RandomStream random(1, "cycle");
  ModelBuilder builder([] { return std::string("cycle"); });
  for (std::uint64_t s = 0; s < kStates; ++s) {
    builder.BeginState();
    builder.Transition((s + 1) % kStates, 1);
    builder.EndRow(random.Uniform());
  }
  const Model model = builder.Finish(std::nullopt);
  const auto error_after = [&](double iterations) {
    return Solve(model,
                 {.method = SolveMethod::kMpi, .discount = 0.99999, .max_iterations = iterations})
        .error;
  };
  EXPECT_LT(error_after(300), 0.999 * error_after(100));
}

}  // namespace stableaa::coarse_evaluation_test
