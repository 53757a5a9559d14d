// A saved agent for other programs.
#ifndef STABLEAA_RL_RUN_SAVED_AGENT_EXPORT_H_
#define STABLEAA_RL_RUN_SAVED_AGENT_EXPORT_H_

#include <filesystem>

#include "stableaa/env/environment.h"
#include "stableaa/rl/run/saved_agent.h"

namespace stableaa {

// Writes the agent's network as an ONNX model (nn/onnx_export.h) from the environment's own
// observations to the values of its actions or, where these are continuous, to its actions, as
// evaluations play them. Properties: stableaa.version, stableaa.spec,
// stableaa.env and, where the weights record them, stableaa.preset, stableaa.seed and
// stableaa.step. Asks the environment for its observations, so it must be installed. Returns its
// description.
EnvironmentSpec ExportOnnx(const SavedAgent& agent, const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_SAVED_AGENT_EXPORT_H_
