// Measures how fast the passes over a network are, relative to oneDNN's matrix product measured
// alternately with them.
#ifndef STABLEAA_NN_NETWORK_BENCHMARK_H_
#define STABLEAA_NN_NETWORK_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/nn/network.h"
#include "stableaa/nn/optimizer.h"

namespace stableaa {

enum class NetworkPass {
  kForward,
  kTrain,   // forward and backward
  kInput,   // forward, and the gradient with respect to the input's last part; for vectors
  kUpdate,  // forward with target parameters, train with a loss, one optimiser step
  kAct,     // forward with a network compiled for one sample
};

// The names used on the command line, in this order.
inline const std::vector<std::pair<std::string, NetworkPass>> kNetworkPasses = {
    {"forward", NetworkPass::kForward}, {"train", NetworkPass::kTrain},
    {"input", NetworkPass::kInput},     {"update", NetworkPass::kUpdate},
    {"act", NetworkPass::kAct},
};

// Whether the pass exists for such networks.
bool HasPass(const NetworkSpec& spec, NetworkPass pass);

struct NetworkTiming {
  double ms = 0;      // median
  double gflops = 0;  // counts only the network's multiplications and additions
  // With as many threads, measured alternately with the above; NaN in a build without oneDNN.
  double sgemm_gflops = 0;
};

// Sets options.training and input_gradients as the pass needs them; the optimiser is for kUpdate.
// Takes about `seconds`.
NetworkTiming MeasureNetwork(const NetworkSpec& spec, NetworkPass pass, NetworkOptions options,
                             const OptimizerOptions& optimizer = {}, double seconds = 2);

// Roughly the memory that this takes.
std::uint64_t NetworkBenchmarkBytes(const NetworkSpec& spec, NetworkPass pass,
                                    NetworkOptions options);

}  // namespace stableaa

#endif  // STABLEAA_NN_NETWORK_BENCHMARK_H_
