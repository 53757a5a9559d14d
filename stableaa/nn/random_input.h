// Inputs for measurements and checks: uniform bytes, and uniform numbers in [-1, 1) or whole
// numbers from -4 to 3.
#ifndef STABLEAA_NN_RANDOM_INPUT_H_
#define STABLEAA_NN_RANDOM_INPUT_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/network.h"

namespace stableaa {

enum class InputNumbers { kAny, kSmallWhole };

class RandomInput {
 public:
  RandomInput(const InputSpec& input, int count, RandomStream& random,
              InputNumbers numbers = InputNumbers::kAny)
      : count_(count) {
    const auto samples = static_cast<std::size_t>(count);
    const auto size = static_cast<std::size_t>(input.shape.size());
    if (input.takes_floats()) {
      vectors_.resize(samples * static_cast<std::size_t>(input.part_size(0)));
      if (input.part_count() == 2) {
        second_vectors_.resize(samples * static_cast<std::size_t>(input.part_size(1)));
      }
      for (std::vector<float>* part : {&vectors_, &second_vectors_}) {
        random.FillUniform(*part, -1, 1);
        if (numbers == InputNumbers::kSmallWhole) {
          for (float& x : *part) x = std::floor(4 * x);
        }
      }
      return;
    }
    bytes_.resize(samples * size);
    const std::uint64_t bytes = numbers == InputNumbers::kAny ? 256 : 4;
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random.Below(bytes));
    const std::size_t frame = size / static_cast<std::size_t>(input.shape.channels);
    for (std::size_t i = 0; i < bytes_.size(); i += frame) frames_.push_back(&bytes_[i]);
  }

  NetworkInput view() const {
    return {
        .count = count_, .frames = frames_, .vectors = vectors_, .second_vectors = second_vectors_};
  }

  // The vectors sample by sample, with their parts joined.
  std::vector<float> Joined() const {
    std::vector<float> joined;
    const auto samples = static_cast<std::size_t>(count_);
    for (std::size_t n = 0; n < samples; ++n) {
      for (const std::vector<float>* part : {&vectors_, &second_vectors_}) {
        const std::size_t size = part->size() / samples;
        for (std::size_t i = 0; i < size; ++i) joined.push_back((*part)[n * size + i]);
      }
    }
    return joined;
  }

 private:
  int count_;
  std::vector<std::uint8_t> bytes_;
  std::vector<const std::uint8_t*> frames_;
  std::vector<float> vectors_;
  std::vector<float> second_vectors_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_RANDOM_INPUT_H_
