// The window of target networks that updates look at: when it shifts and restarts, and its current
// mixing weights.
//
//   window.Evaluate(drawn);                  // its values, from frozen networks only
//   window.UseWeights(drawn, step);          // for agents that compute them in each update
//   ... the update, with window.mixing() ...
//   window.CountUpdate();
//   if (window.shift_is_due()) window.Shift(online, sampler, step);
#ifndef STABLEAA_RL_VALUE_TARGET_WINDOW_H_
#define STABLEAA_RL_VALUE_TARGET_WINDOW_H_

#include <cstdint>

#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/drawn_batch.h"
#include "stableaa/rl/value/target_networks.h"
#include "stableaa/rl/value/transition_sampler.h"
#include "stableaa/rl/value/weight_fitter.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

struct LearnerCounts {
  std::int64_t updates = 0;
  std::int64_t shifts = 0;
  std::int64_t restarts = 0;
  std::int64_t fallbacks = 0;  // times the safeguard chose the newest network alone
};

// Not thread-safe, except that Evaluate may run at the same time as anything but Shift, networks
// and Load.
class TargetWindow {
 public:
  // Begins with `networks`; the newest is used alone until weights are computed. `stack`: frames
  // per observation.
  TargetWindow(const AgentOptions& agent, int stack, TargetNetworks networks);

  // Begins with this network instead, before the first update. Like a random one, it is dropped by
  // the first shift.
  void Begin(const Parameters& first) { networks_.Begin(first); }

  // Computes what a batch needs from the networks: the values of its states and the weights from
  // its sample, with the eta of the step that its update is expected in.
  void Evaluate(DrawnBatch& drawn);

  // Adopts the weights from Evaluate, if they are computed in each update. If eta differs in `step`,
  // the step of the update, from what Evaluate expected, it computes them again.
  void UseWeights(const DrawnBatch& drawn, std::int64_t step);

  void CountUpdate() { ++counts_.updates; }
  // Whether the last update was the last one with these networks.
  bool shift_is_due() const { return counts_.updates % agent_.target_interval_updates == 0; }
  // The last update that uses the present networks.
  std::int64_t last_update() const;

  // θ_i ← θ_{i+1}, θ_m ← θ, then, if due, a restart and new weights, for which it draws a sample.
  // `step`: the run's. Throws WorkFailed if a value in the sample is not finite.
  void Shift(const Parameters& online, TransitionSampler& sampler, std::int64_t step);

  const Mixing& mixing() const { return mixing_; }
  const LearnerCounts& counts() const { return counts_; }
  const TargetNetworks& networks() const { return networks_; }
  // Counts the windows from 1, for dynamic-boltzmann.
  std::int64_t time() const { return counts_.shifts + 1; }

  // Load throws BadInput for anything that no window with these options saved after `updates`
  // updates.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in, std::int64_t updates);

 private:
  void Restart();
  void Refresh(TransitionSampler& sampler, std::int64_t step);
  void CheckMixing(const ByteReader& in) const;
  void LoadCounts(ByteReader& in, std::int64_t updates);

  const AgentOptions agent_;
  const int stack_;
  TargetNetworks networks_;
  WeightFitter fitter_;    // of Evaluate and Shift
  WeightFitter refitter_;  // of UseWeights, while Evaluate may run
  Mixing mixing_;
  LearnerCounts counts_;
  double best_residual_ = 0;       // since the last restart; 0: none yet
  std::int64_t restarted_at_ = 0;  // the update
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_TARGET_WINDOW_H_
