// How an environment's observations become what the replay stores and what networks take.
//
// An observation is `stack` frames of `frame_bytes` each, oldest first. A frame is one plane or
// several (bytes or floats, rows first), or a vector of floats:
//
//   Atari       4 x 84 x 84 bytes    4 frames of 1 plane; consecutive observations share frames,
//                                    as those of Gymnasium's FrameStackObservation do
//   MinAtar     10 x 10 x C bytes    1 frame of C planes of 10 x 10
//   CartPole    4 floats             1 frame of 4 floats
//   a camera    H x W x 3 floats     1 frame of 3 planes of H x W floats
//
// Images in a stack of S x H x W x C have S·C planes. Bytes that are no image (a console's memory)
// become floats, divided by their upper bound.
//
// Networks see bytes of images divided by their upper bound. Floats of images are divided by the
// largest of their bounds if that is more than 1 and at most 65535 (as 16-bit depth has); those in
// [0, 1] or [-1, 1] and those without such bounds are taken as they are.
#ifndef STABLEAA_RL_REPLAY_OBSERVATION_LAYOUT_H_
#define STABLEAA_RL_REPLAY_OBSERVATION_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/spec.h"

namespace stableaa {

// What the replay needs to know about frames.
struct FrameShape {
  int stack = 1;
  std::size_t frame_bytes = 0;

  std::size_t observation_bytes() const { return static_cast<std::size_t>(stack) * frame_bytes; }
  bool operator==(const FrameShape&) const = default;
};

class ObservationLayout {
 public:
  explicit ObservationLayout(const EnvironmentSpec& spec);

  const FrameShape& frames() const { return frames_; }
  // The networks' input: planes of bytes divided by 255 (Atari) or 1 (MinAtar), planes of floats,
  // or a vector.
  const InputSpec& input() const { return input_; }

  // What each element of an observation is divided by on its way into the network.
  double divisor() const { return divisor_ > 0 ? double{divisor_} : input_.divisor; }

  // Writes the observation of environment i of the batch, observation_bytes() bytes.
  void Encode(const Observations& observations, std::size_t i, std::span<std::uint8_t> out) const;

 private:
  template <typename T>
  void EncodePlanes(const T* elements, std::span<std::uint8_t> out) const;

  FrameShape frames_;
  InputSpec input_;
  std::size_t elements_ = 0;   // per observation
  std::size_t last_axis_ = 1;  // channels that alternate from element to element
  float divisor_ = 1;          // for bytes that become floats; 0: they stay bytes
};

// Gathers network inputs state by state, each given by pointers to its `stack` frames.
class StateGatherer {
 public:
  explicit StateGatherer(const ObservationLayout& layout);

  void Clear();
  void Add(std::span<const std::uint8_t* const> frames);  // borrowed until the forward pass
  // Adds one whole observation, as written by Encode.
  void Add(std::span<const std::uint8_t> observation);

  int count() const { return count_; }
  // States [begin, begin + count).
  NetworkInput Input(int begin, int count) const;

 private:
  void AddPlanes(const std::uint8_t* first, std::size_t bytes);

  InputSpec input_;
  FrameShape shape_;
  int count_ = 0;
  std::vector<const std::uint8_t*> planes_;
  std::vector<float> vectors_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_OBSERVATION_LAYOUT_H_
