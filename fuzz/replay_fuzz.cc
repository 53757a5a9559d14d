// Saved replays and segments from arbitrary bytes: either a BadInput that changes nothing, or a
// state that saves to the same bytes and can be played on, sampled and read. The first byte chooses
// the compression, priorities, whether the bytes are a single segment, and whether to prepend a
// correct header, to reach the code behind it. The files of full segments are always the same;
// single segments test their content.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "fuzz/accepts.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/replay/frame_codec.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/replay/replay_segment.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa {
namespace {

using Bytes = std::span<const std::byte>;

constexpr FrameShape kShape = {.stack = 2, .frame_bytes = 24};
constexpr std::int64_t kSize = 32;
constexpr ActionShape kDiscrete = {.count = 256}, kContinuous = {.count = 1, .floats = 3};
constexpr int kSegmentStates = kSize / 8;
constexpr std::size_t kOptionBytes = 6 * 8 + 1 + 2 * 8;  // of a saved replay
constexpr std::size_t kNumberBytes = 8 + 4;              // of a saved segment

// An action of that shape. Valid until the next call.
TakenAction ActionOf(const ActionShape& shape, int step) {
  static std::array<float, 3> values;
  if (shape.floats == 0) return {.index = step};
  values.fill(static_cast<float>(step) / 128);
  return {.values = values};
}

// Plays this many steps from the start of an episode; every fifth step ends one.
void Play(Replay& replay, const ActionShape& actions, int stream, int steps) {
  std::vector<std::uint8_t> observation(kShape.observation_bytes());
  const auto next = [&](int step) {
    const auto size = static_cast<std::ptrdiff_t>(kShape.frame_bytes);
    std::rotate(observation.begin(), observation.begin() + size, observation.end());
    std::fill(observation.end() - size, observation.end(), static_cast<std::uint8_t>(step));
    return std::span(observation);
  };
  for (int step = 0; step < steps; ++step) {
    if (step % 5 == 0) {
      replay.Begin(next(step), stream);
    } else {
      replay.Add(ActionOf(actions, step), static_cast<float>(step), step % 10 == 4, step % 10 == 9,
                 next(step), stream);
    }
  }
}

struct Kind {
  ReplayOptions options;
  int streams;
  ActionShape actions;
  TemporaryFolder directory;
  std::vector<std::byte> saved;

  Kind(Compression compression, bool prioritized, int stream_count = 1,
       const ActionShape& shape = kDiscrete)
      : options{.size = kSize, .compression = compression, .prioritized = prioritized},
        streams(stream_count),
        actions(shape) {
    Replay replay = Make();
    for (int i = 0; i < streams; ++i) Play(replay, actions, i, 50 + i);
    replay.SaveSegments(directory.path());
    ByteWriter out;
    replay.Save(out);
    saved.assign(out.bytes().begin(), out.bytes().end());
  }
  Replay Make() const { return {options, {.n_step = 2}, kShape, actions, 0, streams}; }
};

std::vector<std::byte> Joined(Bytes head, Bytes tail) {
  std::vector<std::byte> joined(head.begin(), head.end());
  joined.insert(joined.end(), tail.begin(), tail.end());
  return joined;
}

void TrySegment(Bytes bytes, const Kind& kind) {
  FrameCodec codec(kind.options.compression, kShape.frame_bytes);
  ByteReader in(bytes, "fuzz");
  std::unique_ptr<ReplaySegment> segment;
  if (!Accepts([&] {
        segment =
            std::make_unique<ReplaySegment>(in, 1, kSegmentStates, kShape, kind.actions, codec);
      })) {
    return;
  }
  ByteWriter out;
  segment->Save(out);
  Require(std::ranges::equal(out.bytes(), bytes.first(in.position())));
  std::vector<std::uint8_t> frames(segment->frames() * kShape.frame_bytes);
  Require(segment->ReadFrames(0, segment->frames(), frames.data()));
}

void UseUp(Replay& replay, const ActionShape& actions) {
  RandomStream random(1, "fuzz");
  ReplayBatch batch;
  const std::vector<float> errors(8, 0.5F);
  const std::vector<std::uint8_t> observation(kShape.observation_bytes());
  for (int step = 0; step < 2 * kSize; ++step) {
    if (replay.transitions() > 0) {
      replay.Sample(8, .5, random, batch.ids, batch.weights);
      replay.Read(batch.ids, batch);
      replay.SetPriorities(batch.ids, errors);
    }
    for (int i = 0; i < replay.stream_count(); ++i) {
      if (replay.stream(i).in_episode()) {
        replay.Add(ActionOf(actions, step), 1, step % 7 == 0, false, observation, i);
      } else {
        replay.Begin(observation, i);
      }
    }
  }
  Require(replay.transitions() > 0);
}

void TryReplay(Bytes bytes, const Kind& kind) {
  Replay replay = kind.Make();
  ByteReader in(bytes, "fuzz");
  if (!Accepts([&] { replay.Load(in, kind.directory.path()); })) {
    return Require(replay.stream(0).next_id() == 0);
  }
  ByteWriter out;
  replay.Save(out);
  Require(std::ranges::equal(out.bytes(), bytes.first(in.position())));
  UseUp(replay, kind.actions);
}

void Try(std::uint8_t choice, Bytes bytes) {
  static const std::array<Kind, 10> kinds = {{{Compression::kNone, false},
                                              {Compression::kLz4, false},
                                              {Compression::kZstd, false},
                                              {Compression::kNone, true},
                                              {Compression::kLz4, true},
                                              {Compression::kZstd, true},
                                              {Compression::kNone, false, 2},
                                              {Compression::kNone, true, 2},
                                              {Compression::kNone, true, 1, kContinuous},
                                              {Compression::kLz4, false, 2, kContinuous}}};
  // The last four come after all others, so that the corpus keeps its meaning.
  const std::size_t code = choice % 128;
  const Kind& kind = kinds[code < 120 ? code % 6 : 6 + code % 4];
  const bool is_segment = code < 120 ? code / 6 % 2 == 1 : code >= 126;
  std::vector<std::byte> whole;
  if (choice >= 128) {
    ByteWriter number;
    number.U64(1);
    number.U32(kSegmentStates);
    Require(number.bytes().size() == kNumberBytes);
    whole = Joined(is_segment ? number.bytes() : Bytes(kind.saved).first(kOptionBytes), bytes);
    bytes = whole;
  }
  if (is_segment) {
    TrySegment(bytes, kind);
  } else {
    TryReplay(bytes, kind);
  }
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  stableaa::Try(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
