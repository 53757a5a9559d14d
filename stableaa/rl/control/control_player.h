// Plays with an actor's best actions: those of DDPG's and TD3's actors, or SAC's tanh of the means.
#ifndef STABLEAA_RL_CONTROL_CONTROL_PLAYER_H_
#define STABLEAA_RL_CONTROL_CONTROL_PLAYER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/nn/network.h"
#include "stableaa/rl/control/action_box.h"
#include "stableaa/rl/player.h"
#include "stableaa/rl/replay/observation_layout.h"

namespace stableaa {

// Whether a network of this plan can be the actor of such actions: it has one output per element,
// after tanh, or a mean and the logarithm of a standard deviation for each.
bool IsActorFor(const Plan& plan, std::size_t elements);
// Whether it is the latter.
bool IsGaussianActor(const Plan& plan, std::size_t elements);

// Not thread-safe.
class ControlPlayer : public Player {
 public:
  // The plan must be an actor's for these actions, and its input must be their observations.
  ControlPlayer(const std::shared_ptr<const Plan>& plan, const EnvironmentSpec& spec, int num_envs,
                int threads = 1);

  Choice Play(const Parameters& parameters, const Observations& observations, double epsilon,
              RandomStream& random) override;

  // The network's outputs for the observations, num_envs × outputs. Valid until the next call.
  // Throws WorkFailed if one is not finite.
  std::span<const float> Outputs(const Parameters& parameters, const Observations& observations);

  // Turns actions in [−1, 1], num_envs × elements, into the environments'. Valid until the next
  // call.
  Actions ToEnvironment(std::span<const float> unit);

 private:
  const ObservationLayout layout_;
  const ActionBox box_;
  const int num_envs_;
  const bool is_gaussian_;
  std::unique_ptr<Network> network_;
  StateGatherer gatherer_;
  std::vector<std::uint8_t> encoded_;
  std::vector<float> outputs_, unit_, actions_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CONTROL_PLAYER_H_
