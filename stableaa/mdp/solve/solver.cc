#include "stableaa/mdp/solve/solver.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <utility>

#include "stableaa/core/error.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/solve/automatic.h"
#include "stableaa/mdp/solve/component_iteration.h"
#include "stableaa/mdp/solve/refinement.h"
#include "stableaa/mdp/solve/solve_run.h"
#include "stableaa/mdp/solve/value_iteration.h"

namespace stableaa {
namespace {

Model WithNegatedRewards(const Model& model) {
  std::vector<double> rewards(model.rewards().begin(), model.rewards().end());
  for (double& reward : rewards) reward = -reward;
  return model.WithRewards(std::move(rewards));
}

// A file may use 64 bits for next states that fit in 32, the only width that the component methods
// read.
Model WithNarrowColumns(const Model& model) {
  struct Both {
    Model rest;
    std::vector<std::uint32_t> columns;
  };
  auto owner = std::make_shared<Both>(Both{model, {}});
  owner->columns.reserve(model.transitions());
  for (const std::uint64_t next : model.arrays().wide_columns) {
    owner->columns.push_back(static_cast<std::uint32_t>(next));
  }
  ModelArrays arrays = model.arrays();
  arrays.narrow_columns = owner->columns;
  arrays.wide_columns = {};
  return Model(arrays, std::move(owner), model.discount());
}

void Negate(Solution& solution) {
  // Not −x, which would turn 0 into −0.
  for (double& value : solution.values) value = 0 - value;
  std::swap(solution.lower, solution.upper);
  solution.lower = 0 - solution.lower;
  solution.upper = 0 - solution.upper;
}

double CheckedDiscount(const Model& model, const SolveOptions& options) {
  const std::optional<double> discount = DiscountFor(model, options);
  if (!discount) throw BadInput("discount: the model has none, so the options have to give one");
  CheckDiscount(*discount, options.discount ? "discount" : "the model's discount");
  return *discount;
}

Solution SolveByMethod(SolveRun& run) {
  const Model& model = run.model();
  const SolveOptions& options = run.options();
  switch (options.method) {
    case SolveMethod::kAuto:
      return SolveAutomatically(run);
    case SolveMethod::kVi:
      return SolveByOperator(run);
    case SolveMethod::kJacobi:
      return SolveByJacobi(run);
    case SolveMethod::kMpi:
      return SolveByModifiedPolicyIteration(run);
    case SolveMethod::kGs:
    case SolveMethod::kIpi:
    case SolveMethod::kPi:
      break;
  }
  return SolveByComponents(
             run, {.method = options.method,
                   .sequence = FindStateSequence(model, options.order),
                   .start = std::vector<double>(model.states(), LeastValue(model, run.discount()))})
      .solution;
}

Solution SolveMaximising(const Model& model, double discount, const SolveOptions& options) {
  SolveRun run(model, discount, options);
  Solution solution = SolveByMethod(run);
  if (solution.end == SolveEnd::kRounding && options.backup.kind == BackupKind::kMax) {
    Refine(run, solution);
  }
  return solution;
}

}  // namespace

std::optional<double> DiscountFor(const Model& model, const SolveOptions& options) {
  return options.discount ? options.discount : model.discount();
}

Solution Solve(const Model& model, const SolveOptions& options) {
  options.Validate();
  const double discount = CheckedDiscount(model, options);
  if (model.wide() && model.states() - 1 <= std::numeric_limits<std::uint32_t>::max()) {
    return Solve(WithNarrowColumns(model), options);
  }
  if (model.wide() && options.method != SolveMethod::kVi &&
      options.method != SolveMethod::kJacobi) {
    throw WorkFailed("models of 2^32 states and more are solved by vi and jacobi only");
  }
  if (!options.minimize) return SolveMaximising(model, discount, options);
  Solution solution = SolveMaximising(WithNegatedRewards(model), discount, options);
  Negate(solution);
  return solution;
}

Solution EvaluatePolicy(const Model& model, std::span<const std::uint32_t> policy,
                        const SolveOptions& options) {
  if (policy.size() != model.states()) {
    throw BadInput(fmt::format("expected an action for each of the {} states, found {}",
                               model.states(), policy.size()));
  }
  ModelBuilder builder([] { return "policy"; });
  if (model.wide()) builder.UseWideColumns();
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    if (policy[s] >= model.actions(s)) {
      throw BadInput(fmt::format("state {} has {} actions, the policy takes action {}", s,
                                 model.actions(s), policy[s]));
    }
    const std::uint64_t row = model.state_rows()[s] + policy[s];
    builder.BeginState();
    for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
         ++k) {
      builder.Transition(model.column(k), model.probabilities()[k]);
    }
    builder.EndRow(model.rewards()[row]);
  }
  Solution solution = Solve(builder.Finish(model.discount()), options);
  solution.policy.assign(policy.begin(), policy.end());
  solution.policy_error = std::numeric_limits<double>::quiet_NaN();
  return solution;
}

}  // namespace stableaa
