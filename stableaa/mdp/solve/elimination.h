// The values of a policy within one component, by eliminating one state after another.
//
// A policy's values satisfy x_i = c_i + Σ_j w_ij x_j with Σ_j w_ij < 1. Whatever has been eliminated
// is replaced by its equation in the remaining states, then x_i itself is solved out; at the end the
// values follow from the last state back to the first. The system is a diagonally dominant M-matrix:
// this needs no pivots, whatever the order, and is stable. What an equation's weights leave to 1 is
// kept beside them and never found by subtraction (Grassmann, Taksar and Heyman 1985): where a
// policy hardly leaves the component, as with γ near 1, that would lose most of the digits.
//
// The cost depends on the order. In that of a depth-first search (component_search.h) the equation
// of an eliminated state has only states through which the search was passing: few in protocols that
// start again from a few states, in trees, chains and cycles. In lattices numbered by a
// breadth-first search that order is better. Where elimination creates too many new entries, it is
// given up after the number of operations that it was allowed.
#ifndef STABLEAA_MDP_SOLVE_ELIMINATION_H_
#define STABLEAA_MDP_SOLVE_ELIMINATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/component_model.h"

namespace stableaa {

class Elimination {
 public:
  // values ← the solution for the model's actions and these constants, both by place. States are
  // eliminated in this order of their places, or as they are placed if it is empty. False, with
  // `values` untouched, if it takes more than `most_operations` (multiplications with an entry of an
  // eliminated state). Both spans may be the same.
  bool Solve(const ComponentModel& model, std::span<const std::uint32_t> order,
             std::uint64_t most_operations, std::span<const double> constants,
             std::span<double> values);

  std::uint64_t operations() const { return operations_; }  // of the last Solve

 private:
  template <bool kPlaced>
  bool Eliminate(const ComponentModel& model, std::span<const std::uint32_t> order,
                 std::uint64_t most_operations, std::span<const double> constants);
  void Add(std::uint32_t step, std::uint32_t to, double weight);

  std::uint64_t operations_ = 0;
  std::vector<std::uint32_t> step_;  // at which a place is eliminated

  // The equations of the eliminated states, by step, in states of later steps.
  std::vector<double> constants_;
  std::vector<double> exits_;  // 1 − Σ weights
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> columns_;
  std::vector<double> weights_;

  // The equation being worked on.
  std::vector<double> entry_;        // by step
  std::vector<std::uint32_t> seen_;  // by step: 1 + the last step whose equation had an entry there
  std::vector<std::uint32_t> left_;  // steps before, descending
  std::vector<std::uint32_t> right_;  // steps after
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_ELIMINATION_H_
