// Runs a backend and the reference side by side on the same inputs and compares what comes out.
//
// Two kinds of numbers are used. Rounded: uniform weights as for training; results differ by
// rounding, and a ReLU whose argument is that close to zero may let a gradient pass in one and not
// in the other, which limits what can be asked of the gradients. Exact: sparse whole numbers of
// which every sum fits a float, so that any order of summation gives the same bits and not a single
// bit may differ (for networks of ReLU, power-of-two divisors and power-of-two numbers of actions).
// Where an ELU's result has rounded to -1 the backends, which keep results only, take its gradient
// to be zero instead of the tiny number that it is.
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
  int count = 32;  // of samples, at most batch
  bool exact = false;
  std::uint64_t seed = 1;
};

// Differences from the reference: outputs by the largest relative to the largest output, gradients
// as the 2-norm over a tensor relative to that of the tensor's gradient, the worst of all tensors.
struct NetworkDifference {
  double outputs = 0;
  double gradients = 0;
  std::string worst_tensor = {};
};

struct NetworkTolerance {
  double outputs = 0;
  double gradients = 0;
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

// The same case with the first seed, from its own on, for which no tensor's gradient is all zero (a
// check of zeros would prove nothing). Throws WorkFailed if there is none among the next hundred.
NetworkCase WithGradients(NetworkCase network_case);

bool IsWithin(const NetworkDifference& difference, const NetworkTolerance& tolerance);

// The named networks, and small ones of odd shapes; each exact and rounded.
std::vector<NetworkCase> NamedCases();
std::vector<NetworkCase> OddCases();

}  // namespace stableaa

#endif  // STABLEAA_NN_NETWORK_CHECK_H_
