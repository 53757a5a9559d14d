// Measures how long it takes to read a batch from the replay and how small its frames are.
#ifndef STABLEAA_RL_REPLAY_REPLAY_BENCHMARK_H_
#define STABLEAA_RL_REPLAY_REPLAY_BENCHMARK_H_

#include <cstdint>

#include "stableaa/env/environment.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay.h"

namespace stableaa {

// Fills a replay with `states` states of a made-up Atari-like game: sprites moving over a fixed
// background, and a score that changes now and then. The pictures are the same each time.
// Every action is the first.
inline constexpr FrameShape kPictureShape = {.stack = 4, .frame_bytes = std::size_t{84} * 84};
void PlayPictures(std::int64_t states, Replay& replay);

// Does the same with the first environment of a batch, under random actions. `layout` is the
// environment's, and the replay must be for its frames. Every stored action is the first discrete
// one, whatever was done.
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
