// A network as an ONNX model, for programs that run such models: ONNX Runtime, OpenVINO, TensorRT.
//
//   WriteOnnx("q.onnx", parameters, {.is_bytes = true, .shape = {10, 10, 4}, .channel_axis = 2});
//
// The model takes raw observations, as an environment gives them: what makes the network's input of
// them is part of the graph. IR version 8, operators of set 17:
//
//   observation  [batch, shape...], uint8 or float; a vector of two parts is one input, joined
//   q_values     [batch, outputs], float; or, of an actor,
//   actions      [batch, shape...], float, in the environment's units and within its bounds
//
//   Cast, Div                    bytes to floats, divided by the divisor
//   Transpose                    channels first, where they come last
//   Reshape                      images without channels, and stacks of images with them
//   Flatten                      before a linear layer, channel by channel as in PyTorch
//   Conv, Gemm                   with the initialisers that ParameterTensors names
//   Relu, Elu, Tanh              activations
//   ReduceMean, Sub, Add         dueling: V + (A − mean A)
//   Slice, Tanh                  the means of SAC's actor, squashed
//   Mul, Add, Sub, Max, Min      actions from [−1, 1] to their bounds
#ifndef STABLEAA_NN_ONNX_EXPORT_H_
#define STABLEAA_NN_ONNX_EXPORT_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/nn/parameters.h"

namespace stableaa {

inline constexpr int kOnnxOperators = 17;  // the version of ONNX's set of operators

// One observation, from which the network's input is made.
struct OnnxObservation {
  bool is_bytes = false;        // otherwise floats
  std::vector<int> shape = {};  // without the batch
  // For networks that take images. Two axes are rows and columns; of three, this one, the first or
  // the last, counts channels; four are frames, each with its channels first (1) or last (3).
  int channel_axis = 0;
  double divisor = 1;  // what each element is divided by
};

// The actions of an actor's network, which has an output in [−1, 1] per element, or for each a mean
// and then for each the logarithm of a standard deviation; the model's actions are tanh of the means.
struct OnnxActions {
  std::vector<int> shape = {};  // without the batch
  // Finite bounds, one per element. −1 and 1 become these.
  std::vector<float> low = {}, high = {};
};

// The bytes of the model. `metadata` becomes its properties; stableaa.spec, the network as written
// by ToText, and stableaa.version are added. Equal arguments give equal bytes. Throws BadInput if
// the network cannot take such observations or give such actions.
std::string OnnxModel(const Parameters& parameters, const OnnxObservation& observation,
                      std::map<std::string, std::string> metadata = {},
                      const std::optional<OnnxActions>& actions = {});

// Writes it to a file named by the user, atomically, as AtomicFile does.
void WriteOnnx(const std::filesystem::path& path, const Parameters& parameters,
               const OnnxObservation& observation,
               const std::map<std::string, std::string>& metadata = {},
               const std::optional<OnnxActions>& actions = {});

}  // namespace stableaa

#endif  // STABLEAA_NN_ONNX_EXPORT_H_
