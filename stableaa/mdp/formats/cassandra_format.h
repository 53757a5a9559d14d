// Cassandra's text format for MDPs and POMDPs (.MDP, .POMDP; that of pomdp-solve), the MDP part.
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
// Read:
// - The preamble, in any order. `states`, `actions` and `observations` are a number or names; what
//   has names may be called by number too. Without `values` they are rewards; without `discount`
//   the model has none.
// - T: single probabilities, rows (S numbers, `uniform` or `reset`) and matrices (S · S numbers,
//   `uniform` or `identity`). `*` stands for every action or state. Later statements override
//   earlier ones; what none mentions is 0. Every action is possible in every state.
// - R with four fields, or, for all observations, three (`R: ACTION : STATE : NEXT` and O numbers)
//   or two (and S · O numbers). A file without `observations` is an MDP: three fields (or four, the
//   last `*`), two and a row, one and a matrix. A row's reward is the mean over next states and, if
//   rewards differ by observation, over the observations that O gives.
// - `values: cost` means that the smallest sum is the best: rewards are the negated costs, so that
//   solving without `minimize` does what the file asks for, with values of the opposite sign.
// - Observations, `start` and names are checked, then `dropped`.
//
// Short statements can describe large models: identity, * and uniform rows are kept as statements
// and unfolded row by row, up to 2^26 transitions more than the file's length can hold; beyond that
// the file is refused.
//
// Written: numbers for names, one `T: a : s : s' p` for each transition and one R for each row, so
// that reading gives the same model to the last bit. A .mdp has no observations and R of three
// fields, `R: a : s : * r`, as pomdp-solve expects of an MDP; a .pomdp is fully observable
// (observation s in state s) with R of four fields. All states must have the same number of
// actions: other models are a BadInput that names the formats that can hold them. A model without a
// discount gets none; pomdp-solve then wants the line added.
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

// Loses nothing that it accepts: returns an empty list. An MDP or a POMDP, by the ending of `path`,
// in any case.
std::vector<std::string> WriteCassandraModel(const Model& model, const std::filesystem::path& path);

// Transitions (and rows) that a file may describe beyond what its length can hold.
inline constexpr std::uint64_t kMostUnfoldedTransitions = std::uint64_t{1} << 26;

// `name` stands in messages.
LoadedModel ParseCassandraModel(std::string_view text, const std::string& name,
                                std::uint64_t most_unfolded = kMostUnfoldedTransitions);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_CASSANDRA_FORMAT_H_
