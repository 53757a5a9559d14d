#include "stableaa/rl/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <unordered_map>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/replay/frame_codec.h"
#include "stableaa/rl/replay/priority_tree.h"
#include "stableaa/rl/replay/replay_segment.h"
#include "stableaa/rl/replay/replay_stream.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// The open segments of all streams are rewritten in every checkpoint; together they hold about this
// many states. But a segment's first state stores its whole stack, so the usual one is not short.
constexpr std::int64_t kOpenStates = 1024;
constexpr std::int64_t kLeastUsualStates = 128;
// A small replay has at least about this many segments so that it stores little more than `size`.
constexpr std::int64_t kLeastSegments = 8;
// But each segment is a file: those of many streams with a small share each have at least this many
// states, or as many as there are streams.
constexpr std::int64_t kLeastStatesOfMany = 32;
// LZ4 and the 32-bit offsets within a segment require frames and segments below 2 GiB.
constexpr std::size_t kMaxObservationBytes = std::size_t{1} << 28;
constexpr std::size_t kMaxSegmentBytes = std::size_t{1} << 30;
constexpr double kMaxPriority = 1e39;     // errors are floats
constexpr std::uint64_t kUsualRatio = 7;  // of compression

// How many of the newest states each stream has to offer.
std::int64_t StreamSize(const ReplayOptions& options, int streams) {
  return (options.size + streams - 1) / streams;
}

std::int64_t SegmentStates(const ReplayOptions& options, const FrameShape& shape, int streams) {
  const auto fitting = static_cast<std::int64_t>(kMaxSegmentBytes / shape.observation_bytes());
  const std::int64_t most = std::min(std::max(kOpenStates / streams, kLeastUsualStates), fitting);
  const std::int64_t least = std::min({std::int64_t{streams}, kLeastStatesOfMany, most});
  return std::clamp<std::int64_t>(StreamSize(options, streams) / kLeastSegments, least, most);
}

// Of the names of a stream's files.
std::string FilePrefix(int stream, int streams) {
  return streams == 1 ? "" : fmt::format("stream-{:04}-", stream);
}

void CheckShape(const FrameShape& shape) {
  if (shape.stack < 1 || shape.frame_bytes < 1 || shape.frame_bytes > kMaxObservationBytes ||
      shape.observation_bytes() > kMaxObservationBytes) {
    throw BadInput(fmt::format("expected observations of 1 to {} bytes, found {} frames of {}",
                               kMaxObservationBytes, shape.stack, shape.frame_bytes));
  }
}

void CheckActions(const ActionShape& actions) {
  const bool possible = actions.floats == 0 ? actions.count >= 1
                                            : actions.count == 1 && actions.floats > 0 &&
                                                  actions.floats <= ActionShape::kMaxFloats;
  if (possible) return;
  throw BadInput(fmt::format(
      "expected one or more discrete actions, or a continuous one of 1 to {} numbers, found {} of "
      "{} numbers",
      ActionShape::kMaxFloats, actions.count, actions.floats));
}

std::string KindOfActions(std::size_t floats) {
  return floats == 0 ? "discrete actions" : fmt::format("actions of {} numbers", floats);
}

}  // namespace

const std::vector<std::pair<std::string, Compression>>& Compressions() {
  static const std::vector<std::pair<std::string, Compression>> kCompressions = {
      {"none", Compression::kNone}, {"lz4", Compression::kLz4}, {"zstd", Compression::kZstd}};
  return kCompressions;
}

void Describe(Config& config, ReplayOptions& options) {
  constexpr std::int64_t kMaxStates = std::int64_t{1} << 40;
  config.Int("replay.size", &options.size, {1, kMaxStates},
             "States that the memory of transitions holds, the newest ones. An Atari frame of "
             "84x84 takes 7 KB uncompressed.");
  config.Int("replay.start", &options.start, {1, kMaxStates},
             "Steps in the environment before learning starts.");
  config.Choice("replay.compression", &options.compression, Compressions(),
                "Of the stored frames. lz4 makes Atari frames about 7 times smaller and reads a "
                "batch in well under a millisecond; zstd is smaller and slower still.");
  config.Bool("replay.prioritized", &options.prioritized,
              "Sample transitions in proportion to (|TD error| + floor)^exponent instead of "
              "uniformly (Schaul et al. 2016).");
  config.Real("replay.priority_exponent", &options.priority_exponent, {.at_least = 0, .at_most = 1},
              "How strongly priorities count in prioritised sampling; 0 is uniform.");
  config.Real("replay.priority_floor", &options.priority_floor, {.at_least = 1e-12, .at_most = 1e6},
              "Added to every |TD error|, so that no transition is forgotten.");
  config.Real("replay.importance_start", &options.importance_start, {.at_least = 0, .at_most = 1},
              "Exponent of the importance weights that correct prioritised sampling, in the first "
              "step; 1 corrects it fully.");
  config.Int("replay.importance_steps", &options.importance_steps, {0, kMaxStates},
             "Steps in the environment over which the exponent of the importance weights grows "
             "linearly to 1. 0: it is 1 from the beginning.");
}

void ReplayOptions::Validate() const {
  ReplayOptions copy = *this;
  Config config;
  Describe(config, copy);
}

std::span<const std::uint8_t* const> ReplayBatch::State(std::size_t j, int stack) const {
  const auto size = static_cast<std::size_t>(stack);
  return std::span(frames).subspan(j * size, size);
}

std::span<const std::uint8_t* const> ReplayBatch::Next(std::size_t j, int stack) const {
  const auto size = static_cast<std::size_t>(stack);
  return std::span(next_frames).subspan(j * size, size);
}

Replay::Replay(const ReplayOptions& options, const ReturnOptions& returns, const FrameShape& shape,
               const ActionShape& actions, std::int64_t reserve, int streams)
    : options_(options),
      returns_(returns),
      shape_(shape),
      actions_(actions),
      reserve_(reserve),
      slots_(Slots(options, streams)) {
  options.Validate();
  CheckShape(shape);
  CheckActions(actions);
  if (streams < 1 || streams > kMaxStreams) {
    throw BadInput(fmt::format("expected 1 to {} environments, found {}", kMaxStreams, streams));
  }
  RequireRoomForReturns(options, returns.n_step, streams);
  codec_ = std::make_unique<FrameCodec>(options.compression, shape.frame_bytes);
  for (int i = 0; i < streams; ++i) {
    streams_.emplace_back(
        ReplayStreamOptions{.size = StreamSize(options, streams),
                            .reserve = reserve,
                            .segment_states = SegmentStates(options, shape, streams),
                            .n_step = returns.n_step,
                            .discount = returns.discount,
                            .shape = shape,
                            .actions = actions,
                            .file_prefix = FilePrefix(i, streams)},
        *codec_);
  }
  if (options.prioritized) {
    priorities_ = std::make_unique<PriorityTree>(static_cast<std::size_t>(slots_));
  }
}

Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

std::int64_t Replay::Slots(const ReplayOptions& options, int streams) {
  return StreamSize(options, streams) * streams;
}

void Replay::RequireRoomForReturns(const ReplayOptions& options, int n_step, int streams) {
  if (n_step >= 1 && StreamSize(options, streams) > n_step) return;
  throw BadInput(
      fmt::format("replay.size: expected more states{} than the {} steps of a return, found {}",
                  streams == 1 ? "" : fmt::format(" for each of {} environments", streams), n_step,
                  StreamSize(options, streams)));
}

void Replay::Begin(std::span<const std::uint8_t> observation, int stream) {
  ReplayStream& to = streams_.at(static_cast<std::size_t>(stream));
  to.Begin(observation);
  ForgetPriority(stream);
}

void Replay::Add(const TakenAction& action, float reward, bool terminated, bool truncated,
                 std::span<const std::uint8_t> next, int stream) {
  ReplayStream& to = streams_.at(static_cast<std::size_t>(stream));
  const std::int64_t begin = to.first_pending();
  to.Add(action, reward, terminated, truncated, next);
  ForgetPriority(stream);
  if (!priorities_) return;
  for (std::int64_t id = begin; id < to.first_pending(); ++id) {
    priorities_->Set(Slot(Id(stream, id)), max_priority_);
  }
}

// The newest state takes the place of the one that has just become too old.
void Replay::ForgetPriority(int stream) {
  if (!priorities_) return;
  const std::int64_t newest = streams_[static_cast<std::size_t>(stream)].next_id() - 1;
  priorities_->Set(Slot(Id(stream, newest)), 0);
}

std::int64_t Replay::Id(int stream, std::int64_t id) const { return id * stream_count() + stream; }

const ReplayStream& Replay::StreamOf(std::int64_t id) const {
  return streams_[static_cast<std::size_t>(id % stream_count())];
}

// No two states that can be sampled share a slot: a stream's newest ones have consecutive ids.
std::size_t Replay::Slot(std::int64_t id) const { return static_cast<std::size_t>(id % slots_); }

bool Replay::CanBeSampled(std::int64_t id) const {
  return id >= 0 && StreamOf(id).CanBeSampled(id / stream_count());
}

bool Replay::Holds(std::int64_t id) const {
  return id >= 0 && StreamOf(id).Holds(id / stream_count());
}

std::int64_t Replay::transitions() const {
  std::int64_t sum = 0;
  for (const ReplayStream& stream : streams_) sum += stream.transitions();
  return sum;
}

std::int64_t Replay::states() const {
  std::int64_t sum = 0;
  for (const ReplayStream& stream : streams_) sum += stream.next_id() - stream.first_id();
  return sum;
}

void Replay::SampleUniform(int count, RandomStream& random, std::vector<std::int64_t>& ids) const {
  if (transitions() < 1) throw std::logic_error("Replay: no transition to sample");
  ids.clear();
  // All of these can be sampled except the last states of episodes. Each of those follows one that
  // can be sampled or comes first in its stream, so few draws are in vain.
  std::int64_t candidates = 0;
  for (const ReplayStream& stream : streams_) {
    candidates += std::max<std::int64_t>(stream.first_pending() - stream.window_begin(), 0);
  }
  while (ids.size() < static_cast<std::size_t>(count)) {
    std::int64_t left = random.Integer(0, candidates - 1);
    for (int i = 0; i < stream_count(); ++i) {
      const ReplayStream& stream = streams_[static_cast<std::size_t>(i)];
      const std::int64_t begin = stream.window_begin();
      const std::int64_t length = std::max<std::int64_t>(stream.first_pending() - begin, 0);
      if (left >= length) {
        left -= length;
        continue;
      }
      if (stream.HasAction(begin + left)) ids.push_back(Id(i, begin + left));
      break;
    }
  }
}

void Replay::Sample(int count, double importance, RandomStream& random,
                    std::vector<std::int64_t>& ids, std::vector<float>& weights) const {
  weights.clear();
  if (!priorities_) return SampleUniform(count, random, ids);
  if (transitions() < 1) throw std::logic_error("Replay: no transition to sample");
  ids.clear();
  double least = std::numeric_limits<double>::infinity();
  for (int j = 0; j < count; ++j) {
    const double prefix = (j + random.Uniform()) / count * priorities_->total();
    const std::size_t slot = priorities_->Find(prefix);
    ids.push_back(IdIn(slot));
    least = std::min(least, (*priorities_)[slot]);
  }
  // The number of transitions and the sum of priorities cancel in (N p_i)^-b / (N p_min)^-b.
  for (const std::int64_t id : ids) {
    weights.push_back(static_cast<float>(std::pow(least / (*priorities_)[Slot(id)], importance)));
  }
}

// The state that can be sampled, or could be, in this slot.
std::int64_t Replay::IdIn(std::size_t slot) const {
  const auto stream = static_cast<int>(slot % streams_.size());
  const auto place = static_cast<std::int64_t>(slot / streams_.size());
  const std::int64_t begin = streams_[static_cast<std::size_t>(stream)].window_begin();
  const std::int64_t size = slots_ / stream_count();
  const std::int64_t after_begin = place - begin % size;
  return Id(stream, begin + after_begin + (after_begin < 0 ? size : 0));
}

void Replay::Read(std::span<const std::int64_t> ids, ReplayBatch& batch) const {
  if (ids.data() != batch.ids.data()) batch.ids.assign(ids.begin(), ids.end());
  const std::size_t count = batch.ids.size();
  const std::size_t pointers = count * static_cast<std::size_t>(shape_.stack);
  batch.next_ids.resize(count);
  batch.actions.resize(count);
  batch.action_values.resize(count * actions_.values());
  batch.rewards.resize(count);
  batch.discounts.resize(count);
  batch.frames.resize(pointers);
  batch.next_frames.resize(pointers);
  readings_.resize(count);
  std::size_t frames = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const std::int64_t id = batch.ids[j];
    if (id < 0) throw std::logic_error(fmt::format("Replay::Read: {} is not a transition", id));
    const std::int64_t in_stream = id / stream_count();
    const auto stream = static_cast<int>(id - in_stream * stream_count());
    readings_[j] = streams_[static_cast<std::size_t>(stream)].Read(in_stream, j, batch);
    batch.next_ids[j] = Id(stream, readings_[j].next_id);
    frames += readings_[j].count();
  }
  if (batch.storage.size() < frames * shape_.frame_bytes) {
    batch.storage.resize(frames * shape_.frame_bytes);
  }
  std::uint8_t* out = batch.storage.data();
  for (std::size_t j = 0; j < count; ++j) out = ReadFrames(readings_[j], j, out, batch);
}

// Reads the frames of entry j to `out` and returns their end.
std::uint8_t* Replay::ReadFrames(const ReplayStream::Reading& reading, std::size_t j,
                                 std::uint8_t* out, ReplayBatch& batch) const {
  const std::size_t size = shape_.frame_bytes;
  std::uint8_t* const end = out + reading.count() * size;
  bool sound = reading.state.segment->ReadFrames(reading.state.first, reading.state.count, out);
  if (reading.next.count > 0) {
    sound = sound && reading.next.segment->ReadFrames(reading.next.first, reading.next.count,
                                                      out + reading.state.count * size);
  }
  if (!sound) throw WorkFailed("a compressed frame of the replay is damaged");
  const auto stack = static_cast<std::size_t>(shape_.stack);
  for (std::size_t i = 0; i < stack; ++i) {
    batch.frames[j * stack + i] = out + i * size;
    batch.next_frames[j * stack + i] = end - (stack - i) * size;
  }
  return end;
}

void Replay::SetPriorities(std::span<const std::int64_t> ids, std::span<const float> errors) {
  if (!priorities_) return;
  if (ids.size() != errors.size()) throw std::logic_error("Replay::SetPriorities: sizes differ");
  for (const float error : errors) {
    if (!std::isfinite(error)) {
      throw WorkFailed(fmt::format("expected a finite TD error as a priority, found {}", error));
    }
  }
  for (std::size_t j = 0; j < ids.size(); ++j) {
    if (!CanBeSampled(ids[j])) continue;
    const double size = std::abs(static_cast<double>(errors[j]));
    const double priority = std::pow(size + options_.priority_floor, options_.priority_exponent);
    priorities_->Set(Slot(ids[j]), priority);
    max_priority_ = std::max(max_priority_, priority);
  }
}

std::uint64_t Replay::bytes() const {
  std::uint64_t sum = sizeof(*this) + (priorities_ ? priorities_->bytes() : 0);
  for (const ReplayStream& stream : streams_) sum += stream.bytes();
  return sum;
}

double Replay::bytes_per_frame() const {
  std::uint64_t sum = 0;
  std::uint64_t frames = 0;
  for (const ReplayStream& stream : streams_) {
    sum += stream.frame_bytes();
    frames += stream.frames();
  }
  return frames == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(frames);
}

std::uint64_t Replay::EstimateBytes(const ReplayOptions& options, const FrameShape& shape,
                                    const ActionShape& actions, std::int64_t reserve, int streams) {
  CheckShape(shape);
  CheckActions(actions);
  // One new frame per state, plus the whole stack for the first state of each segment.
  const std::int64_t segment_states = SegmentStates(options, shape, streams);
  const std::int64_t segments = (StreamSize(options, streams) + reserve) / segment_states + 2;
  const bool compressed = options.compression != Compression::kNone;
  const std::size_t per_frame =
      compressed ? shape.frame_bytes / kUsualRatio + sizeof(std::uint32_t) : shape.frame_bytes;
  const double per_segment =
      static_cast<double>(segment_states + shape.stack - 1) * static_cast<double>(per_frame) +
      static_cast<double>(segment_states) *
          static_cast<double>(sizeof(StateRecord) + actions.values() * sizeof(float)) +
      sizeof(ReplaySegment);
  double sum = per_segment * static_cast<double>(segments) * streams;
  if (options.prioritized) {
    sum += static_cast<double>(
        PriorityTree::EstimateBytes(static_cast<std::uint64_t>(Slots(options, streams))));
  }
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  return sum < static_cast<double>(kMax) ? static_cast<std::uint64_t>(sum) : kMax;
}

void Replay::SaveSegments(const fs::path& directory) {
  MakeDirectories(directory);
  bool any = false;
  for (ReplayStream& stream : streams_) any |= stream.SaveSegments(directory);
  if (any) SyncDirectory(directory);
}

// Format: U32 stack; U32 numbers per action, 0 if actions are discrete; U64 bytes per frame; I64
// size; U64 compression; U64 steps of a return; F64 discount; Bool prioritised; F64 exponent and F64
// floor of priorities.
void Replay::SaveOptions(ByteWriter& out) const {
  out.U32(static_cast<std::uint32_t>(shape_.stack));
  out.U32(static_cast<std::uint32_t>(actions_.floats));
  out.U64(shape_.frame_bytes);
  out.I64(options_.size);
  out.U64(static_cast<std::uint64_t>(options_.compression));
  out.U64(static_cast<std::uint64_t>(returns_.n_step));
  out.F64(returns_.discount);
  out.Bool(options_.prioritized);
  out.F64(options_.priority_exponent);
  out.F64(options_.priority_floor);
}

// Format: the options; each stream; if prioritised, F64 largest priority and, for each stream, F64s
// with the priorities of its newest states.
void Replay::Save(ByteWriter& out) const {
  SaveOptions(out);
  for (const ReplayStream& stream : streams_) stream.Save(out);
  if (!priorities_) return;
  out.F64(max_priority_);
  for (int i = 0; i < stream_count(); ++i) {
    const ReplayStream& stream = streams_[static_cast<std::size_t>(i)];
    std::vector<double> priorities;
    for (std::int64_t id = stream.window_begin(); id < stream.next_id(); ++id) {
      priorities.push_back((*priorities_)[Slot(Id(i, id))]);
    }
    out.F64s(priorities);
  }
}

void Replay::RemoveOldSegments(const fs::path& directory) const {
  std::unordered_map<std::string, const ReplayStream*> by_prefix;
  for (int i = 0; i < stream_count(); ++i) {
    by_prefix[FilePrefix(i, stream_count())] = &streams_[static_cast<std::size_t>(i)];
  }
  const std::size_t prefix_length = FilePrefix(0, stream_count()).size();
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator file(directory, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    const auto stream = by_prefix.find(name.substr(0, prefix_length));
    if (stream != by_prefix.end() && stream->second->IsOldSegment(name)) {
      old.push_back(file->path());
    }
  }
  for (const fs::path& file : old) {
    if (!error) fs::remove(file, error);
  }
  if (error) {
    throw SystemError(fmt::format("cannot remove old segments from {}", directory.string()),
                      error.value());
  }
}

void Replay::Load(ByteReader& in, const fs::path& directory) {
  Replay loaded(options_, returns_, shape_, actions_, reserve_, stream_count());
  loaded.LoadState(in, directory);
  *this = std::move(loaded);
}

void Replay::LoadState(ByteReader& in, const fs::path& directory) {
  const auto expect = [&in](const char* what, auto found, auto expected) {
    if (found == expected) return;
    throw in.Wrong(fmt::format("expected a replay with {} {}, found {}", what, expected, found));
  };
  expect("a stack of", in.U32(), static_cast<std::uint32_t>(shape_.stack));
  const std::uint32_t floats = in.U32();
  if (floats != actions_.values()) {
    throw in.Wrong(fmt::format("expected a replay with {}, found one with {}",
                               KindOfActions(actions_.values()), KindOfActions(floats)));
  }
  expect("bytes per frame", in.U64(), std::uint64_t{shape_.frame_bytes});
  expect("replay.size", in.I64(), options_.size);
  expect("compression", in.U64(), static_cast<std::uint64_t>(options_.compression));
  expect("steps per return", in.U64(), static_cast<std::uint64_t>(returns_.n_step));
  expect("a discount of", in.F64(), returns_.discount);
  expect("replay.prioritized", in.Bool(), options_.prioritized);
  expect("replay.priority_exponent", in.F64(), options_.priority_exponent);
  expect("replay.priority_floor", in.F64(), options_.priority_floor);
  for (ReplayStream& stream : streams_) stream.Load(in, directory);
  if (priorities_) LoadPriorities(in);
}

void Replay::LoadPriorities(ByteReader& in) {
  max_priority_ = in.F64();
  if (!(max_priority_ >= 1 && max_priority_ <= kMaxPriority)) {
    throw in.Wrong(
        fmt::format("expected a largest priority of 1 or more, found {}", max_priority_));
  }
  for (int i = 0; i < stream_count(); ++i) LoadPriorities(in, i);
}

void Replay::LoadPriorities(ByteReader& in, int stream) {
  const ReplayStream& of = streams_[static_cast<std::size_t>(stream)];
  std::vector<double> priorities(static_cast<std::size_t>(of.next_id() - of.window_begin()));
  in.F64s(priorities);
  for (std::int64_t id = of.window_begin(); id < of.next_id(); ++id) {
    const double priority = priorities[static_cast<std::size_t>(id - of.window_begin())];
    const bool eligible = of.CanBeSampled(id);
    const bool fits = eligible ? priority > 0 && priority <= max_priority_
                               : priority == 0 && !std::signbit(priority);
    if (!fits) {
      throw in.Wrong(fmt::format("expected a priority of {} for state {}, found {}",
                                 eligible ? fmt::format("(0, {}]", max_priority_) : "0", id,
                                 priority));
    }
    priorities_->Set(Slot(Id(stream, id)), priority);
  }
}

}  // namespace stableaa
