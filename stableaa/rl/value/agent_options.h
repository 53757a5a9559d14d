// What makes up an agent: head × backup × mixer, three independent choices, and their parameters.
// docs/agents.md has the mathematics.
#ifndef STABLEAA_RL_VALUE_AGENT_OPTIONS_H_
#define STABLEAA_RL_VALUE_AGENT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/base/config/schedule.h"
#include "stableaa/bellman/backup.h"
#include "stableaa/nn/loss.h"
#include "stableaa/nn/spec.h"

namespace stableaa {

class Config;

enum class AgentAlgorithm {
  kDqn,  // numbered actions; the others have continuous ones (control/control_options.h)
  kDdpg,
  kTd3,
  kSac,
};

// As agent.algorithm says it.
std::string NameOf(AgentAlgorithm algorithm);

enum class HeadKind { kPlain, kDueling };

enum class AgentBackup {
  kMax,
  kMellowmax,
  kBoltzmann,
  kDynamicBoltzmann,
  kDouble,  // the online network picks the action, each target network evaluates it
};

enum class MixerKind {
  kSingle,    // the newest target network
  kAverage,   // the backup of the mean over all target networks (Averaged-DQN)
  kAnderson,  // mixing weights without penalty
  kRaa,       // Shi et al. 2019
  kStable,    // the paper's Eq. 9
};

enum class WeightRefresh {
  kUpdate,  // in each update, on a new sample (the paper's Algorithm 1)
  kSync,    // once per shift of the target networks
};

enum class EtaChoice { kFixed, kAuto };

enum class WindowRestart {
  kNever,
  kInterval,  // after a number of updates
  kGrowth,    // when the residual grows
};

// How the mixing weights of anderson, raa and stable are computed; keys agent.weights.*.
struct MixingOptions {
  // When they are computed. kUpdate is the paper's Algorithm 1. kSync costs far less: one large
  // sample per shift of the target networks.
  WeightRefresh refresh = WeightRefresh::kSync;

  // Transitions in the sample, 1 to 65536; 0 means 128 for kUpdate (with continuous actions 400, of
  // which the update's batch is the first part), 1024 for kSync. A larger sample gives less noisy
  // weights, but every target network has to evaluate its states.
  int batch = 0;

  // kFixed: AgentOptions::eta. kAuto: whichever of 1e-6, 1e-5, …, 10 gives weights that, fitted on
  // half of the sample, leave the smallest residual on the other half. anderson has no eta.
  EtaChoice eta = EtaChoice::kFixed;

  // Use only the newest target network when weights fitted on half of the sample do not lower the
  // residual on the other half.
  bool safeguard = false;
};

// Keys agent.*, and network.* for the last two.
struct AgentOptions {
  // How the agent learns. kDqn: a value per action; the options below are its own unless they say
  // otherwise. The others have an actor and critics; of the options below they use the mixer and
  // its parameters, on the critics, the discount, the returns, the loss and the layers.
  AgentAlgorithm algorithm = AgentAlgorithm::kDqn;

  // Head of the network. kDueling: Q = V + A − mean A (Wang et al. 2016).
  HeadKind head = HeadKind::kPlain;

  // How the values of the next state's actions are reduced to one.
  AgentBackup backup = AgentBackup::kMax;

  // How the target networks are combined into one target.
  MixerKind mixer = MixerKind::kSingle;

  // Inverse temperature of mellowmax and boltzmann, and of the policies max-entropy and softmax, 0
  // to 1e6, in 1/reward. Larger is closer to max, and less smooth. For dynamic-boltzmann it is the
  // c in c t², where t is the number of the present target network.
  double omega = 5;

  // m, the number of target networks that every mixer but kSingle looks at, 1 to 64; fewer until
  // that many exist. Each takes the memory of a network and of its values (replay.size × actions
  // floats), or where actions are continuous of its critics and up to 8 bytes × replay.size.
  int targets = 5;

  // β, the share of the mixed Q itself in the target, the rest being the mixed backups; 0 (backups
  // only) to 1, in the step of the update. Used by kAnderson, kRaa and kStable.
  Schedule damping = 0.1;

  // Strength of the penalty on the mixing weights of kRaa and kStable, 0 to 1e6, in the step in
  // which they are computed. A larger value keeps the weights smaller and the acceleration weaker.
  Schedule eta = 0.1;

  // Discount factor per step, in [0, 1).
  double discount = 0.99;

  // Steps whose rewards are summed before the target bootstraps, 1 to 1000.
  int n_step = 1;

  // M: after this many updates, a copy of the online network replaces the oldest target network. 1
  // to 2^40. With continuous actions: K, the updates between two copies of the critics' Polyak
  // average, of a window that is spaced.
  std::int64_t target_interval_updates = 1000;

  MixingOptions weights;

  // When to forget all target networks but the newest.
  WindowRestart restart = WindowRestart::kNever;

  // For kInterval: updates between two restarts, 1 to 2^40. Restarts happen at the next shift.
  std::int64_t restart_interval_updates = 100'000;

  // For kGrowth: restart when the newest network's residual exceeds the smallest since the last
  // restart by this factor, above 1, at most 1e6.
  double restart_growth = 2;

  // Loss on the difference between Q and its target.
  LossKind loss = LossKind::kSquared;

  // Where the Huber loss changes from quadratic to linear, above 0, at most 1e6, in units of
  // reward.
  double huber_delta = 1;

  // network.hidden: units in each hidden layer, whole numbers from 1 to 65536, at least one layer.
  // Only used for vector observations.
  std::vector<double> hidden = {128, 128};

  // network.layers: the layers before the head, in the notation of docs/networks.md. Empty means
  // the usual ones for the observations (AgentNetwork).
  std::string layers = {};

  // Throws BadInput.
  void Validate() const;

  // Number of target networks that the mixer looks at: 1 for kSingle.
  int window() const { return mixer == MixerKind::kSingle ? 1 : targets; }
  // Whether the mixer has weights of its own to compute.
  bool mixes() const { return mixer != MixerKind::kSingle && mixer != MixerKind::kAverage; }
  // β of the targets in step `step` of the run: 0 unless the mixer mixes.
  double BetaAt(std::int64_t step) const { return mixes() ? damping.At(step) : 0; }
  // Whether targets need the values of s in addition to those of s' in any step.
  bool targets_need_states() const { return mixes() && !damping.is_zero(); }
  // Whether mixing weights are computed at these times.
  bool FitsAt(WeightRefresh refresh) const { return mixes() && weights.refresh == refresh; }
  // Number of transitions that mixing weights are computed from.
  int weights_batch() const;
  // The backup operator after the target networks have shifted `time` - 1 times; max for kDouble.
  Backup BackupAt(std::int64_t time) const;
  WeightOptions WeightsFor(double eta_value) const;
  LossOptions Loss() const { return {.kind = loss, .huber_delta = huber_delta}; }
};

void Describe(Config& config, AgentOptions& options);

// The network for observations of `input`: options.layers and the head. If no layers are given, it
// is one that fits the size of images (ImageSpec: Nature's for 84×84, MinAtar's for 10×10), and a
// multi-layer perceptron for vectors.
// Throws BadInput for layers that make no sense or do not fit.
NetworkSpec AgentNetwork(const AgentOptions& options, const InputSpec& input, int actions);

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_AGENT_OPTIONS_H_
