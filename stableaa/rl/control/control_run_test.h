// For tests of agents with continuous actions: small runs of their learner without an environment.
#ifndef STABLEAA_RL_CONTROL_CONTROL_RUN_TEST_H_
#define STABLEAA_RL_CONTROL_CONTROL_RUN_TEST_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/control/control_learner.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"

namespace stableaa::control_run_test {

inline constexpr int kObserved = 3;
inline constexpr int kElements = 2;

inline EnvironmentSpec World() {
  return {.id = "test/control",
          .observation = Space::Floats({kObserved}, {-1}, {1}),
          .action = Space::Floats({kElements}, {-1}, {1})};
}

// A state as it was met; without an action if it is the last of its episode.
struct MetState {
  std::vector<float> observation, action = {};
  float reward = 0;
  bool terminated = false, truncated = false;
};

// Plays random episodes into a replay of one stream and keeps them; equal seeds give equal episodes.
class Feeder {
 public:
  explicit Feeder(std::uint64_t seed = 1) : random_(seed, "feeder") {}

  void Begin(Replay& replay) {
    states_.push_back({.observation = Numbers(kObserved)});
    replay.Begin(Bytes(states_.back().observation));
  }

  void Step(Replay& replay, float extra_reward = 0) {
    const std::uint64_t fate = random_.Below(7);
    MetState& state = states_.back();
    state.action = Numbers(kElements);
    state.reward = static_cast<float>(random_.Normal()) + extra_reward;
    state.terminated = fate == 0;
    state.truncated = fate == 1;
    const std::vector<float> next = Numbers(kObserved);
    replay.Add({.values = state.action}, state.reward, state.terminated, state.truncated,
               Bytes(next));
    states_.push_back({.observation = next});
    if (fate <= 1) Begin(replay);
  }

  // By id.
  const MetState& state(std::int64_t id) const { return states_[static_cast<std::size_t>(id)]; }

  static std::vector<std::uint8_t> Bytes(const std::vector<float>& numbers) {
    std::vector<std::uint8_t> bytes(numbers.size() * sizeof(float));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
  }

 private:
  std::vector<float> Numbers(int count) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    random_.FillUniform(numbers, -1, 1);
    return numbers;
  }

  RandomStream random_;
  std::vector<MetState> states_;
};

inline ControlLearnerOptions SmallControl(AgentAlgorithm algorithm = AgentAlgorithm::kTd3) {
  ControlLearnerOptions options;
  options.agent.algorithm = algorithm;
  options.agent.hidden = {10, 7};
  options.agent.targets = 3;
  options.agent.target_interval_updates = 3;
  options.agent.discount = .9;
  options.agent.weights.batch = 20;
  options.control.polyak = .2;
  options.control.policy_delay = 2;
  options.replay.size = 60;
  options.replay.importance_steps = 100;
  options.optimizer.kind = OptimizerKind::kAdam;
  options.optimizer.learning_rate = .01;
  options.batch = 8;
  return options;
}

// Every update follows a step of the environment.
struct ControlRun {
  ControlLearnerOptions options;
  ObservationLayout layout{World()};
  ControlPlans plans;
  Replay replay;
  Feeder feeder;
  ControlLearner learner;
  std::int64_t step = 0;

  explicit ControlRun(const ControlLearnerOptions& run_options)
      : options(run_options),
        plans(options.agent, layout, kElements),
        replay(options.replay, {options.agent.n_step, options.agent.discount}, layout.frames(),
               {.count = 1, .floats = kElements}, 1),
        learner(options, plans, layout, replay) {
    feeder.Begin(replay);
    for (int k = 0; k < 50; ++k) Step();
  }

  void Step(float extra_reward = 0) {
    ++step;
    feeder.Step(replay, extra_reward);
  }
  ControlReport Update() {
    Step();
    return learner.Update(step);
  }
};

// A learner of every kind.
inline std::vector<ControlLearnerOptions> AllKinds() {
  std::vector<ControlLearnerOptions> all;
  for (const AgentAlgorithm algorithm :
       {AgentAlgorithm::kDdpg, AgentAlgorithm::kTd3, AgentAlgorithm::kSac}) {
    for (const MixerKind mixer : {MixerKind::kSingle, MixerKind::kAverage, MixerKind::kAnderson,
                                  MixerKind::kRaa, MixerKind::kStable}) {
      for (const WindowKind window : {WindowKind::kConsecutive, WindowKind::kSpaced}) {
        for (const WeightRefresh refresh : {WeightRefresh::kUpdate, WeightRefresh::kSync}) {
          ControlLearnerOptions options = SmallControl(algorithm);
          options.agent.mixer = mixer;
          options.control.window = window;
          options.agent.weights.refresh = refresh;
          all.push_back(options);
        }
      }
    }
  }
  return all;
}

inline std::string NameOf(const ControlLearnerOptions& options) {
  const char* const algorithms[] = {"dqn", "ddpg", "td3", "sac"};
  const char* const mixers[] = {"single", "average", "anderson", "raa", "stable"};
  return std::string(algorithms[static_cast<int>(options.agent.algorithm)]) + " " +
         mixers[static_cast<int>(options.agent.mixer)] +
         (options.control.window == WindowKind::kSpaced ? " spaced" : " consecutive") +
         (options.agent.weights.refresh == WeightRefresh::kSync ? " sync" : " update");
}

}  // namespace stableaa::control_run_test

#endif  // STABLEAA_RL_CONTROL_CONTROL_RUN_TEST_H_
