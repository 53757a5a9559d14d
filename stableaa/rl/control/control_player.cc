#include "stableaa/rl/control/control_player.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"

namespace stableaa {

bool IsGaussianActor(const Plan& plan, std::size_t elements) {
  return static_cast<std::size_t>(plan.outputs()) == 2 * elements &&
         plan.steps.back().operation == Operation::kLinear &&
         plan.steps.back().activation == Activation::kNone;
}

bool IsActorFor(const Plan& plan, std::size_t elements) {
  const bool is_deterministic = static_cast<std::size_t>(plan.outputs()) == elements &&
                                plan.steps.back().activation == Activation::kTanh;
  return is_deterministic || IsGaussianActor(plan, elements);
}

ControlPlayer::ControlPlayer(const std::shared_ptr<const Plan>& plan, const EnvironmentSpec& spec,
                             int num_envs, int threads)
    : layout_(spec),
      box_(spec),
      num_envs_(num_envs),
      is_gaussian_(IsGaussianActor(*plan, box_.size())),
      network_(CompileNetwork(plan, {.batch = num_envs, .threads = threads, .training = false})),
      gatherer_(layout_) {
  const auto envs = static_cast<std::size_t>(num_envs);
  encoded_.resize(envs * layout_.frames().observation_bytes());
  outputs_.resize(envs * static_cast<std::size_t>(plan->outputs()));
  unit_.resize(envs * box_.size());
  actions_.resize(unit_.size());
}

std::span<const float> ControlPlayer::Outputs(const Parameters& parameters,
                                              const Observations& observations) {
  const std::size_t size = layout_.frames().observation_bytes();
  gatherer_.Clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_envs_); ++i) {
    const auto encoded = std::span(encoded_).subspan(i * size, size);
    layout_.Encode(observations, i, encoded);
    gatherer_.Add(encoded);
  }
  network_->Forward(parameters, gatherer_.Input(0, num_envs_), outputs_);
  // Here and not of actions: tanh makes 1 of infinity.
  const std::size_t width = outputs_.size() / static_cast<std::size_t>(num_envs_);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (std::isfinite(outputs_[k])) continue;
    throw WorkFailed(
        fmt::format("output {} of the actor is {}: it has diverged", k % width, outputs_[k]));
  }
  return outputs_;
}

Actions ControlPlayer::ToEnvironment(std::span<const float> unit) {
  for (std::size_t begin = 0; begin < unit.size(); begin += box_.size()) {
    box_.ToEnvironment(unit.subspan(begin, box_.size()),
                       std::span(actions_).subspan(begin, box_.size()));
  }
  return {.values = actions_};
}

Player::Choice ControlPlayer::Play(const Parameters& parameters, const Observations& observations,
                                   double epsilon, RandomStream& random) {
  const std::span<const float> outputs = Outputs(parameters, observations);
  const std::size_t elements = box_.size(), width = outputs.size() / unit_.size() * elements;
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_envs_); ++i) {
    const bool at_random = random.Bernoulli(epsilon);
    for (std::size_t k = 0; k < elements; ++k) {
      const float best = outputs[i * width + k];
      float& unit = unit_[i * elements + k];
      unit = is_gaussian_ ? std::tanh(best) : best;
      if (at_random) unit = static_cast<float>(random.Uniform(-1, 1));
    }
  }
  return {.actions = ToEnvironment(unit_)};
}

}  // namespace stableaa
