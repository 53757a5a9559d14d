// Renumbers the states of a model: the same process, stored in a different order.
//
// A pass reads the values of next states at random places. Numbers that put neighbours close to
// each other make it several times faster; shuffled numbers show what a lucky order was worth.
#ifndef STABLEAA_MDP_MODEL_RENUMBER_H_
#define STABLEAA_MDP_MODEL_RENUMBER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/mdp/model/model.h"

namespace stableaa {

// State s becomes state new_number_of_old_state[s] and takes its rows along, actions in the same
// order; next states are renumbered and sorted again, probabilities and rewards keep their bits. So
// renumbering with a permutation and then its inverse gives an equal model.
//
// Throws std::logic_error unless the numbers are a permutation of 0 … S−1. One thread, one pass in
// the new order; needs the memory of the new model and 16 bytes per state.
Model Renumber(const Model& model, std::span<const std::uint64_t> new_number_of_old_state);

// inverse[numbers[s]] = s. Throws std::logic_error unless `numbers` is a permutation.
std::vector<std::uint64_t> InversePermutation(std::span<const std::uint64_t> numbers);

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_RENUMBER_H_
