// What agents with continuous actions add to the options of agents (value/agent_options.h): DDPG
// (Lillicrap et al. 2016), TD3 (Fujimoto et al. 2018) and SAC (Haarnoja et al. 2018), each with any
// mixer on its critics. docs/control.md has the mathematics.
#ifndef STABLEAA_RL_CONTROL_CONTROL_OPTIONS_H_
#define STABLEAA_RL_CONTROL_CONTROL_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "stableaa/base/config/schedule.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/nn/spec.h"
#include "stableaa/rl/value/agent_options.h"

namespace stableaa {

class Config;

enum class WindowKind {
  kConsecutive,  // the last m Polyak averages, as in RAA's code
  kSpaced,       // the present Polyak average and m − 1 copies of it, taken every K updates
};

enum class ActorLoss {
  kNewest,  // −Q1(s, π(s)) of the online critic; SAC: of the smaller of both
  kMixed,   // the same with the share β of Σ α_i q_i(s, π(s)), as in RAA's code
};

// Keys control.*.
struct ControlOptions {
  // Which critics the mixer looks at. Consecutive averages are nearly the same network, so RAA's
  // weights hardly move the target where it moves slowly, and Stable's become large; spaced ones
  // differ as much as target networks of DQN do, and their values of stored pairs can be cached.
  WindowKind window = WindowKind::kSpaced;

  // τ, by how much the Polyak averages move towards the online networks, above 0, at most 1. Smaller
  // is steadier and slower.
  double polyak = 0.005;

  // Updates of the critics for one of the actor and of the averages, 1 to 1000. 2 for TD3.
  int policy_delay = 1;

  // TD3: standard deviation of the noise on the target's action, 0 to 10, in halves of the box, and
  // where it is clipped. It keeps the policy from exploiting sharp peaks of the critics.
  double target_noise = 0.2;
  double target_noise_clip = 0.5;

  // DDPG and TD3: standard deviation of the Gaussian noise on actions in training, 0 to 10, in halves
  // of the box.
  Schedule exploration_noise = 0.1;

  // How much of the exploration noise of a step stays in the next one of the episode, at least 0,
  // below 1. 0: noise is independent from step to step. Close to 1, as Ornstein-Uhlenbeck noise,
  // pushes in one direction for a while, which finds goals that trembling does not.
  double noise_correlation = 0;

  // Learning rate of the actor; without one, optimizer.learning_rate.
  std::optional<Schedule> actor_learning_rate = {};

  // SAC: the temperature; without one it is learnt, from `first_temperature` on, so that the
  // entropy of the actions in [−1, 1] becomes `target_entropy`.
  std::optional<Schedule> temperature = {};
  double first_temperature = 1;
  // The target of the entropy; without one, minus the number of the action's dimensions.
  std::optional<Schedule> target_entropy = {};
  // Learning rate of the temperature; without one, optimizer.learning_rate.
  std::optional<Schedule> temperature_learning_rate = {};

  ActorLoss actor_loss = ActorLoss::kNewest;

  // Throws BadInput.
  void Validate() const;
};

void Describe(Config& config, ControlOptions& options);

// Whether the algorithm has continuous actions.
bool IsControl(AgentAlgorithm algorithm);
// Whether its actor is a squashed Gaussian, with a temperature.
bool IsGaussian(AgentAlgorithm algorithm);
// Critics that learn side by side: one for DDPG, otherwise two.
int CriticCount(AgentAlgorithm algorithm);

// The networks for observations and actions that are vectors: the actor ends in one number per
// dimension and tanh, or for SAC in means and logarithms of standard deviations, and a critic in one
// number. Throws BadInput for layers that do not fit.
NetworkSpec ActorSpec(const AgentOptions& options, int observation, int action);
NetworkSpec CriticSpec(const AgentOptions& options, int observation, int action);

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CONTROL_OPTIONS_H_
