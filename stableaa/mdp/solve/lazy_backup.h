// Backups that leave out actions which cannot be the best ones.
//
// When values move from V to V', the difference between two action values of a state moves by
//
//   γ (p_a − p_b)·(V' − V)  ≤  γ span(V' − V).
//
// So a state whose best action was ahead of the second by more than that (its lead) still has the
// same best action, and one row gives its backup. This is temporary action elimination (Hastings
// and van Nunen 1977; for modified policy iteration Puterman and Shin 1982), with one number per
// state in place of one per row: where the lead is used up, all of the state's rows are evaluated
// and its lead is measured anew.
//
// What comes out is TV over all actions, up to the rounding that certificates allow for, so the
// certificate of such a backup is an ordinary one. Elimination for good would have to wait until
// the bounds on V*, which are 1/(1−γ) times wider than the span, are narrower than the leads.
#ifndef STABLEAA_MDP_SOLVE_LAZY_BACKUP_H_
#define STABLEAA_MDP_SOLVE_LAZY_BACKUP_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/certificate.h"
#include "stableaa/mdp/solve/passes.h"
#include "stableaa/mdp/solve/policy_rows.h"

namespace stableaa {

// A backup and what it took.
struct CountedBackup {
  Differences differences;
  std::uint64_t rows = 0;   // evaluated
  std::uint64_t bytes = 0;  // streamed
};

class LazyBackup {
 public:
  // The arguments must outlive it.
  LazyBackup(const Model& model, const Certifier& certifier);

  // Must be told of every change of the values between two backups, in one part or several: of its
  // extremes, or bounds on them.
  void Moved(const Differences& change);

  // image ← TV and actions ← those that attain it. `actions` holds those of the last backup. Rows
  // of that policy are gathered in `rows` if they are of use.
  CountedBackup Pass(PolicyRows& rows, std::span<const double> values, std::span<double> image,
                     std::span<std::uint32_t> actions, int threads);

 private:
  float Limit() const;
  std::uint64_t RowsLeft(float limit) const;
  Differences FullPass(std::span<const double> values, std::span<double> image,
                       std::span<std::uint32_t> actions, int threads);
  Differences PartialPass(const PolicyRows& rows, float limit, std::span<const double> values,
                          std::span<double> image, std::span<std::uint32_t> actions, int threads);

  const Model& model_;
  const Certifier& certifier_;
  // At least leads_[s] − used_ is left of a state's lead. Leads are stored with used_ added, so
  // that not all of them have to change when the values move.
  std::vector<float> leads_;
  double used_ = std::numeric_limits<double>::infinity();  // by moves since the last full pass
  double largest_ = 0;                                     // value since then, in magnitude
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_LAZY_BACKUP_H_
