// All methods against exact solutions by elimination (random_model_test.h), and what the
// certificate, the limits and the options promise.
#include "stableaa/mdp/solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/base/error.h"
#include "stableaa/mdp/generators.h"
#include "stableaa/mdp/random_model_test.h"
#include "stableaa/mdp/sweep.h"

namespace stableaa {
namespace {

struct Variant {
  std::string name;
  SolveOptions options;
};

// Every way to solve for the optimal values.
std::vector<Variant> Variants() {
  std::vector<Variant> all;
  const auto add = [&](const std::string& name, SolveMethod method) -> SolveOptions& {
    all.push_back({name, {}});
    all.back().options.method = method;
    return all.back().options;
  };
  add("auto", SolveMethod::kAuto);
  add("vi", SolveMethod::kVi);
  add("vi anderson", SolveMethod::kVi).anderson = true;
  SolveOptions& stable = add("vi anderson stable", SolveMethod::kVi);
  stable.anderson = true;
  stable.acceleration.weights = {.rule = WeightRule::kStable, .eta = 1e-8};
  add("vi dynamic-boltzmann", SolveMethod::kVi).backup = {BackupKind::kDynamicBoltzmann, 1.0};
  add("jacobi", SolveMethod::kJacobi);
  add("mpi", SolveMethod::kMpi);
  add("mpi 0", SolveMethod::kMpi).evaluation_sweeps = 0;
  add("mpi anderson", SolveMethod::kMpi).anderson = true;
  add("gs", SolveMethod::kGs);
  add("gs model", SolveMethod::kGs).order = StateOrder::kModel;
  add("gs classic", SolveMethod::kGs).evaluation_sweeps = 0;
  add("ipi", SolveMethod::kIpi);
  add("ipi model", SolveMethod::kIpi).order = StateOrder::kModel;
  add("ipi gmres", SolveMethod::kIpi).inner = InnerSolver::kGmres;
  add("ipi gs", SolveMethod::kIpi).preconditioner = Preconditioner::kGaussSeidel;
  SolveOptions& gmres_gs = add("ipi gmres gs", SolveMethod::kIpi);
  gmres_gs.inner = InnerSolver::kGmres;
  gmres_gs.preconditioner = Preconditioner::kGaussSeidel;
  add("pi", SolveMethod::kPi);
  return all;
}

// The certificate's promises, against the truth. A ten-billionth part is left to the rounding of
// the truth itself.
void ExpectHonest(const Model& model, const Solution& solution,
                  const std::vector<long double>& truth, const std::string& what) {
  ASSERT_EQ(solution.values.size(), model.states()) << what;
  const std::vector<long double> followed =
      ExactPolicyValues(model, solution.discount, solution.policy);
  for (std::size_t s = 0; s < model.states(); ++s) {
    const auto difference = static_cast<double>(truth[s] - solution.values[s]);
    const double slack = 1e-16 * std::abs(solution.values[s]) + 1e-10 * solution.error;
    EXPECT_GE(difference, solution.lower - slack) << what << ", state " << s;
    EXPECT_LE(difference, solution.upper + slack) << what << ", state " << s;
    EXPECT_LE(static_cast<double>(truth[s] - followed[s]), solution.policy_error + slack)
        << what << ", state " << s;
  }
  EXPECT_DOUBLE_EQ(solution.error, std::max(std::abs(solution.lower), std::abs(solution.upper)));
  EXPECT_DOUBLE_EQ(solution.policy_error, solution.upper - solution.lower);
}

double Residual(const Model& model, const Solution& solution) {
  std::vector<double> image(solution.values.size());
  return BackupSweep(model, solution.discount, solution.values, image, {}, 1).magnitude();
}

double Largest(const Solution& solution) {
  double largest = 0;
  for (const double value : solution.values) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(FullSolver, AllMethodsAgreeWithEliminationOnAThousandModels) {
  const std::vector<double> discounts = {0, 0.3, 0.9, 0.99, 0.999};
  const std::vector<double> tolerances = {1e-2, 1e-6, 1e-9};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const double discount = discounts[seed % discounts.size()];
    const Model model = RandomModel(seed);
    const std::vector<long double> truth = ExactValues(model, discount);
    for (Variant variant : Variants()) {
      SolveOptions& options = variant.options;
      options.discount = discount;
      options.max_seconds = 20;  // instead of for ever
      options.tolerance = tolerances[seed / 5 % tolerances.size()];
      const std::string what = variant.name + ", seed " + std::to_string(seed);
      const Solution solution = Solve(model, options);
      ExpectHonest(model, solution, truth, what);
      // Of the two ways to end, rounding only where it really is in the way.
      if (solution.converged()) {
        EXPECT_LE(solution.error, options.tolerance) << what;
      } else {
        EXPECT_EQ(solution.end, SolveEnd::kRounding) << what;
        EXPECT_GT(solution.rounding, options.tolerance / 2) << what;
        EXPECT_LE(solution.error, 20 * solution.rounding) << what;
      }
      // The sums over a row may have been in another order.
      EXPECT_NEAR(solution.residual, Residual(model, solution), 1e-15 * Largest(solution)) << what;
      if (HasFailure()) return;
    }
  }
}

// Close to 1 the methods that need some 1/(1−γ) sweeps are given fewer, and must own up to it.
TEST(FullSolver, IsHonestWhereTheDiscountIsNearlyOne) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const double discount = 0.99999;
    const Model model = RandomModel(seed + 5000);
    const std::vector<long double> truth = ExactValues(model, discount);
    for (Variant variant : Variants()) {
      SolveOptions& options = variant.options;
      options.discount = discount;
      options.max_iterations = 3000;
      const std::string what = variant.name + ", seed " + std::to_string(seed);
      const Solution solution = Solve(model, options);
      ExpectHonest(model, solution, truth, what);
      EXPECT_EQ(solution.converged(), solution.error <= options.tolerance) << what;
      EXPECT_LE(solution.iterations, options.max_iterations) << what;
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace stableaa
