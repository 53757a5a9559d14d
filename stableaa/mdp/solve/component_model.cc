#include "stableaa/mdp/solve/component_model.h"

#include "stableaa/mdp/model/state_prefetch.h"

namespace stableaa {

void ComponentModel::Reserve(std::uint64_t transitions) {
  if (capacity_ >= transitions) return;
  columns_ = std::make_unique_for_overwrite<std::uint32_t[]>(transitions);
  weights_ = std::make_unique_for_overwrite<double[]>(transitions);
  capacity_ = transitions;
}

void ComponentModel::Take(const Model& model, double discount, const SolvingOrder& order,
                          const PlaceRange& range, std::span<const double> values_of_all) {
  std::uint64_t rows = 0;
  std::uint64_t transitions = 0;  // at most
  for (std::uint64_t place = range.first; place < range.last; ++place) {
    const std::uint32_t s = order.states[place];
    const std::uint64_t first_row = model.state_rows()[s];
    const std::uint64_t last_row = model.state_rows()[s + std::size_t{1}];
    rows += last_row - first_row;
    transitions += model.row_transitions()[last_row] - model.row_transitions()[first_row];
  }
  Reserve(transitions);
  state_rows_.resize(range.size() + 1);
  row_transitions_.resize(rows + 1);
  constants_.resize(rows);
  values.resize(range.size());
  actions.assign(range.size(), 0);
  constexpr std::uint64_t kLeastPrefetchedStates = 1000;
  if (range.size() >= kLeastPrefetchedStates &&
      StatePrefetch<std::uint32_t, std::uint32_t, std::uint32_t>::Pays(model)) {
    CopyStates<true>(model, discount, order, range, values_of_all);
  } else {
    CopyStates<false>(model, discount, order, range, values_of_all);
  }
}

template <bool kPrefetch>
void ComponentModel::CopyStates(const Model& model, double discount, const SolvingOrder& order,
                                const PlaceRange& range, std::span<const double> values_of_all) {
  const std::span<const std::uint32_t> next_states = model.arrays().narrow_columns;
  const std::span<const std::uint32_t> sequence(order.states.data() + range.first, range.size());
  const StatePrefetch<std::uint32_t, std::uint32_t, std::uint32_t> prefetch(
      model, next_states, sequence, order.places);
  std::uint64_t to_row = 0;
  std::uint64_t to = 0;
  for (std::uint64_t i = 0; i < range.size(); ++i) {
    if constexpr (kPrefetch) prefetch.Before(i);
    const std::uint32_t s = sequence[i];
    state_rows_[i] = to_row;
    values[i] = values_of_all[s];
    const std::uint64_t last_row = model.state_rows()[s + std::size_t{1}];
    for (std::uint64_t row = model.state_rows()[s]; row < last_row; ++row, ++to_row) {
      row_transitions_[to_row] = to;
      const std::uint64_t begin = to;
      double outside = 0;
      double stay = 0;
      const std::uint64_t end = model.row_transitions()[row + 1];
      for (std::uint64_t k = model.row_transitions()[row]; k < end; ++k) {
        const std::uint32_t next = next_states[k];
        const double p = model.probabilities()[k];
        const std::uint32_t place = order.places[next];
        if (place < range.first) {
          outside += p * values_of_all[next];
        } else if (next == s) {
          stay = p;
        } else {
          columns_[to] = static_cast<std::uint32_t>(place - range.first);
          weights_[to] = discount * p;
          ++to;
        }
      }
      double constant = model.rewards()[row] + discount * outside;
      if (stay != 0) {
        const double factor = 1 / (1 - discount * stay);
        constant *= factor;
        for (std::uint64_t k = begin; k < to; ++k) weights_[k] *= factor;
      }
      constants_[to_row] = constant;
    }
  }
  state_rows_[range.size()] = to_row;
  row_transitions_[to_row] = to;
}

}  // namespace stableaa
