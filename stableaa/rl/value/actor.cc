#include "stableaa/rl/value/actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/bellman/policy.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"

namespace stableaa {

double ExplorationOptions::Epsilon(std::int64_t step) const {
  if (epsilon) return epsilon->At(step);
  if (step >= epsilon_steps) return epsilon_end;
  const double share = static_cast<double>(step) / static_cast<double>(epsilon_steps);
  return std::lerp(epsilon_start, epsilon_end, share);
}

void Describe(Config& config, ExplorationOptions& options) {
  config.Choice("exploration.policy", &options.policy,
                {{"epsilon-greedy", PolicyKind::kGreedy},
                 {"max-entropy", PolicyKind::kMaxEntropy},
                 {"softmax", PolicyKind::kSoftmax}},
                "How actions are chosen where they are not random: the best one, by the "
                "maximum-entropy policy of mellowmax, or by softmax(omega q), both with "
                "agent.omega.");
  config.Scheduled("exploration.epsilon", &options.epsilon, {.at_least = 0, .at_most = 1},
                   "Probability of a random action. Empty: as the next three keys say.");
  config.Real("exploration.epsilon_start", &options.epsilon_start, {.at_least = 0, .at_most = 1},
              "Probability of a random action in the first step.");
  config.Real("exploration.epsilon_end", &options.epsilon_end, {.at_least = 0, .at_most = 1},
              "The same from step exploration.epsilon_steps on.");
  config.Int("exploration.epsilon_steps", &options.epsilon_steps, {0, std::int64_t{1} << 40},
             "Steps in which that probability goes, in a straight line, from start to end.");
}

Actor::Actor(std::shared_ptr<const Plan> plan, const ObservationLayout& layout, PolicyKind policy,
             double omega, int num_envs, int threads)
    : layout_(layout),
      policy_(policy),
      omega_(omega),
      num_envs_(num_envs),
      actions_(plan->outputs()),
      network_(CompileNetwork(std::move(plan),
                              {.batch = num_envs, .threads = threads, .training = false})),
      gatherer_(layout) {
  const auto envs = static_cast<std::size_t>(num_envs);
  const auto actions = static_cast<std::size_t>(actions_);
  encoded_.resize(envs * layout_.frames().observation_bytes());
  values_.resize(envs * actions);
  row_.resize(actions);
  probabilities_.resize(actions);
  chosen_.resize(envs);
  at_random_.resize(envs);
}

std::span<const std::int32_t> Actor::Act(const Parameters& parameters,
                                         const Observations& observations, double epsilon,
                                         RandomStream& random) {
  if (!Draw(epsilon, random)) ApplyPolicy(Values(parameters, observations), random);
  return chosen_;
}

std::span<const float> Actor::Values(const Parameters& parameters,
                                     const Observations& observations) {
  const std::size_t size = layout_.frames().observation_bytes();
  gatherer_.Clear();
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    const auto encoded = std::span(encoded_).subspan(i * size, size);
    layout_.Encode(observations, i, encoded);
    gatherer_.Add(encoded);
  }
  network_->Forward(parameters, gatherer_.Input(0, num_envs_), values_);
  return values_;
}

Player::Choice Actor::Play(const Parameters& parameters, const Observations& observations,
                           double epsilon, RandomStream& random) {
  const std::span<const float> values = Values(parameters, observations);
  return {.actions = {.indices = Choose(values, epsilon, random)}, .values = values};
}

std::span<const std::int32_t> Actor::Choose(std::span<const float> values, double epsilon,
                                            RandomStream& random) {
  if (values.size() != values_.size()) throw std::logic_error("Actor::Choose: wrong size");
  if (!Draw(epsilon, random)) ApplyPolicy(values, random);
  return chosen_;
}

bool Actor::Draw(double epsilon, RandomStream& random) {
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    at_random_[i] = random.Bernoulli(epsilon) ? 1 : 0;
    if (at_random_[i] == 0) continue;
    chosen_[i] = static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(actions_)));
  }
  return std::ranges::find(at_random_, 0) == at_random_.end();
}

void Actor::ApplyPolicy(std::span<const float> values, RandomStream& random) {
  const auto actions = static_cast<std::size_t>(actions_);
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    if (at_random_[i] != 0) continue;
    chosen_[i] = PolicyAction(values.subspan(i * actions, actions), random);
  }
}

std::int32_t Actor::PolicyAction(std::span<const float> values, RandomStream& random) {
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (std::isfinite(values[a])) continue;
    throw WorkFailed(
        fmt::format("the network's value of action {} is {}: it has diverged", a, values[a]));
  }
  if (policy_ == PolicyKind::kGreedy) return static_cast<std::int32_t>(GreedyAction(values));
  for (std::size_t a = 0; a < values.size(); ++a) row_[a] = static_cast<double>(values[a]);
  if (policy_ == PolicyKind::kMaxEntropy) {
    MaxEntropyPolicy(row_, omega_, probabilities_);
  } else {
    SoftmaxPolicy(row_, omega_, probabilities_);
  }
  return static_cast<std::int32_t>(random.Choice(probabilities_));
}

}  // namespace stableaa
