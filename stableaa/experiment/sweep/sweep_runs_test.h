// For tests of what a sweep knows about its runs.
#ifndef STABLEAA_EXPERIMENT_SWEEP_SWEEP_RUNS_TEST_H_
#define STABLEAA_EXPERIMENT_SWEEP_SWEEP_RUNS_TEST_H_

#include <string>
#include <vector>

#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/status.h"

namespace stableaa {

// The runs of a suite given as TOML, none of them started.
struct SuiteRuns {
  explicit SuiteRuns(const std::string& toml) : suite(ParseSuite(toml, "my.toml")) {
    for (const SuiteRun& run : suite.runs) runs.push_back({.run = &run});
  }
  SuiteRuns(const SuiteRuns&) = delete;
  SuiteRuns& operator=(const SuiteRuns&) = delete;

  const Suite suite;
  std::vector<SweepRun> runs;
};

// Two values of a key, two seeds, 1000 steps each.
inline const char* const kFourRuns = R"(
title = "Four"
seeds = 2
stop.steps = 1000
[axes]
agent.eta = [0.5, 2.0]
)";

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_SWEEP_RUNS_TEST_H_
