// One component of a model as a system of its own, for methods that solve component by component.
//
// States are numbered by their place within the component. Transitions to other components, whose
// values are final, go into a constant, and self-loops are solved out, so a row's value is
//
//   q = constants[row] + Σ weights[k] V(columns[k]),
//   constants = (r + γ Σ_outside p V)/(1 − γ p_ss),   weights = γ p/(1 − γ p_ss):
//
// rows are substochastic, and a pass streams nothing that it does not need. The memory is kept from
// one component to the next: there may be millions with a few states each.
#ifndef STABLEAA_MDP_SOLVE_COMPONENT_MODEL_H_
#define STABLEAA_MDP_SOLVE_COMPONENT_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/mdp/model/model.h"

namespace stableaa {

class ComponentModel {
 public:
  // Copies the rows of these states, which get their places in this order. `values` are those of
  // all states of the model. Next states must have 32 bits.
  void Take(const Model& model, double discount, std::span<const std::uint32_t> states,
            std::span<const double> values_of_all);

  // REQUIRES: one of the states taken.
  std::uint32_t PlaceOf(std::uint32_t state) const { return places_[state]; }

  std::uint64_t states() const { return state_rows_.size() - 1; }
  std::uint64_t rows() const { return row_transitions_.size() - 1; }
  std::uint64_t transitions() const { return row_transitions_.back(); }

  const std::uint64_t* state_rows() const { return state_rows_.data(); }
  const std::uint64_t* row_transitions() const { return row_transitions_.data(); }
  const std::uint32_t* columns() const { return columns_.get(); }
  const double* weights() const { return weights_.get(); }
  const double* constants() const { return constants_.data(); }
  // 1 − Σ weights of each row, free of cancellation: it may be tiny.
  const double* exits() const { return exits_.data(); }

  // constants ← those of the actions, by place.
  void GatherConstants(std::vector<double>& constants) const;

  // By place. Actions are rows, counted from 0 in each state.
  std::vector<double> values;
  std::vector<std::uint32_t> actions;

 private:
  template <bool kPrefetch>
  void CopyStates(const Model& model, double discount, std::span<const std::uint32_t> states,
                  std::span<const double> values_of_all);
  void Reserve(std::uint64_t transitions);

  std::vector<std::uint64_t> state_rows_ = {0};
  std::vector<std::uint64_t> row_transitions_ = {0};
  // Not vectors, which would write zeros first.
  std::unique_ptr<std::uint32_t[]> columns_;
  std::unique_ptr<double[]> weights_;
  std::uint64_t capacity_ = 0;  // of these two
  std::vector<double> constants_;
  std::vector<double> exits_;
  std::vector<std::uint32_t> places_;  // of the model's states; of others any number
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COMPONENT_MODEL_H_
