// Models as CSV: one line per transition.
//
//   s,a,next,p,r
//   0,0,1,0.5,2
//   0,0,0,0.5,2
//   0,1,1,1,0.25
//   1,0,1,1,0
//
// s, a, next   state, action and next state, integers from 0. The states are 0 to the largest s;
//              each has lines with s, and its actions are 0, 1, 2, ... without a gap.
// p            the transition's probability. Those of a row (s, a) sum to 1.
// r            the transition's reward. The row has the expected reward Σ p·r / Σ p; if all r of a
//              row are equal, exactly that.
//
// Lines may come in any order. Sorted by s, then a, they are read in one pass without a copy;
// otherwise all lines are held in memory, 48 bytes each. Repeated transitions are summed. Blank
// lines and lines that start with # are skipped, blanks around values are allowed, and the names in
// the header may be upper case.
//
// Lines are written in order, each with its row's reward as r: reading gives the same model to the
// last bit. The format cannot hold the discount.
#ifndef STABLEAA_MDP_FORMATS_CSV_FORMAT_H_
#define STABLEAA_MDP_FORMATS_CSV_FORMAT_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

LoadedModel ReadCsvModel(const std::filesystem::path& path);

// Returns what the format cannot hold.
std::vector<std::string> WriteCsvModel(const Model& model, const std::filesystem::path& path);

// `name` is used in messages.
LoadedModel ParseCsvModel(std::string_view text, const std::string& name);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_CSV_FORMAT_H_
