// The values of a policy within one component, for gs, ipi and pi (component_iteration.h).
#ifndef STABLEAA_MDP_SOLVE_COMPONENT_POLICY_H_
#define STABLEAA_MDP_SOLVE_COMPONENT_POLICY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/policy_system.h"
#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

// The model in solving order, the values found so far and the actions that gave them. The arrays
// are those of the run's model.
struct OrderedModel {
  OrderedModel(const SolveRun& run, std::vector<double> start);

  double discount;
  const std::uint64_t* state_rows;
  const std::uint64_t* row_transitions;
  const std::uint32_t* columns;
  const double* probabilities;
  const double* rewards;
  std::vector<double> values;
  std::vector<std::uint32_t> actions;
};

// The states of a component, [first, last).
struct StateRange {
  std::uint64_t first;
  std::uint64_t last;

  std::uint64_t size() const { return last - first; }
};

// Memory that components pass on to the next: there may be millions with a few states each.
struct ComponentBuffers {
  SparseRows policy;                    // W of the policy, columns counted from the first state
  std::vector<double> constants;        // c: rewards and the values of other components
  std::vector<std::uint32_t> gathered;  // the actions from which `policy` was made
  TriangularFactors factors;
  KrylovSolver krylov;
  std::vector<double> residual;
  std::vector<double> correction;
};

// The relative residual at which a policy's values count as exact.
inline constexpr double kExactValues = 1e-12;

// The current actions of the component's states as a system of equations (policy_system.h), and
// ways to bring the values closer to its solution.
class ComponentPolicy {
 public:
  // The arguments must outlive it, and no other component may use the buffers meanwhile.
  ComponentPolicy(SolveRun& run, OrderedModel& model, ComponentBuffers& buffers,
                  const StateRange& states);

  // Takes the states' current actions.
  void Gather();

  // The share of states whose action changed between the last two calls of Gather; 1 before that.
  double changed() const { return changed_; }

  // A Gauss–Seidel pass. Returns the largest change.
  double Pass();

  // Uses a preconditioned Krylov method, to `relative` of the residual, or as exactly as possible
  // if the policy has been evaluated before and so is likely to be the last. False if it made no
  // progress. `goal` is for the plain residual.
  bool EvaluateByKrylov(double relative, double goal);

  // Uses LU, or a Krylov method if the factors would not fit.
  void EvaluateExactly(double goal);

 private:
  void AddRow(std::uint64_t state);
  void Factor();
  void FindResidual();
  void AddCorrection();
  bool CorrectByKrylov(double relative, double goal);
  std::span<double> values() const;

  SolveRun& run_;
  OrderedModel& model_;
  ComponentBuffers& buffers_;
  const StateRange states_;
  double changed_ = 1;
  bool factored_ = false;  // for EvaluateByKrylov
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_POLICY_H_
