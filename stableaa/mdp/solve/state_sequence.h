// The order in which Gauss–Seidel goes through the states of a component.
//
// States are sorted by the number of steps to a goal, so one pass carries the goal's value along
// every shortest path. Goals are the absorbing states that pay more than the worst reward or, if
// there are none, the states with the best reward of all.
#ifndef STABLEAA_MDP_SOLVE_STATE_SEQUENCE_H_
#define STABLEAA_MDP_SOLVE_STATE_SEQUENCE_H_

#include <cstdint>
#include <vector>

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

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_STATE_SEQUENCE_H_
