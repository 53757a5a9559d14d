#include "stableaa/env/classic/state_range.h"

#include <fmt/format.h>

namespace stableaa {

std::string FirstOutside(std::initializer_list<StateVariable> variables) {
  for (const auto& [name, value, low, high] : variables) {
    if (value >= low && value <= high) continue;  // false for NaN
    return fmt::format("expected {} in [{}, {}], found {}", name, low, high, value);
  }
  return {};
}

}  // namespace stableaa
