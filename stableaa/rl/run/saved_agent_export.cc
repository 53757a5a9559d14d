#include "stableaa/rl/run/saved_agent_export.h"

#include <map>
#include <string>

#include "stableaa/nn/onnx_export.h"
#include "stableaa/rl/replay/observation_layout.h"

namespace stableaa {

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
            metadata);
  return spec;
}

}  // namespace stableaa
