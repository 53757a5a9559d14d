// Models as NumPy arrays in an .npz, in Python's usual form for sparse matrices (CSR):
//
//   key         length  meaning                                                     written as
//   state_ptr   S+1     rows of state s: state_ptr[s] … state_ptr[s+1] − 1          int64
//   indptr      R+1     transitions of row i: indptr[i] … indptr[i+1] − 1           int64
//   indices     T       next states                                                 int32, or int64
//                                                                                   if one needs it
//   data        T       probabilities                                               float64
//   reward      R       expected rewards of rows                                    float64
//   discount    1       optional, of shape () or (1,)                               float64, ()
//
// A row is a pair of state and action, sorted by state, then action (model.h). In Python:
//
//   m = numpy.load("model.npz")
//   P = scipy.sparse.csr_matrix((m["data"], m["indices"], m["indptr"]))        # R x S
//   numpy.savez("model.npz", state_ptr=..., indptr=P.indptr, indices=P.indices, data=P.data,
//               reward=..., discount=0.99)                   # or savez_compressed
//
// The first three may be integers of 8 to 64 bits, signed or unsigned; the others integers or
// floating point of 32 or 64 bits; all in either byte order, stored or deflated. A row's next
// states may come in any order; repetitions are summed and zeros dropped, as in SciPy.
// Probabilities in float32 cannot sum to 1 as exactly as a model requires: a row of them that does
// so up to float32 rounding is divided by its sum. Other arrays are listed in LoadedModel::dropped.
//
// Errors name the array and the element, or the row and the state.
#ifndef STABLEAA_MDP_FORMATS_NPZ_MODEL_FORMAT_H_
#define STABLEAA_MDP_FORMATS_NPZ_MODEL_FORMAT_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

LoadedModel ReadNpzModel(const std::filesystem::path& path, int threads);

// The same from memory; the model keeps no reference to it. Messages call it `name`.
LoadedModel ParseNpzModel(std::span<const std::byte> bytes, const std::string& name);

// Loses nothing, so this returns an empty list. Arrays are stored, not deflated.
std::vector<std::string> WriteNpzModel(const Model& model, const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_NPZ_MODEL_FORMAT_H_
