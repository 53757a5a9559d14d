// How fast the passes over a network are, against the speed of oneDNN's matrix product measured in
// turns with them.
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
  kUpdate,  // forward by target parameters, train with a loss, one step of the optimiser
  kAct,     // forward by a network compiled for one sample
};

// The names as the command line has them, in this order.
inline const std::vector<std::pair<std::string, NetworkPass>> kNetworkPasses = {
    {"forward", NetworkPass::kForward},
    {"train", NetworkPass::kTrain},
    {"update", NetworkPass::kUpdate},
    {"act", NetworkPass::kAct},
};

struct NetworkTiming {
  double ms = 0;      // median
  double gflops = 0;  // of the network's multiplications and additions only
  // By the same number of threads, in turns with the above; NaN in a build without oneDNN.
  double sgemm_gflops = 0;
};

// options.training is set as the pass needs it; the optimiser is that of kUpdate. Takes about
// `seconds`.
NetworkTiming MeasureNetwork(const NetworkSpec& spec, NetworkPass pass, NetworkOptions options,
                             const OptimizerOptions& optimizer = {}, double seconds = 2);

// About the memory that takes.
std::uint64_t NetworkBenchmarkBytes(const NetworkSpec& spec, NetworkPass pass,
                                    NetworkOptions options);

}  // namespace stableaa

#endif  // STABLEAA_NN_NETWORK_BENCHMARK_H_
