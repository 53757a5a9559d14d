// A batch that was drawn from the replay and is waiting for its update.
#ifndef STABLEAA_RL_VALUE_DRAWN_BATCH_H_
#define STABLEAA_RL_VALUE_DRAWN_BATCH_H_

#include <cstdint>
#include <vector>

#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/target_networks.h"
#include "stableaa/rl/value/weight_fitter.h"

namespace stableaa {

struct DrawnBatch {
  std::int64_t update = 0;  // the update it is for, from 1
  std::int64_t step = 0;    // the run's step that this update is expected in
  ReplayBatch batch;
  // For mixing weights that are computed in each update; otherwise empty.
  std::vector<std::int64_t> sample_ids;
  ReplayBatch sample;

  // Computed by TargetWindow::Evaluate, from frozen networks only.
  std::vector<FrozenState> states;
  FrozenValues values, sample_values;
  Mixing mixing;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_DRAWN_BATCH_H_
