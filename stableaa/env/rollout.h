// Episodes of one environment under a fixed policy, and their statistics.
//
// Follows the conventions behind published numbers: one environment object for all episodes, each
// cut off at the environment's limit; length = steps taken; standard deviations divide by n - 1;
// channel means are over all observations after a step, including the last of an episode but not
// the first, with every step weighing the same.
#ifndef STABLEAA_ENV_ROLLOUT_H_
#define STABLEAA_ENV_ROLLOUT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/env/environment.h"
#include "stableaa/env/fixed_policy.h"

namespace stableaa {

// What just happened. Views are valid only during the callback.
struct RolloutStep {
  std::int64_t step = 0;     // from 1, over all episodes
  std::int64_t episode = 0;  // from 1
  Actions action;
  double reward = 0;
  bool terminated = false;
  bool truncated = false;
  Observations observation;  // after the step; the last of its episode, not the first of the next
  const Picture* frame = nullptr;  // shows that observation, if the environment renders
  double return_so_far = 0;        // in the episode
};

struct RolloutSummary {
  std::int64_t episodes = 0;
  double return_mean = 0, return_std = 0;  // the standard deviation of one episode is NaN
  double length_mean = 0, length_std = 0;
  std::vector<double> channel_mean = {};  // empty if the observation has no channels
};

// `environment` must have num_envs() = 1.
RolloutSummary Rollout(Environment& environment, FixedPolicy& policy, std::int64_t episodes,
                       std::uint64_t seed,
                       const std::function<void(const RolloutStep&)>& on_step = {});

// A CSV file of steps: step, action (action_0, action_1, ... if it has several elements), reward,
// terminated, truncated, and the observation after the step, flattened, as obs_0, obs_1, ... The
// file appears only at Finish.
class TraceWriter {
 public:
  TraceWriter(const std::string& path, const EnvironmentSpec& spec);
  void Add(const RolloutStep& step);
  void Finish();

 private:
  AtomicFile file_;
  std::string line_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_ROLLOUT_H_
