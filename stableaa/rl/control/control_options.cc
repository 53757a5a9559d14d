#include "stableaa/rl/control/control_options.h"

#include <fmt/format.h>

#include <string>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

NetworkSpec WithEnd(const AgentOptions& options, const InputSpec& input, const Layer& end) {
  NetworkSpec spec{.input = input, .layers = {}};
  if (options.layers.empty()) {
    for (const double units : options.hidden) {
      spec.layers.push_back(Linear(static_cast<int>(units)));
      spec.layers.push_back(Relu());
    }
    spec.layers.push_back(end);
    spec.Validate();
    return spec;
  }
  try {
    return ParseSpec(fmt::format("{} {} {}", ToText(input), options.layers, ToText(end)));
  } catch (const Error& error) {
    throw BadInput(fmt::format("network.layers: {}", error.what()));
  }
}

}  // namespace

void Describe(Config& config, ControlOptions& options) {
  config.Choice("control.window", &options.window,
                {{"consecutive", WindowKind::kConsecutive}, {"spaced", WindowKind::kSpaced}},
                "Critics that the mixer looks at: the last Polyak averages, or the present one and "
                "copies of it that are taken every agent.target_interval_updates.");
  config.Real("control.polyak", &options.polyak, {.above = 0, .at_most = 1},
              "tau, by how much the Polyak averages (the target networks) move towards the online "
              "networks.");
  config.Int("control.policy_delay", &options.policy_delay, {1, 1000},
             "Updates of the critics for one of the actor and of the averages.");
  config.Real("control.target_noise", &options.target_noise, {.at_least = 0, .at_most = 10},
              "td3: standard deviation of the noise on the target's action, in halves of the "
              "action box.");
  config.Real("control.target_noise_clip", &options.target_noise_clip,
              {.at_least = 0, .at_most = 10}, "td3: where that noise is clipped.");
  config.Scheduled("control.exploration_noise", &options.exploration_noise,
                   {.at_least = 0, .at_most = 10},
                   "ddpg and td3: standard deviation of the Gaussian noise on actions in training, "
                   "in halves of the action box.");
  config.Real(
      "control.noise_correlation", &options.noise_correlation, {.at_least = 0, .below = 1},
      "How much of the exploration noise stays from one step to the next; sac: of the noise "
      "that its actions are drawn with.");
  config.Scheduled("control.actor_learning_rate", &options.actor_learning_rate,
                   {.at_least = 0, .at_most = 1e3},
                   "Learning rate of the actor. Empty: optimizer.learning_rate.");
  config.Scheduled("control.temperature", &options.temperature, {.at_least = 0, .at_most = 1e6},
                   "sac: weight of the entropy. Empty: learnt, so that the entropy becomes "
                   "control.target_entropy.");
  config.Real("control.first_temperature", &options.first_temperature,
              {.at_least = 1e-6, .at_most = 1e6}, "sac: where a learnt temperature begins.");
  config.Scheduled("control.target_entropy", &options.target_entropy,
                   {.at_least = -1e6, .at_most = 1e6},
                   "sac: entropy that a learnt temperature aims at, of actions scaled to [-1, 1]. "
                   "Empty: minus the number of their dimensions.");
  config.Scheduled("control.temperature_learning_rate", &options.temperature_learning_rate,
                   {.at_least = 0, .at_most = 1e3},
                   "sac: learning rate of the temperature. Empty: optimizer.learning_rate.");
  config.Choice("control.actor_loss", &options.actor_loss,
                {{"newest", ActorLoss::kNewest}, {"mixed", ActorLoss::kMixed}},
                "What the actor climbs: the online critic, or with the share agent.damping the "
                "mixed ones, as in RAA's code.");
}

void ControlOptions::Validate() const {
  ControlOptions copy = *this;
  Config config;
  Describe(config, copy);
}

bool IsControl(AgentAlgorithm algorithm) { return algorithm != AgentAlgorithm::kDqn; }

bool IsGaussian(AgentAlgorithm algorithm) { return algorithm == AgentAlgorithm::kSac; }

int CriticCount(AgentAlgorithm algorithm) { return algorithm == AgentAlgorithm::kDdpg ? 1 : 2; }

NetworkSpec ActorSpec(const AgentOptions& options, int observation, int action) {
  const InputSpec input = VectorInput(observation);
  if (IsGaussian(options.algorithm)) return WithEnd(options, input, Linear(2 * action));
  NetworkSpec spec = WithEnd(options, input, Linear(action));
  spec.layers.push_back(Tanh());
  spec.Validate();
  return spec;
}

NetworkSpec CriticSpec(const AgentOptions& options, int observation, int action) {
  return WithEnd(options, VectorInput(std::vector<int>{observation, action}), Linear(1));
}

}  // namespace stableaa
