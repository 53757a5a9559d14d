// Shared by the solver's tests: every way to solve, the certificate's promises, small models.
#ifndef STABLEAA_MDP_SOLVE_SOLVER_VARIANTS_TEST_H_
#define STABLEAA_MDP_SOLVE_SOLVER_VARIANTS_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/passes.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa {

struct SolveVariant {
  std::string name;
  SolveOptions options;
};

// Every way to solve for the optimal values.
inline std::vector<SolveVariant> SolveVariants() {
  std::vector<SolveVariant> all;
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

// Checks the certificate's promises against the truth, allowing one part in ten billion for the
// rounding of the truth itself.
inline void ExpectHonest(const Model& model, const Solution& solution,
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

inline double ResidualOf(const Model& model, const Solution& solution) {
  std::vector<double> image(solution.values.size());
  return BackupPass(model, solution.discount, solution.values, image, {}, 1).magnitude();
}

inline double LargestValue(const Solution& solution) {
  double largest = 0;
  for (const double value : solution.values) largest = std::max(largest, std::abs(value));
  return largest;
}

// The methods, without variations.
inline std::vector<SolveVariant> PlainSolveVariants() {
  std::vector<SolveVariant> all;
  for (const SolveVariant& variant : SolveVariants()) {
    if (variant.name == Name(variant.options.method)) all.push_back(variant);
  }
  return all;
}

// All states are absorbing, with one action each.
inline Model AbsorbingStates(const std::vector<double>& rewards) {
  ModelBuilder builder([] { return std::string("absorbing"); });
  for (std::uint64_t s = 0; s < rewards.size(); ++s) {
    builder.BeginState();
    builder.Transition(s, 1);
    builder.EndRow(rewards[s]);
  }
  return builder.Finish(std::nullopt);
}

// State 0 can stay for `stay` or go to state 1 for `go`; state 1 leads back.
inline Model TwoStates(double stay, double go) {
  ModelBuilder builder([] { return std::string("two states"); });
  builder.BeginState();
  builder.Transition(0, 1);
  builder.EndRow(stay);
  builder.Transition(1, 1);
  builder.EndRow(go);
  builder.BeginState();
  builder.Transition(0, 1);
  builder.EndRow(0);
  return builder.Finish(std::nullopt);
}

// Models that 60 passes do not solve.
inline std::vector<Model> SlowModels() {
  return {GenerateModel({.kind = "grid", .width = 12, .height = 12}),
          GenerateModel({.kind = "chain", .states = 60}),
          GenerateModel({.kind = "random-walk", .states = 100}), RandomModel(2, 40)};
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_SOLVER_VARIANTS_TEST_H_
