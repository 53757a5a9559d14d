// The weights that a run begins with, instead of random ones: those of a file, or of another run.
//
//   const FirstWeights first("runs/a", plan);   // the plan of the network to train
//
// Only weights are taken over. The optimiser, the replay, exploration and the step begin anew.
#ifndef STABLEAA_RL_RUN_FIRST_WEIGHTS_H_
#define STABLEAA_RL_RUN_FIRST_WEIGHTS_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"
#include "stableaa/nn/safetensors.h"

namespace stableaa {

class FirstWeights {
 public:
  // `path` is a .safetensors file of this or another program (nn/foreign_weights.h), or the
  // directory of a run, whose latest weights are taken. Throws BadInput, naming the tensor and both
  // shapes, unless they fit `plan`. Logs how tensors with other names were matched, and warns of
  // weights of a network that differs in what has no tensors.
  FirstWeights(const std::filesystem::path& path, std::shared_ptr<const Plan> plan);

  const Parameters& parameters() const { return parameters_; }
  const std::filesystem::path& file() const { return file_; }  // absolute
  // Where they come from, as far as the file says: stableaa.step, stableaa.env, stableaa.preset.
  const WeightsMetadata& metadata() const { return metadata_; }
  // CRC-32 (zlib's) over all tensors of the network, in their order, as little-endian F32. For a
  // file that `train` has written, these are the bytes behind its header.
  std::uint32_t checksum() const;

 private:
  std::filesystem::path file_;
  WeightsMetadata metadata_;
  Parameters parameters_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_FIRST_WEIGHTS_H_
