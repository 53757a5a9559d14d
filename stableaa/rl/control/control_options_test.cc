#include "stableaa/rl/control/control_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/testing/message.h"

namespace stableaa::control_options_test {

std::string ComplaintOf(const std::string& assignment) {
  ControlOptions options;
  Config config;
  Describe(config, options);
  return MessageOf([&] { config.Set(assignment); });
}

TEST(ControlOptions, HaveRanges) {
  EXPECT_NO_THROW(ControlOptions().Validate());
  for (const char* const good :
       {"control.window=consecutive", "control.polyak=1", "control.policy_delay=1000",
        "control.target_noise=0", "control.target_noise_clip=0", "control.exploration_noise=0",
        "control.exploration_noise=linear(0.3, 0.1, 1e5)", "control.noise_correlation=0.99",
        "control.actor_learning_rate=0", "control.temperature=0", "control.first_temperature=1e-6",
        "control.target_entropy=-17", "control.temperature_learning_rate=1e-3",
        "control.actor_loss=mixed"}) {
    EXPECT_EQ(ComplaintOf(good), "no error") << good;
  }
  for (const std::string bad :
       {"control.window=near", "control.polyak=0", "control.polyak=1.01", "control.policy_delay=0",
        "control.policy_delay=1001", "control.target_noise=-0.1", "control.target_noise_clip=11",
        "control.exploration_noise=-1", "control.noise_correlation=1",
        "control.actor_learning_rate=-1", "control.temperature=-1", "control.first_temperature=0",
        "control.target_entropy=1e7", "control.temperature_learning_rate=2e3",
        "control.actor_loss=oldest"}) {
    const std::string key = bad.substr(0, bad.find('='));
    EXPECT_NE(ComplaintOf(bad).find(key), std::string::npos) << bad << ": " << ComplaintOf(bad);
  }
}

TEST(ControlOptions, AreValidatedWhenSetInCode) {
  const auto complaint = [](const ControlOptions& options) {
    return MessageOf([&] { options.Validate(); });
  };
  EXPECT_NE(complaint({.polyak = 0}).find("control.polyak"), std::string::npos);
  EXPECT_NE(complaint({.policy_delay = 0}).find("control.policy_delay"), std::string::npos);
  EXPECT_NE(complaint({.noise_correlation = 1}).find("control.noise_correlation"),
            std::string::npos);
  EXPECT_NE(complaint({.temperature = Schedule(-1)}).find("control.temperature"),
            std::string::npos);
  EXPECT_NE(complaint({.target_entropy = Schedule(1e9)}).find("control.target_entropy"),
            std::string::npos);
}

TEST(ControlOptions, EmptyTextsMeanThatThereIsNone) {
  ControlOptions options = {.temperature = Schedule(.2), .target_entropy = Schedule(-3)};
  Config config;
  Describe(config, options);
  config.Set("control.temperature=");
  EXPECT_FALSE(options.temperature.has_value());
  config.Set("control.target_entropy=-6");
  ASSERT_TRUE(options.target_entropy.has_value());
  EXPECT_EQ(options.target_entropy->At(0), -6);
}

TEST(ControlNetworks, EndInActionsOrTheirDistributionsAndInOneValue) {
  AgentOptions options;
  options.hidden = {10, 7};
  for (const AgentAlgorithm algorithm : {AgentAlgorithm::kDdpg, AgentAlgorithm::kTd3}) {
    options.algorithm = algorithm;
    EXPECT_EQ(ToText(ActorSpec(options, 3, 2)),
              "vector(3) linear(10) relu linear(7) relu linear(2) tanh");
  }
  options.algorithm = AgentAlgorithm::kSac;
  EXPECT_EQ(ToText(ActorSpec(options, 3, 2)), "vector(3) linear(10) relu linear(7) relu linear(4)");
  EXPECT_EQ(ToText(CriticSpec(options, 3, 2)),
            "vector(3, 2) linear(10) relu linear(7) relu linear(1)");
}

TEST(ControlNetworks, MayHaveOtherLayers) {
  AgentOptions options;
  options.algorithm = AgentAlgorithm::kTd3;
  options.layers = "linear(5) elu";
  EXPECT_EQ(ToText(ActorSpec(options, 3, 2)), "vector(3) linear(5) elu linear(2) tanh");
  EXPECT_EQ(ToText(CriticSpec(options, 3, 2)), "vector(3, 2) linear(5) elu linear(1)");
  options.layers = "conv(4, 3, 1) relu flatten";
  ExpectBadInput([&] { ActorSpec(options, 3, 2); }, "network.layers: ");
  options.layers = "wide(3)";
  ExpectBadInput([&] { CriticSpec(options, 3, 2); }, "network.layers: ");
}

TEST(ControlAlgorithms, AreAllButDqnAndHaveTwoCriticsButForDdpg) {
  EXPECT_FALSE(IsControl(AgentAlgorithm::kDqn));
  for (const AgentAlgorithm algorithm :
       {AgentAlgorithm::kDdpg, AgentAlgorithm::kTd3, AgentAlgorithm::kSac}) {
    EXPECT_TRUE(IsControl(algorithm));
    EXPECT_EQ(CriticCount(algorithm), algorithm == AgentAlgorithm::kDdpg ? 1 : 2);
  }
}

}  // namespace stableaa::control_options_test
