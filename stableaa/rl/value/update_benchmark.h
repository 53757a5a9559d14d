// Measures how long an update takes once everything is full: the replay, the window of target
// networks and the cache of their values.
#ifndef STABLEAA_RL_VALUE_UPDATE_BENCHMARK_H_
#define STABLEAA_RL_VALUE_UPDATE_BENCHMARK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/actor.h"
#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/learner.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa {

struct UpdateTiming {
  double ms_per_update = 0;
  double gflops = 0;        // counts only the networks' multiplications and additions
  double sgemm_gflops = 0;  // with as many threads; NaN in a build without oneDNN
  double hit_rate = 0;      // share of target network values that were cached
  // Shares of the time.
  double sampling_share = 0, targets_share = 0, gradient_share = 0;
};

// Between two shifts of the target networks, updates become faster as the cache fills; each shift
// starts this over. On average all such intervals are alike, so only one is measured: `stretches`
// runs of consecutive updates, evenly spread over it, are timed, each starting from SteadyNetworks.
// The work of the shift itself (the weights of `sync`) is timed separately and spread over the
// interval.
struct UpdateBenchmark {
  int stretches = 10;
  int updates = 20;  // per stretch
};

// Target networks in the state they have `updates` updates after a shift in the middle of a long
// run: a full window of copies of one network, each with cached values for the states its updates
// have met, drawn from the replay. The cached values are 0, so no network has to be run.
TargetNetworks SteadyNetworks(const LearnerOptions& options,
                              const std::shared_ptr<const Plan>& plan,
                              const ObservationLayout& layout, const Replay& replay,
                              std::int64_t updates);

// The game depends on the network: MinAtar Breakout for "minatar", CartPole for "mlp", and for
// "nature" pictures with 18 actions that only look like a game.
UpdateTiming MeasureUpdate(const LearnerOptions& options, const std::string& network,
                           const UpdateBenchmark& benchmark = {});

// Seconds per decision: encoding an observation, the network, the policy. Median.
double MeasureDecision(const AgentOptions& agent, PolicyKind policy, int threads,
                       const std::string& network);

// The environment whose family has the defaults for this network: "minatar/breakout" for "minatar".
std::string EnvironmentOf(const std::string& network);

// Roughly the memory that MeasureUpdate takes.
std::uint64_t UpdateBenchmarkBytes(const LearnerOptions& options, const std::string& network);

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_UPDATE_BENCHMARK_H_
