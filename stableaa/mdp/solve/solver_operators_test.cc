// Operators other than max, and Anderson acceleration.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/mdp/solve/solver_variants_test.h"

namespace stableaa::solver_operators_test {

// V ← mellowmax of the action values, in long double, until nothing changes.
std::vector<long double> MellowmaxValues(const Model& model, double discount, double omega) {
  std::vector<long double> values(model.states(), 0);
  for (int pass = 0; pass < 3000; ++pass) {
    std::vector<long double> next(values.size());
    for (std::uint64_t s = 0; s < model.states(); ++s) {
      std::vector<long double> q;
      for (std::uint64_t row = model.state_rows()[s]; row < model.state_rows()[s + 1]; ++row) {
        q.push_back(model.rewards()[row]);
        for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
             ++k) {
          q.back() += static_cast<long double>(discount) * model.probabilities()[k] *
                      values[model.column(k)];
        }
      }
      const long double best = *std::ranges::max_element(q);
      long double sum = 0;
      for (const long double value : q) sum += std::exp(omega * (value - best));
      next[s] = best + std::log(sum / static_cast<long double>(q.size())) / omega;
    }
    values = next;
  }
  return values;
}

TEST(FullSolver, MellowmaxIsCertifiedForItsOwnFixedPoint) {
  const double discount = 0.95;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Model model = RandomModel(seed);
    const std::vector<long double> best = ExactValues(model, discount);
    for (const double omega : {0.1, 1.0, 10.0}) {
      const std::vector<long double> truth = MellowmaxValues(model, discount, omega);
      for (const bool anderson : {false, true}) {
        for (const double most : {3.0, 1e9}) {
          SolveOptions options;
          options.method = SolveMethod::kVi;
          options.discount = discount;
          options.tolerance = 1e-8;
          options.backup = {BackupKind::kMellowmax, omega};
          options.anderson = anderson;
          options.max_iterations = most;
          const Solution solution = Solve(model, options);
          ASSERT_TRUE(solution.bias_bound.has_value());
          if (most > 3) {
            EXPECT_TRUE(solution.converged());
          }
          EXPECT_EQ(solution.acceleration.has_value(), anderson);
          const std::vector<long double> followed =
              ExactPolicyValues(model, discount, solution.policy);
          for (std::size_t s = 0; s < model.states(); ++s) {
            const auto off = static_cast<double>(truth[s] - solution.values[s]);
            EXPECT_LE(off, solution.upper * (1 + 1e-9)) << seed << ", omega " << omega;
            EXPECT_GE(off, solution.lower * (1 + 1e-9)) << seed << ", omega " << omega;
            const auto bias = static_cast<double>(best[s] - truth[s]);
            const double slack =
                1e-12 * (std::abs(static_cast<double>(best[s])) + *solution.bias_bound);
            EXPECT_GE(bias, -slack);
            EXPECT_LE(bias, *solution.bias_bound + slack);
            EXPECT_LE(static_cast<double>(best[s] - followed[s]), solution.policy_error + slack);
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Solver, MellowmaxWithoutBoundOfItsWeightIsMax) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Model model = RandomModel(seed);
    SolveOptions options;
    options.method = SolveMethod::kVi;
    options.discount = 0.9;
    const Solution max = Solve(model, options);
    options.backup = {BackupKind::kMellowmax, std::numeric_limits<double>::infinity()};
    const Solution limit = Solve(model, options);
    EXPECT_EQ(limit.bias_bound, 0);
    for (std::size_t s = 0; s < model.states(); ++s) {
      ASSERT_NEAR(limit.values[s], max.values[s], max.error + limit.error) << seed;
    }
  }
}

TEST(Solver, BoltzmannStopsOnTheResidualAndClaimsNoBounds) {
  const Model model = RandomModel(17);
  SolveOptions options;
  options.method = SolveMethod::kVi;
  options.discount = 0.9;
  options.tolerance = 1e-7;
  options.backup = {BackupKind::kBoltzmann, 0.5};
  const Solution solution = Solve(model, options);
  EXPECT_TRUE(solution.converged());
  EXPECT_LE(solution.residual, 1e-7);
  EXPECT_TRUE(std::isnan(solution.lower));
  EXPECT_TRUE(std::isnan(solution.upper));
  EXPECT_TRUE(std::isnan(solution.error));
  EXPECT_TRUE(std::isnan(solution.policy_error));
  EXPECT_FALSE(solution.bias_bound.has_value());
  std::vector<double> image(model.states());
  EXPECT_DOUBLE_EQ(OperatorPass(model, 0.9, options.backup, solution.values, image, 1).magnitude(),
                   solution.residual);
  options.max_iterations = 2;
  const Solution limited = Solve(model, options);
  EXPECT_EQ(limited.end, SolveEnd::kIterations);
  EXPECT_LE(limited.iterations, 2);
  EXPECT_GT(limited.residual, 1e-7);
}

TEST(Solver, AndersonHasStatisticsAndOthersHaveNone) {
  const Model model = GenerateModel({.kind = "chain", .states = 50});
  for (const SolveVariant& variant : SolveVariants()) {
    SolveOptions options = variant.options;
    options.discount = 0.99;
    const Solution solution = Solve(model, options);
    ASSERT_EQ(solution.acceleration.has_value(), options.anderson) << variant.name;
    if (!options.anderson) continue;
    EXPECT_GT(solution.acceleration->steps, 5) << variant.name;
    EXPECT_GT(solution.acceleration->accelerated, 0) << variant.name;
  }
}

// One state whose actions all stay: V = mm_ω(r)/(1−γ), in long double.
TEST(Solver, MellowmaxOverManyActionsStaysWithinItsBounds) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, "actions");
    ModelBuilder builder([] { return std::string("test"); });
    builder.BeginState();
    std::vector<double> rewards(3000);
    for (double& reward : rewards) {
      reward = random.Uniform();
      builder.Transition(0, 1);
      builder.EndRow(reward);
    }
    const double omega = seed % 2 == 0 ? 0.5 : 3e-8;
    long double sum = 0;
    for (const double reward : rewards) sum += std::expm1(static_cast<long double>(omega) * reward);
    const long double truth = std::log1p(sum / rewards.size()) / omega / 0.75L;
    const Solution solution =
        Solve(builder.Finish(std::nullopt), {.method = SolveMethod::kVi,
                                             .discount = 0.25,
                                             .tolerance = 1e-14,
                                             .backup = {BackupKind::kMellowmax, omega}});
    EXPECT_LE(std::abs(static_cast<double>(truth - solution.values[0])), solution.error) << seed;
  }
}

}  // namespace stableaa::solver_operators_test
