#include "stableaa/rl/replay/replay_segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "stableaa/core/binary_io.h"

namespace stableaa {
namespace {

constexpr std::size_t kGroup = 4;

void Xor(std::span<std::uint8_t> frame, const std::uint8_t* key) {
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] ^= key[i];
}

}  // namespace

ReplaySegment::ReplaySegment(std::int64_t number, const FrameShape& shape,
                             const ActionShape& actions, FrameCodec& codec)
    : number_(number), shape_(shape), actions_(actions), codec_(&codec) {}

void ReplaySegment::Add(std::span<const std::uint8_t> observation, int new_frames) {
  for (int i = shape_.stack - new_frames; i < shape_.stack; ++i) {
    AddFrame(
        observation.subspan(static_cast<std::size_t>(i) * shape_.frame_bytes, shape_.frame_bytes));
  }
  states_.push_back({.newest_frame = static_cast<std::uint32_t>(frames_ - 1)});
  action_values_.resize(action_values_.size() + actions_.values());
}

void ReplaySegment::AddFrame(std::span<const std::uint8_t> frame) {
  const std::size_t in_group = frames_ % kGroup;
  if (!compressed() || in_group == 0) {
    codec_->Encode(frame, blobs_);
  } else {
    const auto difference = codec_->scratch();
    codec_->Decode(Blob(frames_ - in_group), difference);
    Xor(difference, frame.data());
    codec_->Encode(difference, blobs_);
  }
  if (compressed()) ends_.push_back(static_cast<std::uint32_t>(blobs_.size()));
  ++frames_;
}

void ReplaySegment::SetOutcome(const StateRecord& outcome, std::span<const float> values) {
  StateRecord& newest = states_.back();
  const std::uint32_t frame = newest.newest_frame;
  newest = outcome;
  newest.newest_frame = frame;
  std::ranges::copy(values, action_values_.end() - std::ssize(values));
}

void ReplaySegment::Close() {
  states_.shrink_to_fit();
  action_values_.shrink_to_fit();
  blobs_.shrink_to_fit();
  ends_.shrink_to_fit();
}

std::span<const std::uint8_t> ReplaySegment::Blob(std::size_t frame) const {
  const std::size_t begin = frame == 0 ? 0 : ends_[frame - 1];
  return std::span(blobs_).subspan(begin, ends_[frame] - begin);
}

bool ReplaySegment::ReadFrames(std::size_t first, std::size_t count, std::uint8_t* out) const {
  if (!compressed()) {
    std::memcpy(out, blobs_.data() + first * shape_.frame_bytes, count * shape_.frame_bytes);
    return true;
  }
  while (count > 0) {
    const std::size_t of_group = std::min(count, kGroup - first % kGroup);
    if (!ReadGroup(first, of_group, out)) return false;
    first += of_group;
    count -= of_group;
    out += of_group * shape_.frame_bytes;
  }
  return true;
}

// Reads frames of one group, decoding its key once.
bool ReplaySegment::ReadGroup(std::size_t first, std::size_t count, std::uint8_t* out) const {
  const std::size_t size = shape_.frame_bytes;
  const bool wants_key = first % kGroup == 0;
  const auto key = wants_key ? std::span(out, size) : codec_->scratch();
  if (!codec_->Decode(Blob(first - first % kGroup), key)) return false;
  for (std::size_t i = wants_key ? 1 : 0; i < count; ++i) {
    const std::span frame(out + i * size, size);
    if (!codec_->Decode(Blob(first + i), frame)) return false;
    Xor(frame, key.data());
  }
  return true;
}

void ReplaySegment::Save(ByteWriter& out) const {
  out.U64(static_cast<std::uint64_t>(number_));
  out.U32(static_cast<std::uint32_t>(states_.size()));
  out.U32(static_cast<std::uint32_t>(frames_));
  for (const StateRecord& state : states_) {
    out.U32(state.newest_frame);
    out.U32(static_cast<std::uint32_t>(state.action));
    out.U32(std::bit_cast<std::uint32_t>(state.reward));
    out.U8(static_cast<std::uint8_t>((state.terminated ? 1 : 0) + (state.truncated ? 2 : 0)));
  }
  for (const float value : action_values_) out.U32(std::bit_cast<std::uint32_t>(value));
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    out.U32(static_cast<std::uint32_t>(Blob(i).size()));
  }
  out.Text({reinterpret_cast<const char*>(blobs_.data()), blobs_.size()});
}

ReplaySegment::ReplaySegment(ByteReader& in, std::int64_t number, std::size_t states,
                             const FrameShape& shape, const ActionShape& actions, FrameCodec& codec)
    : ReplaySegment(number, shape, actions, codec) {
  const std::uint64_t found = in.U64();
  if (found != static_cast<std::uint64_t>(number)) {
    throw in.Wrong(fmt::format("expected segment {}, found segment {}", number, found));
  }
  const std::uint32_t found_states = in.U32();
  if (found_states != states) {
    throw in.Wrong(fmt::format("expected {} states, found {}", states, found_states));
  }
  frames_ = in.U32();
  LoadStates(in, states);
  LoadActionValues(in);
  LoadFrames(in);
  CheckFrames(in);
}

void ReplaySegment::LoadStates(ByteReader& in, std::size_t count) {
  const auto stack = static_cast<std::uint32_t>(shape_.stack);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t least = i == 0 ? stack - 1 : states_.back().newest_frame;
    const std::uint32_t most = i == 0 ? stack - 1 : least + stack;
    StateRecord state = {.newest_frame = in.U32()};
    if (state.newest_frame < least || state.newest_frame > most) {
      throw in.Wrong(fmt::format("expected a newest frame of {} to {}, found {}", least, most,
                                 state.newest_frame));
    }
    state.action = static_cast<std::int32_t>(in.U32());
    if (state.action < -1 || state.action >= actions_.count) {
      throw in.Wrong(fmt::format("expected an action from 0 to {}, or -1 for none, found {}",
                                 actions_.count - 1, state.action));
    }
    const std::uint32_t reward = in.U32();
    const std::uint8_t flags = in.U8();
    state.reward = std::bit_cast<float>(reward);
    if (!std::isfinite(state.reward) || flags > 3 ||
        (state.action == -1 && (reward != 0 || flags != 0))) {
      throw in.Wrong(fmt::format(
          "expected a finite reward and flags of 0 to 3, both 0 without an action, found action "
          "{}, reward {}, flags {}",
          state.action, state.reward, flags));
    }
    state.terminated = (flags & 1) != 0;
    state.truncated = (flags & 2) != 0;
    states_.push_back(state);
  }
  if (states_.back().newest_frame + 1 != frames_) {
    throw in.Wrong(fmt::format("expected {} frames for the states, found {}",
                               states_.back().newest_frame + 1, frames_));
  }
}

void ReplaySegment::LoadActionValues(ByteReader& in) {
  const std::size_t count = states_.size() * actions_.values();
  if (count > in.remaining() / sizeof(float)) {
    throw in.Wrong(
        fmt::format("expected {} numbers of actions, found only {} bytes", count, in.remaining()));
  }
  action_values_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = in.U32();
    const auto value = std::bit_cast<float>(bits);
    const std::size_t state = i / actions_.values();
    if (!std::isfinite(value) || (states_[state].action == -1 && bits != 0)) {
      throw in.Wrong(
          fmt::format("expected finite numbers of an action, 0 without an action, found action {} "
                      "of state {} with {}",
                      states_[state].action, state, value));
    }
    action_values_.push_back(value);
  }
}

void ReplaySegment::LoadFrames(ByteReader& in) {
  std::uint64_t total = compressed() ? 0 : frames_ * shape_.frame_bytes;
  for (std::size_t i = 0; compressed() && i < frames_; ++i) {
    const std::uint32_t size = in.U32();
    if (size < 1 || size > shape_.frame_bytes) {
      throw in.Wrong(fmt::format("expected a compressed frame of 1 to {} bytes, found {}",
                                 shape_.frame_bytes, size));
    }
    total += size;
    ends_.push_back(static_cast<std::uint32_t>(total));
  }
  const std::string blobs = in.Text(total);
  if (blobs.size() != total) {
    throw in.Wrong(fmt::format("expected {} bytes of frames, found {}", total, blobs.size()));
  }
  blobs_.assign(blobs.begin(), blobs.end());
}

void ReplaySegment::CheckFrames(ByteReader& in) const {
  if (!compressed()) return;
  std::vector<std::uint8_t> group(kGroup * shape_.frame_bytes);
  for (std::size_t first = 0; first < frames_; first += kGroup) {
    if (!ReadFrames(first, std::min(kGroup, frames_ - first), group.data())) {
      throw in.Wrong(fmt::format("one of the frames from {} on cannot be decompressed", first));
    }
  }
}

std::uint64_t ReplaySegment::frame_bytes() const {
  return blobs_.size() + ends_.size() * sizeof(ends_[0]);
}

std::uint64_t ReplaySegment::bytes() const {
  return sizeof(*this) + states_.capacity() * sizeof(StateRecord) +
         action_values_.capacity() * sizeof(float) + blobs_.capacity() +
         ends_.capacity() * sizeof(ends_[0]);
}

}  // namespace stableaa
