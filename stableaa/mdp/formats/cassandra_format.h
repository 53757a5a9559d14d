// The MDP part of Cassandra's text format for MDPs and POMDPs (.MDP, .POMDP; used by pomdp-solve).
//
//   # two rooms                          T: go : left : right 0.9     T: ACTION : STATE : NEXT p
//   discount: 0.95                       T: go : left : left 0.1
//   values: reward                       T: go : right                T: ACTION : STATE row
//   states: left right                   0.0 1.0
//   actions: go stay                     T: stay                      T: ACTION matrix
//   observations: 2                      identity
//   start: left                          R: go : left : right : * 1   R: ACTION : STATE : NEXT :
//   OBS r
//
// Reading:
// - The preamble, in any order. `states`, `actions` and `observations` are a number or names; named
//   elements may also be given by number. Without `values` they are rewards; without `discount` the
//   model has none.
// - T: single probabilities, rows (S numbers, `uniform` or `reset`) and matrices (S · S numbers,
//   `uniform` or `identity`). `*` stands for every action or state. Later statements override
//   earlier ones; anything not mentioned is 0. Every action is possible in every state.
// - R with four fields, or, for all observations, three (`R: ACTION : STATE : NEXT` and O numbers)
//   or two (and S · O numbers). A file without `observations` is an MDP: three fields (or four, the
//   last `*`), two and a row, one and a matrix. A row's reward is the mean over next states and, if
//   rewards differ by observation, over the observations given by O.
// - `values: cost` means that the smallest sum is best: rewards are the negated costs, so solving
//   without `minimize` does what the file asks for, with values of the opposite sign.
// - Observations, `start` and names are checked, then `dropped`.
//
// Short statements can describe large models: identity, * and uniform rows are kept as statements
// and expanded row by row. A file that expands to over 2^26 transitions more than its length can
// hold is refused.
//
// Writing: numbers instead of names, one `T: a : s : s' p` per transition and one R per row, so
// that reading gives the same model to the last bit. A .mdp has no observations and R with three
// fields, `R: a : s : * r`, as pomdp-solve expects for an MDP; a .pomdp is fully observable
// (observation s in state s) and has R with four fields. All states must have the same number of
// actions; for other models, BadInput names the formats that can hold them. A model without a
// discount is written without one; pomdp-solve then needs the line added.
#ifndef STABLEAA_MDP_FORMATS_CASSANDRA_FORMAT_H_
#define STABLEAA_MDP_FORMATS_CASSANDRA_FORMAT_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

LoadedModel ReadCassandraModel(const std::filesystem::path& path);

// Loses nothing that it accepts, so this returns an empty list. Writes an MDP or a POMDP depending
// on the extension of `path`, in upper or lower case.
std::vector<std::string> WriteCassandraModel(const Model& model, const std::filesystem::path& path);

// Transitions (and rows) that a file may describe beyond what its length can hold.
inline constexpr std::uint64_t kMostUnfoldedTransitions = std::uint64_t{1} << 26;

// `name` is used in messages.
LoadedModel ParseCassandraModel(std::string_view text, const std::string& name,
                                std::uint64_t most_unfolded = kMostUnfoldedTransitions);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_CASSANDRA_FORMAT_H_
