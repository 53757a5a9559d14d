// A network compiled for a batch size: forward and backward passes, by one of several backends.
//
//   auto plan = std::make_shared<const Plan>(MakePlan(NatureSpec({.actions = 6})));
//   Parameters online(plan), gradients(plan);
//   RandomStream random(seed, "network");
//   online.Initialise(random);
//   auto network = CompileNetwork(plan, {.batch = 32, .threads = 1});
//   network->Forward(online, {.count = 32, .frames = pointers}, outputs);
//   ... output_gradients from outputs, by loss.h
//   network->Backward(online, output_gradients, gradients);
//
// Parameters are passed to each call: m target networks are m Parameters on one Network.
#ifndef STABLEAA_NN_NETWORK_H_
#define STABLEAA_NN_NETWORK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"

namespace stableaa {

// Up to a batch of inputs, in the span that the spec's input requires. Borrowed.
struct NetworkInput {
  int count = 0;
  // count × channels pointers, each to height × width bytes, row by row: a stack of frames need not
  // be copied together.
  std::span<const std::uint8_t* const> frames = {};
  // count × size. Images of floats: channel by channel, row by row. Of a vector of two parts, the
  // first: count × its size.
  std::span<const float> vectors = {};
  // Of a vector of two parts, the second: count × its size. Otherwise empty.
  std::span<const float> second_vectors = {};
};

struct NetworkOptions {
  int batch = 32;   // maximum samples at once, [1, kMaxBatch]
  int threads = 1;  // [1, kMaxThreads]
  // If false, supports the forward pass only, in less memory.
  bool training = true;
  // If true, and `training` too, supports BackwardToInput, in some more memory. For vectors.
  bool input_gradients = false;
  std::string backend = "native";  // one of NetworkBackends() that is built
};
inline constexpr int kMaxBatch = 65536;
inline constexpr int kMaxThreads = 1024;

// One caller at a time. Different Networks may run concurrently on different threads, even with the
// same Parameters, as long as nobody changes them. Equal inputs and thread counts give equal bytes.
class Network {
 public:
  virtual ~Network() = default;

  // outputs: input.count × plan().outputs(), sample by sample. Throws BadInput for sizes that do
  // not fit, a count above the batch or below 1, or null frames. A NaN among parameters or inputs
  // becomes NaN in the outputs, even through relu, so that it is noticed; except with the backend
  // onednn, whose relu turns it into zero.
  void Forward(const Parameters& parameters, const NetworkInput& input, std::span<float> outputs);

  // Computes dL/d(parameters) from dL/d(outputs), replacing the contents of `gradients`. Applies to
  // the input and parameters of the preceding Forward, both unchanged since. Throws BadInput if
  // there was none, for other parameters, or if the network was compiled for inference.
  void Backward(const Parameters& parameters, std::span<const float> output_gradients,
                Parameters& gradients);

  // Computes only dL/d(part of the input), count × the part's size, from dL/d(outputs): what an
  // actor learns from is the gradient of a critic's output with respect to the action. Cheaper than
  // Backward, which computes the gradients of all weights. Like Backward it applies to the
  // preceding Forward; both may follow the same Forward, in any order and more than once. `part`
  // counts from 0. Throws BadInput as Backward does, for frames and images, for a part that the
  // input does not have, and if the network was compiled without input_gradients.
  void BackwardToInput(const Parameters& parameters, std::span<const float> output_gradients,
                       int part, std::span<float> input_gradients);

  const Plan& plan() const { return *plan_; }
  int batch() const { return batch_; }

 protected:
  Network(std::shared_ptr<const Plan> plan, const NetworkOptions& options);

  // Implemented by a backend; the arguments have been checked.
  virtual void RunForward(const Parameters& parameters, const NetworkInput& input,
                          std::span<float> outputs) = 0;
  virtual void RunBackward(const Parameters& parameters, int count,
                           std::span<const float> output_gradients, Parameters& gradients) = 0;
  virtual void RunBackwardToInput(const Parameters& parameters, int count,
                                  std::span<const float> output_gradients, int part,
                                  std::span<float> input_gradients) = 0;

 private:
  void CheckInput(const NetworkInput& input) const;
  void CheckParameters(const Parameters& parameters) const;
  // What both backward passes need.
  void CheckBackward(const char* pass, const Parameters& parameters,
                     std::span<const float> output_gradients) const;

  std::shared_ptr<const Plan> plan_;
  int batch_;
  bool training_;
  bool input_gradients_;
  const Parameters* forward_parameters_ = nullptr;  // from the last Forward
  int forward_count_ = 0;
};

// Throws BadInput for bad options, WorkFailed if there is not enough memory.
std::unique_ptr<Network> CompileNetwork(std::shared_ptr<const Plan> plan,
                                        const NetworkOptions& options);

// Roughly the memory that the default backend takes for it, excluding parameters.
std::uint64_t NetworkBytes(const Plan& plan, const NetworkOptions& options);

struct NetworkBackend {
  std::string name;
  std::string description;
  bool is_built = true;  // false for onednn in a build without oneDNN
};

// The default first.
std::vector<NetworkBackend> NetworkBackends();

// Throws BadInput for a name that is not a backend's, or one that is not built.
void RequireBackend(const std::string& name);

}  // namespace stableaa

#endif  // STABLEAA_NN_NETWORK_H_
