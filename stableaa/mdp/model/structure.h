// What a model looks like before solving: sizes, shape of the graph, range of the rewards.
#ifndef STABLEAA_MDP_MODEL_STRUCTURE_H_
#define STABLEAA_MDP_MODEL_STRUCTURE_H_

#include <cstdint>

#include "stableaa/mdp/model/model.h"

namespace stableaa {

struct ModelStructure {
  std::uint64_t states = 0;
  std::uint64_t rows = 0;
  std::uint64_t transitions = 0;
  std::uint64_t bytes = 0;  // of the arrays

  std::uint64_t least_actions = 0;  // of a state
  std::uint64_t most_actions = 0;
  double mean_actions = 0;
  std::uint64_t least_transitions = 0;  // of a row
  std::uint64_t most_transitions = 0;
  double mean_transitions = 0;
  double density = 0;  // transitions / (rows · states): 1 if every row leads everywhere

  bool deterministic = false;    // every row has one next state
  double self_loop_share = 0;    // share of rows that may stay in their state
  std::uint64_t reachable = 0;   // states that state 0 can reach by any actions, including itself
  std::uint64_t absorbing = 0;   // states where every action stays with probability 1
  std::uint64_t components = 0;  // strongly connected components (components.h)
  std::uint64_t largest_component = 0;  // in states
  std::uint64_t closed_components = 0;  // those that no transition leaves; absorbing states count

  double least_reward = 0;  // of a row
  double most_reward = 0;
};

// Reads the model a few times on one thread; needs as much memory as FindComponents. Throws
// WorkFailed for models with 2^32 − 1 states or more.
ModelStructure Analyse(const Model& model);

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_STRUCTURE_H_
