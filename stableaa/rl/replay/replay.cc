#include "stableaa/rl/replay/replay.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/replay/frame_codec.h"
#include "stableaa/rl/replay/priority_tree.h"
#include "stableaa/rl/replay/replay_segment.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSegmentStates = 1024;
// A small replay has at least about this many segments so that it stores little more than `size`.
constexpr std::int64_t kLeastSegments = 8;
// LZ4 and the 32-bit offsets within a segment require frames and segments below 2 GiB.
constexpr std::size_t kMaxObservationBytes = std::size_t{1} << 28;
constexpr std::size_t kMaxSegmentBytes = std::size_t{1} << 30;
constexpr std::int64_t kMaxId = std::int64_t{1} << 60;
constexpr double kMaxPriority = 1e39;     // errors are floats
constexpr std::uint64_t kUsualRatio = 7;  // of compression

constexpr std::string_view kFileKind = "replay";
constexpr std::uint32_t kFileVersion = 1;

std::int64_t SegmentStates(const ReplayOptions& options, const FrameShape& shape) {
  const auto fitting = static_cast<std::int64_t>(kMaxSegmentBytes / shape.observation_bytes());
  return std::clamp<std::int64_t>(options.size / kLeastSegments, 1,
                                  std::min(kSegmentStates, fitting));
}

void CheckShape(const FrameShape& shape) {
  if (shape.stack < 1 || shape.frame_bytes < 1 || shape.frame_bytes > kMaxObservationBytes ||
      shape.observation_bytes() > kMaxObservationBytes) {
    throw BadInput(fmt::format("expected observations of 1 to {} bytes, found {} frames of {}",
                               kMaxObservationBytes, shape.stack, shape.frame_bytes));
  }
}

std::string SegmentName(std::int64_t number) { return fmt::format("segment-{:08}.bin", number); }

// The number of the segment in a file of this name, or -1 if it is not a segment file.
std::int64_t SegmentNumber(const std::string& name) {
  constexpr std::string_view kPrefix = "segment-";
  std::int64_t number = 0;
  for (std::size_t i = kPrefix.size(); i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i) {
    if (number > kMaxId / 10) return -1;
    number = 10 * number + (name[i] - '0');
  }
  return name == SegmentName(number) ? number : -1;
}

std::uint32_t Checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
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
               std::int64_t reserve)
    : options_(options), returns_(returns), shape_(shape), reserve_(reserve) {
  options.Validate();
  CheckShape(shape);
  if (returns.n_step < 1 || options.size <= returns.n_step) {
    throw BadInput(
        fmt::format("replay.size: expected more states than the {} steps of a return, "
                    "found {}",
                    returns.n_step, options.size));
  }
  segment_states_ = SegmentStates(options, shape);
  codec_ = std::make_unique<FrameCodec>(options.compression, shape.frame_bytes);
  newest_.resize(shape.observation_bytes());
  if (options.prioritized) {
    priorities_ = std::make_unique<PriorityTree>(static_cast<std::size_t>(options.size));
  }
}

Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

void Replay::Begin(std::span<const std::uint8_t> observation) {
  if (in_episode_) throw std::logic_error("Replay::Begin: the episode before has not ended");
  first_pending_ = next_id_;
  Push(observation);
  in_episode_ = true;
}

void Replay::Add(int action, float reward, bool terminated, bool truncated,
                 std::span<const std::uint8_t> next) {
  if (!in_episode_) throw std::logic_error("Replay::Add: no episode has begun");
  if (action < 0) throw std::logic_error("Replay::Add: an action below 0");
  segments_.back()->SetOutcome(
      {.action = action, .reward = reward, .terminated = terminated, .truncated = truncated});
  Push(next);
  in_episode_ = !terminated && !truncated;
  MakeEligible(in_episode_ ? next_id_ - returns_.n_step : next_id_ - 1);
}

void Replay::Push(std::span<const std::uint8_t> observation) {
  if (observation.size() != shape_.observation_bytes()) {
    throw std::logic_error("Replay: an observation of another shape");
  }
  const std::int64_t leaving = next_id_ - options_.size;
  if (leaving >= 0) {
    if (CanBeSampled(leaving)) --transitions_;
    if (priorities_) priorities_->Set(Slot(leaving), 0);
  }
  int new_frames = shape_.stack;
  if (next_id_ % segment_states_ == 0) {
    if (!segments_.empty()) segments_.back()->Close();
    segments_.push_back(
        std::make_unique<ReplaySegment>(next_id_ / segment_states_, shape_, *codec_));
  } else {
    new_frames = NewFrames(observation);
  }
  segments_.back()->Add(observation, new_frames);
  std::ranges::copy(observation, newest_.begin());
  ++next_id_;
  DropOldSegments();
}

// The smallest shift at which the rest of the newest observation is the start of this one.
int Replay::NewFrames(std::span<const std::uint8_t> observation) const {
  for (int shift = 0; shift < shape_.stack; ++shift) {
    const std::size_t skipped = static_cast<std::size_t>(shift) * shape_.frame_bytes;
    if (std::memcmp(observation.data(), newest_.data() + skipped, newest_.size() - skipped) == 0) {
      return shift;
    }
  }
  return shape_.stack;
}

// Call when the pending transitions before `end` have their next states.
void Replay::MakeEligible(std::int64_t end) {
  for (; first_pending_ < end; ++first_pending_) {
    ++transitions_;
    if (priorities_) priorities_->Set(Slot(first_pending_), max_priority_);
  }
}

void Replay::DropOldSegments() {
  while (next_id_ - first_id() - segment_states_ >= options_.size + reserve_) {
    segments_.pop_front();
  }
}

std::int64_t Replay::first_id() const {
  return segments_.empty() ? 0 : segments_.front()->number() * segment_states_;
}

std::int64_t Replay::window_begin() const {
  return std::max<std::int64_t>(0, next_id_ - options_.size);
}

std::size_t Replay::Slot(std::int64_t id) const {
  return static_cast<std::size_t>(id % options_.size);
}

const ReplaySegment& Replay::SegmentOf(std::int64_t id) const {
  return *segments_[static_cast<std::size_t>((id - first_id()) / segment_states_)];
}

const StateRecord& Replay::RecordOf(std::int64_t id) const {
  return SegmentOf(id).state(static_cast<std::size_t>(id % segment_states_));
}

bool Replay::CanBeSampled(std::int64_t id) const {
  return id >= window_begin() && id < first_pending_ && RecordOf(id).action >= 0;
}

bool Replay::Holds(std::int64_t id) const {
  return id >= first_id() && id < first_pending_ && RecordOf(id).action >= 0;
}

std::int64_t Replay::transitions() const { return transitions_; }
std::int64_t Replay::states() const { return next_id_ - first_id(); }
std::int64_t Replay::next_id() const { return next_id_; }

void Replay::SampleUniform(int count, RandomStream& random, std::vector<std::int64_t>& ids) const {
  if (transitions_ < 1) throw std::logic_error("Replay: no transition to sample");
  ids.clear();
  // All of these can be sampled except the last states of episodes. Each of those follows one that
  // can be sampled or comes first, so at least a third of all can.
  const std::int64_t begin = window_begin();
  while (ids.size() < static_cast<std::size_t>(count)) {
    const std::int64_t id = random.Integer(begin, first_pending_ - 1);
    if (RecordOf(id).action >= 0) ids.push_back(id);
  }
}

void Replay::Sample(int count, double importance, RandomStream& random,
                    std::vector<std::int64_t>& ids, std::vector<float>& weights) const {
  weights.clear();
  if (!priorities_) return SampleUniform(count, random, ids);
  if (transitions_ < 1) throw std::logic_error("Replay: no transition to sample");
  ids.clear();
  const std::int64_t begin = window_begin();
  double least = std::numeric_limits<double>::infinity();
  for (int j = 0; j < count; ++j) {
    const double prefix = (j + random.Uniform()) / count * priorities_->total();
    const auto slot = static_cast<std::int64_t>(priorities_->Find(prefix));
    const std::int64_t after_begin = slot - begin % options_.size;
    ids.push_back(begin + after_begin + (after_begin < 0 ? options_.size : 0));
    least = std::min(least, (*priorities_)[static_cast<std::size_t>(slot)]);
  }
  // The number of transitions and the sum of priorities cancel in (N p_i)^-b / (N p_min)^-b.
  for (const std::int64_t id : ids) {
    weights.push_back(static_cast<float>(std::pow(least / (*priorities_)[Slot(id)], importance)));
  }
}

// Frames [first, first + count) of a segment. For the next state, count is 0 if its frames are the
// last ones of the first run.
struct Replay::Reading {
  struct Run {
    const ReplaySegment* segment = nullptr;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  Run state, next;

  std::size_t count() const { return state.count + next.count; }
};

void Replay::Read(std::span<const std::int64_t> ids, ReplayBatch& batch) const {
  if (ids.data() != batch.ids.data()) batch.ids.assign(ids.begin(), ids.end());
  batch.next_ids.clear();
  batch.actions.clear();
  batch.rewards.clear();
  batch.discounts.clear();
  batch.frames.clear();
  batch.next_frames.clear();
  std::vector<Reading> readings;
  readings.reserve(ids.size());
  std::size_t frames = 0;
  for (const std::int64_t id : batch.ids) {
    readings.push_back(Locate(id, ReadReturn(id, batch)));
    frames += readings.back().count();
  }
  if (batch.storage.size() < frames * shape_.frame_bytes) {
    batch.storage.resize(frames * shape_.frame_bytes);
  }
  std::uint8_t* out = batch.storage.data();
  for (const Reading& reading : readings) out = ReadFrames(reading, out, batch);
}

// Reads everything but the frames; returns the id of the next state.
std::int64_t Replay::ReadReturn(std::int64_t id, ReplayBatch& batch) const {
  if (!Holds(id)) {
    throw std::logic_error(fmt::format("Replay::Read: {} is not a transition", id));
  }
  double sum = 0;
  double discount = 1;
  bool terminated = false;
  bool ended = false;
  std::int64_t next = id;
  for (; next < id + returns_.n_step && !ended; ++next) {
    const StateRecord& step = RecordOf(next);
    sum += discount * static_cast<double>(step.reward);
    discount *= returns_.discount;
    terminated = step.terminated;
    ended = step.ended();
  }
  batch.next_ids.push_back(next);
  batch.actions.push_back(RecordOf(id).action);
  batch.rewards.push_back(static_cast<float>(sum));
  batch.discounts.push_back(terminated ? 0.0F : static_cast<float>(discount));
  return next;
}

Replay::Reading Replay::Locate(std::int64_t id, std::int64_t next_id) const {
  const auto stack = static_cast<std::size_t>(shape_.stack);
  const auto run = [&](std::int64_t state) {
    return Reading::Run{&SegmentOf(state), RecordOf(state).newest_frame + 1 - stack, stack};
  };
  Reading reading = {run(id), run(next_id)};
  const std::size_t apart = reading.next.first - reading.state.first;
  if (reading.state.segment == reading.next.segment && apart <= stack) {
    reading.state.count += apart;
    reading.next.count = 0;
  }
  return reading;
}

std::uint8_t* Replay::ReadFrames(const Reading& reading, std::uint8_t* out,
                                 ReplayBatch& batch) const {
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
    batch.frames.push_back(out + i * size);
    batch.next_frames.push_back(end - (stack - i) * size);
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
  std::uint64_t sum = sizeof(*this) + newest_.capacity();
  for (const auto& segment : segments_) sum += segment->bytes();
  return sum + (priorities_ ? priorities_->bytes() : 0);
}

double Replay::bytes_per_frame() const {
  std::uint64_t sum = 0;
  std::uint64_t frames = 0;
  for (const auto& segment : segments_) {
    sum += segment->frame_bytes();
    frames += segment->frames();
  }
  return frames == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(frames);
}

std::uint64_t Replay::EstimateBytes(const ReplayOptions& options, const FrameShape& shape,
                                    std::int64_t reserve) {
  CheckShape(shape);
  // One new frame per state, plus the whole stack for the first state of each segment.
  const std::int64_t segment_states = SegmentStates(options, shape);
  const std::int64_t segments = (options.size + reserve) / segment_states + 2;
  const bool compressed = options.compression != Compression::kNone;
  const std::size_t per_frame =
      compressed ? shape.frame_bytes / kUsualRatio + sizeof(std::uint32_t) : shape.frame_bytes;
  const double per_segment =
      static_cast<double>(segment_states + shape.stack - 1) * static_cast<double>(per_frame) +
      static_cast<double>(segment_states) * sizeof(StateRecord) + sizeof(ReplaySegment);
  double sum = per_segment * static_cast<double>(segments);
  if (options.prioritized) {
    sum +=
        static_cast<double>(PriorityTree::EstimateBytes(static_cast<std::uint64_t>(options.size)));
  }
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  return sum < static_cast<double>(kMax) ? static_cast<std::uint64_t>(sum) : kMax;
}

void Replay::SaveSegments(const fs::path& directory) {
  MakeDirectories(directory);
  if (directory != saved_in_) {
    saved_in_ = directory;
    saved_.clear();
  }
  const std::int64_t oldest = segments_.empty() ? 0 : segments_.front()->number();
  const auto gone = std::min<std::int64_t>(oldest - saved_begin_, std::ssize(saved_));
  saved_.erase(saved_.begin(), saved_.begin() + std::max<std::int64_t>(gone, 0));
  saved_begin_ = oldest;
  while (saved_.size() + 1 < segments_.size()) {
    const ReplaySegment& segment = *segments_[saved_.size()];
    ByteWriter out;
    segment.Save(out);
    WriteCheckedFile(directory / SegmentName(segment.number()), kFileKind, kFileVersion,
                     out.bytes());
    saved_.push_back(Checksum(out.bytes()));
  }
}

void Replay::SaveOptions(ByteWriter& out) const {
  out.U64(static_cast<std::uint64_t>(shape_.stack));
  out.U64(shape_.frame_bytes);
  out.I64(options_.size);
  out.U64(static_cast<std::uint64_t>(options_.compression));
  out.U64(static_cast<std::uint64_t>(returns_.n_step));
  out.F64(returns_.discount);
  out.Bool(options_.prioritized);
  out.F64(options_.priority_exponent);
  out.F64(options_.priority_floor);
}

// Format: the options; I64 next id; if there are states, I64 number of the oldest segment, U32
// checksum of each full segment, and the open one; if prioritised, F64 largest priority and F64s
// with the priorities of the newest `size` states.
void Replay::Save(ByteWriter& out) const {
  SaveOptions(out);
  out.I64(next_id_);
  if (!segments_.empty()) {
    const std::int64_t oldest = segments_.front()->number();
    const std::int64_t open = segments_.back()->number();
    if (oldest < saved_begin_ || open > saved_begin_ + std::ssize(saved_)) {
      throw std::logic_error("Replay::Save: SaveSegments has to come before");
    }
    out.I64(oldest);
    for (std::int64_t number = oldest; number < open; ++number) {
      out.U32(saved_[static_cast<std::size_t>(number - saved_begin_)]);
    }
    segments_.back()->Save(out);
  }
  if (!priorities_) return;
  out.F64(max_priority_);
  std::vector<double> priorities;
  for (std::int64_t id = window_begin(); id < next_id_; ++id) {
    priorities.push_back((*priorities_)[Slot(id)]);
  }
  out.F64s(priorities);
}

void Replay::RemoveOldSegments(const fs::path& directory) const {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator file(directory, error), end; !error && file != end;
       file.increment(error)) {
    const std::int64_t number = SegmentNumber(file->path().filename().string());
    const bool named =
        number >= saved_begin_ && number < saved_begin_ + static_cast<std::int64_t>(saved_.size());
    if (number >= 0 && !named) old.push_back(file->path());
  }
  for (const fs::path& file : old) {
    if (!error) fs::remove(file, error);
  }
  if (error) {
    throw SystemError(fmt::format("cannot remove old segments from {}", directory.string()),
                      error.value());
  }
}

void Replay::Load(ByteReader& in, const fs::path& directory, int actions) {
  Replay loaded(options_, returns_, shape_, reserve_);
  loaded.LoadState(in, directory, actions);
  *this = std::move(loaded);
}

void Replay::LoadState(ByteReader& in, const fs::path& directory, int actions) {
  const auto expect = [&in](const char* what, auto found, auto expected) {
    if (found == expected) return;
    throw in.Wrong(fmt::format("expected a replay with {} {}, found {}", what, expected, found));
  };
  expect("a stack of", in.U64(), static_cast<std::uint64_t>(shape_.stack));
  expect("bytes per frame", in.U64(), std::uint64_t{shape_.frame_bytes});
  expect("replay.size", in.I64(), options_.size);
  expect("compression", in.U64(), static_cast<std::uint64_t>(options_.compression));
  expect("steps per return", in.U64(), static_cast<std::uint64_t>(returns_.n_step));
  expect("a discount of", in.F64(), returns_.discount);
  expect("replay.prioritized", in.Bool(), options_.prioritized);
  expect("replay.priority_exponent", in.F64(), options_.priority_exponent);
  expect("replay.priority_floor", in.F64(), options_.priority_floor);
  next_id_ = in.I64();
  if (next_id_ < 0 || next_id_ > kMaxId) {
    throw in.Wrong(fmt::format("expected at most {} states, found {}", kMaxId, next_id_));
  }
  if (next_id_ > 0) {
    LoadSegments(in, directory, actions);
    CheckEpisodes(in);
    FindEligible();
    const auto stack = static_cast<std::size_t>(shape_.stack);
    const ReplaySegment& open = *segments_.back();
    if (!open.ReadFrames(open.frames() - stack, stack, newest_.data())) {
      throw in.Wrong("the newest frames cannot be decompressed");
    }
  }
  if (priorities_) LoadPriorities(in);
}

void Replay::LoadSegments(ByteReader& in, const fs::path& directory, int actions) {
  const std::int64_t open = (next_id_ - 1) / segment_states_;
  const std::int64_t oldest = in.I64();
  // As DropOldSegments leaves it.
  const std::int64_t surplus = next_id_ - segment_states_ - options_.size - reserve_;
  const std::int64_t expected = surplus < 0 ? 0 : surplus / segment_states_ + 1;
  if (oldest != expected) {
    throw in.Wrong(
        fmt::format("expected segments from {} on, found them from {} on", expected, oldest));
  }
  saved_in_ = directory;
  saved_begin_ = oldest;
  for (std::int64_t number = oldest; number < open; ++number) saved_.push_back(in.U32());
  auto open_segment = std::make_unique<ReplaySegment>(
      in, open, static_cast<std::size_t>(next_id_ - open * segment_states_), actions, shape_,
      *codec_);
  for (std::int64_t number = oldest; number < open; ++number) {
    LoadSegment(directory / SegmentName(number), number,
                saved_[static_cast<std::size_t>(number - oldest)], actions);
  }
  segments_.push_back(std::move(open_segment));
}

void Replay::LoadSegment(const fs::path& file, std::int64_t number, std::uint32_t checksum,
                         int actions) {
  const CheckedFile content = ReadCheckedFile(file, kFileKind, kFileVersion);
  const std::uint32_t found = Checksum(content.payload);
  if (found != checksum) {
    throw BadInput(fmt::format("{}: expected checksum {:08x}, found {:08x}: it is of another run",
                               file.string(), checksum, found));
  }
  ByteReader in(content.payload, file.string());
  segments_.push_back(std::make_unique<ReplaySegment>(
      in, number, static_cast<std::size_t>(segment_states_), actions, shape_, *codec_));
  in.ExpectEnd();
}

// A state has an action unless it is the last of its episode or the newest of all.
void Replay::CheckEpisodes(const ByteReader& in) const {
  bool is_last = RecordOf(first_id()).action < 0;
  for (std::int64_t id = first_id(); id < next_id_; ++id) {
    const StateRecord& state = RecordOf(id);
    const bool has_action = state.action >= 0;
    if (has_action == (is_last || id == next_id_ - 1)) {
      throw in.Wrong(fmt::format("expected state {} {} an action, found the contrary", id,
                                 has_action ? "without" : "with"));
    }
    is_last = state.ended();
  }
}

// Recovers from the states whatever part of the replay's own state is not saved.
void Replay::FindEligible() {
  const std::int64_t newest = next_id_ - 1;
  const auto goes_on = [this](std::int64_t id) {
    return RecordOf(id).action >= 0 && !RecordOf(id).ended();
  };
  in_episode_ = newest == 0 || !RecordOf(newest - 1).ended();
  first_pending_ = newest;
  while (in_episode_ && first_pending_ > std::max<std::int64_t>(0, next_id_ - returns_.n_step) &&
         goes_on(first_pending_ - 1)) {
    --first_pending_;
  }
  for (std::int64_t id = window_begin(); id < newest; ++id) transitions_ += CanBeSampled(id);
}

void Replay::LoadPriorities(ByteReader& in) {
  max_priority_ = in.F64();
  if (!(max_priority_ >= 1 && max_priority_ <= kMaxPriority)) {
    throw in.Wrong(
        fmt::format("expected a largest priority of 1 or more, found {}", max_priority_));
  }
  std::vector<double> priorities(static_cast<std::size_t>(next_id_ - window_begin()));
  in.F64s(priorities);
  for (std::int64_t id = window_begin(); id < next_id_; ++id) {
    const double priority = priorities[static_cast<std::size_t>(id - window_begin())];
    const bool fits = CanBeSampled(id) ? priority > 0 && priority <= max_priority_
                                       : priority == 0 && !std::signbit(priority);
    if (!fits) {
      throw in.Wrong(fmt::format("expected a priority of {} for state {}, found {}",
                                 CanBeSampled(id) ? fmt::format("(0, {}]", max_priority_) : "0", id,
                                 priority));
    }
    priorities_->Set(Slot(id), priority);
  }
}

}  // namespace stableaa
