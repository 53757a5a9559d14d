// The classic control problems by name: cartpole, mountain_car, acrobot, pendulum and
// mountain_car_continuous, with the physics, rewards, ends and spaces of Gymnasium's current
// versions.
#ifndef STABLEAA_ENV_CLASSIC_CLASSIC_H_
#define STABLEAA_ENV_CLASSIC_CLASSIC_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/env/simulation.h"

namespace stableaa {

const std::vector<std::string>& ClassicNames();

// Throws BadInput, listing the names, for any other.
EnvironmentSpec ClassicEnvironmentSpec(std::string_view name);
std::unique_ptr<Simulation> MakeClassic(std::string_view name);

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_CLASSIC_H_
