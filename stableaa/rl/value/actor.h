// From observations to actions: a network's values, and a policy on top of them.
#ifndef STABLEAA_RL_VALUE_ACTOR_H_
#define STABLEAA_RL_VALUE_ACTOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/base/config/schedule.h"
#include "stableaa/env/environment.h"
#include "stableaa/nn/network.h"
#include "stableaa/rl/player.h"
#include "stableaa/rl/replay/observation_layout.h"

namespace stableaa {

class Config;
class RandomStream;

enum class PolicyKind {
  kGreedy,
  kMaxEntropy,  // mellowmax's policy, softmax(rho q) (bellman/policy.h)
  kSoftmax,     // softmax(omega q)
};

// Keys exploration.*.
struct ExplorationOptions {
  // How actions are chosen when they are not random. kMaxEntropy and kSoftmax use agent.omega.
  PolicyKind policy = PolicyKind::kGreedy;

  // Probability of a random action, 0 to 1. If there is none, the next three describe it.
  std::optional<Schedule> epsilon = {};

  // Probability of a random action in the first step, 0 to 1.
  double epsilon_start = 1;

  // The same, from step epsilon_steps on.
  double epsilon_end = 0.1;

  // Steps over which that probability moves linearly from start to end, 0 to 2^40.
  std::int64_t epsilon_steps = 100'000;

  // The probability of a random action in step `step` of training, counted from 0: that of
  // `epsilon`, or linear from start to end over epsilon_steps, constant from then on.
  double Epsilon(std::int64_t step) const;
};

void Describe(Config& config, ExplorationOptions& options);

// For a batch of environments with numbered actions. Not thread-safe.
class Actor : public Player {
 public:
  Actor(std::shared_ptr<const Plan> plan, const ObservationLayout& layout, PolicyKind policy,
        double omega, int num_envs, int threads = 1);

  // Returns one action per environment: a uniformly random one with probability epsilon, else the
  // policy's; kGreedy takes the first of equal values. Valid until the next call. Throws WorkFailed
  // if a value that it needs is not finite.
  // Draws from `random`, environment by environment, one word for each and one more for each that
  // acts at random. Then, for kMaxEntropy and kSoftmax, it draws one for each of the others and
  // looks it up in the cumulative probabilities. The network is not run if all act at random.
  std::span<const std::int32_t> Act(const Parameters& parameters, const Observations& observations,
                                    double epsilon, RandomStream& random);

  // The values of the actions, num_envs × actions. Valid until the next call.
  std::span<const float> Values(const Parameters& parameters, const Observations& observations);

  // Like Act, but always with the values.
  Choice Play(const Parameters& parameters, const Observations& observations, double epsilon,
              RandomStream& random) override;

  // Like Act, with values that the caller already has.
  std::span<const std::int32_t> Choose(std::span<const float> values, double epsilon,
                                       RandomStream& random);

  int num_actions() const { return actions_; }

 private:
  // Decides who acts at random, and how. Returns true if all do.
  bool Draw(double epsilon, RandomStream& random);
  void ApplyPolicy(std::span<const float> values, RandomStream& random);
  std::int32_t PolicyAction(std::span<const float> values, RandomStream& random);

  const ObservationLayout layout_;
  const PolicyKind policy_;
  const double omega_;
  const int num_envs_, actions_;
  std::unique_ptr<Network> network_;
  StateGatherer gatherer_;
  std::vector<std::uint8_t> encoded_;
  std::vector<float> values_;
  std::vector<double> row_, probabilities_;  // of one environment
  std::vector<std::int32_t> chosen_;
  std::vector<std::uint8_t> at_random_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_ACTOR_H_
