// How long a batch out of the replay takes, and how small its frames are.
#ifndef STABLEAA_RL_REPLAY_REPLAY_BENCHMARK_H_
#define STABLEAA_RL_REPLAY_REPLAY_BENCHMARK_H_

#include <cstdint>

#include "stableaa/env/environment.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"

namespace stableaa {

// Fills a replay with `states` states of a made-up game that looks like one of Atari's: sprites
// moving over a fixed background, and a score that changes now and then. The pictures are the same
// each time.
inline constexpr FrameShape kPictureShape = {.stack = 4, .frame_bytes = std::size_t{84} * 84};
void PlayPictures(std::int64_t states, Replay& replay);

// The same with an environment under random actions, the first of its batch. The replay is for the
// frames of `layout`, which is that of the environment.
void PlayRandomly(Environment& environment, const ObservationLayout& layout, std::int64_t states,
                  Replay& replay);

inline constexpr int kReplayBenchmarkBatch = 32;

struct ReplayTiming {
  double us_per_batch = 0;  // to sample 32 transitions and read them; median
  double bytes_per_frame = 0;
};

// Takes about `seconds`. Needs replay.transitions() > 0.
ReplayTiming MeasureReplay(const Replay& replay, double seconds = 1);

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_REPLAY_BENCHMARK_H_
