// How long an update takes once everything is full: the replay, the window of target networks and
// the cache of their values.
#ifndef STABLEAA_RL_VALUE_UPDATE_BENCHMARK_H_
#define STABLEAA_RL_VALUE_UPDATE_BENCHMARK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa {

struct UpdateTiming {
  double ms_per_update = 0;
  double gflops = 0;        // of the networks' multiplications and additions only
  double sgemm_gflops = 0;  // by the same number of threads; NaN in a build without oneDNN
  double hit_rate = 0;      // values of target networks that were cached
  // Parts of the time.
  double sampling_share = 0, targets_share = 0, gradient_share = 0;
};

// The time of an update falls from one shift of the target networks to the next, as the cache
// fills, and starts anew then; on average all such intervals are alike. So one is looked at:
// `stretches` of consecutive updates are timed, evenly spread over it, each from SteadyNetworks.
// The work of the shift itself (the weights of `sync`) is timed apart and shared out over the
// interval.
struct UpdateBenchmark {
  int stretches = 10;
  int updates = 20;  // per stretch
};

// Target networks as they are `updates` updates after a shift in the middle of a long run: a full
// window of copies of one network, each of which knows the states that its updates have met, drawn
// from the replay. The values that they remember are 0, so that no network has to be run.
TargetNetworks SteadyNetworks(const RunOptions& options, const std::shared_ptr<const Plan>& plan,
                              const ObservationLayout& layout, const Replay& replay,
                              std::int64_t updates);

// Networks: the game is MinAtar Breakout for "minatar", CartPole for "mlp", and for "nature"
// pictures with 18 actions that only look like a game.
UpdateTiming MeasureUpdate(const RunOptions& options, const std::string& network,
                           const UpdateBenchmark& benchmark = {});

// Seconds of one decision: encoding an observation, the network, the policy. Median.
double MeasureDecision(const RunOptions& options, const std::string& network);

// The environment whose family has the defaults for a network: "minatar/breakout" for "minatar".
std::string EnvironmentOf(const std::string& network);

// About the memory that MeasureUpdate takes.
std::uint64_t UpdateBenchmarkBytes(const RunOptions& options, const std::string& network);

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_UPDATE_BENCHMARK_H_
