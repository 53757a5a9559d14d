// Short runs: options for tests of training and checkpoints, and for the fuzzer.
#ifndef STABLEAA_RL_RUN_SMALL_RUN_TEST_H_
#define STABLEAA_RL_RUN_SMALL_RUN_TEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"
#include "stableaa/rl/agent.h"
#include "stableaa/rl/control/control_learner.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/run/checkpoint_fields_test.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/value/agent_options.h"

namespace stableaa {

// 240 steps, with three evaluations, four checkpoints and eight rows of metrics; the assignments
// are applied last.
inline RunOptions SmallRunOptions(const std::string& env, const std::string& preset,
                                  const std::vector<std::string>& assignments) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, env, preset);
  for (const char* const assignment :
       {"train.steps=240", "train.threads=1", "train.batch=4", "train.log_interval_steps=30",
        "replay.start=40", "agent.target_interval_updates=20", "agent.weights.batch=32",
        "eval.interval_steps=80", "eval.episodes=2", "checkpoint.interval_steps=60",
        "network.hidden=[8]", "exploration.epsilon_steps=100", "env.max_episode_steps=30"}) {
    config.Set(assignment);
  }
  for (const std::string& assignment : assignments) config.Set(assignment);
  return options;
}

// What CheckpointFields needs to know about a run with these options.
inline CheckpointShape ShapeOfCheckpoint(const RunOptions& options, std::int64_t segment_states) {
  const std::unique_ptr<Environment> environment = MakeEnvironment(options.train.env, options.env);
  environment->Reset(1);
  ByteWriter saved;
  environment->Save(saved);
  const EnvironmentSpec& spec = environment->spec();
  const auto tensors = [](const Plan& plan) {
    return static_cast<int>(ParameterTensors(plan).size());
  };
  CheckpointShape shape = {.environment_bytes = saved.bytes().size(),
                           .tensors = tensors(*AgentPlan(options, spec)),
                           .segment_states = segment_states};
  if (IsControl(options.agent.algorithm)) {
    const ControlPlans plans(options.agent, ObservationLayout(spec),
                             static_cast<int>(spec.action.size()));
    shape.control = {.critics = options.agent.algorithm == AgentAlgorithm::kDdpg ? 1 : 2,
                     .critic_tensors = tensors(*plans.critic),
                     .is_gaussian = options.agent.algorithm == AgentAlgorithm::kSac,
                     .mixes = options.agent.mixes()};
  }
  return shape;
}

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_SMALL_RUN_TEST_H_
