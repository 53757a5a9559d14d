#include "stableaa/rl/replay/replay_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/replay/frame_codec.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/replay/replay_segment.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxId = std::int64_t{1} << 50;

constexpr std::string_view kFileKind = "replay";
constexpr std::uint32_t kFileVersion = 1;

std::uint32_t Checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// What is stored must be loadable.
void CheckAction(const TakenAction& action, const ActionShape& shape) {
  if (action.index < 0 || action.index >= shape.count) {
    throw std::logic_error(fmt::format("Replay::Add: expected an action from 0 to {}, found {}",
                                       shape.count - 1, action.index));
  }
  if (action.values.size() != shape.values()) {
    throw std::logic_error(fmt::format("Replay::Add: expected an action of {} numbers, found {}",
                                       shape.floats, action.values.size()));
  }
  if (!std::ranges::all_of(action.values, [](float value) { return std::isfinite(value); })) {
    throw std::logic_error("Replay::Add: expected an action of finite numbers");
  }
}

}  // namespace

ReplayStream::ReplayStream(ReplayStreamOptions options, FrameCodec& codec)
    : options_(std::move(options)), codec_(&codec) {
  newest_.resize(options_.shape.observation_bytes());
}

ReplayStream::~ReplayStream() = default;
ReplayStream::ReplayStream(ReplayStream&&) noexcept = default;
ReplayStream& ReplayStream::operator=(ReplayStream&&) noexcept = default;

void ReplayStream::Begin(std::span<const std::uint8_t> observation) {
  if (in_episode_) throw std::logic_error("Replay::Begin: the episode before has not ended");
  first_pending_ = next_id_;
  Push(observation);
  in_episode_ = true;
}

void ReplayStream::Add(const TakenAction& action, float reward, bool terminated, bool truncated,
                       std::span<const std::uint8_t> next) {
  if (!in_episode_) throw std::logic_error("Replay::Add: no episode has begun");
  CheckAction(action, options_.actions);
  segments_.back()->SetOutcome(
      {.action = action.index, .reward = reward, .terminated = terminated, .truncated = truncated},
      action.values);
  Push(next);
  in_episode_ = !terminated && !truncated;
  // These have their next states now.
  const std::int64_t end = in_episode_ ? next_id_ - options_.n_step : next_id_ - 1;
  transitions_ += std::max<std::int64_t>(end - first_pending_, 0);
  first_pending_ = std::max(first_pending_, end);
}

void ReplayStream::Push(std::span<const std::uint8_t> observation) {
  if (observation.size() != options_.shape.observation_bytes()) {
    throw std::logic_error("Replay: an observation of another shape");
  }
  const std::int64_t leaving = next_id_ - options_.size;
  if (leaving >= 0 && CanBeSampled(leaving)) --transitions_;
  int new_frames = options_.shape.stack;
  if (next_id_ % options_.segment_states == 0) {
    if (!segments_.empty()) segments_.back()->Close();
    segments_.push_back(std::make_unique<ReplaySegment>(next_id_ / options_.segment_states,
                                                        options_.shape, options_.actions, *codec_));
  } else {
    new_frames = NewFrames(observation);
  }
  segments_.back()->Add(observation, new_frames);
  std::ranges::copy(observation, newest_.begin());
  ++next_id_;
  DropOldSegments();
}

// The smallest shift at which the rest of the newest observation is the start of this one.
int ReplayStream::NewFrames(std::span<const std::uint8_t> observation) const {
  for (int shift = 0; shift < options_.shape.stack; ++shift) {
    const std::size_t skipped = static_cast<std::size_t>(shift) * options_.shape.frame_bytes;
    if (std::memcmp(observation.data(), newest_.data() + skipped, newest_.size() - skipped) == 0) {
      return shift;
    }
  }
  return options_.shape.stack;
}

void ReplayStream::DropOldSegments() {
  while (next_id_ - first_id() - options_.segment_states >= options_.size + options_.reserve) {
    segments_.pop_front();
  }
}

std::int64_t ReplayStream::first_id() const {
  return segments_.empty() ? 0 : segments_.front()->number() * options_.segment_states;
}

std::int64_t ReplayStream::window_begin() const {
  return std::max<std::int64_t>(0, next_id_ - options_.size);
}

ReplayStream::Place ReplayStream::PlaceOf(std::int64_t id) const {
  const std::int64_t stored = id - first_id();
  const std::int64_t segment = stored / options_.segment_states;
  return {.segment = static_cast<std::size_t>(segment),
          .state = static_cast<std::size_t>(stored - segment * options_.segment_states)};
}

ReplayStream::Place ReplayStream::After(const Place& place) const {
  if (place.state + 1 < segments_[place.segment]->states()) {
    return {.segment = place.segment, .state = place.state + 1};
  }
  return {.segment = place.segment + 1, .state = 0};
}

const StateRecord& ReplayStream::RecordAt(const Place& place) const {
  return segments_[place.segment]->state(place.state);
}

bool ReplayStream::HasAction(std::int64_t id) const { return RecordOf(id).action >= 0; }

bool ReplayStream::CanBeSampled(std::int64_t id) const {
  return id >= window_begin() && id < first_pending_ && RecordOf(id).action >= 0;
}

bool ReplayStream::Holds(std::int64_t id) const {
  return id >= first_id() && id < first_pending_ && RecordOf(id).action >= 0;
}

ReplayStream::Reading ReplayStream::Read(std::int64_t id, std::size_t j, ReplayBatch& batch) const {
  if (!Holds(id)) {
    throw std::logic_error(fmt::format("Replay::Read: {} is not a transition", id));
  }
  const Place state = PlaceOf(id);
  Place next = state;
  double sum = 0;
  double discount = 1;
  bool terminated = false;
  bool ended = false;
  int steps = 0;
  for (; steps < options_.n_step && !ended; ++steps, next = After(next)) {
    const StateRecord& step = RecordAt(next);
    sum += discount * static_cast<double>(step.reward);
    discount *= options_.discount;
    terminated = step.terminated;
    ended = step.ended();
  }
  batch.actions[j] = RecordAt(state).action;
  batch.rewards[j] = static_cast<float>(sum);
  batch.discounts[j] = terminated ? 0.0F : static_cast<float>(discount);
  std::ranges::copy(
      segments_[state.segment]->action_values(state.state),
      batch.action_values.begin() + static_cast<std::ptrdiff_t>(j * options_.actions.values()));
  Reading reading = Locate(state, next);
  reading.next_id = id + steps;
  return reading;
}

ReplayStream::Reading ReplayStream::Locate(const Place& state, const Place& next) const {
  const auto stack = static_cast<std::size_t>(options_.shape.stack);
  const auto run = [&](const Place& place) {
    return Reading::Run{segments_[place.segment].get(), RecordAt(place).newest_frame + 1 - stack,
                        stack};
  };
  Reading reading = {run(state), run(next)};
  const std::size_t apart = reading.next.first - reading.state.first;
  if (state.segment == next.segment && apart <= stack) {
    reading.state.count += apart;
    reading.next.count = 0;
  }
  return reading;
}

std::uint64_t ReplayStream::bytes() const {
  std::uint64_t sum = newest_.capacity();
  for (const auto& segment : segments_) sum += segment->bytes();
  return sum;
}

std::uint64_t ReplayStream::frame_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment->frame_bytes();
  return sum;
}

std::uint64_t ReplayStream::frames() const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment->frames();
  return sum;
}

std::string ReplayStream::SegmentName(std::int64_t number) const {
  return fmt::format("{}segment-{:08}.bin", options_.file_prefix, number);
}

// The number of the segment in a file of this name, or -1 if it is not one of this stream.
std::int64_t ReplayStream::SegmentNumber(const std::string& name) const {
  if (!name.starts_with(options_.file_prefix)) return -1;
  const std::size_t begin = options_.file_prefix.size() + std::string_view("segment-").size();
  std::int64_t number = 0;
  for (std::size_t i = begin; i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i) {
    if (number > kMaxId / 10) return -1;
    number = 10 * number + (name[i] - '0');
  }
  return name == SegmentName(number) ? number : -1;
}

bool ReplayStream::SaveSegments(const fs::path& directory) {
  if (directory != saved_in_) {
    saved_in_ = directory;
    saved_.clear();
  }
  const std::int64_t oldest = segments_.empty() ? 0 : segments_.front()->number();
  const auto gone = std::min<std::int64_t>(oldest - saved_begin_, std::ssize(saved_));
  saved_.erase(saved_.begin(), saved_.begin() + std::max<std::int64_t>(gone, 0));
  saved_begin_ = oldest;
  bool any = false;
  for (; saved_.size() + 1 < segments_.size(); any = true) {
    const ReplaySegment& segment = *segments_[saved_.size()];
    ByteWriter out;
    segment.Save(out);
    WriteCheckedFile(directory / SegmentName(segment.number()), kFileKind, kFileVersion,
                     out.bytes(), AtomicFile::Durable::kOnceDirectoryIsSynced);
    saved_.push_back(Checksum(out.bytes()));
  }
  return any;
}

// Format: I64 next id; if there are states, I64 number of the oldest segment, U32 checksum of each
// full segment, and the open one.
void ReplayStream::Save(ByteWriter& out) const {
  out.I64(next_id_);
  if (segments_.empty()) return;
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

bool ReplayStream::IsOldSegment(const std::string& name) const {
  const std::int64_t number = SegmentNumber(name);
  return number >= 0 && (number < saved_begin_ ||
                         number >= saved_begin_ + static_cast<std::int64_t>(saved_.size()));
}

void ReplayStream::Load(ByteReader& in, const fs::path& directory) {
  next_id_ = in.I64();
  if (next_id_ < 0 || next_id_ > kMaxId) {
    throw in.Wrong(fmt::format("expected at most {} states, found {}", kMaxId, next_id_));
  }
  if (next_id_ == 0) return;
  LoadSegments(in, directory);
  CheckEpisodes(in);
  FindEligible();
  const auto stack = static_cast<std::size_t>(options_.shape.stack);
  const ReplaySegment& open = *segments_.back();
  if (!open.ReadFrames(open.frames() - stack, stack, newest_.data())) {
    throw in.Wrong("the newest frames cannot be decompressed");
  }
}

void ReplayStream::LoadSegments(ByteReader& in, const fs::path& directory) {
  const std::int64_t open = (next_id_ - 1) / options_.segment_states;
  const std::int64_t oldest = in.I64();
  // As DropOldSegments leaves it.
  const std::int64_t surplus =
      next_id_ - options_.segment_states - options_.size - options_.reserve;
  const std::int64_t expected = surplus < 0 ? 0 : surplus / options_.segment_states + 1;
  if (oldest != expected) {
    throw in.Wrong(
        fmt::format("expected segments from {} on, found them from {} on", expected, oldest));
  }
  saved_in_ = directory;
  saved_begin_ = oldest;
  for (std::int64_t number = oldest; number < open; ++number) saved_.push_back(in.U32());
  auto open_segment = std::make_unique<ReplaySegment>(
      in, open, static_cast<std::size_t>(next_id_ - open * options_.segment_states), options_.shape,
      options_.actions, *codec_);
  for (std::int64_t number = oldest; number < open; ++number) {
    LoadSegment(directory / SegmentName(number), number,
                saved_[static_cast<std::size_t>(number - oldest)]);
  }
  segments_.push_back(std::move(open_segment));
}

void ReplayStream::LoadSegment(const fs::path& file, std::int64_t number, std::uint32_t checksum) {
  const CheckedFile content = ReadCheckedFile(file, kFileKind, kFileVersion);
  const std::uint32_t found = Checksum(content.payload);
  if (found != checksum) {
    throw BadInput(fmt::format("{}: expected checksum {:08x}, found {:08x}: it is of another run",
                               file.string(), checksum, found));
  }
  ByteReader in(content.payload, file.string());
  segments_.push_back(
      std::make_unique<ReplaySegment>(in, number, static_cast<std::size_t>(options_.segment_states),
                                      options_.shape, options_.actions, *codec_));
  in.ExpectEnd();
}

// A state has an action unless it is the last of its episode or the newest of all.
void ReplayStream::CheckEpisodes(const ByteReader& in) const {
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
void ReplayStream::FindEligible() {
  const std::int64_t newest = next_id_ - 1;
  const auto goes_on = [this](std::int64_t id) {
    return RecordOf(id).action >= 0 && !RecordOf(id).ended();
  };
  in_episode_ = newest == 0 || !RecordOf(newest - 1).ended();
  first_pending_ = newest;
  while (in_episode_ && first_pending_ > std::max<std::int64_t>(0, next_id_ - options_.n_step) &&
         goes_on(first_pending_ - 1)) {
    --first_pending_;
  }
  for (std::int64_t id = window_begin(); id < newest; ++id) transitions_ += CanBeSampled(id);
}

}  // namespace stableaa
