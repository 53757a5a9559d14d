#include "stableaa/rl/control/control_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/squashed_gaussian.h"

namespace stableaa {
namespace {

Parameters FirstParameters(const std::shared_ptr<const Plan>& plan, std::uint64_t seed) {
  Parameters parameters(plan);
  RandomStream random(seed, "actor");
  parameters.Initialise(random);
  return parameters;
}

OptimizerOptions ActorOptimizer(const ControlPolicyOptions& options) {
  OptimizerOptions actor = options.optimizer;
  if (options.control.actor_learning_rate) {
    actor.learning_rate = *options.control.actor_learning_rate;
  }
  return actor;
}

void FillNormal(RandomStream& random, std::span<float> noise) {
  for (float& x : noise) x = static_cast<float>(random.Normal());
}

void RequireFinite(std::span<const float> outputs) {
  for (const float output : outputs) {
    if (!std::isfinite(output)) {
      throw WorkFailed(fmt::format("an output of the actor has become {}", output));
    }
  }
}

NetworkOptions NextOptions(const ControlPolicyOptions& options) {
  return {.batch = options.next_batch, .threads = 1, .training = false};
}

}  // namespace

ControlPolicy::ControlPolicy(const ControlPolicyOptions& options,
                             const std::shared_ptr<const Plan>& plan, int elements)
    : options_(options),
      elements_(static_cast<std::size_t>(elements)),
      parameters_(FirstParameters(plan, options.seed)),
      gradients_(plan),
      optimizer_(plan, ActorOptimizer(options)),
      network_(CompileNetwork(plan, {.batch = options.batch, .threads = 1})),
      next_(CompileNetwork(plan, NextOptions(options))) {
  if (!is_gaussian()) average_ = FirstParameters(plan, options.seed);
}

std::uint64_t ControlPolicy::Bytes(const ControlPolicyOptions& options, const Plan& plan) {
  constexpr std::uint64_t kCopies = 5;  // with the gradients and the optimiser's averages
  return kCopies * plan.parameters * sizeof(float) +
         NetworkBytes(plan, {.batch = options.batch, .threads = 1}) +
         NetworkBytes(plan, NextOptions(options));
}

void ControlPolicy::StartFrom(const Parameters& first) {
  parameters_.CopyFrom(first);
  if (average_) average_->CopyFrom(first);
}

void ControlPolicy::ProposeNext(std::span<const float> states, RandomStream& random,
                                ProposedActions& out) {
  const Plan& plan = next_->plan();
  const std::size_t count = states.size() / static_cast<std::size_t>(plan.values[0].size());
  const auto outputs = static_cast<std::size_t>(plan.outputs());
  out.actions.resize(count * elements_);
  multiply_adds_ += static_cast<double>(count) * plan.multiply_adds;
  const NetworkInput input = {.count = static_cast<int>(count), .vectors = states};
  if (is_gaussian()) {
    next_outputs_.resize(count * outputs);
    next_->Forward(parameters_, input, next_outputs_);
    RequireFinite(next_outputs_);
    Sample(next_outputs_, random, out);
    return;
  }
  next_->Forward(*average_, input, out.actions);
  RequireFinite(out.actions);
  if (options_.algorithm != AgentAlgorithm::kTd3 || options_.control.target_noise == 0) return;
  const double clip = options_.control.target_noise_clip;
  for (float& action : out.actions) {
    const double noise = std::clamp(options_.control.target_noise * random.Normal(), -clip, clip);
    action = static_cast<float>(std::clamp(static_cast<double>(action) + noise, -1.0, 1.0));
  }
}

// Of squashed Gaussians; `out` has room for the actions.
void ControlPolicy::Sample(std::span<const float> outputs, RandomStream& random,
                           ProposedActions& out) {
  noise_.resize(out.actions.size());
  FillNormal(random, noise_);
  out.log_densities.resize(out.actions.size() / elements_);
  SampleSquashedGaussian(elements_, outputs, noise_, out.actions, out.log_densities);
}

const ProposedActions& ControlPolicy::Propose(std::span<const float> states, RandomStream& random) {
  const Plan& plan = network_->plan();
  const std::size_t count = states.size() / static_cast<std::size_t>(plan.values[0].size());
  outputs_.resize(count * static_cast<std::size_t>(plan.outputs()));
  proposed_.actions.resize(count * elements_);
  multiply_adds_ += static_cast<double>(count) * plan.multiply_adds;
  network_->Forward(parameters_, {.count = static_cast<int>(count), .vectors = states}, outputs_);
  RequireFinite(outputs_);
  if (is_gaussian()) {
    Sample(outputs_, random, proposed_);
  } else {
    proposed_.actions = outputs_;
  }
  return proposed_;
}

void ControlPolicy::Learn(std::span<const float> action_slopes, double log_density_slope,
                          std::int64_t step) {
  const Plan& plan = network_->plan();
  const std::size_t count = action_slopes.size() / elements_;
  std::span<const float> gradients = action_slopes;
  if (is_gaussian()) {
    log_density_slopes_.assign(count, log_density_slope);
    output_gradients_.resize(outputs_.size());
    SquashedGaussianGradient(elements_, outputs_, noise_, proposed_.actions, action_slopes,
                             log_density_slopes_, output_gradients_);
    gradients = output_gradients_;
  }
  network_->Backward(parameters_, gradients, gradients_);
  multiply_adds_ += static_cast<double>(count) * plan.backward_multiply_adds;
  optimizer_.Step(gradients_, parameters_, step);
}

void ControlPolicy::MoveAverage(double polyak) {
  if (average_) average_->MoveTowards(parameters_, polyak);
}

bool ControlPolicy::IsFinite() const {
  return parameters_.AllFinite() && (!average_ || average_->AllFinite());
}

void ControlPolicy::Save(ByteWriter& out) const {
  parameters_.Save(out);
  if (average_) average_->Save(out);
  optimizer_.Save(out);
}

void ControlPolicy::Load(ByteReader& in) {
  parameters_.Load(in);
  if (average_) average_->Load(in);
  if (!IsFinite()) {
    throw in.Wrong("expected finite weights of the actor");
  }
  optimizer_.Load(in);
}

}  // namespace stableaa
