#include "stableaa/rl/value/actor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "stableaa/base/config/config.h"
#include "stableaa/bellman/policy.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"

namespace stableaa::actor_test {

TEST(Exploration, EpsilonGoesInAStraightLineAndStaysThere) {
  const ExplorationOptions options{.epsilon_start = 1, .epsilon_end = .1, .epsilon_steps = 90};
  EXPECT_EQ(options.Epsilon(0), 1);
  EXPECT_NEAR(options.Epsilon(30), .7, 1e-15);
  EXPECT_NEAR(options.Epsilon(89), .11, 1e-15);
  EXPECT_EQ(options.Epsilon(90), .1);
  EXPECT_EQ(options.Epsilon(std::int64_t{1} << 50), .1);
  const ExplorationOptions at_once{.epsilon_start = 1, .epsilon_end = .05, .epsilon_steps = 0};
  EXPECT_EQ(at_once.Epsilon(0), .05);
}

TEST(Exploration, AScheduleGoesBeforeTheThreeKeys) {
  const ExplorationOptions options{.epsilon = Schedule::Parse("exponential(1, 0.01, 100)"),
                                   .epsilon_start = .5,
                                   .epsilon_end = .4,
                                   .epsilon_steps = 10};
  EXPECT_EQ(options.Epsilon(0), 1);
  EXPECT_NEAR(options.Epsilon(50), .1, 1e-15);
  EXPECT_EQ(options.Epsilon(100), .01);
}

TEST(Exploration, KeysHaveTheirRanges) {
  ExplorationOptions options;
  Config config;
  Describe(config, options);
  config.Set("exploration.policy=max-entropy");
  EXPECT_EQ(options.policy, PolicyKind::kMaxEntropy);
  config.Set("exploration.policy=softmax");
  EXPECT_EQ(options.policy, PolicyKind::kSoftmax);
  config.Set("exploration.policy=epsilon-greedy");
  EXPECT_EQ(options.policy, PolicyKind::kGreedy);
  for (const char* wrong : {"exploration.policy=greedy", "exploration.epsilon_start=1.1",
                            "exploration.epsilon_end=-0.1", "exploration.epsilon_steps=-1",
                            "exploration.epsilon_steps=1099511627777"}) {
    EXPECT_THROW(config.Set(wrong), Error) << wrong;
  }
}

constexpr int kEnvs = 3;
constexpr std::size_t kActions = 6;

// Three MinAtar boards and a network with random parameters.
class ActorTest : public ::testing::Test {
 protected:
  ActorTest()
      : environment_(MakeEnvironment("minatar/breakout", {.num_envs = kEnvs})),
        layout_(environment_->spec()),
        plan_(std::make_shared<const Plan>(MakePlan(MinatarSpec({.channels = 4})))),
        parameters_(plan_) {
    RandomStream random(1, "test/network");
    parameters_.Initialise(random);
    environment_->Reset(1);
    const std::vector<std::int32_t> actions = {1, 3, 0};
    for (int k = 0; k < 4; ++k) environment_->Step({.indices = actions});
  }

  Actor Make(PolicyKind policy, double omega = 5) const {
    return {plan_, layout_, policy, omega, kEnvs};
  }
  std::span<const std::int32_t> Act(Actor& actor, double epsilon, RandomStream& random) const {
    return actor.Act(parameters_, environment_->observations(), epsilon, random);
  }

  const std::unique_ptr<Environment> environment_;
  const ObservationLayout layout_;
  const std::shared_ptr<const Plan> plan_;
  Parameters parameters_;
};

TEST_F(ActorTest, ValuesAreTheNetworksOfEachObservation) {
  Actor actor = Make(PolicyKind::kGreedy);
  EXPECT_EQ(actor.num_actions(), 6);
  const auto values = actor.Values(parameters_, environment_->observations());
  ASSERT_EQ(values.size(), kEnvs * kActions);
  const auto alone = CompileNetwork(plan_, {.batch = 1});
  const auto bytes = environment_->observations().bytes;
  for (std::size_t i = 0; i < kEnvs; ++i) {
    // MinAtar's observations have their channels last, but networks take planes.
    std::vector<std::uint8_t> planes(400);
    for (std::size_t k = 0; k < 400; ++k) planes[k % 4 * 100 + k / 4] = bytes[i * 400 + k];
    const std::vector<const std::uint8_t*> frames = {&planes[0], &planes[100], &planes[200],
                                                     &planes[300]};
    std::vector<float> expected(kActions);
    alone->Forward(parameters_, {.count = 1, .frames = frames}, expected);
    for (std::size_t a = 0; a < kActions; ++a) {
      EXPECT_NEAR(values[i * kActions + a], expected[a], 1e-6F);
    }
  }
  EXPECT_NE(values[0], values[kActions]) << "the boards differ";
}

TEST_F(ActorTest, TheGreedyActionIsTheFirstOfLargestValue) {
  Actor actor = Make(PolicyKind::kGreedy);
  RandomStream random(1, "test");
  const std::vector<float> values = {0, 2, 1, 2, -1, 0, 5, 5, 5, 5, 5, 5, -3, -2, -1, -5, -9, -1};
  const auto chosen = actor.Choose(values, 0, random);
  EXPECT_EQ(std::vector<std::int32_t>(chosen.begin(), chosen.end()),
            (std::vector<std::int32_t>{1, 0, 2}));
}

TEST_F(ActorTest, TakesOneWordPerEnvironmentAndOneMoreForEachThatIsRandom) {
  Actor actor = Make(PolicyKind::kGreedy);
  RandomStream random(7, "test"), plain(7, "test");
  Actor greedy = Make(PolicyKind::kGreedy);
  RandomStream unused(1, "test");
  const auto best = Act(greedy, 0, unused);
  int at_random = 0;
  for (int round = 0; round < 50; ++round) {
    const auto chosen = Act(actor, .3, random);
    for (std::size_t i = 0; i < kEnvs; ++i) {
      if (plain.Uniform() < .3) {
        EXPECT_EQ(chosen[i], static_cast<std::int32_t>(plain.Below(kActions)));
        ++at_random;
      } else {
        EXPECT_EQ(chosen[i], best[i]);
      }
    }
  }
  EXPECT_GT(at_random, 25);
  EXPECT_LT(at_random, 65);
  EXPECT_EQ(random.state(), plain.state());
}

TEST_F(ActorTest, ActIsChooseOfTheValues) {
  for (const PolicyKind policy :
       {PolicyKind::kGreedy, PolicyKind::kMaxEntropy, PolicyKind::kSoftmax}) {
    Actor a = Make(policy), b = Make(policy);
    RandomStream one(3, "test"), other(3, "test");
    for (int round = 0; round < 20; ++round) {
      const auto acted = Act(a, .5, one);
      const auto chosen = b.Choose(b.Values(parameters_, environment_->observations()), .5, other);
      ASSERT_TRUE(std::ranges::equal(acted, chosen));
    }
    EXPECT_EQ(one.state(), other.state());
  }
}

TEST_F(ActorTest, SoftPoliciesDrawByTheirProbabilities) {
  std::vector<float> values;
  for (int i = 0; i < kEnvs; ++i) values.insert(values.end(), {.1F, .5F, -.3F, .4F, 0, .2F});
  std::vector<double> row = {.1F, .5F, -.3F, .4F, 0, .2F}, expected(kActions);
  for (const PolicyKind policy : {PolicyKind::kMaxEntropy, PolicyKind::kSoftmax}) {
    constexpr double kOmega = 4;
    if (policy == PolicyKind::kMaxEntropy) {
      MaxEntropyPolicy(row, kOmega, expected);
    } else {
      SoftmaxPolicy(row, kOmega, expected);
    }
    Actor actor = Make(policy, kOmega);
    RandomStream random(5, "test"), plain(5, "test");
    std::vector<double> counts(kActions);
    constexpr int kRounds = 4000;
    for (int round = 0; round < kRounds; ++round) {
      const auto chosen = actor.Choose(values, 0, random);
      for (std::size_t i = 0; i < kEnvs; ++i) plain.Uniform();  // against epsilon
      for (std::size_t i = 0; i < kEnvs; ++i) {
        EXPECT_EQ(chosen[i], static_cast<std::int32_t>(plain.Choice(expected)));
        counts[static_cast<std::size_t>(chosen[i])] += 1;
      }
    }
    for (std::size_t a = 0; a < kActions; ++a) {
      EXPECT_NEAR(counts[a] / (kRounds * kEnvs), expected[a], .02);
    }
    EXPECT_EQ(random.state(), plain.state());
  }
}

TEST_F(ActorTest, WhereAllActAtRandomTheNetworkIsNotAsked) {
  parameters_.block()[0] = std::numeric_limits<float>::quiet_NaN();
  for (float& parameter : parameters_.block()) parameter = NAN;
  Actor actor = Make(PolicyKind::kGreedy);
  RandomStream random(1, "test");
  EXPECT_NO_THROW(Act(actor, 1, random));
  EXPECT_THROW(Act(actor, .5, random), Error);
}

TEST_F(ActorTest, OnlyValuesThatAreNeededHaveToBeFinite) {
  Actor actor = Make(PolicyKind::kGreedy);
  std::vector<float> values(kEnvs * kActions, 1);
  values[kActions + 2] = INFINITY;
  RandomStream any(1, "test");
  EXPECT_EQ(MessageOf([&] { actor.Choose(values, 0, any); }, Error::Kind::kWorkFailed),
            "the network's value of action 2 is inf: it has diverged");
  // Looks for a seed with which only the second environment acts at random.
  for (std::uint64_t seed = 0;; ++seed) {
    RandomStream draws(seed, "test");
    const bool first = draws.Uniform() < .5, second = draws.Uniform() < .5;
    draws();
    if (first || !second || draws.Uniform() < .5) continue;
    RandomStream random(seed, "test");
    EXPECT_EQ(actor.Choose(values, .5, random)[0], 0);
    break;
  }
}

TEST_F(ActorTest, ValuesOfAnotherNumberAreAMistake) {
  Actor actor = Make(PolicyKind::kGreedy);
  RandomStream random(1, "test");
  EXPECT_THROW(actor.Choose(std::vector<float>(5), 0, random), std::logic_error);
}

}  // namespace stableaa::actor_test
