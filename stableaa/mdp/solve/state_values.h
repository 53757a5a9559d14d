// The value of one state from those of its next states, for methods that go from state to state.
#ifndef STABLEAA_MDP_SOLVE_STATE_VALUES_H_
#define STABLEAA_MDP_SOLVE_STATE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "stableaa/mdp/model/model.h"

namespace stableaa {

// The value of a state's best row with its self-loop solved out. Next states must have 32 bits.
[[gnu::always_inline]] inline double BestWithoutLoop(const ModelArrays& model, double discount,
                                                     const double* values, std::uint32_t state) {
  double best = -std::numeric_limits<double>::infinity();
  const std::uint64_t first = model.state_rows[state];
  const std::uint64_t last = model.state_rows[state + std::size_t{1}];
  std::uint64_t k = model.row_transitions[first];
  for (std::uint64_t row = first; row < last; ++row) {
    double sum = 0;
    double stay = 0;
    for (const std::uint64_t end = model.row_transitions[row + 1]; k < end; ++k) {
      const bool self = model.narrow_columns[k] == state;
      stay = self ? model.probabilities[k] : stay;
      sum += self ? 0 : model.probabilities[k] * values[model.narrow_columns[k]];
    }
    double q = model.rewards[row] + discount * sum;
    if (stay != 0) q /= 1 - discount * stay;  // the next state waits for the division
    best = q > best ? q : best;
  }
  return best;
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_STATE_VALUES_H_
