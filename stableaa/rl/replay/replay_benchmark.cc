#include "stableaa/rl/replay/replay_benchmark.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "stableaa/core/median.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/fixed_policy.h"

namespace stableaa {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr int kSide = 84;
constexpr int kEpisodeSteps = 1000;

using Frame = std::array<std::uint8_t, kPictureShape.frame_bytes>;

void Paint(Frame& frame, int x, int y, std::uint8_t gray) {
  const int place = y * kSide + x;
  frame[static_cast<std::size_t>(place)] = gray;
}

// Bands of gray, bricks in the upper part and some dirt below.
Frame Background() {
  RandomStream random(kSeed, "background");
  Frame frame;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const bool brick = y >= 12 && y < 36 && (x + 4 * (y / 4 % 2)) % 8 != 0 && y % 4 != 0;
      const bool dirt = y >= 60 && random.Bernoulli(.1);
      Paint(frame, x, y, static_cast<std::uint8_t>(brick ? 60 + 10 * (y / 4) : dirt ? 90 : y / 28));
    }
  }
  return frame;
}

// A box of pixels that moves and bounces off the borders.
struct Sprite {
  int x, y, dx, dy;
  std::uint64_t pixels;  // 8 × 8

  void Move() {
    constexpr int kMost = kSide - 8;
    x += dx;
    y += dy;
    if (x < 0 || x > kMost) dx = -dx;
    if (y < 10 || y > kMost) dy = -dy;
    x = std::clamp(x, 0, kMost);
    y = std::clamp(y, 10, kMost);
  }

  void PaintOn(Frame& frame, std::uint8_t gray) const {
    for (int i = 0; i < 64; ++i) {
      if ((pixels >> i & 1) != 0) Paint(frame, x + i % 8, y + i / 8, gray);
    }
  }
};

class PictureGame {
 public:
  PictureGame() : background_(Background()), random_(kSeed, "sprites") {
    for (int i = 0; i < 6; ++i) {
      sprites_.push_back({.x = static_cast<int>(random_.Below(76)),
                          .y = static_cast<int>(10 + random_.Below(66)),
                          .dx = static_cast<int>(random_.Integer(-2, 2)),
                          .dy = static_cast<int>(random_.Integer(-2, 2)),
                          .pixels = random_() | random_()});
    }
  }

  void Step(Frame& frame) {
    frame = background_;
    if (random_.Bernoulli(1. / 30)) score_ = random_();
    for (int digit = 0; digit < 4; ++digit) {
      const Sprite glyph = {8 + 10 * digit, 1, 0, 0, score_ * 0x9e3779b97f4a7c15U >> digit};
      glyph.PaintOn(frame, 200);
    }
    for (Sprite& sprite : sprites_) {
      sprite.Move();
      sprite.PaintOn(frame, 140);
    }
  }

 private:
  const Frame background_;
  RandomStream random_;
  std::vector<Sprite> sprites_;
  std::uint64_t score_ = 0;
};

}  // namespace

void PlayPictures(std::int64_t states, Replay& replay) {
  PictureGame game;
  Frame frame;
  std::vector<std::uint8_t> observation(kPictureShape.observation_bytes());
  for (std::int64_t step = 0; step < states; ++step) {
    game.Step(frame);
    std::memmove(observation.data(), observation.data() + frame.size(),
                 observation.size() - frame.size());
    std::ranges::copy(frame, observation.end() - static_cast<std::ptrdiff_t>(frame.size()));
    if (step % kEpisodeSteps == 0) {
      replay.Begin(observation);
    } else {
      replay.Add({0}, 0, (step + 1) % kEpisodeSteps == 0, false, observation);
    }
  }
}

void PlayRandomly(Environment& environment, const ObservationLayout& layout, std::int64_t states,
                  Replay& replay) {
  FixedPolicy policy("random", environment.spec(), kSeed);
  std::vector<std::uint8_t> observation(layout.frames().observation_bytes());
  const auto encode = [&](const Observations& observations) -> std::span<const std::uint8_t> {
    layout.Encode(observations, 0, observation);
    return observation;
  };
  const std::int64_t end = replay.stream(0).next_id() + states;
  environment.Reset(kSeed);
  replay.Begin(encode(environment.observations()));
  while (replay.stream(0).next_id() < end) {
    environment.Step(policy.Act(environment.observations()));
    const bool ended = environment.ended(0);
    replay.Add({0}, static_cast<float>(environment.rewards()[0]), environment.terminated()[0] != 0,
               environment.truncated()[0] != 0,
               encode(ended ? environment.final_observations() : environment.observations()));
    if (ended) replay.Begin(encode(environment.observations()));
  }
}

ReplayTiming MeasureReplay(const Replay& replay, double seconds) {
  RandomStream random(kSeed, "sample");
  ReplayBatch batch;
  std::vector<double> times;
  const Stopwatch whole;
  do {
    const Stopwatch one;
    replay.Sample(kReplayBenchmarkBatch, 1, random, batch.ids, batch.weights);
    replay.Read(batch.ids, batch);
    times.push_back(one.Seconds());
  } while (whole.Seconds() < seconds);
  return {.us_per_batch = 1e6 * Median(times), .bytes_per_frame = replay.bytes_per_frame()};
}

}  // namespace stableaa
