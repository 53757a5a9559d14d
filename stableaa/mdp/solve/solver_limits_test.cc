// How a solve ends that does not reach its tolerance, and that its bounds are still honest.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/mdp/solve/solver_variants_test.h"

namespace stableaa::solver_limits_test {

TEST(FullSolver, KeepsToTheIterationsAllowedAndIsHonest) {
  const double discount = 0.999;
  for (const Model& model : SlowModels()) {
    const std::vector<long double> truth = ExactValues(model, discount);
    for (const bool watched : {false, true}) {
      for (SolveVariant variant : SolveVariants()) {
        for (int most = 1; most <= 60; most += most < 10 ? 1 : 3) {
          SolveOptions& options = variant.options;
          options.discount = discount;
          options.tolerance = 1e-8;
          options.max_iterations = most;
          if (watched) options.on_step = [](const SolveStep&) { return true; };
          const Solution solution = Solve(model, options);
          const std::string what =
              variant.name + ", limit " + std::to_string(most) + (watched ? ", watched" : "");
          EXPECT_LE(solution.iterations, most) << what;
          EXPECT_GE(solution.iterations, 1) << what;
          EXPECT_EQ(solution.end,
                    solution.error <= 1e-8 ? SolveEnd::kConverged : SolveEnd::kIterations)
              << what;
          ExpectHonest(model, solution, truth, what);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Solver, EndsAtOnceWithoutTimeAndIsHonest) {
  const double discount = 0.999;
  for (const Model& model : SlowModels()) {
    const std::vector<long double> truth = ExactValues(model, discount);
    for (SolveVariant variant : SolveVariants()) {
      variant.options.discount = discount;
      variant.options.max_seconds = 0;
      const Solution solution = Solve(model, variant.options);
      EXPECT_LE(solution.iterations, 3) << variant.name;
      EXPECT_TRUE(solution.converged() || solution.end == SolveEnd::kTime) << variant.name;
      ExpectHonest(model, solution, truth, variant.name);
    }
  }
}

TEST(Solver, StopsWhenAskedAndIsHonest) {
  const double discount = 0.999;
  for (const Model& model : SlowModels()) {
    const std::vector<long double> truth = ExactValues(model, discount);
    for (SolveVariant variant : SolveVariants()) {
      for (const int patience : {1, 2, 5}) {
        SolveOptions options = variant.options;
        options.discount = discount;
        int asked = 0;
        options.stop = [&] { return ++asked >= patience; };
        const Solution stopped = Solve(model, options);
        EXPECT_TRUE(stopped.converged() || stopped.end == SolveEnd::kStopped) << variant.name;
        ExpectHonest(model, stopped, truth, variant.name + ", stop");

        options.stop = {};
        int steps = 0;
        options.on_step = [&](const SolveStep&) { return ++steps < patience; };
        const Solution ended = Solve(model, options);
        EXPECT_TRUE(ended.converged() || ended.end == SolveEnd::kStopped) << variant.name;
        // Work in progress is finished, and the last backup reports itself.
        EXPECT_LE(steps, patience + 2) << variant.name;
        ExpectHonest(model, ended, truth, variant.name + ", on_step");
      }
    }
  }
}

TEST(FullSolver, EndsAtTheRoundingFloorAndNamesIt) {
  const std::vector<Model> models = {
      GenerateModel({.kind = "grid", .width = 12, .height = 12}),
      GenerateModel({.kind = "chain", .states = 60}),
      GenerateModel({.kind = "garnet", .states = 80}),
      GenerateModel({.kind = "queues", .states = 80}),
      GenerateModel({.kind = "forest", .states = 60}),
  };
  for (const double discount : {0.9, 0.99}) {
    for (std::size_t m = 0; m < models.size(); ++m) {
      const std::vector<long double> truth = ExactValues(models[m], discount);
      for (SolveVariant variant : SolveVariants()) {
        SolveOptions& options = variant.options;
        options.discount = discount;
        options.tolerance = 1e-18;  // no double is as close to most values
        options.max_seconds = 100;
        const Solution solution = Solve(models[m], options);
        const std::string what = variant.name + ", model " + std::to_string(m);
        EXPECT_EQ(solution.end, SolveEnd::kRounding) << what;
        EXPECT_GT(solution.rounding, 1e-18) << what;
        EXPECT_LE(solution.error, 20 * solution.rounding) << what;
        EXPECT_LE(solution.rounding, 100 * LargestValue(solution) * 2.3e-16 / (1 - discount))
            << what;
        ExpectHonest(models[m], solution, truth, what);
      }
    }
  }
}

// Rewards so large that values overflow, in the model or only along the way.
TEST(Solver, HugeRewardsFailOrAreAnsweredHonestly) {
  const double huge = 1e300;
  const double most = std::numeric_limits<double>::max();
  const std::vector<Model> models = {
      AbsorbingStates({huge}),
      AbsorbingStates({-huge, 1}),
      AbsorbingStates({most, 1, 2}),
      AbsorbingStates({-most, 1, 2}),
      AbsorbingStates({most, -most}),
      TwoStates(huge, 0),
      TwoStates(-huge, -huge),
      TwoStates(most, 0),
      TwoStates(-most, -most),
      TwoStates(0, most),
      TwoStates(0, -most),
      TwoStates(most, -most),
  };
  for (std::size_t m = 0; m < models.size(); ++m) {
    for (const double discount : {0.0, 0.5, 0.99}) {
      for (SolveVariant variant : SolveVariants()) {
        SolveOptions& options = variant.options;
        options.discount = discount;
        options.max_seconds = 100;  // instead of forever
        const std::string what = variant.name + ", model " + std::to_string(m) + ", discount " +
                                 std::to_string(discount);
        try {
          const Solution solution = Solve(models[m], options);
          EXPECT_NE(solution.end, SolveEnd::kTime) << what;
          EXPECT_FALSE(std::isnan(solution.error)) << what;
          for (const double value : solution.values) EXPECT_TRUE(std::isfinite(value)) << what;
          if (solution.converged()) {
            EXPECT_LE(solution.error, options.tolerance) << what;
          }
          ExpectHonest(models[m], solution, ExactValues(models[m], discount), what);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), Error::Kind::kWorkFailed) << what;
        }
      }
    }
  }
}

TEST(Solver, TheSmallestRewardsAreAnsweredHonestly) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const Model& model : {AbsorbingStates({tiny}), AbsorbingStates({-tiny, 3 * tiny}),
                             TwoStates(tiny, 3 * tiny), TwoStates(1e-310, 2e-310)}) {
    for (const double discount : {0.5, 0.9}) {
      // Elimination would take differences this small for rounding, so scale them up.
      const long double scale = 0x1p1000L;
      std::vector<double> rewards(model.rewards().begin(), model.rewards().end());
      for (double& reward : rewards) reward *= static_cast<double>(scale);
      std::vector<long double> truth = ExactValues(model.WithRewards(rewards), discount);
      for (long double& value : truth) value /= scale;
      for (SolveVariant variant : SolveVariants()) {
        for (const double tolerance : {1e-6, 1e-322}) {
          // Its inverse temperature would have to be around 1e310.
          if (variant.name == "vi dynamic-boltzmann" && tolerance < 1e-6) continue;
          SolveOptions& options = variant.options;
          options.discount = discount;
          options.tolerance = tolerance;
          options.max_seconds = 100;
          const Solution solution = Solve(model, options);
          EXPECT_NE(solution.end, SolveEnd::kTime) << variant.name;
          if (tolerance == 1e-6) {
            EXPECT_TRUE(solution.converged()) << variant.name;
          }
          ExpectHonest(model, solution, truth, variant.name);
        }
      }
    }
  }
}

TEST(Solver, ALimitLeavesNoMoreOpenThanTheRewardsDo) {
  const Model model = GenerateModel({.kind = "grid", .shuffle = true, .width = 40, .height = 40});
  for (SolveVariant variant : SolveVariants()) {
    for (const double limit : {1.0, 3.0, 7.0, 20.0, 120.0}) {
      variant.options.discount = 0.999;
      variant.options.max_iterations = limit;
      const Solution solution = Solve(model, variant.options);
      EXPECT_LE(solution.error, 500 * (1 + 1e-9)) << variant.name << ", limit " << limit;
    }
  }
}

TEST(Solver, ATolerancePastTheRoundingIsReached) {
  const Model model = GenerateModel({.kind = "chain", .states = 50});
  for (SolveVariant variant : SolveVariants()) {
    variant.options.discount = 0.99;
    variant.options.tolerance = 1e-30;
    const double rounding = Solve(model, variant.options).rounding;
    for (const double factor : {1.5, 1.9, 3.0}) {
      variant.options.tolerance = factor * rounding;
      EXPECT_TRUE(Solve(model, variant.options).converged()) << variant.name << ", " << factor;
    }
  }
}

}  // namespace stableaa::solver_limits_test
