#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "stableaa/cli/run_program_test.h"

namespace stableaa::bench_agent_command_test {

nlohmann::json OneObject(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  return nlohmann::json::parse(outcome.out);
}

TEST(CommandBenchUpdate, PrintsOneJsonObjectAndNothingElse) {
  const nlohmann::json object = OneObject(
      Stableaa({"bench", "update", "--preset", "raa", "--network", "mlp", "--set",
                "replay.size=2000", "--set", "agent.target_interval_updates=50", "--json"}));
  EXPECT_EQ(Fields(object),
            (std::set<std::string>{"preset", "network", "batch", "threads", "replay_size",
                                   "ms_per_update", "gflops", "sgemm_gflops", "hit_rate",
                                   "sampling_share", "targets_share", "gradient_share"}));
  EXPECT_EQ(object["preset"], "raa");
  EXPECT_EQ(object["network"], "mlp-dueling");
  EXPECT_EQ(object["replay_size"], 2000);
  EXPECT_GT(object["ms_per_update"], 0);
  if (!object["sgemm_gflops"].is_null()) {  // no oneDNN
    EXPECT_GT(object["sgemm_gflops"], 0);
  }
}

TEST(CommandBenchUpdate, MoreMemoryThanThereIsFailsAtOnce) {
  const Outcome outcome = Stableaa({"bench", "update", "--set", "replay.size=1000000000000"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("memory"), std::string::npos) << outcome.err;
}

TEST(CommandBenchAct, PrintsTheTimeOfOneDecision) {
  const nlohmann::json object =
      OneObject(Stableaa({"bench", "act", "--preset", "dqn", "--network", "mlp", "--json"}));
  EXPECT_EQ(object["network"], "mlp");
  EXPECT_GT(object["us_per_action"], 0);
}

TEST(CommandBenchTrain, PrintsSharesThatSumToOne) {
  const nlohmann::json object =
      OneObject(Stableaa({"bench", "train", "--preset", "dqn", "--env", "classic/cartpole",
                          "--seconds", "0.2", "--json"}));
  EXPECT_EQ(object["env"], "classic/cartpole");
  EXPECT_GT(object["steps_per_second"], 0);
  double sum = 0;
  for (const char* const part :
       {"environment", "acting", "sampling", "targets", "gradient", "other"}) {
    sum += object[part].get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(CommandBenchReplay, PrintsOneObjectPerCompression) {
  const Outcome outcome = Stableaa({"bench", "replay", "--frames", "2000", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::set<std::string> compressions;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json object = nlohmann::json::parse(line);
    compressions.insert(object["compression"]);
    EXPECT_GT(object["bytes_per_frame"], 0);
    EXPECT_GT(object["us_per_batch"], 0);
  }
  EXPECT_EQ(compressions, (std::set<std::string>{"none", "lz4", "zstd"}));
}

TEST(CommandBenchAgent, BadValuesAreUsageErrors) {
  for (const Arguments& arguments :
       std::vector<Arguments>{{"bench", "update", "--network", "resnet"},
                              {"bench", "update", "--preset", "sarsa"},
                              {"bench", "train", "--seconds", "0"},
                              {"bench", "train", "--env", "classic/pendulum"},
                              {"bench", "act", "--threads", "0"},
                              {"bench", "replay", "--frames", "0"}}) {
    EXPECT_EQ(Stableaa(arguments).exit_code, 2) << arguments[2];
  }
}

}  // namespace stableaa::bench_agent_command_test
