// Model files: the list of formats, and reading and writing any of them.
//
//   ending         format                                         holds the discount, annotations
//   .tra           PRISM's explicit files: .srew, .trew, .lab     no                  yes
//   .drn           Storm's DRN                                    no                  yes
//   .csv           s,a,next,p,r                                   no                  no
//   .mdp, .pomdp   Cassandra's text format (the MDP part)         yes                 no
//   .npz           NumPy arrays (CSR)                             yes                 no
//   .bin           stableaa's own, memory-mapped                  yes                 yes
//
// Annotations (model/annotations.h) are labels, initial states, reward structures and action names.
// Extensions may be upper or lower case. Each format has a pair of files in this folder that
// documents what it reads and writes. All errors in files are BadInput with file:line (text) or the
// part of the file (binary).
#ifndef STABLEAA_MDP_FORMATS_MODEL_FILE_H_
#define STABLEAA_MDP_FORMATS_MODEL_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/mdp/model/annotations.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// A model from a file, and a description of what else the file holds that is not kept:
// "observations".
struct LoadedModel {
  Model model;
  std::vector<std::string> dropped;
  bool from_costs = false;  // the file has costs; the rewards are the negated costs
  ModelAnnotations annotations = {};
};

// Chooses the format by the extension; BadInput for an unknown one lists them all. `threads` ≥ 1,
// for checking.
LoadedModel ReadModel(const std::filesystem::path& path, int threads = 1);

// Makes the reward structure of this name the model's, and the first of the annotations. The others
// keep their order. BadInput, starting with `label` ("reward"), if there is none: it lists all.
void UseRewardStructure(LoadedModel& loaded, const std::string& name, const std::string& label);

// "steps, coins": the names of the reward structures, for messages.
std::string RewardNames(const ModelAnnotations& annotations);

// Replaces the file all at once or not at all. Returns what the format cannot hold: "the discount
// 0.99", "2 labels". Rewards, probabilities and structure are always kept to the last bit.
// REQUIRES: annotations that fit the model.
std::vector<std::string> WriteModel(const Model& model, const std::filesystem::path& path,
                                    const ModelAnnotations& annotations = {});

// The format of a file that ReadModel reads, for people: "DRN", "NumPy archive".
std::string_view FormatName(const std::filesystem::path& path);

// BadInput unless WriteModel can write a file with this name; to check before the work starts.
void CheckModelPath(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_MODEL_FILE_H_
