// The constraint on states of the classic environments: every variable is a number within bounds.
#ifndef STABLEAA_ENV_CLASSIC_STATE_RANGE_H_
#define STABLEAA_ENV_CLASSIC_STATE_RANGE_H_

#include <initializer_list>
#include <string>
#include <string_view>

namespace stableaa {

struct StateVariable {
  std::string_view name;
  double value;
  double low, high;  // both included
};

// "expected x in [-1, 1], found nan" for the first variable outside its bounds; empty if there is
// none.
std::string FirstOutside(std::initializer_list<StateVariable> variables);

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_STATE_RANGE_H_
