#include "stableaa/rl/control/action_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stableaa/core/error.h"

namespace stableaa {

ActionBox::ActionBox(const EnvironmentSpec& spec) {
  const Space& space = spec.action;
  if (space.kind != Space::Kind::kBox || space.type != ElementType::kFloat) {
    throw BadInput(fmt::format("{}: expected actions that are real numbers, found {}", spec.id,
                               Describe(space)));
  }
  for (std::size_t i = 0; i < space.size(); ++i) {
    const float low = space.LowOf(i), high = space.HighOf(i);
    if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
      throw BadInput(fmt::format(
          "{}: element {} of its actions lies in [{:g}, {:g}]; agents need finite bounds, which a "
          "wrapper of your own can give (env.wrappers)",
          spec.id, i, low, high));
    }
    low_.push_back(low);
    high_.push_back(high);
  }
}

void ActionBox::ToEnvironment(std::span<const float> unit, std::span<float> out) const {
  for (std::size_t i = 0; i < low_.size(); ++i) {
    const auto low = static_cast<double>(low_[i]), high = static_cast<double>(high_[i]);
    const double share = (std::clamp(static_cast<double>(unit[i]), -1.0, 1.0) + 1) / 2;
    // Not low + share · (high − low), which misses a bound that is small beside the other.
    const double point = (1 - share) * low + share * high;
    out[i] = std::clamp(static_cast<float>(point), low_[i], high_[i]);
  }
}

}  // namespace stableaa
