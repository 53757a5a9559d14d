// One pass over a model: the backups that all solvers are built from.
//
// A pass streams the model once and reads values of next states at random places. It is bound by
// memory, so each pass does everything at once: the new values, the extremes of their differences,
// the best actions.
//
// States are cut into blocks of fixed size, so the result has the same bits for any number of
// threads.
#ifndef STABLEAA_MDP_SOLVE_PASSES_H_
#define STABLEAA_MDP_SOLVE_PASSES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/bellman/backup.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// Extremes over all states of (new value) − (old value).
struct Differences {
  double least = 0;
  double largest = 0;
  double values = 0;  // the largest |old value|

  double span() const { return largest - least; }
  double magnitude() const { return std::max(std::abs(least), std::abs(largest)); }
};

// image ← TV, and the actions that attain it (the first in case of a tie) unless `actions` is
// empty. All spans have one entry per state; image and values do not overlap.
Differences BackupPass(const Model& model, double discount, std::span<const double> values,
                       std::span<double> image, std::span<std::uint32_t> actions, int threads);

// The same with the self-loop of each row solved out:
//   image(s) = max_a (r + γ Σ_{s'≠s} p V(s'))/(1 − γ p_ss).
Differences JacobiPass(const Model& model, double discount, std::span<const double> values,
                       std::span<double> image, int threads);

// image(s) ← backup.Value of the action values.
Differences OperatorPass(const Model& model, double discount, const Backup& backup,
                         std::span<const double> values, std::span<double> image, int threads);

// The bytes that a BackupPass streams: the model, the values once, and the image.
std::uint64_t PassBytes(const Model& model);

// The rows of one policy, gathered so that passes over them stream no more than they need:
//   (T_π V)(s) = rewards[s] + Σ weights[k] V(columns[k]),   weights = γ p.
class PolicyRows {
 public:
  // Needs fewer than 2^32 states. A policy that differs little from the last one costs little; the
  // model and the discount must be those of the previous call.
  void Gather(const Model& model, double discount, std::span<const std::uint32_t> actions,
              int threads);

  // image ← T_π V.
  Differences Pass(std::span<const double> values, std::span<double> image, int threads) const;

  std::uint64_t bytes() const;  // streamed by a pass

 private:
  bool KeepsOffsets(const Model& model, std::span<const std::uint32_t> actions) const;
  void PlaceRows(const Model& model, std::span<const std::uint32_t> actions);

  std::vector<std::uint32_t> actions_;  // as gathered last
  std::vector<std::uint64_t> offsets_;  // of the transitions of each state, and the end
  // Not vectors, which would write zeros first and take as long as the gathering.
  std::unique_ptr<std::uint32_t[]> columns_;
  std::unique_ptr<double[]> weights_;
  std::uint64_t capacity_ = 0;  // of these two
  std::vector<double> rewards_;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_PASSES_H_
