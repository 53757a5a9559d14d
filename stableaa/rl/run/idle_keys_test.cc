#include "stableaa/rl/run/idle_keys.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa::idle_keys_test {

using Assignments = std::vector<std::string>;

RunOptions Options(const std::string& env, const std::string& preset,
                   const Assignments& assignments = {}) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, env, preset);
  for (const std::string& assignment : assignments) config.Set(assignment);
  return options;
}

std::map<std::string, std::string> Reasons(const RunOptions& options) {
  std::map<std::string, std::string> reasons;
  for (const IdleKey& idle : IdleKeys(options)) {
    EXPECT_TRUE(reasons.emplace(idle.key, idle.reason).second) << idle.key << " twice";
  }
  return reasons;
}

// The reason why a key is idle on classic/cartpole, or empty if it is not.
std::string Why(const std::string& key, const std::string& preset,
                const Assignments& assignments = {}) {
  const auto reasons = Reasons(Options("classic/cartpole", preset, assignments));
  const auto found = reasons.find(key);
  return found == reasons.end() ? "" : found->second;
}

TEST(IdleKeys, AreKeysOfARun) {
  std::set<std::string> known;
  for (const ConfigKey& key : AllKeys({})) known.insert(key.key);
  for (const char* const env :
       {"classic/cartpole", "classic/pendulum", "minatar/breakout", "atari/pong"}) {
    for (const Preset& preset : Presets()) {
      for (const IdleKey& idle : IdleKeys(Options(env, preset.name))) {
        EXPECT_TRUE(known.contains(idle.key)) << idle.key;
        EXPECT_NE(idle.reason, "");
      }
    }
  }
}

TEST(IdleKeys, AreNamedWithTheReason) {
  EXPECT_EQ(Why("agent.eta", "dqn"), "agent.mixer = \"single\"");
  EXPECT_EQ(Why("agent.eta", "stable-aa", {"agent.mixer=anderson"}), "agent.mixer = \"anderson\"");
  EXPECT_EQ(Why("agent.eta", "stable-aa", {"agent.weights.eta=auto"}),
            "agent.weights.eta = \"auto\"");
  EXPECT_EQ(Why("agent.eta", "raa"), "");
  EXPECT_EQ(Why("agent.omega", "dqn"),
            "agent.backup = \"max\" and exploration.policy = \"epsilon-greedy\"");
  EXPECT_EQ(Why("agent.omega", "deepmellow"), "");
  EXPECT_EQ(Why("agent.omega", "dqn", {"exploration.policy=softmax"}), "");
  EXPECT_EQ(Why("agent.targets", "dqn"), "agent.mixer = \"single\"");
  EXPECT_EQ(Why("agent.targets", "averaged-dqn"), "");
  EXPECT_EQ(Why("agent.damping", "averaged-dqn"), "agent.mixer = \"average\"");
  EXPECT_EQ(Why("agent.weights.refresh", "dqn"), "agent.mixer = \"single\"");
  EXPECT_EQ(Why("agent.weights.batch", "averaged-dqn"), "agent.mixer = \"average\"");
  EXPECT_EQ(Why("agent.weights.batch", "averaged-dqn", {"agent.restart=growth"}), "");
  EXPECT_EQ(Why("agent.restart_interval_updates", "stable-aa"), "agent.restart = \"never\"");
  EXPECT_EQ(Why("agent.restart", "stable-aa", {"agent.targets=1"}), "agent.targets = 1");
  EXPECT_EQ(Why("agent.huber_delta", "dqn", {"agent.loss=squared"}), "agent.loss = \"squared\"");
  EXPECT_EQ(Why("agent.huber_delta", "dqn"), "");  // the family uses huber
  EXPECT_EQ(Why("checkpoint.keep_weights", "dqn", {"checkpoint.keep_weights=all evaluations"}), "");
  EXPECT_EQ(Why("checkpoint.keep_weights", "dqn",
                {"checkpoint.keep_weights=all evaluations", "eval.interval_steps=0"}),
            "eval.interval_steps = 0");
  EXPECT_EQ(Why("network.hidden", "dqn"), "");
  EXPECT_EQ(Why("network.hidden", "dqn", {"network.layers=linear(8) relu"}),
            "network.layers = \"linear(8) relu\"");
  EXPECT_EQ(Why("exploration.epsilon_end", "dqn"), "");
  for (const char* const part : {"start", "end", "steps"}) {
    EXPECT_EQ(Why(fmt::format("exploration.epsilon_{}", part), "dqn",
                  {"exploration.epsilon=linear(1, 0.1, 100)"}),
              "exploration.epsilon = \"linear(1.0, 0.1, 100)\"");
  }
  EXPECT_EQ(Why("replay.importance_steps", "dqn"), "replay.prioritized = false");
  EXPECT_EQ(Why("replay.importance_steps", "dqn", {"replay.prioritized=true"}), "");
  EXPECT_EQ(Why("optimizer.alpha", "dqn"), "optimizer.kind = \"adam\"");
  EXPECT_EQ(Why("optimizer.beta1", "dqn"), "");
  EXPECT_EQ(Why("optimizer.beta1", "dqn", {"optimizer.kind=rmsprop"}),
            "optimizer.kind = \"rmsprop\"");
}

TEST(IdleKeys, OfContinuousControl) {
  const auto why = [](const std::string& key, const std::string& preset,
                      const Assignments& assignments = {}) {
    const auto reasons = Reasons(Options("classic/pendulum", preset, assignments));
    const auto found = reasons.find(key);
    return found == reasons.end() ? "" : found->second;
  };
  // What only agents of the DQN family have, and what they have not.
  for (const char* const key :
       {"agent.head", "agent.backup", "agent.omega", "agent.restart", "exploration.policy",
        "exploration.epsilon", "exploration.epsilon_start", "train.lookahead_updates"}) {
    EXPECT_EQ(why(key, "td3-stable"), "agent.algorithm = \"td3\"") << key;
    EXPECT_EQ(why(key, "sac"), "agent.algorithm = \"sac\"") << key;
  }
  for (const char* const key : {"control.polyak", "control.window", "control.actor_loss",
                                "control.temperature", "control.target_noise"}) {
    EXPECT_EQ(Why(key, "dqn"), "agent.algorithm = \"dqn\"") << key;
  }
  EXPECT_EQ(why("control.polyak", "td3"), "");
  EXPECT_EQ(why("control.target_noise", "td3"), "");
  EXPECT_EQ(why("control.target_noise", "ddpg"), "agent.algorithm = \"ddpg\"");
  EXPECT_EQ(why("control.target_noise_clip", "sac"), "agent.algorithm = \"sac\"");
  EXPECT_EQ(why("control.target_noise_clip", "td3", {"control.target_noise=0"}),
            "control.target_noise = 0.0");
  EXPECT_EQ(why("control.exploration_noise", "ddpg"), "");
  EXPECT_EQ(why("control.exploration_noise", "sac"), "agent.algorithm = \"sac\"");
  EXPECT_EQ(why("control.noise_correlation", "sac"), "");
  EXPECT_EQ(why("control.noise_correlation", "td3", {"control.exploration_noise=0"}),
            "control.exploration_noise = 0.0");
  EXPECT_EQ(why("control.first_temperature", "sac"), "");
  EXPECT_EQ(why("control.temperature", "td3"), "agent.algorithm = \"td3\"");
  EXPECT_EQ(why("control.target_entropy", "sac", {"control.temperature=0.2"}),
            "control.temperature = 0.2");
  EXPECT_EQ(why("control.window", "td3"), "agent.mixer = \"single\"");
  EXPECT_EQ(why("control.window", "td3-raa"), "");
  EXPECT_EQ(why("control.actor_loss", "sac"), "agent.mixer = \"single\"");
  EXPECT_EQ(why("control.actor_loss", "sac-raa"), "");
  EXPECT_EQ(why("agent.target_interval_updates", "td3"), "agent.mixer = \"single\"");
  EXPECT_EQ(why("agent.target_interval_updates", "td3-raa"),
            "control.window = \"consecutive\" and agent.weights.refresh = \"update\"");
  EXPECT_EQ(why("agent.target_interval_updates", "td3-raa", {"agent.weights.refresh=sync"}), "");
  EXPECT_EQ(why("agent.target_interval_updates", "td3-stable"), "");
  EXPECT_EQ(why("agent.target_interval_updates", "td3",
                {"agent.mixer=average", "control.window=consecutive"}),
            "control.window = \"consecutive\" and agent.mixer = \"average\"");
  EXPECT_EQ(why("agent.target_interval_updates", "td3", {"agent.mixer=average"}), "");
  for (const char* const key : {"control.window", "agent.target_interval_updates"}) {
    EXPECT_EQ(why(key, "td3-stable", {"agent.targets=1"}), "agent.targets = 1") << key;
  }
  EXPECT_EQ(why("control.actor_loss", "td3-stable", {"agent.damping=0"}), "agent.damping = 0.0");
  EXPECT_EQ(why("agent.eta", "td3-stable"), "");
  EXPECT_EQ(why("agent.eta", "td3"), "agent.mixer = \"single\"");
}

TEST(IdleKeys, OfOtherEnvironments) {
  EXPECT_EQ(Why("env.protocol", "dqn"), "classic/cartpole does not use it");
  EXPECT_EQ(Why("env.kwargs", "dqn"), "classic/cartpole does not use it");
  EXPECT_EQ(Why("eval.protocol", "dqn"), "classic/cartpole does not use it");
  EXPECT_EQ(Why("env.max_episode_steps", "dqn"), "");
  const auto minatar = Reasons(Options("MinAtar/Breakout", "dqn"));
  EXPECT_EQ(minatar.at("network.hidden"), "minatar/breakout shows pictures");
  EXPECT_EQ(minatar.at("env.ramping"), "minatar/breakout does not use it");
  EXPECT_FALSE(minatar.contains("env.sticky"));
  const auto atari = Reasons(Options("atari/pong", "dqn"));
  EXPECT_FALSE(atari.contains("env.protocol"));
  EXPECT_FALSE(atari.contains("eval.protocol"));
  EXPECT_TRUE(atari.contains("env.ramping"));
  const auto gymnasium = Reasons(Options("gymnasium/CartPole-v1", "dqn"));
  EXPECT_FALSE(gymnasium.contains("env.kwargs"));
  EXPECT_FALSE(gymnasium.contains("network.hidden"));  // only its worker knows the observations
  EXPECT_TRUE(gymnasium.contains("env.sticky"));
  EXPECT_THROW(IdleEnvironmentKeys("minatar/pong"), Error);
}

// ---- Is it true? Runs that differ only in an idle key ----

// Another value for each key that a rule names.
const std::map<std::string, std::string>& OtherValues() {
  static const std::map<std::string, std::string> kValues = {
      {"agent.head", "dueling"},
      {"agent.backup", "mellowmax"},
      {"agent.target_interval_updates", "7"},
      {"agent.targets", "2"},
      {"train.lookahead_updates", "3"},
      {"control.window", "consecutive"},
      {"control.polyak", "0.1"},
      {"control.policy_delay", "3"},
      {"control.target_noise", "0.7"},
      {"control.target_noise_clip", "0.1"},
      {"control.exploration_noise", "0.9"},
      {"control.noise_correlation", "0.7"},
      {"control.actor_learning_rate", "0.1"},
      {"control.temperature", "0.7"},
      {"control.first_temperature", "0.3"},
      {"control.target_entropy", "0.5"},
      {"control.temperature_learning_rate", "0.5"},
      {"control.actor_loss", "mixed"},
      {"exploration.policy", "softmax"},
      {"exploration.epsilon", "0.9"},
      {"agent.restart", "interval"},
      {"agent.restart_interval_updates", "1"},
      {"agent.restart_growth", "1.000001"},
      {"agent.damping", "0.7"},
      {"agent.weights.eta", "auto"},
      {"agent.weights.safeguard", "true"},
      {"agent.weights.batch", "7"},
      {"agent.weights.refresh", "update"},
      {"agent.eta", "3"},
      {"agent.omega", "0.5"},
      {"agent.huber_delta", "0.001"},
      {"network.hidden", "[5]"},
      {"exploration.epsilon_start", "0.3"},
      {"exploration.epsilon_end", "0.7"},
      {"exploration.epsilon_steps", "77"},
      {"replay.priority_exponent", "0.1"},
      {"replay.priority_floor", "0.5"},
      {"replay.importance_start", "0.9"},
      {"replay.importance_steps", "50"},
      {"optimizer.alpha", "0.5"},
      {"optimizer.epsilon_inside", "true"},
      {"optimizer.beta1", "0.3"},
      {"optimizer.beta2", "0.9"},
      {"eval.protocol", "machado"},
      {"env.sticky", "0.5"},
      {"env.ramping", "false"},
      {"env.actions", "minimal"},
      {"env.protocol", "machado"},
      {"env.python", "/no/python"},
      {"env.workers", "3"},
      {"env.timeout_seconds", "1"},
      {"env.kwargs", "{a = 1}"}};
  return kValues;
}

// Of presets for continuous actions, on Pendulum; of the others, on CartPole.
const std::vector<std::pair<std::string, Assignments>>& Agents() {
  static const std::vector<std::pair<std::string, Assignments>> kAgents = {
      {"ddpg", {}},
      {"td3", {"control.target_noise=0"}},
      {"td3-stable", {}},
      {"td3-raa", {"agent.targets=3"}},
      {"td3-stable", {"agent.targets=1"}},
      {"sac", {}},
      {"sac", {"optimizer.kind=rmsprop"}},
      {"sac-stable", {"control.temperature=0.2", "agent.targets=3"}},
      {"stable-aa", {"agent.restart_interval_updates=30"}},
      {"dqn", {"exploration.epsilon_steps=0", "agent.loss=squared"}},
      {"averaged-dqn", {"optimizer.kind=rmsprop", "exploration.epsilon_start=0.05"}},
      {"averaged-dqn", {"agent.restart=growth", "agent.weights.batch=9"}},
      {"stable-aa",
       {"agent.weights.eta=auto", "replay.prioritized=true", "replay.importance_steps=0"}},
      {"stable-reg",
       {"agent.targets=1", "replay.prioritized=true", "replay.importance_start=1",
        "network.layers=linear(6) relu"}},
      {"raa", {"agent.mixer=anderson", "agent.restart=interval"}},
      {"dqn", {"exploration.epsilon=exponential(1, 0.1, 100)"}}};
  return kAgents;
}

std::string EnvironmentFor(const std::string& preset) {
  const bool is_control = IsControl(Options("classic/cartpole", preset).agent.algorithm);
  return is_control ? "classic/pendulum" : "classic/cartpole";
}

class FullIdleKeys : public ::testing::Test {
 protected:
  FullIdleKeys() { SetLogLevel(LogLevel::kSilent); }
  ~FullIdleKeys() override { SetLogLevel(LogLevel::kInfo); }

  // The final weights of a short run, and its episodes.
  std::string Result(const std::string& preset, Assignments assignments) const {
    const Assignments small = {"train.steps=160",         "train.threads=1",
                               "train.batch=4",           "train.log_interval_steps=1000",
                               "replay.start=40",         "agent.target_interval_updates=20",
                               "network.hidden=[8]",      "eval.interval_steps=80",
                               "eval.episodes=2",         "checkpoint.interval_steps=1000",
                               "env.max_episode_steps=30"};
    assignments.insert(assignments.begin(), small.begin(), small.end());
    const std::filesystem::path run = folder_ / "run";
    std::filesystem::remove_all(run);
    EXPECT_TRUE(Trainer::Start(run, Options(EnvironmentFor(preset), preset, assignments))->Run());
    return FileContent(run / "weights/latest.safetensors") + FileContent(run / "episodes.csv");
  }

  FolderOfRuns folder_;
};

TEST_F(FullIdleKeys, ChangeNothingAndTheOthersDo) {
  std::set<std::string> idle_somewhere, active_somewhere;
  for (const auto& [preset, assignments] : Agents()) {
    SCOPED_TRACE(preset);
    const std::string result = Result(preset, assignments);
    const auto reasons = Reasons(Options(EnvironmentFor(preset), preset, assignments));
    for (const auto& [key, value] : OtherValues()) {
      Assignments other = assignments;
      other.push_back(fmt::format("{}={}", key, value));
      const bool is_idle = reasons.contains(key);
      // The new value may make other keys matter, but must not change anything by itself.
      const bool is_same = Result(preset, other) == result;
      EXPECT_TRUE(is_same || !is_idle) << key << " is not idle";
      (is_idle ? idle_somewhere : active_somewhere).insert(is_same == is_idle ? key : "");
    }
    for (const auto& [key, reason] : reasons) {
      EXPECT_TRUE(OtherValues().contains(key)) << key << " has no other value to be tried with";
    }
  }
  for (const auto& [key, value] : OtherValues()) {
    EXPECT_TRUE(idle_somewhere.contains(key)) << key << " is idle in none of these runs";
    const bool native_has_none = key.starts_with("env.") || key == "eval.protocol";
    EXPECT_EQ(active_somewhere.contains(key), !native_has_none) << key;
  }
}

}  // namespace stableaa::idle_keys_test
