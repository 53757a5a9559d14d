#include "stableaa/rl/agent.h"

#include "stableaa/rl/value/dqn_agent.h"

namespace stableaa {

void RequireAgentFits(const RunOptions& options, const EnvironmentSpec& spec) {
  DqnAgent::RequireFits(options, spec);
}

std::unique_ptr<Agent> MakeAgent(const RunOptions& options, const EnvironmentSpec& spec) {
  return std::make_unique<DqnAgent>(options, spec);
}

std::shared_ptr<const Plan> AgentPlan(const RunOptions& options, const EnvironmentSpec& spec) {
  return std::make_shared<const Plan>(DqnAgent::PlanFor(options, spec));
}

AgentMemory EstimateAgentMemory(const RunOptions& options, const EnvironmentSpec& spec) {
  return DqnAgent::EstimateMemory(options, spec);
}

}  // namespace stableaa
