#include "stableaa/rl/agent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stableaa/rl/control/control_agent.h"
#include "stableaa/rl/value/dqn_agent.h"

namespace stableaa {
namespace {

bool IsControl(const RunOptions& options) { return IsControl(options.agent.algorithm); }

// The built-in presets whose agents have such actions.
std::vector<std::string> PresetsFor(bool continuous) {
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) {
    RunOptions options;
    Config config;
    Describe(config, options);
    LoadPreset(config, "", preset.name);
    if (IsControl(options) == continuous) names.push_back(preset.name);
  }
  return names;
}

void RequireKindOfActions(const RunOptions& options, const EnvironmentSpec& spec) {
  const bool continuous = spec.action.kind == Space::Kind::kBox;
  if (continuous == IsControl(options)) return;
  // A preset's algorithm may have been set to another.
  const std::vector<std::string> others = PresetsFor(!continuous);
  const bool is_presets = std::ranges::find(others, options.train.preset) != others.end();
  const std::string algorithm =
      fmt::format("agent.algorithm = {}", NameOf(options.agent.algorithm));
  throw BadInput(fmt::format(
      "{} has {} actions ({}), and agents of {} {}; presets that fit: {}", options.train.env,
      continuous ? "continuous" : "numbered", Describe(spec.action),
      is_presets ? fmt::format("preset {} ({})", options.train.preset, algorithm) : algorithm,
      continuous ? "choose among numbered ones" : "need continuous ones",
      fmt::join(PresetsFor(continuous), ", ")));
}

}  // namespace

void RequireAgentFits(const RunOptions& options, const EnvironmentSpec& spec) {
  RequireKindOfActions(options, spec);
  IsControl(options) ? ControlAgent::RequireFits(options, spec)
                     : DqnAgent::RequireFits(options, spec);
}

std::unique_ptr<Agent> MakeAgent(const RunOptions& options, const EnvironmentSpec& spec) {
  if (IsControl(options)) return std::make_unique<ControlAgent>(options, spec);
  return std::make_unique<DqnAgent>(options, spec);
}

std::shared_ptr<const Plan> AgentPlan(const RunOptions& options, const EnvironmentSpec& spec) {
  if (IsControl(options)) return ControlAgent::PlanFor(options, spec);
  return std::make_shared<const Plan>(DqnAgent::PlanFor(options, spec));
}

AgentMemory EstimateAgentMemory(const RunOptions& options, const EnvironmentSpec& spec) {
  return IsControl(options) ? ControlAgent::EstimateMemory(options, spec)
                            : DqnAgent::EstimateMemory(options, spec);
}

}  // namespace stableaa
