// A training step must not allocate heap memory: this program counts every allocation.

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/loss.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/nn/random_input.h"
#include "stableaa/nn/squashed_gaussian.h"
#include "stableaa/testing/allocations.h"

#ifdef STABLEAA_COUNTS_ALLOCATIONS

namespace stableaa::allocation_test {

long CountStep(const std::string& name, int threads) {
  constexpr int kBatch = 8;
  const auto plan = std::make_shared<const Plan>(MakePlan(NamedSpec(name, 6)));
  const auto network = CompileNetwork(plan, {.batch = kBatch, .threads = threads});
  const auto acting = CompileNetwork(plan, {.batch = 1, .threads = threads, .training = false});
  RandomStream random(1, "allocation_test");
  Parameters online(plan);
  Parameters target(plan);
  Parameters gradients(plan);
  online.Initialise(random);
  Optimizer optimizer(plan, {.max_gradient_norm = 1}, threads);
  const RandomInput states(plan->spec.input, kBatch, random);
  const RandomInput state(plan->spec.input, 1, random);
  std::vector<float> outputs(kBatch * 6);
  std::vector<float> output_gradients(kBatch * 6);
  std::vector<float> action_values(6);
  const std::vector<float> targets(kBatch, 1);
  const std::vector<int> chosen(kBatch, 2);
  const auto step = [&] {
    acting->Forward(online, state.view(), action_values);
    network->Forward(target, states.view(), outputs);
    network->Forward(online, states.view(), outputs);
    LossGradient({}, {6, outputs, chosen, targets}, output_gradients);
    network->Backward(online, output_gradients, gradients);
    optimizer.Step(gradients, online);
    target.CopyFrom(online);
  };
  step();  // the first one starts the threads
  const long before = allocations;
  step();
  step();
  return allocations - before;
}

// An update of SAC's actor through a critic, with Polyak averaging.
long CountControlStep(int threads) {
  constexpr int kBatch = 8;
  constexpr int kElements = 6;
  const auto critic_plan = std::make_shared<const Plan>(MakePlan(NamedSpec("critic", kElements)));
  const auto actor_plan = std::make_shared<const Plan>(MakePlan(NamedSpec("actor", kElements)));
  const auto critic_network =
      CompileNetwork(critic_plan, {.batch = kBatch, .threads = threads, .input_gradients = true});
  const auto actor_network = CompileNetwork(actor_plan, {.batch = kBatch, .threads = threads});
  RandomStream random(1, "allocation_test");
  Parameters critic(critic_plan);
  Parameters target(critic_plan);
  Parameters actor(actor_plan);
  Parameters gradients(actor_plan);
  critic.Initialise(random);
  actor.Initialise(random);
  Optimizer optimizer(actor_plan, {.kind = OptimizerKind::kAdam}, threads);
  const RandomInput input(actor_plan->spec.input, kBatch, random);
  const std::span<const float> states = input.view().vectors;
  std::vector<float> outputs(kBatch * 2 * kElements);
  std::vector<float> output_gradients(outputs.size());
  std::vector<float> noise(kBatch * kElements);
  std::vector<float> actions(noise.size());
  std::vector<float> action_gradients(noise.size());
  std::vector<double> log_densities(kBatch);
  std::vector<float> values(kBatch);
  const std::vector<float> value_slopes(kBatch, -1.0F / kBatch);
  const std::vector<double> log_density_slopes(kBatch, 0.2 / kBatch);
  const auto step = [&] {
    actor_network->Forward(actor, input.view(), outputs);
    for (float& e : noise) e = static_cast<float>(random.Normal());
    SampleSquashedGaussian(kElements, outputs, noise, actions, log_densities);
    critic_network->Forward(critic, {.count = kBatch, .vectors = states, .second_vectors = actions},
                            values);
    critic_network->BackwardToInput(critic, value_slopes, 1, action_gradients);
    SquashedGaussianGradient(kElements, outputs, noise, actions, action_gradients,
                             log_density_slopes, output_gradients);
    actor_network->Backward(actor, output_gradients, gradients);
    optimizer.Step(gradients, actor);
    target.MoveTowards(critic, 0.005);
  };
  step();
  const long before = allocations;
  step();
  step();
  return allocations - before;
}

TEST(Allocations, AreCounted) {
  const long before = allocations;
  const auto something = std::make_unique<std::vector<int>>(1000);
  EXPECT_GE(allocations - before, 2);
}

TEST(Allocations, AreNoneInAStepOfControl) {
  for (const int threads : {1, 2}) EXPECT_EQ(CountControlStep(threads), 0) << threads;
}

TEST(Allocations, AreNoneInASteadyStep) {
  for (const std::string& name : NetworkNames()) {
    for (const int threads : {1, 2}) {
      EXPECT_EQ(CountStep(name, threads), 0) << name << ", " << threads << " threads";
    }
  }
}

}  // namespace stableaa::allocation_test

#endif
