// The states of one environment in the order in which they were met: its episodes, one after
// another.
//
// States are numbered from 0; a number ("id") is never reused. A state is an observation with the
// action taken in it, or the last observation of its episode, with no action. Frames that
// consecutive observations share are stored once: an observation whose first frames are the newest
// of the previous one adds only the rest. The first state of a segment stores all of its frames,
// which keeps segments independent of each other.
//
// States are kept in segments of a fixed number of states. A full segment never changes, so
// checkpoints write it to a file only once. The oldest segment is dropped once the others hold
// size + reserve states.
#ifndef STABLEAA_RL_REPLAY_REPLAY_STREAM_H_
#define STABLEAA_RL_REPLAY_REPLAY_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/stored_action.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class FrameCodec;
class ReplaySegment;
struct ReplayBatch;
struct StateRecord;

struct ReplayStreamOptions {
  std::int64_t size = 0;     // how many of the newest states can be sampled
  std::int64_t reserve = 0;  // how many older ones stay readable
  std::int64_t segment_states = 1;
  int n_step = 1;
  double discount = 0.99;
  FrameShape shape = {};
  ActionShape actions = {};
  std::string file_prefix = {};  // of the names of its files
};

// Not thread-safe, not even its const methods. Misuse throws std::logic_error.
class ReplayStream {
 public:
  // The codec must outlive it.
  ReplayStream(ReplayStreamOptions options, FrameCodec& codec);
  ~ReplayStream();
  ReplayStream(ReplayStream&&) noexcept;
  ReplayStream& operator=(ReplayStream&&) noexcept;

  // Begins an episode; see Replay.
  void Begin(std::span<const std::uint8_t> observation);
  void Add(const TakenAction& action, float reward, bool terminated, bool truncated,
           std::span<const std::uint8_t> next);

  std::int64_t next_id() const { return next_id_; }
  std::int64_t first_id() const;      // the oldest stored
  std::int64_t window_begin() const;  // first of the newest `size`
  // All transitions before this can be sampled unless they are too old; none from here on.
  std::int64_t first_pending() const { return first_pending_; }
  std::int64_t transitions() const { return transitions_; }
  bool in_episode() const { return in_episode_; }
  std::span<const std::uint8_t> newest_observation() const { return newest_; }

  // Whether a state that is stored has an action.
  bool HasAction(std::int64_t id) const;
  bool CanBeSampled(std::int64_t id) const;
  bool Holds(std::int64_t id) const;

  // What is still to be copied of a transition. Frames [first, first + count) of a segment; for the
  // next state, count is 0 if its frames are the last ones of the first run.
  struct Reading {
    struct Run {
      const ReplaySegment* segment = nullptr;
      std::size_t first = 0;
      std::size_t count = 0;
    };
    Run state, next;
    std::int64_t next_id = 0;

    std::size_t count() const { return state.count + next.count; }
  };
  // Sets the action's index, the return and the discount of entry j of the batch to those of
  // transition `id`.
  Reading Read(std::int64_t id, std::size_t j, ReplayBatch& batch) const;

  std::uint64_t bytes() const;
  std::uint64_t frame_bytes() const;  // of frames only
  std::uint64_t frames() const;

  // As Replay's, but `directory` must exist, and the caller syncs it if SaveSegments returns true:
  // there were files to write.
  bool SaveSegments(const std::filesystem::path& directory);
  void Save(ByteWriter& out) const;
  // Whether a file of this name is a segment of this stream that the last SaveSegments did not
  // count.
  bool IsOldSegment(const std::string& name) const;
  // Only for a new stream. After an error it is unusable.
  void Load(ByteReader& in, const std::filesystem::path& directory);

 private:
  // Where a stored state is.
  struct Place {
    std::size_t segment = 0;  // of segments_
    std::size_t state = 0;    // of that segment
  };

  void Push(std::span<const std::uint8_t> observation);
  int NewFrames(std::span<const std::uint8_t> observation) const;
  void DropOldSegments();
  Place PlaceOf(std::int64_t id) const;
  Place After(const Place& place) const;
  const StateRecord& RecordAt(const Place& place) const;
  const StateRecord& RecordOf(std::int64_t id) const { return RecordAt(PlaceOf(id)); }
  Reading Locate(const Place& state, const Place& next) const;

  std::string SegmentName(std::int64_t number) const;
  std::int64_t SegmentNumber(const std::string& name) const;
  void LoadSegments(ByteReader& in, const std::filesystem::path& directory);
  void LoadSegment(const std::filesystem::path& file, std::int64_t number, std::uint32_t checksum);
  void CheckEpisodes(const ByteReader& in) const;
  void FindEligible();

  ReplayStreamOptions options_;
  FrameCodec* codec_;

  // The last one is open. State `id` is in the segment with number id / segment_states.
  std::deque<std::unique_ptr<ReplaySegment>> segments_;
  std::int64_t next_id_ = 0;
  bool in_episode_ = false;
  std::vector<std::uint8_t> newest_;  // observation
  std::int64_t first_pending_ = 0;
  std::int64_t transitions_ = 0;

  // Checksums of the full segments that saved_in_ has, from number saved_begin_ on.
  std::filesystem::path saved_in_;
  std::int64_t saved_begin_ = 0;
  std::vector<std::uint32_t> saved_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_REPLAY_STREAM_H_
