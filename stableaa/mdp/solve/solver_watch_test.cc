// What on_step receives, and that watching changes nothing.

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/mdp/solve/solver_variants_test.h"

namespace stableaa::solver_watch_test {

TEST(Solver, StepsTellOfWhatTheyDo) {
  const Model model = GenerateModel({.kind = "grid", .width = 15, .height = 15});
  for (SolveVariant variant : SolveVariants()) {
    SolveOptions& options = variant.options;
    options.discount = 0.99;
    std::vector<SolveStep> steps;
    bool statistics = true;
    options.on_step = [&](const SolveStep& step) {
      statistics &= (step.acceleration != nullptr) == options.anderson;
      steps.push_back(step);
      return true;
    };
    const Solution solution = Solve(model, options);
    ASSERT_FALSE(steps.empty()) << variant.name;
    EXPECT_TRUE(statistics) << variant.name;
    for (std::size_t i = 1; i < steps.size(); ++i) {
      EXPECT_GE(steps[i].iterations, steps[i - 1].iterations) << variant.name;
      EXPECT_GE(steps[i].seconds, steps[i - 1].seconds) << variant.name;
      EXPECT_GE(steps[i].inner_iterations, steps[i - 1].inner_iterations) << variant.name;
    }
    // The last step is the backup that gives the answer.
    EXPECT_EQ(steps.back().lower, solution.lower) << variant.name;
    EXPECT_EQ(steps.back().upper, solution.upper) << variant.name;
    EXPECT_EQ(steps.back().iterations, solution.iterations) << variant.name;
  }
}

// Compares everything but times and rates.
void ExpectSameSolve(const Solution& a, const Solution& b, const std::string& what) {
  EXPECT_EQ(a.values, b.values) << what;
  EXPECT_EQ(a.policy, b.policy) << what;
  EXPECT_EQ(a.end, b.end) << what;
  const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  EXPECT_EQ(bits(a.lower), bits(b.lower)) << what;  // NaN without a certificate
  EXPECT_EQ(bits(a.upper), bits(b.upper)) << what;
  EXPECT_EQ(bits(a.error), bits(b.error)) << what;
  EXPECT_EQ(bits(a.policy_error), bits(b.policy_error)) << what;
  EXPECT_EQ(bits(a.residual), bits(b.residual)) << what;
  EXPECT_EQ(bits(a.rounding), bits(b.rounding)) << what;
  EXPECT_EQ(a.bias_bound, b.bias_bound) << what;
  EXPECT_EQ(a.method, b.method) << what;
  EXPECT_EQ(a.choice, b.choice) << what;
  EXPECT_EQ(a.iterations, b.iterations) << what;
  EXPECT_EQ(a.inner_iterations, b.inner_iterations) << what;
  ASSERT_EQ(a.acceleration.has_value(), b.acceleration.has_value()) << what;
  if (!a.acceleration) return;
  EXPECT_EQ(a.acceleration->accelerated, b.acceleration->accelerated) << what;
  EXPECT_EQ(a.acceleration->rejected, b.acceleration->rejected) << what;
}

// Solves unwatched and watched. Returns the number of backups made for watching.
std::int64_t ExpectSameWatched(const Model& model, SolveOptions options, const std::string& what) {
  const Solution alone = Solve(model, options);
  EXPECT_EQ(alone.watch_backups, 0) << what;
  double reported = 0;
  options.on_step = [&](const SolveStep& step) {
    reported = step.iterations;
    return true;
  };
  const Solution watched = Solve(model, options);
  ExpectSameSolve(alone, watched, what);
  EXPECT_EQ(reported, watched.iterations) << what;
  return watched.watch_backups;
}

// Models on which auto used to choose differently when watched: gs unwatched, ipi watched.
std::vector<std::pair<Model, double>> OnTheVergeOfKrylov() {
  return {
      {GenerateModel({.kind = "queues", .queues = 2, .capacity = 7}), .98},
      {GenerateModel({.kind = "chain", .states = 213, .noise = .1}), .995},
      {GenerateModel({.kind = "inventory", .capacity = 24, .seasons = 12, .lot = 11}), .995},
      {GenerateModel({.kind = "garnet",
                      .seed = 134,
                      .states = 1168,
                      .actions = 3,
                      .branching = 1,
                      .reward_share = .1}),
       .98},
  };
}

TEST(Solver, WatchingChangesNothing) {
  std::int64_t backups = 0;
  for (const auto& [model, discount] : OnTheVergeOfKrylov()) {
    for (SolveVariant variant : SolveVariants()) {
      variant.options.discount = discount;
      backups += ExpectSameWatched(model, variant.options, variant.name);
    }
  }
  EXPECT_GT(backups, 0);  // and something was shown
}

TEST(FullSolver, WatchingChangesNothingWhateverTheModelAndTheLimits) {
  std::int64_t backups = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Model model = RandomModel(seed, seed % 3 == 0 ? 200 : 40);
    for (SolveVariant variant : SolveVariants()) {
      SolveOptions& options = variant.options;
      options.discount = std::vector<double>{.9, .99, .999}[seed % 3];
      options.threads = 1 + static_cast<int>(seed % 2);
      // Limits at various points, including right next to a backup made for watching.
      if (seed % 4 != 0) options.max_iterations = 1 + static_cast<double>(seed * 7 % 120);
      backups += ExpectSameWatched(model, options, variant.name + ", seed " + std::to_string(seed));
      if (HasFailure()) return;
    }
    for (const BackupKind kind : {BackupKind::kMellowmax, BackupKind::kBoltzmann}) {
      SolveOptions options;
      options.method = SolveMethod::kVi;
      options.backup = {kind, 3};
      options.discount = .9;
      options.max_iterations = 300;
      ExpectSameWatched(model, options, "operator, seed " + std::to_string(seed));
    }
  }
  EXPECT_GT(backups, 100);
}

TEST(FullSolver, WatchingChangesNothingOnStructuredModels) {
  for (const char* const kind : {"forest", "chain", "queues", "random-walk", "grid", "garnet"}) {
    for (const bool shuffle : {false, true}) {
      const Model model = GenerateModel({.kind = kind, .shuffle = shuffle, .states = 900});
      for (SolveVariant variant : SolveVariants()) {
        variant.options.discount = .995;
        variant.options.max_iterations = 150;
        ExpectSameWatched(model, variant.options, variant.name + " on " + kind);
      }
    }
  }
}

// The result of a backup made for watching affects nothing else.
TEST(Solver, WatchingValuesThatOverflowChangesNothing) {
  const Model model = GenerateModel({.kind = "chain", .states = 60});
  std::vector<double> rewards(model.rewards().begin(), model.rewards().end());
  for (double& reward : rewards) reward *= 1e305;
  const Model huge = model.WithRewards(rewards);
  for (SolveVariant variant : SolveVariants()) {
    variant.options.discount = .999;
    variant.options.max_iterations = 2000;
    const auto end = [&]() -> std::string {
      try {
        return std::to_string(Solve(huge, variant.options).iterations);
      } catch (const Error& error) {
        return error.what();
      }
    };
    const std::string alone = end();
    variant.options.on_step = [](const SolveStep&) { return true; };
    EXPECT_EQ(end(), alone) << variant.name;
  }
}

}  // namespace stableaa::solver_watch_test
