// The box of an environment's continuous actions. Agents think of each element as a number in
// [−1, 1], from one bound to the other; replays, noise and entropies are in these units.
#ifndef STABLEAA_RL_CONTROL_ACTION_BOX_H_
#define STABLEAA_RL_CONTROL_ACTION_BOX_H_

#include <cstddef>
#include <span>
#include <vector>

#include "stableaa/env/environment.h"

namespace stableaa {

class ActionBox {
 public:
  // Throws BadInput, naming the environment, unless its actions are real numbers with finite
  // bounds. An element whose bounds are equal is allowed; it is always that number.
  explicit ActionBox(const EnvironmentSpec& spec);

  std::size_t size() const { return low_.size(); }

  // One action. Elements of `unit` beyond ±1 count as ±1; the results are within the bounds, and at
  // ±1 they are the bounds themselves.
  void ToEnvironment(std::span<const float> unit, std::span<float> out) const;

 private:
  std::vector<float> low_, high_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_ACTION_BOX_H_
