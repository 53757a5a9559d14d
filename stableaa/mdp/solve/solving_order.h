// The order in which Gauss–Seidel goes through the states.
//
// Components first: each comes after all that it leads to, so everything it depends on is final
// before its turn. Within a component, states are sorted by the number of steps to a goal, so one
// pass carries the goal's value along every shortest path. Goals are the absorbing states that pay
// more than the worst reward or, if there are none, the states with the best reward of all.
//
// The model is not touched: places in the order are kept beside it.
#ifndef STABLEAA_MDP_SOLVE_SOLVING_ORDER_H_
#define STABLEAA_MDP_SOLVE_SOLVING_ORDER_H_

#include <cstdint>
#include <vector>

#include "stableaa/mdp/model/components.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa {

// All states in some order.
struct StateSequence {
  std::vector<std::uint32_t> states;
  bool all_reach_first = false;  // if known; false may mean unknown
};

// Sorted by distance to the goals, those that reach none last (kBfs), or as numbered (kModel). Next
// states must have 32 bits.
StateSequence FindStateSequence(const Model& model, StateOrder order);

// The share of transitions that lead to higher numbers, without self-loops, in a sample of the
// states. Close to 1 if a search from the initial state numbered them.
double UpwardShare(const Model& model);

// Against most of the transitions: from the last state to the first, or the other way round.
StateSequence SequenceByNumber(const Model& model, double upward_share);

// A state's place is its number in the order.
struct SolvingOrder {
  std::vector<std::uint32_t> states;      // by place
  std::vector<std::uint32_t> places;      // by state
  std::vector<std::uint64_t> components;  // first place of each, then the number of states
};

// By components, and by the sequence within each.
SolvingOrder OrderByComponents(const Components& components, const StateSequence& sequence);

// The same after finding the components. Throws WorkFailed for models with 2^32 − 1 states or more.
SolvingOrder FindSolvingOrder(const Model& model, const StateSequence& sequence);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_SOLVING_ORDER_H_
