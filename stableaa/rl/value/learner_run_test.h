// For tests of the learner: small runs without an environment, and a case per kind of agent.
#ifndef STABLEAA_RL_VALUE_LEARNER_RUN_TEST_H_
#define STABLEAA_RL_VALUE_LEARNER_RUN_TEST_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/learner.h"

namespace stableaa::learner_run_test {

inline constexpr int kInputs = 5;
inline constexpr int kActions = 3;
inline constexpr float kNaNFloat = std::numeric_limits<float>::quiet_NaN();

inline EnvironmentSpec VectorWorld() {
  return {.id = "test/vector",
          .observation = Space::Floats({kInputs}, {-1}, {1}),
          .action = Space::Discrete(kActions)};
}

inline EnvironmentSpec FrameWorld() {
  return {.id = "test/frames",
          .observation = Space::Bytes({10, 10, 4}, 1),
          .action = Space::Discrete(kActions),
          .channel_axis = 2};
}

// Plays random episodes into a replay; equal seeds give equal episodes.
class Feeder {
 public:
  explicit Feeder(const ObservationLayout& layout, std::uint64_t seed = 1)
      : layout_(&layout), random_(seed, "feeder") {}

  void Begin(Replay& replay) { replay.Begin(Observation()); }

  void Step(Replay& replay, float extra_reward = 0) {
    const int action = static_cast<int>(random_.Below(kActions));
    const float reward = static_cast<float>(random_.Normal()) + extra_reward;
    const std::uint64_t fate = random_.Below(16);
    replay.Add({action}, reward, fate == 0, fate == 1, Observation());
    if (fate <= 1) Begin(replay);
  }

 private:
  std::vector<std::uint8_t> Observation() {
    std::vector<std::uint8_t> bytes(layout_->frames().observation_bytes());
    if (layout_->input().is_vector()) {
      std::vector<float> vector(bytes.size() / sizeof(float));
      random_.FillUniform(vector, -1, 1);
      std::memcpy(bytes.data(), vector.data(), bytes.size());
    } else {
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.Below(2));
    }
    return bytes;
  }

  const ObservationLayout* layout_;
  RandomStream random_;
};

inline LearnerOptions SmallRun() {
  LearnerOptions options;
  options.batch = 6;
  options.threads = 1;
  options.lookahead_updates = 1;
  options.replay.size = 80;
  options.replay.importance_steps = 60;
  options.agent.hidden = {12};
  options.agent.targets = 3;
  options.agent.target_interval_updates = 4;
  options.agent.weights.batch = 20;
  options.optimizer.learning_rate = .01;
  return options;
}

// A run without an environment: every update follows one or two steps.
struct TestRun {
  LearnerOptions options;
  ObservationLayout layout;
  std::shared_ptr<const Plan> plan;
  Replay replay;
  Feeder feeder;
  Learner learner;
  std::int64_t step = 0;

  explicit TestRun(const LearnerOptions& run_options, const EnvironmentSpec& spec = VectorWorld())
      : options(run_options),
        layout(spec),
        plan(std::make_shared<const Plan>(
            MakePlan(AgentNetwork(options.agent, layout.input(), kActions)))),
        replay(options.replay, {options.agent.n_step, options.agent.discount}, layout.frames(),
               {.count = kActions}, Learner::ReplayReserve(options)),
        feeder(layout),
        learner(options, plan, layout, replay) {
    feeder.Begin(replay);
    for (int k = 0; k < 60; ++k) Step();
  }

  void Step(float extra_reward = 0) {
    ++step;
    feeder.Step(replay, extra_reward);
  }
  void StepsBetween() {
    Step();
    if (learner.counts().updates % 3 == 0) Step();
  }
  UpdateReport Update() {
    StepsBetween();
    return learner.Update(step);
  }
  std::vector<std::byte> Saved() const {
    ByteWriter out;
    learner.Save(out);
    return {out.bytes().begin(), out.bytes().end()};
  }
};

struct Case {
  std::string name;
  std::function<void(LearnerOptions&)> change;
};

inline std::vector<Case> Cases() {
  const auto stable = [](LearnerOptions& run) {
    run.agent.mixer = MixerKind::kStable;
    run.agent.backup = AgentBackup::kMellowmax;
    run.agent.head = HeadKind::kDueling;
  };
  const auto per_update = [](LearnerOptions& run) {
    run.agent.weights.refresh = WeightRefresh::kUpdate;
  };
  const auto schedules = [](LearnerOptions& run) {  // updates begin after step 60
    run.optimizer.learning_rate = Schedule::Parse("linear(0.1, 0.001, 80)");
    run.agent.damping = Schedule::Parse("steps(0, 65: 0.5, 72: 0)");
    run.agent.eta = Schedule::Parse("exponential(1e-6, 1, 80)");
  };
  return {
      {"dqn", [](LearnerOptions&) {}},
      {"double-dqn", [](LearnerOptions& run) { run.agent.backup = AgentBackup::kDouble; }},
      {"averaged-dqn", [](LearnerOptions& run) { run.agent.mixer = MixerKind::kAverage; }},
      {"stable-sync", stable},
      {"stable-update",
       [=](LearnerOptions& run) {
         stable(run);
         per_update(run);
       }},
      {"stable-update-guarded",
       [=](LearnerOptions& run) {
         stable(run);
         per_update(run);
         run.agent.weights.safeguard = true;
         run.agent.weights.eta = EtaChoice::kAuto;
       }},
      {"raa-double-update",
       [=](LearnerOptions& run) {
         run.agent.mixer = MixerKind::kRaa;
         run.agent.backup = AgentBackup::kDouble;
         per_update(run);
       }},
      {"anderson-dynamic-without-damping",
       [=](LearnerOptions& run) {
         run.agent.mixer = MixerKind::kAnderson;
         run.agent.backup = AgentBackup::kDynamicBoltzmann;
         run.agent.omega = .3;
         run.agent.damping = 0;
       }},
      {"prioritised",
       [=](LearnerOptions& run) {
         stable(run);
         run.replay.prioritized = true;
       }},
      {"n-step-prioritised-double",
       [=](LearnerOptions& run) {
         run.agent.n_step = 3;
         run.agent.backup = AgentBackup::kDouble;
         run.agent.mixer = MixerKind::kStable;
         run.replay.prioritized = true;
         per_update(run);
       }},
      {"huber-adam-clipped",
       [](LearnerOptions& run) {
         run.agent.loss = LossKind::kHuber;
         run.agent.huber_delta = .5;
         run.optimizer.kind = OptimizerKind::kAdam;
         run.optimizer.epsilon = 1e-8;
         run.optimizer.max_gradient_norm = .2;
       }},
      {"restart-interval",
       [=](LearnerOptions& run) {
         stable(run);
         run.agent.restart = WindowRestart::kInterval;
         run.agent.restart_interval_updates = 10;
       }},
      {"restart-growth",
       [=](LearnerOptions& run) {
         stable(run);
         run.agent.restart = WindowRestart::kGrowth;
         run.agent.restart_growth = 1.02;
       }},
      {"restart-growth-average",
       [=](LearnerOptions& run) {
         run.agent.mixer = MixerKind::kAverage;
         run.agent.restart = WindowRestart::kGrowth;
         run.agent.restart_growth = 1.02;
       }},
      {"scheduled-sync",
       [=](LearnerOptions& run) {
         stable(run);
         schedules(run);
       }},
      {"scheduled-update",
       [=](LearnerOptions& run) {
         stable(run);
         per_update(run);
         schedules(run);
       }},
      {"every-update-a-shift",
       [=](LearnerOptions& run) {
         stable(run);
         run.agent.target_interval_updates = 1;
       }},
  };
}

}  // namespace stableaa::learner_run_test

#endif  // STABLEAA_RL_VALUE_LEARNER_RUN_TEST_H_
