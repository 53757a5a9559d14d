// Chooses the actions of games that are played to be judged or watched, by a network's parameters.
#ifndef STABLEAA_RL_PLAYER_H_
#define STABLEAA_RL_PLAYER_H_

#include <span>

#include "stableaa/env/environment.h"
#include "stableaa/nn/parameters.h"

namespace stableaa {

class RandomStream;

// For a batch of environments. Not thread-safe.
class Player {
 public:
  struct Choice {
    Actions actions = {};
    // The values that numbered actions were chosen by, num_envs × actions. None for continuous
    // actions.
    std::span<const float> values = {};
  };

  virtual ~Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // One action per environment: with probability epsilon a uniformly random one, else the best that
  // the network knows. Valid until the next call. Throws WorkFailed if a number that it needs is
  // not finite.
  virtual Choice Play(const Parameters& parameters, const Observations& observations,
                      double epsilon, RandomStream& random) = 0;

 protected:
  Player() = default;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_PLAYER_H_
