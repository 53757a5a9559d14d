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

// The backup of V = 0, which needs only the rewards.
Differences RewardPass(const Model& model, std::span<double> image,
                       std::span<std::uint32_t> actions, int threads);

// The same as BackupPass, and each state's lead: by how much its best action value exceeds the
// second best. Rounded down, and infinite for states with one action.
Differences BackupPassWithLeads(const Model& model, double discount, std::span<const double> values,
                                std::span<double> image, std::span<std::uint32_t> actions,
                                std::span<float> leads, int threads);

// The same as BackupPass with the self-loop of each row solved out:
//   image(s) = max_a (r + γ Σ_{s'≠s} p V(s'))/(1 − γ p_ss).
Differences JacobiPass(const Model& model, double discount, std::span<const double> values,
                       std::span<double> image, int threads);

// image(s) ← backup.Value of the action values.
Differences OperatorPass(const Model& model, double discount, const Backup& backup,
                         std::span<const double> values, std::span<double> image, int threads);

// The extremes of after − before.
Differences DifferencesOf(std::span<const double> before, std::span<const double> after,
                          int threads);

// The bytes that a BackupPass streams: the model, the values once, and the image.
std::uint64_t PassBytes(const Model& model);
std::uint64_t RewardPassBytes(const Model& model);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_PASSES_H_
