#include "stableaa/rl/replay/observation_layout.h"

#include <cstring>
#include <stdexcept>

namespace stableaa {
namespace {

constexpr float kGreyLevels = 255;

// Whether an observation is a stack of frames that reappear in later observations.
bool IsStack(const EnvironmentSpec& spec) { return spec.id.starts_with("atari/"); }

}  // namespace

ObservationLayout::ObservationLayout(const EnvironmentSpec& spec) {
  const Space& space = spec.observation;
  elements_ = space.size();
  if (space.type == ElementType::kFloat) {
    input_ = VectorInput(static_cast<int>(elements_));
    frames_ = {1, elements_ * sizeof(float)};
    return;
  }
  if (space.shape.size() != 3 || spec.channel_axis < 0) {
    divisor_ = space.high.empty() || space.high.front() <= 0 ? kGreyLevels : space.high.front();
    input_ = VectorInput(static_cast<int>(elements_));
    frames_ = {1, elements_ * sizeof(float)};
    return;
  }
  divisor_ = 0;
  channels_last_ = spec.channel_axis == 2;
  const int channels = spec.channels();
  const int height = channels_last_ ? space.shape[0] : space.shape[1];
  const int width = channels_last_ ? space.shape[1] : space.shape[2];
  const float high = space.high.empty() ? kGreyLevels : space.high.front();
  input_ = FrameInput(channels, height, width, static_cast<double>(high));
  const std::size_t plane = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  frames_ = IsStack(spec) ? FrameShape{channels, plane}
                          : FrameShape{1, plane * static_cast<std::size_t>(channels)};
}

void ObservationLayout::Encode(const Observations& observations, std::size_t i,
                               std::span<std::uint8_t> out) const {
  if (out.size() != frames_.observation_bytes()) {
    throw std::logic_error("ObservationLayout::Encode: wrong size");
  }
  if (!observations.floats.empty()) {
    std::memcpy(out.data(), observations.floats.data() + i * elements_, out.size());
    return;
  }
  const std::uint8_t* const bytes = observations.bytes.data() + i * elements_;
  if (divisor_ > 0) {
    for (std::size_t k = 0; k < elements_; ++k) {
      const float value = static_cast<float>(bytes[k]) / divisor_;
      std::memcpy(out.data() + k * sizeof(float), &value, sizeof(float));
    }
  } else if (channels_last_) {
    const auto channels = static_cast<std::size_t>(input_.shape.channels);
    const std::size_t plane = elements_ / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t k = 0; k < plane; ++k) out[c * plane + k] = bytes[k * channels + c];
    }
  } else {
    std::memcpy(out.data(), bytes, elements_);
  }
}

StateGatherer::StateGatherer(const ObservationLayout& layout)
    : input_(layout.input()), shape_(layout.frames()) {}

void StateGatherer::Clear() {
  count_ = 0;
  planes_.clear();
  vectors_.clear();
}

void StateGatherer::Add(std::span<const std::uint8_t* const> frames) {
  ++count_;
  if (input_.is_vector()) {
    const std::size_t size = shape_.frame_bytes / sizeof(float);
    vectors_.resize(vectors_.size() + size);
    std::memcpy(vectors_.data() + vectors_.size() - size, frames[0], shape_.frame_bytes);
    return;
  }
  const std::size_t plane =
      static_cast<std::size_t>(input_.shape.height) * static_cast<std::size_t>(input_.shape.width);
  for (const std::uint8_t* const frame : frames) {
    for (std::size_t offset = 0; offset < shape_.frame_bytes; offset += plane) {
      planes_.push_back(frame + offset);
    }
  }
}

void StateGatherer::Add(std::span<const std::uint8_t> observation) {
  // An encoded observation's frames lie one after another, as its planes do.
  const std::uint8_t* const first = observation.data();
  if (input_.is_vector() || shape_.stack == 1) return Add(std::span(&first, 1));
  ++count_;
  for (int k = 0; k < shape_.stack; ++k) {
    planes_.push_back(first + static_cast<std::size_t>(k) * shape_.frame_bytes);
  }
}

NetworkInput StateGatherer::Input(int begin, int count) const {
  const auto first = static_cast<std::size_t>(begin);
  const auto n = static_cast<std::size_t>(count);
  NetworkInput input{.count = count};
  if (input_.is_vector()) {
    const auto size = static_cast<std::size_t>(input_.shape.size());
    input.vectors = std::span(vectors_).subspan(first * size, n * size);
  } else {
    const auto channels = static_cast<std::size_t>(input_.shape.channels);
    input.frames = std::span(planes_).subspan(first * channels, n * channels);
  }
  return input;
}

}  // namespace stableaa
