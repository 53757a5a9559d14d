// Of many runs those that a report is asked for.
#ifndef STABLEAA_EXPERIMENT_RESULTS_RUN_FILTER_H_
#define STABLEAA_EXPERIMENT_RESULTS_RUN_FILTER_H_

#include <string>
#include <vector>

#include "stableaa/experiment/results/run_record.h"

namespace stableaa {

// What a run has to have: a value of a configuration key. For train.env, train.preset and
// train.seed "env", "preset" and "seed" will do.
struct RunFilter {
  std::string key;
  std::string value;  // as an override of a configuration is written: 0.1, dqn, "dqn"
};

// Leaves the runs that every key has one of its values in: several values of one key are
// alternatives. BadInput for a key that no run has, for a value that the key cannot have, and if no
// run is left; it says what there is.
void KeepMatching(const std::vector<RunFilter>& filters, std::vector<RunRecord>& records);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_RUN_FILTER_H_
