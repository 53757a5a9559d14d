#include "stableaa/rl/control/control_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::control_policy_test {

constexpr int kObserved = 2, kElements = 2;
constexpr std::size_t kStates = 512;

// A policy whose network's last biases are given, and its other weights 0.
struct Bench {
  ControlPolicyOptions options;
  std::shared_ptr<const Plan> plan;
  ControlPolicy policy;
  RandomStream random{1, "policy"};
  std::vector<float> states = std::vector<float>(kStates * kObserved, 0.5F);

  Bench(const ControlPolicyOptions& of, const std::vector<float>& biases)
      : options(of),
        plan(std::make_shared<const Plan>(MakePlan(ActorSpec(Agent(of), kObserved, kElements)))),
        policy(of, plan, kElements) {
    Parameters parameters(plan);
    parameters.Set(ParameterTensors(*plan).back(), biases);
    policy.StartFrom(parameters);
  }

  static AgentOptions Agent(const ControlPolicyOptions& of) {
    AgentOptions agent;
    agent.algorithm = of.algorithm;
    agent.hidden = {4};
    return agent;
  }
  ProposedActions ProposeNext() {
    ProposedActions proposed;
    policy.ProposeNext(states, random, proposed);
    return proposed;
  }
};

ControlPolicyOptions Options(AgentAlgorithm algorithm) {
  ControlPolicyOptions options;
  options.algorithm = algorithm;
  options.optimizer.kind = OptimizerKind::kAdam;
  options.optimizer.learning_rate = .01;
  options.batch = options.next_batch = kStates;
  return options;
}

// Limits are five standard deviations: a false alarm has probability 6e-7.
TEST(ControlPolicy, AddsClippedGaussianNoiseToTheTargetsOfTd3) {
  for (const auto& [deviation, clip] : {std::pair(.2, .5), std::pair(.3, .1), std::pair(.1, 5.)}) {
    ControlPolicyOptions options = Options(AgentAlgorithm::kTd3);
    options.control.target_noise = deviation;
    options.control.target_noise_clip = clip;
    const std::vector<float> biases = {0.1F, -0.2F};
    Bench bench(options, biases);
    double n = 0, sum = 0, squares = 0, clipped = 0;
    for (int round = 0; round < 40; ++round) {
      const std::vector<float> actions = bench.ProposeNext().actions;
      for (std::size_t k = 0; k < actions.size(); ++k) {
        const double best = std::tanh(static_cast<double>(biases[k % kElements]));
        const double noise = static_cast<double>(actions[k]) - best;
        ASSERT_LE(std::abs(noise), clip + 1e-6);
        n += 1;
        sum += noise;
        squares += noise * noise;
        clipped += std::abs(noise) > clip - 1e-6;
      }
    }
    const double c = clip / deviation;  // in standard deviations
    const double beyond = std::erfc(c / std::numbers::sqrt2);
    const double density = std::exp(-c * c / 2) / std::sqrt(2 * std::numbers::pi);
    const double variance = deviation * deviation * (1 - beyond - 2 * c * density + c * c * beyond);
    EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(variance / n));
    EXPECT_NEAR(squares / n, variance, 5 * variance * std::sqrt(2 / n));
    EXPECT_NEAR(clipped / n, beyond, 5 * std::sqrt(beyond * (1 - beyond) / n) + 1e-9);
  }
}

TEST(ControlPolicy, KeepsNoisyTargetsWithinTheBox) {
  ControlPolicyOptions options = Options(AgentAlgorithm::kTd3);
  options.control.target_noise = 2;
  options.control.target_noise_clip = 10;
  Bench bench(options, {3, -3});
  int at_bounds = 0;
  for (const float action : bench.ProposeNext().actions) {
    ASSERT_LE(std::abs(action), 1);
    at_bounds += std::abs(action) == 1;
  }
  EXPECT_GT(at_bounds, 100);
}

TEST(ControlPolicy, PutsNoNoiseOnTheTargetsOfDdpg) {
  Bench bench(Options(AgentAlgorithm::kDdpg), {0.5F, -1});
  const RandomStream before = bench.random;
  const ProposedActions next = bench.ProposeNext();
  EXPECT_TRUE(next.log_densities.empty());
  for (std::size_t j = 0; j < kStates; ++j) {
    EXPECT_NEAR(next.actions[2 * j], std::tanh(.5), 1e-6);
    EXPECT_NEAR(next.actions[2 * j + 1], std::tanh(-1), 1e-6);
  }
  EXPECT_EQ(bench.random.state(), before.state());
}

// Limits as above.
TEST(ControlPolicy, SamplesTheSquashedGaussianOfSac) {
  const double means[] = {.3, -.4}, deviations[] = {.5, .8};
  Bench bench(Options(AgentAlgorithm::kSac),
              {0.3F, -0.4F, static_cast<float>(std::log(.5)), static_cast<float>(std::log(.8))});
  constexpr int kRounds = 20;
  double sums[2] = {}, squares[2] = {};
  for (int round = 0; round < kRounds; ++round) {
    const ProposedActions next = bench.ProposeNext();
    ASSERT_EQ(next.log_densities.size(), kStates);
    for (std::size_t j = 0; j < kStates; ++j) {
      double log_density = 0;
      for (std::size_t k = 0; k < 2; ++k) {
        const double action = next.actions[2 * j + k];
        ASSERT_LT(std::abs(action), 1);
        const double normal = (std::atanh(action) - means[k]) / deviations[k];
        sums[k] += normal;
        squares[k] += normal * normal;
        log_density += -normal * normal / 2 - std::log(deviations[k]) -
                       std::log(2 * std::numbers::pi) / 2 - std::log(1 - action * action);
      }
      // 1 − a² of an action that was rounded to a float.
      ASSERT_NEAR(next.log_densities[j], log_density, 2e-3);
    }
  }
  const double n = kRounds * static_cast<double>(kStates);
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR(sums[k] / n, 0, 5 / std::sqrt(n));
    EXPECT_NEAR(squares[k] / n, 1, 5 * std::sqrt(2 / n));
  }
}

TEST(ControlPolicy, LearnsInTheDirectionOfTheSlopes) {
  for (const AgentAlgorithm algorithm :
       {AgentAlgorithm::kDdpg, AgentAlgorithm::kTd3, AgentAlgorithm::kSac}) {
    const bool is_sac = algorithm == AgentAlgorithm::kSac;
    Bench bench(Options(algorithm),
                is_sac ? std::vector<float>{0, 0, -9, -9} : std::vector<float>{0, 0});
    // The loss falls with the first element and rises with the second.
    std::vector<float> slopes;
    for (std::size_t j = 0; j < kStates; ++j) slopes.insert(slopes.end(), {-1.F, 1.F});
    for (int k = 0; k < 20; ++k) {
      bench.policy.Propose(bench.states, bench.random);
      bench.policy.Learn(slopes, 0, k);
    }
    const std::vector<float> actions = bench.policy.Propose(bench.states, bench.random).actions;
    EXPECT_GT(actions[0], .1);
    EXPECT_LT(actions[1], -.1);
    EXPECT_EQ(bench.policy.updates(), 20);
  }
}

// A loss of the mean log-density falls as deviations grow.
TEST(ControlPolicy, OfSacLearnsFromTheLogDensities) {
  Bench bench(Options(AgentAlgorithm::kSac), {0, 0, -2, -2});
  const std::vector<float> slopes(kStates * kElements, 0.F);
  const auto mean_log_density = [&] {
    const ProposedActions& proposed = bench.policy.Propose(bench.states, bench.random);
    double sum = 0;
    for (const double log_density : proposed.log_densities) sum += log_density;
    return sum / kStates;
  };
  const double before = mean_log_density();
  for (int k = 0; k < 50; ++k) {
    bench.policy.Propose(bench.states, bench.random);
    bench.policy.Learn(slopes, 1.0 / kStates, k);
  }
  EXPECT_LT(mean_log_density(), before - .5);
}

TEST(ControlPolicy, ActsForTargetsByItsAverageExceptForSac) {
  std::vector<float> slopes(kStates * kElements, -1.F);
  for (const AgentAlgorithm algorithm : {AgentAlgorithm::kDdpg, AgentAlgorithm::kSac}) {
    const bool is_sac = algorithm == AgentAlgorithm::kSac;
    Bench bench(Options(algorithm),
                is_sac ? std::vector<float>{0, 0, -19, -19} : std::vector<float>{0, 0});
    for (int k = 0; k < 30; ++k) {
      bench.policy.Propose(bench.states, bench.random);
      bench.policy.Learn(slopes, 0, k);
    }
    const double present = bench.policy.Propose(bench.states, bench.random).actions[0];
    EXPECT_GT(present, .1);
    EXPECT_NEAR(bench.ProposeNext().actions[0], is_sac ? present : 0, 1e-6);
    bench.policy.MoveAverage(1);
    EXPECT_NEAR(bench.ProposeNext().actions[0], present, 1e-6);
  }
}

TEST(ControlPolicy, StopsWhenItHasDiverged) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const AgentAlgorithm algorithm :
       {AgentAlgorithm::kDdpg, AgentAlgorithm::kTd3, AgentAlgorithm::kSac}) {
    Bench bench(Options(algorithm), algorithm == AgentAlgorithm::kSac
                                        ? std::vector<float>{0, 0, 0, nan}
                                        : std::vector<float>{0, nan});
    const std::string expected = "an output of the actor has become nan";
    EXPECT_EQ(MessageOf([&] { bench.ProposeNext(); }, Error::Kind::kWorkFailed), expected);
    EXPECT_EQ(MessageOf([&] { bench.policy.Propose(bench.states, bench.random); },
                        Error::Kind::kWorkFailed),
              expected);
  }
}

TEST(ControlPolicy, RefusesSavedWeightsThatAreNotNumbers) {
  Bench bench(Options(AgentAlgorithm::kTd3), {0, HUGE_VALF});
  const std::vector<std::byte> saved = SavedBytes(bench.policy);
  ExpectBadInput([&] { LoadBytes(bench.policy, saved); }, "finite weights of the actor");
}

}  // namespace stableaa::control_policy_test
