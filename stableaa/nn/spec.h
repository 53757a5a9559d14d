// A network as data: its input and a list of layers.
//
//   const NetworkSpec spec = NatureSpec({.actions = 18, .dueling = true});
//   const NetworkSpec mine = ParseSpec("vector(4) linear(64) tanh linear(2)");
//
// The text form is stored as metadata in safetensors files; ToText writes it, ParseSpec reads it:
//
//   frames(C, H, W, D)        input: C frames of H×W bytes, each divided by D (255 for grey levels)
//   images(C, H, W, D)        the same with floats instead of bytes
//   vector(N)                 input: N floats
//   vector(N, M)              input: N floats and M more, given apart and joined in this order, as
//                             a critic takes a state and an action
//   conv(F, K, S)             F filters of K×K, stride S, no padding
//   linear(N)                 N outputs; frames have to be flattened first
//   relu | elu | tanh         after conv, linear or flatten
//   flatten                   frames to a vector, in PyTorch's order: channel, row, column
//   dueling{ A | B }          last: two streams of layers, A ending in 1 value V, B in the
//                             advantages A_a of each action; Q_a = V + A_a − mean A
//
// Other heads would fit into the same list: a distributional one is a linear layer of actions ×
// atoms with another loss, a second head is another pair of streams.
#ifndef STABLEAA_NN_SPEC_H_
#define STABLEAA_NN_SPEC_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stableaa {

enum class LayerKind { kConvolution, kLinear, kRelu, kElu, kTanh, kFlatten, kDueling };

// Per list, and per stream of dueling.
inline constexpr std::size_t kMaxLayers = 256;

struct Layer {
  LayerKind kind = LayerKind::kLinear;
  int outputs = 0;                    // of a linear layer; filters of a convolution
  int kernel = 0;                     // of a convolution
  int stride = 1;                     // of a convolution
  std::vector<Layer> value = {};      // of dueling
  std::vector<Layer> advantage = {};  // of dueling

  bool operator==(const Layer&) const = default;
};

Layer Convolution(int filters, int kernel, int stride);
Layer Linear(int outputs);
Layer Relu();
Layer Elu();
Layer Tanh();
Layer Flatten();
Layer Dueling(std::vector<Layer> value, std::vector<Layer> advantage);

// What a layer takes or returns for one sample. A vector of n has n channels, and height and width
// 1.
struct Shape {
  int channels = 0;
  int height = 1;
  int width = 1;
  bool is_vector = false;

  int size() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};

// Parts that a vector may consist of.
inline constexpr int kMaxInputParts = 2;

struct InputSpec {
  Shape shape;
  double divisor = 1;   // for frames: a byte or float b becomes b / divisor
  bool floats = false;  // for frames: of floats instead of bytes
  // The sizes of a vector's parts, if there are several; their sum is shape.channels.
  std::vector<int> parts = {};

  int part_count() const { return parts.empty() ? 1 : static_cast<int>(parts.size()); }
  int part_size(int part) const {
    return parts.empty() ? shape.size() : parts[static_cast<std::size_t>(part)];
  }

  bool is_vector() const { return shape.is_vector; }
  bool takes_floats() const { return shape.is_vector || floats; }
  bool operator==(const InputSpec&) const = default;
};

InputSpec FrameInput(int channels, int height, int width, double divisor);
InputSpec ImageInput(int channels, int height, int width, double divisor);  // of floats
InputSpec VectorInput(int size);
// Of one or two parts. One part is the same as VectorInput(int).
InputSpec VectorInput(std::vector<int> parts);

struct NetworkSpec {
  InputSpec input;
  std::vector<Layer> layers;

  // Throws BadInput, naming the layer ("layer 3, conv(64, 9, 1): ..."), unless every layer fits its
  // input and all sizes are within bounds.
  void Validate() const;

  // Number of outputs per sample. The spec must be valid.
  int outputs() const;

  bool operator==(const NetworkSpec&) const = default;
};

std::string ToText(const NetworkSpec& spec);
std::string ToText(const InputSpec& input);

// The longest text worth parsing, in bytes, for readers of files; a valid spec is far shorter.
inline constexpr std::size_t kMaxSpecText = std::size_t{1} << 16;

// One layer as written by ToText, for messages: "linear(512)".
std::string ToText(const Layer& layer);

// Throws BadInput with the position of the error, or like Validate.
NetworkSpec ParseSpec(std::string_view text);

// The network of Mnih et al. (Nature 2015): 4 frames of 84×84, three convolutions, 512 units. With
// `dueling`, 512 units in each of two streams (Wang et al. 2016).
struct NatureOptions {
  int frames = 4;
  int actions = 18;
  bool dueling = false;
};
NetworkSpec NatureSpec(const NatureOptions& options);

// The network of Young and Tian (MinAtar, 2019): frames of 10×10 zeros and ones, 16 filters of 3×3,
// 128 units (in each of two streams if `dueling`).
struct MinatarOptions {
  int channels = 4;
  int actions = 6;
  bool dueling = false;
};
NetworkSpec MinatarSpec(const MinatarOptions& options);

// A network for images of any size, which is Nature's for 84×84 and MinAtar's for 10×10:
//
//   both sides up to 16      conv(16, 3, 1), then 128 units
//   larger                   conv(32, 8, 4) if the longer side is at least 64 and the shorter at
//                            least 36; conv(64, 4, 2), the first of all layers with 32 filters,
//                            while the longer side is above 13; conv(64, 3, 1); then 512 units
//
// each convolution followed by relu and left out where its kernel does not fit. A larger image that
// is narrower than 4 pixels has none. The last map of a square image has sides of 4 to 11.
struct ImageOptions {
  InputSpec input = FrameInput(3, 96, 96, 255);
  int actions = 2;
  bool dueling = false;
};
NetworkSpec ImageSpec(const ImageOptions& options);

// A multi-layer perceptron. With `dueling`, each stream has its own last hidden layer.
struct MlpOptions {
  int inputs = 4;
  std::vector<int> hidden = {128, 128};
  Layer activation = Relu();
  int actions = 2;
  bool dueling = false;
};
NetworkSpec MlpSpec(const MlpOptions& options);

// nature, nature-dueling, minatar, minatar-dueling, mlp, mlp-dueling: the above with their
// defaults.
std::vector<std::string> NetworkNames();

// critic, actor: those of TD3 and SAC for the 17 numbers of HalfCheetah's state, with two layers of
// 256 units. Here `actions` of NamedSpec are the numbers that an action consists of; the critic has
// one output, the actor a mean and a log standard deviation of each.
std::vector<std::string> ControlNetworkNames();

// Of either list. Throws BadInput for an unknown name.
NetworkSpec NamedSpec(const std::string& name, int actions);

}  // namespace stableaa

#endif  // STABLEAA_NN_SPEC_H_
