// For tests of comparisons and reports: runs without any files.
#ifndef STABLEAA_EXPERIMENT_RESULTS_MADE_RECORD_TEST_H_
#define STABLEAA_EXPERIMENT_RESULTS_MADE_RECORD_TEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/experiment/results/run_record.h"

namespace stableaa {

struct MadeRun {
  std::string env = "minatar/breakout", preset = "dueling-dqn";
  std::uint64_t seed = 1;
  std::vector<double> returns = {};  // of the evaluations
  std::int64_t interval = 10;        // steps between evaluations
  std::vector<std::string> settings = {};
  bool diverged = false;
  std::string metrics = {};                             // text of metrics.csv
  std::map<std::string, std::string> description = {};  // of run.json
};

inline RunRecord MakeRecord(const MadeRun& made) {
  RunRecord record{.directory = made.preset + std::to_string(made.seed), .options = {}};
  Config config;
  Describe(config, record.options);
  LoadPreset(config, made.env, made.preset);
  for (const std::string& setting : made.settings) config.Set(setting);
  record.options.train.seed = made.seed;
  for (const ConfigKey& key : config.Keys()) record.settings[key.key] = key.value;
  std::int64_t step = 0;
  for (const double value : made.returns) {
    record.evaluations.push_back({step += made.interval, value});
  }
  record.step = step;
  record.diverged = made.diverged;
  record.metrics = ParseMetrics(made.metrics, "metrics.csv");
  record.description = made.description;
  return record;
}

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_MADE_RECORD_TEST_H_
