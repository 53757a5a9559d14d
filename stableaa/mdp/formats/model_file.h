// Model files: the list of formats, and reading and writing any of them.
//
//   ending         format                                            holds the discount
//   .tra           PRISM's explicit files; rewards in .srew, .trew   no
//   .drn           Storm's DRN                                       no
//   .csv           s,a,next,p,r                                      no
//   .mdp, .pomdp   Cassandra's text format (the MDP part)            yes
//   .npz           NumPy arrays (CSR)                                yes
//   .bin           stableaa's own, memory-mapped                     yes
//
// Extensions may be upper or lower case. Each format has a pair of files in this folder that
// documents what it reads and writes. All errors in files are BadInput with file:line (text) or the
// part of the file (binary).
#ifndef STABLEAA_MDP_FORMATS_MODEL_FILE_H_
#define STABLEAA_MDP_FORMATS_MODEL_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/mdp/model/model.h"

namespace stableaa {

// A model from a file, and a description of what else the file holds that a Model does not keep:
// "12 labels", "observations".
struct LoadedModel {
  Model model;
  std::vector<std::string> dropped;
  bool from_costs = false;  // the file has costs; the rewards are the negated costs
};

// Chooses the format by the extension; BadInput for an unknown one lists them all. `threads` ≥ 1,
// for checking.
LoadedModel ReadModel(const std::filesystem::path& path, int threads = 1);

// Replaces the file all at once or not at all. Returns what the format cannot hold: "the discount
// 0.99". Rewards, probabilities and structure are always kept to the last bit.
std::vector<std::string> WriteModel(const Model& model, const std::filesystem::path& path);

// The format of a file that ReadModel reads, for people: "DRN", "NumPy archive".
std::string_view FormatName(const std::filesystem::path& path);

// BadInput unless WriteModel can write a file with this name; to check before the work starts.
void CheckModelPath(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_MODEL_FILE_H_
