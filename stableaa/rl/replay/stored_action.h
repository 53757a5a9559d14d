// Actions as the replay stores them.
#ifndef STABLEAA_RL_REPLAY_STORED_ACTION_H_
#define STABLEAA_RL_REPLAY_STORED_ACTION_H_

#include <cstddef>
#include <span>

namespace stableaa {

// All actions of a replay have the same shape.
struct ActionShape {
  // Discrete actions have the indices 0 to count - 1. Continuous ones all have the index 0, so
  // their count is 1.
  int count = 0;

  // Numbers per continuous action, 1 to kMaxFloats; 0 if actions are discrete.
  int floats = 0;

  static constexpr int kMaxFloats = 65536;

  std::size_t values() const { return static_cast<std::size_t>(floats); }
};

// An action to be stored: {3} if it is discrete, {.values = numbers} if it is continuous.
struct TakenAction {
  int index = 0;
  std::span<const float> values = {};  // finite
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_STORED_ACTION_H_
