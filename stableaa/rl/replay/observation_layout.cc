#include "stableaa/rl/replay/observation_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace stableaa {
namespace {

constexpr float kGreyLevels = 255;

// The largest range of what counts as a picture's, 16 bits of depth. A larger bound means "none".
constexpr float kLargestLevel = 65535;

// What floats of images are divided by.
double LargestBound(const Space& space) {
  float largest = 0;
  for (const auto* bounds : {&space.low, &space.high}) {
    for (const float bound : *bounds) largest = std::max(largest, std::abs(bound));
  }
  return largest > 1 && largest <= kLargestLevel ? static_cast<double>(largest) : 1;
}

// Whether an observation is a stack of frames that reappear in later observations.
bool IsStack(const EnvironmentSpec& spec) { return spec.is_stack || spec.id.starts_with("atari/"); }

}  // namespace

ObservationLayout::ObservationLayout(const EnvironmentSpec& spec) {
  const Space& space = spec.observation;
  elements_ = space.size();
  const bool floats = space.type == ElementType::kFloat;
  const float high =
      space.high.empty() || space.high.front() <= 0 ? kGreyLevels : space.high.front();
  const std::size_t axes = space.shape.size();
  if (axes < 2 || axes > 4 || spec.channel_axis < 0) {
    if (!floats) divisor_ = high;
    input_ = VectorInput(static_cast<int>(elements_));
    frames_ = {1, elements_ * sizeof(float)};
    return;
  }
  divisor_ = 0;
  // Rows and columns are the last two axes, or the two before that of the channels.
  const bool channels_last = axes > 2 && spec.channel_axis + 1 == static_cast<int>(axes);
  if (channels_last) last_axis_ = static_cast<std::size_t>(space.shape.back());
  const std::size_t columns = axes - (channels_last ? 2 : 1);
  const int height = space.shape[columns - 1];
  const int width = space.shape[columns];
  const std::size_t plane = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  const auto channels = static_cast<int>(elements_ / plane);
  if (floats) {
    input_ = ImageInput(channels, height, width, LargestBound(space));
    frames_ = {1, elements_ * sizeof(float)};
    return;
  }
  input_ = FrameInput(channels, height, width, static_cast<double>(high));
  const bool first_axis_is_of_frames = axes == 4 || spec.channel_axis == 0;
  const int stack = IsStack(spec) && first_axis_is_of_frames ? space.shape.front() : 1;
  frames_ = {stack, elements_ / static_cast<std::size_t>(stack)};
}

// Puts the elements of each plane together; they are in the order stack or channel first, row,
// column, channel last.
template <typename T>
void ObservationLayout::EncodePlanes(const T* elements, std::span<std::uint8_t> out) const {
  if (last_axis_ == 1) {
    std::memcpy(out.data(), elements, out.size());
    return;
  }
  const Shape& shape = input_.shape;
  const std::size_t plane =
      static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  std::uint8_t* to = out.data();
  for (std::size_t first = 0; first < elements_; first += plane * last_axis_) {
    for (std::size_t c = 0; c < last_axis_; ++c) {
      for (std::size_t k = 0; k < plane; ++k, to += sizeof(T)) {
        std::memcpy(to, elements + first + k * last_axis_ + c, sizeof(T));
      }
    }
  }
}

void ObservationLayout::Encode(const Observations& observations, std::size_t i,
                               std::span<std::uint8_t> out) const {
  if (out.size() != frames_.observation_bytes()) {
    throw std::logic_error("ObservationLayout::Encode: wrong size");
  }
  if (!observations.floats.empty()) {
    return EncodePlanes(observations.floats.data() + i * elements_, out);
  }
  const std::uint8_t* const bytes = observations.bytes.data() + i * elements_;
  if (divisor_ > 0) {
    for (std::size_t k = 0; k < elements_; ++k) {
      const float value = static_cast<float>(bytes[k]) / divisor_;
      std::memcpy(out.data() + k * sizeof(float), &value, sizeof(float));
    }
  } else {
    EncodePlanes(bytes, out);
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
  if (input_.takes_floats()) {
    const std::size_t size = shape_.frame_bytes / sizeof(float);
    vectors_.resize(vectors_.size() + size);
    std::memcpy(vectors_.data() + vectors_.size() - size, frames[0], shape_.frame_bytes);
    return;
  }
  for (const std::uint8_t* const frame : frames) AddPlanes(frame, shape_.frame_bytes);
}

void StateGatherer::AddPlanes(const std::uint8_t* first, std::size_t bytes) {
  const std::size_t plane =
      static_cast<std::size_t>(input_.shape.height) * static_cast<std::size_t>(input_.shape.width);
  for (std::size_t offset = 0; offset < bytes; offset += plane) planes_.push_back(first + offset);
}

void StateGatherer::Add(std::span<const std::uint8_t> observation) {
  const std::uint8_t* const first = observation.data();
  if (input_.takes_floats() || shape_.stack == 1) return Add(std::span(&first, 1));
  // An encoded observation's frames lie one after another, as its planes do.
  ++count_;
  AddPlanes(first, observation.size());
}

NetworkInput StateGatherer::Input(int begin, int count) const {
  const auto first = static_cast<std::size_t>(begin);
  const auto n = static_cast<std::size_t>(count);
  NetworkInput input{.count = count};
  if (input_.takes_floats()) {
    const auto size = static_cast<std::size_t>(input_.shape.size());
    input.vectors = std::span(vectors_).subspan(first * size, n * size);
  } else {
    const auto channels = static_cast<std::size_t>(input_.shape.channels);
    input.frames = std::span(planes_).subspan(first * channels, n * channels);
  }
  return input;
}

}  // namespace stableaa
