// DDPG, TD3 and SAC with mixed critics: turns batches of transitions into a better actor and better
// critics.
//
// For transitions (s, a, R, s') with discount g of the next state, and members i = 1 … m of the
// critics' history (critic_history.h), q_i being the smaller of a member's critics:
//
//   a'        ddpg π'(s');  td3 π'(s') + clipped noise, within the box;  sac a sample of π(s')
//             (π' is the actor's Polyak average; one a' for all members)
//   v_i       q_i(s', a'), for sac minus T log π(a'|s')
//   e_i       R + g v_i − q_i(s, a), which the mixing weights α come from (mixing_fit.h)
//   target    y = β Σ α_i q_i(s, a) + (1 − β) Σ α_i [R + g v_i]
//   critics   each learns y with the loss of the options
//   actor     climbs Q_1(s, π(s));  sac: the smaller of both, minus T log π
//
// `single` is the newest member with β = 0: the plain algorithms. `average` has equal weights and
// β = 0. The number of threads does not change a single bit of the result.
#ifndef STABLEAA_RL_CONTROL_CONTROL_LEARNER_H_
#define STABLEAA_RL_CONTROL_CONTROL_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/control/control_critics.h"
#include "stableaa/rl/control/control_options.h"
#include "stableaa/rl/control/control_policy.h"
#include "stableaa/rl/control/critic_history.h"
#include "stableaa/rl/control/critic_values.h"
#include "stableaa/rl/control/temperature.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/learner.h"
#include "stableaa/rl/value/mixing_fit.h"
#include "stableaa/rl/value/transition_sampler.h"

namespace stableaa {

// What updates depend on.
struct ControlLearnerOptions {
  AgentOptions agent;
  ControlOptions control;
  ReplayOptions replay;  // those of the replay that the learner gets
  OptimizerOptions optimizer;
  std::uint64_t seed = 1;
  int batch = 256;
  int num_envs = 1;
  int threads = 1;  // at least 1; affects only the speed

  // Transitions that an update draws: the batch, and those that only mixing weights need.
  int drawn() const;
  CriticHistoryOptions History() const;
  ControlPolicyOptions Policy() const;
  ControlCriticsOptions Critics() const;
};

// The networks for these observations and actions. Throws BadInput for layers that do not fit.
struct ControlPlans {
  std::shared_ptr<const Plan> actor, critic;
  int action_elements = 0;

  ControlPlans(const AgentOptions& options, const ObservationLayout& layout, int elements);
};

struct ControlReport {
  double loss = 0;          // mean over the critics
  double td_abs = 0;        // mean of |Q(s, a) − y| over transitions and critics
  double q_mean = 0;        // mean of Q(s, a)
  double actor_value = 0;   // the mean of Q(s, π(s)), when the actor last learnt
  double entropy = 0;       // sac: mean of −log π, likewise
  double alpha_spread = 0;  // ‖α − 1/m‖, 0 for equal weights
};

struct ControlCounts {
  std::int64_t updates = 0;
  std::int64_t copies = 0;     // taken for the history
  std::int64_t fallbacks = 0;  // times the safeguard chose the newest member alone
};

// Not thread-safe.
class ControlLearner {
 public:
  // Draws parameters from the seed's streams "actor", "critic 1" and "critic 2", batches from
  // "replay", samples for mixing weights from "weights" and the noise of updates from "policy". The
  // replay must outlive the learner.
  ControlLearner(const ControlLearnerOptions& options, const ControlPlans& plans,
                 const ObservationLayout& layout, Replay& replay);

  // Memory, excluding the replay.
  static std::uint64_t EstimateBytes(const ControlLearnerOptions& options,
                                     const ControlPlans& plans);

  // Replaces the actor and its average, before the first update.
  void StartFrom(const Parameters& first_actor) { policy_.StartFrom(first_actor); }

  // Performs one update, in step `step` of the run. Throws WorkFailed if a value, an action or the
  // loss is not finite.
  ControlReport Update(std::int64_t step);

  // What Update does every agent.target_interval_updates: takes a copy of the averages for the
  // history and fits the weights of the coming updates, if they are not fitted in each.
  void TakeCopy(std::int64_t step);

  const Parameters& actor() const { return policy_.parameters(); }
  const CriticSet& critics() const { return critics_.critics(); }
  const CriticSet& averages() const { return critics_.averages(); }  // Polyak's
  const Mixing& mixing() const { return mixing_; }
  // Whether all weights that learn, and their averages, are finite.
  bool IsFinite() const { return policy_.IsFinite() && critics_.IsFinite(); }
  double temperature(std::int64_t step) const { return temperature_.At(step); }
  int members() const { return history_.count(); }
  const ControlCounts& counts() const { return counts_; }
  const UpdateTimes& times() const { return times_; }
  const CriticHistory::Counts& cache_counts() const { return history_.counts(); }
  // Multiplications and additions in all passes so far.
  double multiply_adds() const;

  // For benchmarks: brings the history into the state it has in the middle of a long run, half way
  // between two copies: all its members, copies of the present averages, each with cached values for
  // the pairs that updates have met since it joined.
  void PretendLongRun();

  // Writes an .npz file that helps to find out why Update failed.
  void WriteDiagnosis(const std::filesystem::path& path) const;

  // Everything but the replay, which must be loaded first. Load throws BadInput for anything that
  // no run with these options and this replay saved; the learner is unusable then.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  // Transitions with their states as rows of numbers, and the a' of each.
  struct Transitions {
    ReplayBatch batch;
    std::vector<float> states, next_states;
    ProposedActions next;

    std::size_t count() const { return batch.count(); }
    StateActions Pairs() const { return {count(), states, batch.action_values}; }
    StateActions NextPairs() const { return {count(), next_states, next.actions}; }
  };

  void Draw(std::int64_t step);
  void Read(std::span<const std::int64_t> ids, Transitions& out);
  void GatherStates(const ReplayBatch& batch, bool next, std::vector<float>& out);
  void ComputeValues(const Transitions& transitions, bool with_stored);
  double BackedUp(const Transitions& transitions, std::size_t member, std::size_t j,
                  double temperature) const;
  double AlphaOf(std::size_t member) const;
  void FitWeights(const Transitions& transitions, std::size_t begin, std::int64_t step);
  void ComputeTargets(std::int64_t step);
  void LearnActor(std::int64_t step);
  void CheckMixing(const ByteReader& in) const;

  const ControlLearnerOptions options_;
  const std::size_t elements_;  // of an action
  Replay& replay_;
  TransitionSampler sampler_;
  RandomStream noise_random_;
  StateGatherer gatherer_;
  const int stack_;

  ControlPolicy policy_;
  ControlCritics critics_;
  CriticValues values_;
  CriticHistory history_;
  MixingFit fit_;
  Mixing mixing_;
  Temperature temperature_;
  ControlCounts counts_;
  ControlReport report_;  // of the last update
  UpdateTimes times_;

  // Of the present update.
  std::vector<std::int64_t> ids_, sample_ids_;
  std::vector<float> importance_;
  Transitions drawn_;   // the batch, and after it what only the weights need
  Transitions sample_;  // for weights that are fitted when a copy is taken
  std::vector<float> next_values_, stored_values_;  // members × transitions
  SampledColumns columns_;
  std::vector<float> targets_, slopes_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CONTROL_LEARNER_H_
