#include <stdexcept>

#include "stableaa/nn/onednn.h"

namespace stableaa {

bool HasOnednn() { return false; }

std::unique_ptr<Network> MakeOnednnNetwork(std::shared_ptr<const Plan> /*plan*/,
                                           const NetworkOptions& /*options*/) {
  throw std::logic_error("MakeOnednnNetwork without oneDNN");
}

void OnednnProduct(int /*n*/, const float* /*a*/, const float* /*b*/, float* /*c*/) {
  throw std::logic_error("OnednnProduct without oneDNN");
}

}  // namespace stableaa
