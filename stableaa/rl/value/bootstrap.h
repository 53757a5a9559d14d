// The values that a batch of n transitions takes from the target networks. They cover up to 2n
// states: first each s' whose discount is not 0, then, if requested, each s.
#ifndef STABLEAA_RL_VALUE_BOOTSTRAP_H_
#define STABLEAA_RL_VALUE_BOOTSTRAP_H_

#include <cstddef>
#include <span>
#include <vector>

#include "stableaa/bellman/backup.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa {

// Collects the states of `batch`, borrowing its frames; with_states: each s too.
void CollectStates(const ReplayBatch& batch, int stack, bool with_states,
                   std::vector<FrozenState>& states);

// Where CollectStates put the states of transition j.
class StatePlaces {
 public:
  explicit StatePlaces(const ReplayBatch& batch);

  std::size_t Next(std::size_t j) const { return next_[j]; }  // only if its discount is not 0
  std::size_t State(std::size_t j) const { return first_state_ + j; }

 private:
  std::vector<std::size_t> next_;
  std::size_t first_state_ = 0;
};

// The value of a state with action values `q`: that of action `best`, or the backup's if it is -1.
double NextValue(const Backup& backup, std::span<const float> q, int best);

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_BOOTSTRAP_H_
