#include "stableaa/rl/value/bootstrap.h"

namespace stableaa {

void CollectStates(const ReplayBatch& batch, int stack, bool with_states,
                   std::vector<FrozenState>& states) {
  states.clear();
  for (std::size_t j = 0; j < batch.count(); ++j) {
    if (batch.discounts[j] != 0) states.push_back({batch.next_ids[j], batch.Next(j, stack)});
  }
  if (!with_states) return;
  for (std::size_t j = 0; j < batch.count(); ++j) {
    states.push_back({batch.ids[j], batch.State(j, stack)});
  }
}

StatePlaces::StatePlaces(const ReplayBatch& batch) {
  next_.resize(batch.count());
  for (std::size_t j = 0; j < batch.count(); ++j) {
    next_[j] = first_state_;
    if (batch.discounts[j] != 0) ++first_state_;
  }
}

double NextValue(const Backup& backup, std::span<const float> q, int best) {
  return best >= 0 ? static_cast<double>(q[static_cast<std::size_t>(best)]) : backup.Value(q);
}

}  // namespace stableaa
