// How network.cc reaches the backends that every build has; see onednn.h for the other. To add one,
// derive a class from Network and add a line here and one to the table in network.cc.
#ifndef STABLEAA_NN_BACKENDS_H_
#define STABLEAA_NN_BACKENDS_H_

#include <memory>

#include "stableaa/nn/network.h"

namespace stableaa {

std::unique_ptr<Network> MakeNativeNetwork(std::shared_ptr<const Plan> plan,
                                           const NetworkOptions& options);
std::unique_ptr<Network> MakeReferenceNetwork(std::shared_ptr<const Plan> plan,
                                              const NetworkOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_NN_BACKENDS_H_
