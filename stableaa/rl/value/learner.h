// Turns batches of transitions into a better online network: Algorithm 1 of the paper without its
// environment.
//
//   Learner learner(options, plan, layout, replay);
//   ... replay.Begin, replay.Add ...
//   const UpdateReport report = learner.Update(step);
//
// BatchQueue draws the batches ahead of their updates and has a thread that evaluates the target
// networks for them; TargetWindow holds these networks and their mixing weights. The learner itself
// computes targets and takes the optimiser's steps. The number of threads does not change a single
// bit of the result.
#ifndef STABLEAA_RL_VALUE_LEARNER_H_
#define STABLEAA_RL_VALUE_LEARNER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/nn/network.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/batch_queue.h"
#include "stableaa/rl/value/target_mixer.h"
#include "stableaa/rl/value/target_networks.h"
#include "stableaa/rl/value/target_window.h"
#include "stableaa/rl/value/transition_sampler.h"

namespace stableaa {

// What updates depend on. TrainOptions (run/run_options.h) gives the ranges of the numbers and says
// when to change them.
struct LearnerOptions {
  AgentOptions agent;
  ReplayOptions replay;  // those of the replay that the learner gets
  OptimizerOptions optimizer;
  std::uint64_t seed = 1;
  int batch = 32;                          // transitions per update
  std::int64_t update_interval_steps = 1;  // steps in the environment per update
  int num_envs = 1;                        // environments that step at once
  int lookahead_updates = 1;  // batches are drawn this many updates before they are used
  int threads = 1;            // at least 1; affects only the speed
};

struct UpdateReport {
  double loss = 0;
  double td_abs = 0;  // mean of |Q(s, a) − y|
  double q_mean = 0;  // mean of Q(s, a)
};

// Where the time of all updates so far was spent, in seconds.
struct UpdateTimes {
  double sampling = 0;
  double targets = 0;   // computing them in the caller's thread, or waiting for them
  double gradient = 0;  // forward, backward, optimiser
};

// Not thread-safe.
class Learner {
 public:
  // Draws parameters from the seed's stream "network", batches from "replay", and the samples for
  // mixing weights from "weights". The replay must outlive the learner and have a reserve of at
  // least ReplayReserve(options).
  Learner(const LearnerOptions& options, const std::shared_ptr<const Plan>& plan,
          const ObservationLayout& layout, Replay& replay);
  // The same, but with these target networks instead of a copy of the online one, to start in the
  // middle of a run, as benchmarks do.
  Learner(const LearnerOptions& options, std::shared_ptr<const Plan> plan,
          const ObservationLayout& layout, Replay& replay, TargetNetworks networks);

  // The online network before the first update.
  static Parameters FirstParameters(const LearnerOptions& options,
                                    std::shared_ptr<const Plan> plan);
  // Room for the target networks of a learner with these options; it holds none yet.
  static TargetNetworks EmptyNetworks(const LearnerOptions& options,
                                      std::shared_ptr<const Plan> plan,
                                      const ObservationLayout& layout);

  // Replaces the online network and its one target network, before the first update.
  void StartFrom(const Parameters& first);

  // The most states that can be added to a stream between drawing a batch and using it.
  static std::int64_t ReplayReserve(const LearnerOptions& options);
  // Memory, excluding the replay.
  static std::uint64_t EstimateBytes(const LearnerOptions& options, const Plan& plan);

  // Performs one update, in step `step` of the run, which all schedules and the importance weights'
  // exponent go by. Throws WorkFailed if a value, a target or the loss is not finite.
  UpdateReport Update(std::int64_t step);

  const Parameters& online() const { return online_; }
  const Mixing& mixing() const { return window_.mixing(); }
  int targets() const { return window_.networks().count(); }
  const LearnerCounts& counts() const { return window_.counts(); }
  const UpdateTimes& times() const { return times_; }
  const TargetNetworks::Counts& cache_counts() const;
  // Multiplications and additions in all passes so far.
  double multiply_adds() const;

  // Writes an .npz file that helps to find out why Update failed: its transitions, values and
  // targets, and the parameters.
  void WriteDiagnosis(const std::filesystem::path& path) const;

  // Everything but the replay, which must be loaded first. Load throws BadInput for anything that
  // no run with these options and this replay saved; the learner is unusable then.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  std::span<const int> OnlineBest(const ReplayBatch& batch);
  UpdateReport Descend(const ReplayBatch& batch, std::int64_t step);

  const LearnerOptions options_;
  const std::shared_ptr<const Plan> plan_;
  const int stack_;
  Replay& replay_;
  TransitionSampler sampler_;
  Parameters online_, gradients_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Network> chooser_;  // for double: the online network, inference only
  Optimizer optimizer_;
  TargetWindow window_;
  TargetMixer mixer_;
  UpdateTimes times_;
  double online_passes_ = 0;  // samples that went through chooser_

  StateGatherer gatherer_;
  std::vector<float> outputs_, output_gradients_, targets_, errors_;
  std::vector<int> online_best_;
  BatchQueue queue_;  // last: its thread uses window_
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_LEARNER_H_
