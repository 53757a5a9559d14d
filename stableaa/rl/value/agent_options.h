// What an agent is: head × backup × mixer, three independent choices, and the numbers that go with
// them. docs/agents.md has the mathematics.
#ifndef STABLEAA_RL_VALUE_AGENT_OPTIONS_H_
#define STABLEAA_RL_VALUE_AGENT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/bellman/backup.h"
#include "stableaa/nn/loss.h"
#include "stableaa/nn/spec.h"

namespace stableaa {

class Config;

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
  kAverage,   // the backup of the mean over all of them (Averaged-DQN)
  kAnderson,  // mixing weights without penalty
  kRaa,       // Shi et al. 2019
  kStable,    // the paper's Eq. 9
};

enum class WeightRefresh {
  kUpdate,  // in each update, on a new sample (the paper's Algorithm 1)
  kSync,    // once per shift of the target networks
};

enum class EtaChoice { kFixed, kAuto };

enum class WindowRestart { kNever, kInterval, kGrowth };

struct MixingOptions {
  // Keys agent.weights.*; Describe says what they mean.
  WeightRefresh refresh = WeightRefresh::kSync;
  int batch = 0;  // 0: 128 for kUpdate, 1024 for kSync
  EtaChoice eta = EtaChoice::kFixed;
  bool safeguard = false;
};

struct AgentOptions {
  // Keys agent.*; Describe says what they mean.
  HeadKind head = HeadKind::kPlain;
  AgentBackup backup = AgentBackup::kMax;
  MixerKind mixer = MixerKind::kSingle;
  double omega = 5;
  int targets = 5;       // m
  double damping = 0.1;  // β, the weight of Q and not of the map
  double eta = 0.1;
  double discount = 0.99;
  int n_step = 1;
  std::int64_t target_interval_updates = 1000;  // M
  MixingOptions weights;
  WindowRestart restart = WindowRestart::kNever;
  std::int64_t restart_interval_updates = 100'000;
  double restart_growth = 2;
  LossKind loss = LossKind::kSquared;
  double huber_delta = 1;
  std::vector<double> hidden = {128, 128};  // key network.hidden; of vectors' networks
  std::string layers = {};                  // key network.layers; empty: the usual ones

  // Throws BadInput.
  void Validate() const;

  // Target networks that the mixer looks at: 1 for kSingle.
  int window() const { return mixer == MixerKind::kSingle ? 1 : targets; }
  // Whether the mixer has weights of its own to compute.
  bool mixes() const { return mixer != MixerKind::kSingle && mixer != MixerKind::kAverage; }
  // β of the targets: 0 unless the mixer mixes.
  double beta() const { return mixes() ? damping : 0; }
  int weights_batch() const;
  WeightOptions WeightsFor(double eta_value) const;
  LossOptions Loss() const { return {.kind = loss, .huber_delta = huber_delta}; }
};

void Describe(Config& config, AgentOptions& options);

// The network for observations of `input`: options.layers and the head; without them Nature's for
// 84×84 frames, MinAtar's for small ones, a multi-layer perceptron for vectors. Throws BadInput for
// layers that make no sense or do not fit.
NetworkSpec AgentNetwork(const AgentOptions& options, const InputSpec& input, int actions);

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_AGENT_OPTIONS_H_
