// The values of a policy within one component, for gs, ipi and pi (component_iteration.h).
#ifndef STABLEAA_MDP_SOLVE_COMPONENT_POLICY_H_
#define STABLEAA_MDP_SOLVE_COMPONENT_POLICY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/component_model.h"
#include "stableaa/mdp/solve/policy_system.h"
#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

// Memory that components pass on to the next.
struct ComponentBuffers {
  SparseRows policy;                   // W of the policy
  std::vector<double> constants;       // its rows' constants
  std::vector<std::uint32_t> actions;  // of the states when last taken
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
  ComponentPolicy(SolveRun& run, ComponentModel& model, ComponentBuffers& buffers);

  // Takes the states' current actions.
  void Take();

  // The share of states whose action changed between the last two calls of Take; 1 before that.
  double changed() const { return changed_; }

  // A Gauss–Seidel pass. Returns the largest change.
  double Pass();

  // Uses a preconditioned Krylov method, to `relative` of the residual, or as exactly as possible
  // if the policy has been evaluated before and so is likely to be the last. False if it made no
  // progress. `goal` is for the plain residual.
  bool EvaluateByKrylov(double relative, double goal);

  // Uses LU in the best order, or a Krylov method if the factors would not fit.
  void EvaluateExactly(double goal);

 private:
  double PassOverModel();
  double PassOverCopy();
  void CopyRows();
  void Factor();
  void FindResidual();
  void AddCorrection();
  bool CorrectByKrylov(double relative, double goal);

  SolveRun& run_;
  ComponentModel& model_;
  ComponentBuffers& buffers_;
  double changed_ = 1;
  bool copied_ = false;    // the actions' rows, to buffers_
  bool factored_ = false;  // for EvaluateByKrylov
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_POLICY_H_
