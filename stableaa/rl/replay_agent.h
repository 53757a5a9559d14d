// What agents that learn from a replay share: how transitions get there, when updates are due, and
// the replay's part of checkpoints.
#ifndef STABLEAA_RL_REPLAY_AGENT_H_
#define STABLEAA_RL_REPLAY_AGENT_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "stableaa/rl/agent.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"

namespace stableaa {

class ReplayAgent : public Agent {
 public:
  void Begin(int environment, const Observations& observations) override;
  void SaveFiles(const std::filesystem::path& directory) override;
  void RemoveOldFiles(const std::filesystem::path& directory) const override;

 protected:
  // `reserve`: as Replay's.
  ReplayAgent(const RunOptions& options, const EnvironmentSpec& spec, const ActionShape& actions,
              std::int64_t reserve);

  void RememberAction(int environment, const TakenAction& action, const ActionOutcome& outcome);
  bool UpdateIsDue(std::int64_t step) const;
  // The replay's cells of a row.
  void AddReplayMetrics(AgentMetrics& metrics) const;
  // Throws BadInput unless a replay and `updates` updates go together with that position.
  void CheckLoaded(const ByteReader& in, const RunPosition& position);

  const RunOptions options_;
  const ObservationLayout layout_;
  Replay replay_;

 private:
  std::span<const std::uint8_t> Encode(const Observations& observations, int environment);

  std::vector<std::uint8_t> encoded_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_AGENT_H_
