// The memory of transitions that agents learn from.
//
// Each environment of a batch has a stream of its own (replay_stream.h), so that no stack of frames
// and no return mixes two of them. State k of stream i of n has the id k n + i; an id is never
// reused.
//
// A transition is named by the id of its state s:
//
//   R = r_0 + g r_1 + ... + g^(k-1) r_(k-1)    k = n, or fewer where the episode ends before
//   next state: k states further; discount: g^k, or 0 if the episode terminated within these k
//   steps
//
// so no return and no stack of frames crosses the end of an episode. A transition can be sampled
// once its next state has been stored.
//
// Samples come from the newest `size` states, an equal share (rounded up) of each stream.
//
// Actions are indices, or several numbers each (stored_action.h):
//
//   Replay replay(options, returns, frames, {.count = 6}, 0);    // or {.count = 1, .floats = 17}
//   replay.Begin(observation);
//   replay.Add({2}, reward, terminated, truncated, next);        // or {.values = torques}
#ifndef STABLEAA_RL_REPLAY_REPLAY_H_
#define STABLEAA_RL_REPLAY_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/replay/replay_stream.h"
#include "stableaa/rl/replay/stored_action.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class Config;
class FrameCodec;
class PriorityTree;
class RandomStream;

enum class Compression { kNone, kLz4, kZstd };

// Each with its user-visible name.
const std::vector<std::pair<std::string, Compression>>& Compressions();

// Keys replay.*.
struct ReplayOptions {
  // How many of the newest states can be sampled, 1 to 2^40. An 84×84 Atari frame takes 7 KB
  // uncompressed.
  std::int64_t size = 100'000;

  // Steps in the environment before learning starts, 1 to 2^40.
  std::int64_t start = 5'000;

  // Compression of the stored frames. kLz4 makes Atari frames about 7 times smaller and reads a
  // batch in well under a millisecond; kZstd is even smaller and slower.
  Compression compression = Compression::kNone;

  // Sample in proportion to (|TD error| + priority_floor)^priority_exponent instead of uniformly
  // (Schaul et al. 2016). Without it, the options below have no effect.
  bool prioritized = false;

  // How strongly priorities matter, 0 (uniform) to 1.
  double priority_exponent = 0.6;

  // Added to every |TD error| so that no transition is forgotten; 1e-12 to 1e6.
  double priority_floor = 1e-6;

  // Exponent of the importance weights in the first step, 0 to 1. 1 fully corrects the bias of
  // prioritised sampling, 0 leaves it.
  double importance_start = 0.4;

  // Steps in the environment over which that exponent grows linearly to 1, 0 to 2^40. With 0 it is
  // 1 from the start.
  std::int64_t importance_steps = 1'000'000;

  // Throws BadInput.
  void Validate() const;
};

void Describe(Config& config, ReplayOptions& options);

// What the replay needs to know about the agent.
struct ReturnOptions {
  int n_step = 1;
  double discount = 0.99;
};

// Transitions with copies of their frames; the replay may change in the meantime.
struct ReplayBatch {
  std::vector<std::int64_t> ids, next_ids;
  std::vector<int> actions;          // their indices, all 0 if they are continuous
  std::vector<float> action_values;  // count × floats; empty if they are discrete
  std::vector<float> rewards;        // R
  std::vector<float> discounts;      // of the next state's value; 0 if there is none
  // Importance weights of prioritised replay, at most 1; empty for uniform samples.
  std::vector<float> weights;
  // count × stack pointers into `storage`, some of them equal.
  std::vector<const std::uint8_t*> frames, next_frames;
  std::vector<std::uint8_t> storage;

  std::size_t count() const { return ids.size(); }
  // The `stack` frames of state or next state j.
  std::span<const std::uint8_t* const> State(std::size_t j, int stack) const;
  std::span<const std::uint8_t* const> Next(std::size_t j, int stack) const;
};

// Not thread-safe, not even its const methods. Misuse (two episodes of a stream at once, reading an
// id that is not a transition) throws std::logic_error.
class Replay {
 public:
  static constexpr int kMaxStreams = 1024;

  // `reserve`: states of a stream that stay readable after they become too old to be sampled, for
  // batches that are sampled ahead of their use.
  Replay(const ReplayOptions& options, const ReturnOptions& returns, const FrameShape& shape,
         const ActionShape& actions, std::int64_t reserve, int streams = 1);
  ~Replay();
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;

  // Begins an episode. The observation is `stack` frames, oldest first.
  void Begin(std::span<const std::uint8_t> observation, int stream = 0);
  // Adds the action taken in the stream's newest state and its outcome. If the episode has ended,
  // `next` is its last observation, and Begin must follow. An action of another shape is misuse.
  void Add(const TakenAction& action, float reward, bool terminated, bool truncated,
           std::span<const std::uint8_t> next, int stream = 0);

  // Transitions that can be sampled now.
  std::int64_t transitions() const;
  std::int64_t states() const;  // stored
  // Ids of states that can be sampled are different modulo this; it is at least options.size.
  std::int64_t slots() const { return slots_; }
  static std::int64_t Slots(const ReplayOptions& options, int streams);
  int stream_count() const { return static_cast<int>(streams_.size()); }
  const ReplayStream& stream(int i) const { return streams_[static_cast<std::size_t>(i)]; }

  // Throws BadInput unless a stream's share of the states is longer than a return.
  static void RequireRoomForReturns(const ReplayOptions& options, int n_step, int streams);

  // Whether Read accepts `id` as a transition.
  bool Holds(std::int64_t id) const;

  // Draws `count` ids, each transition equally likely, with replacement. Needs transitions() > 0.
  void SampleUniform(int count, RandomStream& random, std::vector<std::int64_t>& ids) const;

  // Samples in proportion to priority^exponent, stratified (Schaul et al. 2016), with importance
  // weights (N p)^-b divided by the largest of the batch. Without options.prioritized: uniformly
  // and without weights.
  void Sample(int count, double importance, RandomStream& random, std::vector<std::int64_t>& ids,
              std::vector<float>& weights) const;

  // Fills the batch except for `weights`. At most `reserve` states may have been added to a stream
  // since the ids were sampled.
  void Read(std::span<const std::int64_t> ids, ReplayBatch& batch) const;

  // Sets priorities from the TD error of each id; ids that are gone are ignored. New transitions
  // get the largest priority so far. Throws WorkFailed, without changing anything, if an error is
  // not finite. Does nothing unless options.prioritized.
  void SetPriorities(std::span<const std::int64_t> ids, std::span<const float> errors);

  // Bytes in use; and bytes per stored frame, counting frames only.
  std::uint64_t bytes() const;
  double bytes_per_frame() const;
  // Estimates the size of a full replay. Assumes that compression shrinks frames to a seventh;
  // Atari's take 163 to 806 bytes, depending on the game.
  static std::uint64_t EstimateBytes(const ReplayOptions& options, const FrameShape& shape,
                                     const ActionShape& actions, std::int64_t reserve,
                                     int streams = 1);

  // Checkpoints. SaveSegments writes the full segments that `directory` does not have yet and makes
  // them durable together. Save writes everything else, including the numbers and checksums of
  // these segments. RemoveOldSegments, called once Save's output is safe on disk, deletes the files
  // that the last SaveSegments did not count. Load throws BadInput, naming the file and the
  // problem, and then changes nothing; actions that do not exist are an error too. It ignores
  // segment files that the state does not name; the next SaveSegments replaces them.
  void SaveSegments(const std::filesystem::path& directory);
  void Save(ByteWriter& out) const;
  void RemoveOldSegments(const std::filesystem::path& directory) const;
  void Load(ByteReader& in, const std::filesystem::path& directory);

 private:
  std::int64_t Id(int stream, std::int64_t id) const;
  std::int64_t IdIn(std::size_t slot) const;
  const ReplayStream& StreamOf(std::int64_t id) const;
  std::size_t Slot(std::int64_t id) const;
  bool CanBeSampled(std::int64_t id) const;
  void ForgetPriority(int stream);

  std::uint8_t* ReadFrames(const ReplayStream::Reading& reading, std::size_t j, std::uint8_t* out,
                           ReplayBatch& batch) const;

  void SaveOptions(ByteWriter& out) const;
  void LoadState(ByteReader& in, const std::filesystem::path& directory);
  void LoadPriorities(ByteReader& in);
  void LoadPriorities(ByteReader& in, int stream);

  ReplayOptions options_;
  ReturnOptions returns_;
  FrameShape shape_;
  ActionShape actions_;
  std::int64_t reserve_;
  std::int64_t slots_;
  std::unique_ptr<FrameCodec> codec_;
  std::vector<ReplayStream> streams_;
  mutable std::vector<ReplayStream::Reading> readings_;  // Read's, kept to be allocated once

  // Only if options.prioritized. Leaf id % slots() holds priority^exponent of state `id`, or 0 if
  // it cannot be sampled.
  std::unique_ptr<PriorityTree> priorities_;
  double max_priority_ = 1;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_REPLAY_H_
