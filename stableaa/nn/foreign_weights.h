// Weights from other networks and other programs, matched with a known network by their names and
// shapes.
//
//   const SafetensorsFile file("from_pytorch.safetensors");
//   const std::vector<RenamedTensor> renamed = ReadMatchingWeightsInto(file.content(), parameters);
//
// If the file has exactly the network's names, these decide. Otherwise, unless it describes a
// network of its own (safetensors.h), its layers, each a weight and a bias, are matched by their
// shapes. Where several have the same shapes, numbers in their names tell them apart: net.2 comes
// before net.10. The parts of a network (layers, value, advantage) may have any names, if those of a
// part begin alike. What could be swapped is refused. PyTorch's layouts are expected: weight
// [outputs, inputs] or [outputs, channels, rows, columns].
//
// The tensors of a target network (a component of their names begins with "target" or ends with
// "_target") are ignored if the file has the same ones of another network.
//
// F64, F16 and BF16 become F32. As everywhere, files are not trusted: anything else is a BadInput
// that names the first tensor that does not fit, and both shapes.
#ifndef STABLEAA_NN_FOREIGN_WEIGHTS_H_
#define STABLEAA_NN_FOREIGN_WEIGHTS_H_

#include <string>
#include <vector>

#include "stableaa/nn/parameters.h"
#include "stableaa/nn/safetensors.h"

namespace stableaa {

struct RenamedTensor {
  std::string from;  // in the file; any text
  std::string to;    // in the network; empty for a target network's, which is ignored
};

// Returns the tensors whose names differ, in the file's order, and then those that are ignored; none
// if the names are the network's.
// A network that the file describes may differ in what has no tensors, such as activations. Changes
// nothing if it throws.
std::vector<RenamedTensor> ReadMatchingWeightsInto(const Safetensors& file, Parameters& parameters);

// "net.0 as layers.0, net.2 as layers.2, without the target network's target.0": a weight and its
// bias count once.
std::string RenamedText(const std::vector<RenamedTensor>& renamed);

}  // namespace stableaa

#endif  // STABLEAA_NN_FOREIGN_WEIGHTS_H_
