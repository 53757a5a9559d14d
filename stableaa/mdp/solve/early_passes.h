// Gauss–Seidel passes over the whole model as it is stored, before anything is analysed or copied.
//
// In many models that is all it takes: where states are numbered in the order in which a search
// from the initial state met them, passes from the last state to the first carry values against the
// transitions, and only cycles need more than one.
#ifndef STABLEAA_MDP_SOLVE_EARLY_PASSES_H_
#define STABLEAA_MDP_SOLVE_EARLY_PASSES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/solve_run.h"

namespace stableaa {

// Passes along the sequence of all states, with self-loops solved out, as long as they are about to
// meet the tolerance. Nothing if they are not, or if a limit is reached; the values are then those
// of the last pass: still below the optimum with TV ≥ V if they were so before. Next states must
// have 32 bits.
std::optional<Solution> TryPasses(SolveRun& run, std::span<const std::uint32_t> sequence,
                                  std::vector<double>& values);

// The value of a state's best row with its self-loop solved out.
[[gnu::always_inline]] inline double BestWithoutLoop(const ModelArrays& model, double discount,
                                                     const double* values, std::uint64_t state) {
  double best = -std::numeric_limits<double>::infinity();
  std::uint64_t k = model.row_transitions[model.state_rows[state]];
  for (std::uint64_t row = model.state_rows[state]; row < model.state_rows[state + 1]; ++row) {
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

#endif  // STABLEAA_MDP_SOLVE_EARLY_PASSES_H_
