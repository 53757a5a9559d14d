#include "stableaa/rl/run/saved_agent_export.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "stableaa/nn/onnx_export.h"
#include "stableaa/rl/replay/observation_layout.h"

namespace stableaa {
namespace {

std::optional<OnnxActions> ActionsOf(const EnvironmentSpec& spec) {
  const Space& space = spec.action;
  if (space.kind != Space::Kind::kBox) return std::nullopt;
  OnnxActions actions{.shape = space.shape};
  for (std::size_t i = 0; i < space.size(); ++i) {
    actions.low.push_back(space.LowOf(i));
    actions.high.push_back(space.HighOf(i));
  }
  return actions;
}

}  // namespace

EnvironmentSpec ExportOnnx(const SavedAgent& agent, const std::filesystem::path& path) {
  EnvironmentSpec spec = agent.MakeEnvironment(1)->spec();
  std::map<std::string, std::string> metadata = {{"stableaa.env", spec.id}};
  for (const char* const key : {"stableaa.preset", "stableaa.seed", "stableaa.step"}) {
    const auto noted = agent.metadata().find(key);
    if (noted != agent.metadata().end()) metadata.insert(*noted);
  }
  WriteOnnx(path, agent.parameters(),
            {.is_bytes = spec.observation.type == ElementType::kUint8,
             .shape = spec.observation.shape,
             .channel_axis = spec.channel_axis,
             .divisor = ObservationLayout(spec).divisor()},
            metadata, ActionsOf(spec));
  return spec;
}

}  // namespace stableaa
