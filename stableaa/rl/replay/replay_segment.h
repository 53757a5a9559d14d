// A piece of the replay: consecutive states and all their frames.
//
// A segment begins with all frames of its first state, even those that the previous segment already
// has, so each segment can be read, checked and dropped on its own.
//
// Compressed frames come in groups of 4. The first, the key, is compressed by itself, the others as
// their XOR with it, which is mostly zeros.
#ifndef STABLEAA_RL_REPLAY_REPLAY_SEGMENT_H_
#define STABLEAA_RL_REPLAY_REPLAY_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/rl/replay/frame_codec.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/stored_action.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

struct StateRecord {
  std::uint32_t newest_frame = 0;  // within the segment; the rest of the stack precedes it
  std::int32_t action = -1;        // its index; -1: none, or not yet
  float reward = 0;                // for the action, like the flags
  bool terminated = false;
  bool truncated = false;

  bool ended() const { return terminated || truncated; }
};

// Not thread-safe.
class ReplaySegment {
 public:
  // An empty segment. The codec is for frames of `shape` and must outlive the segment.
  ReplaySegment(std::int64_t number, const FrameShape& shape, const ActionShape& actions,
                FrameCodec& codec);

  // Reads a segment written by Save and decodes every frame as a check. Throws BadInput unless it
  // is segment `number` with that many states, actions that exist and finite numbers.
  ReplaySegment(ByteReader& in, std::int64_t number, std::size_t states, const FrameShape& shape,
                const ActionShape& actions, FrameCodec& codec);

  // Adds a state. Only the last `new_frames` frames of its observation are new.
  void Add(std::span<const std::uint8_t> observation, int new_frames);
  // Sets action, reward and flags of the newest state to those of `outcome`. A continuous action
  // has `values`.
  void SetOutcome(const StateRecord& outcome, std::span<const float> values = {});
  // Frees memory that is needed only for growing.
  void Close();

  std::int64_t number() const { return number_; }
  std::size_t states() const { return states_.size(); }
  std::size_t frames() const { return frames_; }
  const StateRecord& state(std::size_t i) const { return states_[i]; }
  // The numbers of state i's continuous action; zeros if it has no action.
  std::span<const float> action_values(std::size_t i) const {
    return std::span(action_values_).subspan(i * actions_.values(), actions_.values());
  }

  // Decodes frames [first, first + count) into count × frame_bytes bytes. Returns false if one is
  // damaged, which the constructor rules out.
  [[nodiscard]] bool ReadFrames(std::size_t first, std::size_t count, std::uint8_t* out) const;

  // On disk (binary_io.h): U64 number, U32 states, U32 frames; for each state U32 newest frame,
  // U32 action (two's complement), U32 reward (its bits), U8 terminated + 2 truncated; for each
  // state the numbers of its continuous action, U32 each (their bits), zeros without an action; for
  // each frame U32 bytes of its blob, unless frames are not compressed; Text of all blobs.
  void Save(ByteWriter& out) const;

  std::uint64_t frame_bytes() const;  // of frames and their index
  std::uint64_t bytes() const;        // of everything

 private:
  void AddFrame(std::span<const std::uint8_t> frame);
  bool compressed() const { return codec_->compression() != Compression::kNone; }
  std::span<const std::uint8_t> Blob(std::size_t frame) const;
  bool ReadGroup(std::size_t first, std::size_t count, std::uint8_t* out) const;
  void LoadStates(ByteReader& in, std::size_t count);
  void LoadActionValues(ByteReader& in);
  void LoadFrames(ByteReader& in);
  void CheckFrames(ByteReader& in) const;

  std::int64_t number_;
  FrameShape shape_;
  ActionShape actions_;
  FrameCodec* codec_;
  std::vector<StateRecord> states_;
  std::vector<float> action_values_;  // of each state, actions_.floats numbers
  std::size_t frames_ = 0;
  std::vector<std::uint8_t> blobs_;
  std::vector<std::uint32_t> ends_;  // where each blob ends, if compressed
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_REPLAY_SEGMENT_H_
