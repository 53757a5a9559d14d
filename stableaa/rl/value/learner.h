// The learner: from batches of transitions to a better online network. Algorithm 1 of the paper
// without its environment.
//
//   Learner learner(options, plan, layout, replay);
//   ... replay.Begin, replay.Add ...
//   const UpdateReport report = learner.Update(step);
//
// BatchQueue draws the batches ahead of their updates, and has a thread that evaluates the target
// networks for them; TargetWindow holds these networks and their mixing weights. The learner itself
// computes targets and takes the optimiser's step. The number of threads changes no bit of the
// result.
#ifndef STABLEAA_RL_VALUE_LEARNER_H_
#define STABLEAA_RL_VALUE_LEARNER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/nn/network.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/value/batch_queue.h"
#include "stableaa/rl/value/target_mixer.h"
#include "stableaa/rl/value/target_networks.h"
#include "stableaa/rl/value/target_window.h"
#include "stableaa/rl/value/transition_sampler.h"

namespace stableaa {

struct UpdateReport {
  double loss = 0;
  double td_abs = 0;  // mean of |Q(s, a) − y|
  double q_mean = 0;  // mean of Q(s, a)
};

// Where the time of all updates so far went, in seconds.
struct UpdateTimes {
  double sampling = 0;
  double targets = 0;   // computed in the caller's thread, or waited for
  double gradient = 0;  // forward, backward, optimiser
};

// Not thread-safe.
class Learner {
 public:
  // Parameters are drawn from the stream "network" of the seed, batches from "replay", the samples
  // of mixing weights from "weights". The replay must outlive the learner and have a reserve of at
  // least ReplayReserve(options).
  Learner(const RunOptions& options, std::shared_ptr<const Plan> plan,
          const ObservationLayout& layout, Replay& replay);
  // The same, but with these target networks instead of a copy of the online one: for a start in
  // the middle of a run, as in benchmarks.
  Learner(const RunOptions& options, std::shared_ptr<const Plan> plan,
          const ObservationLayout& layout, Replay& replay, TargetNetworks networks);

  // Room for the target networks of a learner with these options; none is there yet.
  static TargetNetworks EmptyNetworks(const RunOptions& options, std::shared_ptr<const Plan> plan,
                                      const ObservationLayout& layout);

  // The most states that can come between the drawing of a batch and its use.
  static std::int64_t ReplayReserve(const RunOptions& options);
  // Memory, the replay not included.
  static std::uint64_t EstimateBytes(const RunOptions& options, const Plan& plan);

  // One update in step `step` of the run (for the schedule of importance weights). Throws
  // WorkFailed if a value, a target or the loss is not finite.
  UpdateReport Update(std::int64_t step);

  const Parameters& online() const { return online_; }
  const Mixing& mixing() const { return window_.mixing(); }
  int targets() const { return window_.networks().count(); }
  const LearnerCounts& counts() const { return window_.counts(); }
  const UpdateTimes& times() const { return times_; }
  const TargetNetworks::Counts& cache_counts() const;
  // Multiplications and additions of all passes so far.
  double multiply_adds() const;

  // Writes what helps to find out why Update failed (its transitions, values and targets, and the
  // parameters) as an .npz file.
  void WriteDiagnosis(const std::filesystem::path& path) const;

  // Everything but the replay, which must be loaded first. Load throws BadInput for what no run
  // with these options and this replay saved; the learner is unusable then.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  std::span<const int> OnlineBest(const ReplayBatch& batch);
  UpdateReport Descend(const ReplayBatch& batch);

  const RunOptions options_;
  const std::shared_ptr<const Plan> plan_;
  const int stack_;
  Replay& replay_;
  TransitionSampler sampler_;
  Parameters online_, gradients_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Network> chooser_;  // of double: online, inference only
  Optimizer optimizer_;
  TargetWindow window_;
  TargetMixer mixer_;
  UpdateTimes times_;
  double online_passes_ = 0;  // samples through chooser_

  StateGatherer gatherer_;
  std::vector<float> outputs_, output_gradients_, targets_, errors_;
  std::vector<int> online_best_;
  BatchQueue queue_;  // last: its thread uses window_
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_LEARNER_H_
