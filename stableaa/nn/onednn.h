// oneDNN, if the build has it (STABLEAA_ONEDNN): a second backend, and the matrix product against
// which speed is measured. Defined in onednn_network.cc, or otherwise in without_onednn.cc.
#ifndef STABLEAA_NN_ONEDNN_H_
#define STABLEAA_NN_ONEDNN_H_

#include <memory>

#include "stableaa/nn/network.h"

namespace stableaa {

bool HasOnednn();

// Only in a build with oneDNN.
std::unique_ptr<Network> MakeOnednnNetwork(std::shared_ptr<const Plan> plan,
                                           const NetworkOptions& options);

// c = a · b for matrices of n × n. Throws WorkFailed if oneDNN fails.
void OnednnProduct(int n, const float* a, const float* b, float* c);

}  // namespace stableaa

#endif  // STABLEAA_NN_ONEDNN_H_
