// stableaa's own model file: a model's arrays as they are in memory, used directly from the file. A
// gigabyte opens in a fraction of a second: the data is read only to check it.
//
// On disk, all numbers little-endian (big-endian machines can neither read nor write it):
//
//   offset  bytes
//        0      8  89 53 41 41 4D 44 50 0A ("\x89SAAMDP\n": no text begins so)
//        8      4  version, u32: 1, or 2 for a file with annotations
//       12      4  w, bytes of a next state, u32: 4 or 8
//       16      8  S, number of states, u64
//       24      8  R, number of rows (state-action pairs), u64
//       32      8  T, number of transitions, u64
//       40      8  discount, f64 in [0, 1); -1 for a model that has none
//       48      8  checksum of all bytes from 64 to the end, u64 (base/block_checksum.h)
//       56      8  checksum of the 64 bytes of this header with zeros here, u64 (the same)
//       64         first rows of states, u64[S+1]             Model::state_rows
//                  first transitions of rows, u64[R+1]        Model::row_transitions
//                  rewards of rows, f64[R]                    Model::rewards
//                  probabilities of transitions, f64[T]       Model::probabilities
//                  next states of transitions, u32[T] or u64[T]
//
// Version 2 goes on with what the file says beside the model (model/annotations.h): 64 bytes with
// eight numbers, u64, and then more arrays:
//
//                  L labels, M states in all of them, I initial states,
//                  W reward structures, N action names, C bytes of all names, 0, 0
//                  ends of names, u64[L+W+N]: labels, then reward structures, then actions
//                  names, u8[C], one after another
//                  ends of the labels' states, u64[L]
//                  states of the labels, u64[M], one after another
//                  initial states, u64[I]
//                  rewards of rows, f64[R], for each structure but the first, which is above
//                  action names of rows, u32[R] if N > 0: 0 for none, else 1, 2, ..., N
//
// Each array begins at a multiple of 64 bytes; zeros fill the gaps, including the one at the end,
// so the length of the file follows from the numbers. Equal models give equal files: a model
// without annotations always has version 1. A different layout gets the next version; older ones
// stay readable.
//
// Reading maps the file and checks the header, the length, the checksum, that the arrays are
// canonical (model.h) and the annotations sound. Damage is a BadInput that says which part is
// affected: any single changed word, truncation or extension is detected. The file must not be
// written to while the model is in use (base/mapped_file.h); WriteBinaryModel replaces it, which is
// safe.
#ifndef STABLEAA_MDP_FORMATS_BINARY_FORMAT_H_
#define STABLEAA_MDP_FORMATS_BINARY_FORMAT_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// True if the bytes start like such a file.
bool HasBinaryModelMagic(std::span<const std::byte> bytes);

LoadedModel ReadBinaryModel(const std::filesystem::path& path, int threads);

// Model and annotations use `bytes` in place. REQUIRES: they start at a multiple of 8 and live as
// long as `owner`. Messages call them `name`.
LoadedModel ParseBinaryModel(std::span<const std::byte> bytes, const std::string& name,
                             const std::shared_ptr<const void>& owner, int threads);

// The format holds everything, so this returns an empty list.
std::vector<std::string> WriteBinaryModel(const Model& model, const std::filesystem::path& path,
                                          const ModelAnnotations& annotations = {});

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_BINARY_FORMAT_H_
