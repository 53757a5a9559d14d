// Selects the runs for a report.
#ifndef STABLEAA_EXPERIMENT_RESULTS_RUN_FILTER_H_
#define STABLEAA_EXPERIMENT_RESULTS_RUN_FILTER_H_

#include <string>
#include <vector>

#include "stableaa/experiment/results/run_record.h"

namespace stableaa {

// A value that a configuration key must have. "env", "preset" and "seed" stand for train.env,
// train.preset and train.seed.
struct RunFilter {
  std::string key;
  std::string value;  // written like a configuration override: 0.1, dqn, "dqn"
};

// Keeps the runs that match every key; several values of one key are alternatives. BadInput for a
// key that no run has, for a value that the key cannot have, and if no run is left; the message
// says what there is.
void KeepMatching(const std::vector<RunFilter>& filters, std::vector<RunRecord>& records);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_RUN_FILTER_H_
