// Weights from other networks and other programs, matched with a known network by their names and
// shapes.
//
//   const SafetensorsFile file("from_pytorch.safetensors");
//   const std::vector<RenamedTensor> renamed = ReadMatchingWeightsInto(file.content(), parameters);
//
// If the file has exactly the network's names, these decide. Otherwise, unless it describes a
// network of its own (safetensors.h), its tensors are taken in natural order of their names
// (net.2.bias, net.2.weight, net.10.bias, …) for those of the network in the same order. The parts
// of a network (layers, value, advantage) may come in any order, since other programs call them
// otherwise. All shapes must agree, in one of these orders only. PyTorch's layouts are expected:
// weight [outputs, inputs] or [outputs, channels, rows, columns].
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
  std::string to;    // in the network
};

// Returns the tensors whose names differ, in the file's order; none if the names are the network's.
// A network that the file describes may differ in what has no tensors, such as activations. Changes
// nothing if it throws.
std::vector<RenamedTensor> ReadMatchingWeightsInto(const Safetensors& file, Parameters& parameters);

// "net.0 as layers.0, net.2 as layers.2": a weight and its bias count once.
std::string RenamedText(const std::vector<RenamedTensor>& renamed);

}  // namespace stableaa

#endif  // STABLEAA_NN_FOREIGN_WEIGHTS_H_
