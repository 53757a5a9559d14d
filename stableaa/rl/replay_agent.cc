#include "stableaa/rl/replay_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/saved_number.h"

namespace stableaa {

ReplayAgent::ReplayAgent(const RunOptions& options, const EnvironmentSpec& spec,
                         const ActionShape& actions, std::int64_t reserve)
    : options_(options),
      layout_(spec),
      replay_(options.replay, {options.agent.n_step, options.agent.discount}, layout_.frames(),
              actions, reserve, options.env.num_envs),
      encoded_(layout_.frames().observation_bytes()) {}

std::span<const std::uint8_t> ReplayAgent::Encode(const Observations& observations,
                                                  int environment) {
  layout_.Encode(observations, static_cast<std::size_t>(environment), encoded_);
  return encoded_;
}

void ReplayAgent::Begin(int environment, const Observations& observations) {
  replay_.Begin(Encode(observations, environment), environment);
}

void ReplayAgent::RememberAction(int environment, const TakenAction& action,
                                 const ActionOutcome& outcome) {
  replay_.Add(action, static_cast<float>(outcome.reward), outcome.terminated, outcome.truncated,
              Encode(outcome.next, environment), environment);
}

bool ReplayAgent::UpdateIsDue(std::int64_t step) const {
  return step > options_.replay.start && step % options_.train.update_interval_steps == 0 &&
         replay_.transitions() > 0;
}

void ReplayAgent::AddReplayMetrics(AgentMetrics& metrics) const {
  metrics.memory.Add("replay_states", static_cast<double>(replay_.states()));
  metrics.wall.Add("wall_replay_bytes_per_frame", replay_.bytes_per_frame());
}

void ReplayAgent::SaveFiles(const std::filesystem::path& directory) {
  replay_.SaveSegments(directory);
}

void ReplayAgent::RemoveOldFiles(const std::filesystem::path& directory) const {
  replay_.RemoveOldSegments(directory);
}

void ReplayAgent::CheckLoaded(const ByteReader& in, const RunPosition& position) {
  const auto [step, episodes, observations] = position;
  const int envs = replay_.stream_count();
  std::int64_t met = 0;
  for (int i = 0; i < envs; ++i) met += replay_.stream(i).next_id();
  ExpectCount(in, "states that the replay has met",
              static_cast<std::uint64_t>(step + episodes + envs), static_cast<std::uint64_t>(met));
  for (int i = 0; i < envs; ++i) {
    const ReplayStream& stream = replay_.stream(i);
    if (stream.next_id() <= step / envs || !stream.in_episode() ||
        !std::ranges::equal(Encode(observations, i), stream.newest_observation())) {
      throw in.Wrong("expected the environment's observation as the newest of the replay");
    }
  }
  const std::int64_t interval = options_.train.update_interval_steps;
  const std::int64_t due = step / interval - std::min(step, options_.replay.start) / interval;
  if (updates() > due) {
    throw in.Wrong(
        fmt::format("expected at most {} updates in {} steps, found {}", due, step, updates()));
  }
}

}  // namespace stableaa
