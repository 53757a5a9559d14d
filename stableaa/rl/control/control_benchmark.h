// Measures how long an update of an agent with continuous actions takes once everything is full: the
// replay, the history of critics and the cache of their values.
#ifndef STABLEAA_RL_CONTROL_CONTROL_BENCHMARK_H_
#define STABLEAA_RL_CONTROL_CONTROL_BENCHMARK_H_

#include <cstdint>

#include "stableaa/rl/control/control_learner.h"
#include "stableaa/rl/value/update_benchmark.h"

namespace stableaa {

// Made-up transitions of the sizes of MuJoCo's HalfCheetah: 17 numbers observed, 6 per action,
// episodes of 1000 steps.
EnvironmentSpec HalfCheetahSizes();

// Times `updates` updates half way between two copies of the critics, and spreads the work of
// taking a copy over the interval.
UpdateTiming MeasureControlUpdate(const ControlLearnerOptions& options, int updates = 200);

// Seconds per decision of an actor of these sizes. Median.
double MeasureControlDecision(const AgentOptions& agent, int threads);

// Roughly the memory that it takes.
std::uint64_t ControlBenchmarkBytes(const ControlLearnerOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CONTROL_BENCHMARK_H_
