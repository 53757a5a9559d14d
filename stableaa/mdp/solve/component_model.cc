#include "stableaa/mdp/solve/component_model.h"

#include <cstddef>

#include "stableaa/mdp/model/state_prefetch.h"

namespace stableaa {

void ComponentModel::Reserve(std::uint64_t transitions) {
  if (capacity_ >= transitions) return;
  columns_ = std::make_unique_for_overwrite<std::uint32_t[]>(transitions);
  weights_ = std::make_unique_for_overwrite<double[]>(transitions);
  capacity_ = transitions;
}

void ComponentModel::Take(const Model& model, double discount,
                          std::span<const std::uint32_t> states,
                          std::span<const double> values_of_all) {
  places_.resize(model.states());
  std::uint64_t rows = 0;
  std::uint64_t transitions = 0;  // at most
  for (std::uint32_t place = 0; place < states.size(); ++place) {
    const std::uint32_t s = states[place];
    places_[s] = place;
    const std::uint64_t first_row = model.state_rows()[s];
    const std::uint64_t last_row = model.state_rows()[s + std::size_t{1}];
    rows += last_row - first_row;
    transitions += model.row_transitions()[last_row] - model.row_transitions()[first_row];
  }
  Reserve(transitions);
  state_rows_.resize(states.size() + 1);
  row_transitions_.resize(rows + 1);
  constants_.resize(rows);
  exits_.resize(rows);
  values.resize(states.size());
  actions.assign(states.size(), 0);
  constexpr std::uint64_t kLeastPrefetchedStates = 1000;
  if (states.size() >= kLeastPrefetchedStates &&
      StatePrefetch<std::uint32_t, std::uint32_t, std::uint32_t>::Pays(model)) {
    CopyStates<true>(model, discount, states, values_of_all);
  } else {
    CopyStates<false>(model, discount, states, values_of_all);
  }
}

template <bool kPrefetch>
void ComponentModel::CopyStates(const Model& model, double discount,
                                std::span<const std::uint32_t> states,
                                std::span<const double> values_of_all) {
  const std::span<const std::uint32_t> next_states = model.arrays().narrow_columns;
  const StatePrefetch<std::uint32_t, std::uint32_t, std::uint32_t> prefetch(model, next_states,
                                                                            states, places_);
  std::uint64_t to_row = 0;
  std::uint64_t to = 0;
  for (std::uint64_t i = 0; i < states.size(); ++i) {
    if constexpr (kPrefetch) prefetch.Before(i);
    const std::uint32_t s = states[i];
    state_rows_[i] = to_row;
    values[i] = values_of_all[s];
    const std::uint64_t last_row = model.state_rows()[s + std::size_t{1}];
    for (std::uint64_t row = model.state_rows()[s]; row < last_row; ++row, ++to_row) {
      row_transitions_[to_row] = to;
      const std::uint64_t begin = to;
      double outside = 0;
      double leave = 0;
      double within = 0;  // to other states of the component
      double stay = 0;
      const std::uint64_t end = model.row_transitions()[row + 1];
      for (std::uint64_t k = model.row_transitions()[row]; k < end; ++k) {
        const std::uint32_t next = next_states[k];
        const double p = model.probabilities()[k];
        const std::uint32_t place = places_[next];
        if (next == s) {
          stay = p;
        } else if (place >= states.size() || states[place] != next) {
          outside += p * values_of_all[next];
          leave += p;
        } else {
          columns_[to] = place;
          weights_[to] = discount * p;
          within += p;
          ++to;
        }
      }
      double constant = model.rewards()[row] + discount * outside;
      double exit = (1 - discount) + discount * leave;
      if (stay != 0) {
        // 1 − γ·stay without cancellation, which Elimination could not follow.
        const double factor = 1 / ((1 - discount) + discount * (leave + within));
        constant *= factor;
        exit *= factor;
        for (std::uint64_t k = begin; k < to; ++k) weights_[k] *= factor;
      }
      constants_[to_row] = constant;
      exits_[to_row] = exit;
    }
  }
  state_rows_[states.size()] = to_row;
  row_transitions_[to_row] = to;
}

void ComponentModel::GatherConstants(std::vector<double>& constants) const {
  constants.resize(states());
  for (std::size_t i = 0; i < constants.size(); ++i) {
    constants[i] = constants_[state_rows_[i] + actions[i]];
  }
}

}  // namespace stableaa
