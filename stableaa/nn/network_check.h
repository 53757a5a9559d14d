// Runs a backend and the reference side by side on the same inputs and compares their results.
//
// There are two kinds of cases. Rounded: uniform weights as in training. Results differ by
// rounding, and a ReLU whose argument is that close to zero may let a gradient pass in one and not
// in the other, which limits how closely gradients can agree. Exact: sparse whole numbers all of
// whose sums fit a float. Any order of summation then gives the same result, and not a single bit
// may differ (for networks of ReLU, power-of-two divisors and power-of-two numbers of actions).
// Where an ELU's result has rounded to -1, the backends, which keep only results, take its gradient
// to be zero instead of a tiny number.
#ifndef STABLEAA_NN_NETWORK_CHECK_H_
#define STABLEAA_NN_NETWORK_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/nn/network.h"

namespace stableaa {

struct NetworkCase {
  std::string name;
  NetworkSpec spec;
  int batch = 32;
  int count = 32;  // samples, at most batch
  bool exact = false;
  std::uint64_t seed = 1;
};

// Differences from the reference. Outputs: the largest difference relative to the largest output.
// Gradients: the 2-norm of a tensor's difference relative to that of its gradient, the worst of all
// tensors. Inputs: the same of the gradient with respect to a part of the input, the worst of all
// parts; zero for networks of frames and images.
struct NetworkDifference {
  double outputs = 0;
  double gradients = 0;
  double inputs = 0;
  std::string worst_tensor = {};  // of the network's, whose gradients differ most
};

struct NetworkTolerance {
  double outputs = 0;
  double gradients = 0;  // of the parameters and of the inputs
};

// Zero for exact cases.
NetworkTolerance ToleranceFor(const NetworkCase& network_case);

struct CheckedBackend {
  std::string name;
  int threads = 1;
};

// One difference per backend; the reference runs once.
std::vector<NetworkDifference> CompareWithReference(const NetworkCase& network_case,
                                                    const std::vector<CheckedBackend>& backends);

// The same case with the first seed, from its own on, for which no gradient, of a tensor or of a
// part of the input, is all zero (checking zeros would prove nothing). Throws WorkFailed if none of the next hundred will do.
NetworkCase WithGradients(NetworkCase network_case);

bool IsWithin(const NetworkDifference& difference, const NetworkTolerance& tolerance);

// The named networks, those of control included, and small ones with odd shapes; each exact and
// rounded.
std::vector<NetworkCase> NamedCases();
std::vector<NetworkCase> OddCases();

}  // namespace stableaa

#endif  // STABLEAA_NN_NETWORK_CHECK_H_
