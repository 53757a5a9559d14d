// The learner: from batches of transitions to a better online network. Algorithm 1 of the paper
// without its environment.
//
//   Learner learner(options, plan, layout, replay);
//   ... replay.Begin, replay.Add ...
//   const UpdateReport report = learner.Update(step);
//
// Batches are drawn `lookahead` updates before they are used, whatever the number of threads. With
// two threads or more, one of them computes the values of the target networks for batches that wait
// (they depend on frozen networks only) while the others work on the gradient. A batch that will be
// used after the next shift of the target networks waits for it. So the number of threads changes
// no bit of the result.
#ifndef STABLEAA_RL_VALUE_LEARNER_H_
#define STABLEAA_RL_VALUE_LEARNER_H_

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/value/target_mixer.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa {

struct UpdateReport {
  double loss = 0;
  double td_abs = 0;  // mean of |Q(s, a) − y|
  double q_mean = 0;  // mean of Q(s, a)
};

// Where the time of all updates so far went, in seconds.
struct UpdateTimes {
  double sampling = 0;
  double targets = 0;   // computed by the thread of Update, or waited for
  double gradient = 0;  // forward, backward, optimiser
};

struct LearnerCounts {
  std::int64_t updates = 0;
  std::int64_t shifts = 0;
  std::int64_t restarts = 0;
  std::int64_t fallbacks = 0;
};

// Not thread-safe: its threads are its own.
class Learner {
 public:
  // Parameters are drawn from the stream "network" of the seed, batches from "replay", the samples
  // of mixing weights from "weights". The replay must outlive the learner and have a reserve of at
  // least ReplayReserve(options).
  Learner(const RunOptions& options, std::shared_ptr<const Plan> plan,
          const ObservationLayout& layout, Replay& replay);
  ~Learner();

  // States that may be met between the drawing of a batch and its use.
  static std::int64_t ReplayReserve(const RunOptions& options);
  // Memory, the replay not included.
  static std::uint64_t EstimateBytes(const RunOptions& options, const Plan& plan);

  // One update in step `step` of the run (for the schedule of importance weights). Throws
  // WorkFailed if a value, a target or the loss is not finite.
  UpdateReport Update(std::int64_t step);

  const Parameters& online() const { return online_; }
  const Mixing& mixing() const { return mixing_; }
  int targets() const { return networks_.count(); }
  const LearnerCounts& counts() const { return counts_; }
  const UpdateTimes& times() const { return times_; }
  const TargetNetworks::Counts& cache_counts() const;
  // Multiplications and additions of all passes so far.
  double multiply_adds() const;

  // What helps to find out why Update has failed: its transitions, values, targets, and the
  // parameters, as an .npz file.
  void WriteDiagnosis(const std::filesystem::path& path) const;

  // Everything but the replay, which has to be loaded before. Load throws BadInput for what no run
  // with these options and this replay saved; the learner is of no use then.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

  // For benchmarks: puts the cache into the state that it has `updates` updates after a shift, with
  // a full window of copies of the online network.
  void PretendSteadyState(std::int64_t updates);
  // And the seconds that a shift takes at the end of that interval.
  double MeasureShift();

 private:
  struct Pending;
  class Ahead;

  std::unique_ptr<Pending> Draw(std::int64_t step);
  void ReadPending(Pending& pending) const;
  void FillQueue(std::int64_t step);
  void HandOver();
  void EvaluateFrozen(Pending& pending);
  void Await(Pending& pending);
  std::span<const int> OnlineBest(const Pending& pending);
  UpdateReport Descend(const Pending& pending);
  void Shift();
  void RefreshAtShift();
  std::int64_t next_shift() const;
  void CheckMixing(const ByteReader& in) const;
  void LoadCounts(ByteReader& in);
  void LoadQueue(ByteReader& in);

  const RunOptions options_;
  const std::shared_ptr<const Plan> plan_;
  const int stack_;
  Replay& replay_;
  RandomStream replay_random_, weights_random_;
  Parameters online_, gradients_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Network> chooser_;  // of double: online, inference only
  Optimizer optimizer_;
  TargetNetworks networks_;
  TargetMixer mixer_;   // of targets
  TargetMixer fitter_;  // of weights, for whichever thread evaluates the target networks
  Mixing mixing_;
  LearnerCounts counts_;
  UpdateTimes times_;
  double best_residual_ = 0;       // since the last restart; 0: none yet
  std::int64_t restarted_at_ = 0;  // update
  double online_passes_ = 0;       // samples through chooser_

  StateGatherer gatherer_;
  std::vector<float> outputs_, output_gradients_, targets_, errors_;
  std::vector<int> online_best_;
  std::deque<std::unique_ptr<Pending>> queue_;  // drawn, not used yet, in order
  std::vector<std::unique_ptr<Pending>> spare_;
  const Pending* current_ = nullptr;  // of the last Update
  std::unique_ptr<Pending> used_;
  std::unique_ptr<Ahead> ahead_;  // none with one thread; last, so that it ends first
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_LEARNER_H_
