// vi, jacobi, mpi and their accelerated variants: methods whose passes update all states at once.
#ifndef STABLEAA_MDP_SOLVE_VALUE_ITERATION_H_
#define STABLEAA_MDP_SOLVE_VALUE_ITERATION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "stableaa/mdp/solve/coarse_evaluation.h"
#include "stableaa/mdp/solve/lazy_backup.h"
#include "stableaa/mdp/solve/policy_rows.h"
#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

Solution SolveByValueIteration(SolveRun& run);  // vi with max, plain or accelerated
Solution SolveByOperator(SolveRun& run);        // vi with mellowmax, boltzmann, dynamic-boltzmann
Solution SolveByJacobi(SolveRun& run);

// Modified policy iteration, one step at a time, so `auto` can watch it and stop.
class ModifiedPolicyIteration {
 public:
  explicit ModifiedPolicyIteration(SolveRun& run);

  // A backup over all actions; true if its certificate suffices or a limit is reached.
  bool Improve();
  // Passes of the policy just found, until their span is a tenth of the backup's or the limit is
  // reached.
  void Evaluate(int most_passes);

  const Certificate& certificate() const { return certificate_; }
  // Values from below, TV ≥ V and V ≤ V*, for a method that continues from here.
  std::vector<double> LowerBound() const;

  Solution Finish();

 private:
  CountedBackup Backup();
  // Repeats a pass over the policy's rows, which returns the span of its differences, until that
  // meets the goal. Returns the last span.
  double Passes(int most_passes, double goal, std::uint64_t bytes,
                const std::function<double()>& pass);

  SolveRun& run_;
  std::vector<double> values_;
  std::vector<double> image_;
  std::vector<std::uint32_t> actions_;
  bool first_ = true;  // no backup yet, so the values are 0
  LazyBackup backup_;
  bool use_coarse_;  // for a large model, as long as it gets on
  PolicyRows policy_;
  CoarseEvaluation coarse_;
  Certificate certificate_;
};

Solution SolveByModifiedPolicyIteration(SolveRun& run);  // plain or accelerated

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_VALUE_ITERATION_H_
