#include "stableaa/experiment/results/run_filter.h"

#include <gtest/gtest.h>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::run_filter_test {

RunRecord Make(const std::string& env, const std::string& preset, std::uint64_t seed,
               const std::string& setting) {
  RunRecord record{.directory = preset + std::to_string(seed), .options = {}};
  Config config;
  Describe(config, record.options);
  LoadPreset(config, env, preset);
  config.Set(setting);
  record.options.train.seed = seed;
  for (const ConfigKey& key : config.Keys()) record.settings[key.key] = key.value;
  return record;
}

std::vector<RunRecord> Records() {
  return {Make("minatar/breakout", "dqn", 1, "agent.discount=0.9"),
          Make("minatar/breakout", "raa", 2, "agent.discount=0.99"),
          Make("classic/cartpole", "dqn", 1, "agent.discount=0.9"),
          Make("classic/cartpole", "raa", 2, "agent.discount=0.9")};
}

std::vector<std::string> Kept(const std::vector<RunFilter>& filters) {
  std::vector<RunRecord> records = Records();
  KeepMatching(filters, records);
  std::vector<std::string> kept;
  for (const RunRecord& record : records) {
    kept.push_back(record.options.train.env + " " + record.directory.string());
  }
  return kept;
}

std::string Refusal(const std::vector<RunFilter>& filters) {
  return MessageOf([&] { Kept(filters); });
}

TEST(KeepMatching, KeepsRunsThatHaveAllKeysAndOneOfTheValuesOfEach) {
  using Runs = std::vector<std::string>;
  EXPECT_EQ(Kept({}).size(), 4U);
  EXPECT_EQ(Kept({{"preset", "dqn"}}), (Runs{"minatar/breakout dqn1", "classic/cartpole dqn1"}));
  EXPECT_EQ(Kept({{"preset", "dqn"}, {"train.preset", "raa"}}).size(), 4U);
  EXPECT_EQ(Kept({{"preset", "dqn"}, {"env", "classic/cartpole"}}), Runs{"classic/cartpole dqn1"});
  EXPECT_EQ(Kept({{"seed", "2"}, {"agent.discount", "9e-1"}}), Runs{"classic/cartpole raa2"});
}

TEST(KeepMatching, SaysWhatThereIs) {
  EXPECT_EQ(
      Refusal({{"preset", "stable-aa"}}),
      "no run has train.preset = \"stable-aa\"; in these runs train.preset is one of \"dqn\", "
      "\"raa\"");
  EXPECT_EQ(
      Refusal({{"env", "minatar/breakout"}, {"seed", "3"}, {"seed", "4"}}),
      "no run has train.env = \"minatar/breakout\" and train.seed = 3 or 4; in these runs "
      "train.env is one of \"classic/cartpole\", \"minatar/breakout\"; train.seed is one of 1, "
      "2");
  const std::string unknown = Refusal({{"agent.discuont", "1"}});
  EXPECT_TRUE(
      unknown.starts_with("no run has a key 'agent.discuont'; there are env, preset, seed "
                          "and all keys of the configuration, and these runs differ in "))
      << unknown;
  EXPECT_TRUE(unknown.ends_with("; did you mean 'agent.discount'?")) << unknown;
  EXPECT_NE(unknown.find("agent.discount"), std::string::npos);
  EXPECT_TRUE(
      Refusal({{"agent.discount", "much"}}).starts_with("the filter agent.discount=much: "));
}

}  // namespace stableaa::run_filter_test
