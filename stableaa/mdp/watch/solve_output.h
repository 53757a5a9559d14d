// The files of a solve with one line per state, as CSV:
//
//   values   state,value
//   policy   state,action
//   bounds   state,lower,upper      lower ≤ V*(s) ≤ upper, rounded outwards
//
// Numbers have 17 significant digits, enough to read back the same double.
#ifndef STABLEAA_MDP_WATCH_SOLVE_OUTPUT_H_
#define STABLEAA_MDP_WATCH_SOLVE_OUTPUT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa {

// The files that are wanted. Opened before the solve, so that a path that cannot be written to is
// an error before the work; each appears at once when it is complete (AtomicFile).
class SolutionFiles {
 public:
  struct Paths {
    std::optional<std::filesystem::path> values = {};
    std::optional<std::filesystem::path> policy = {};
    std::optional<std::filesystem::path> bounds = {};
  };

  explicit SolutionFiles(const Paths& paths);

  // Once. Bounds of a solution without a certificate are empty cells.
  void Write(const Solution& solution);

 private:
  std::optional<AtomicFile> values_;
  std::optional<AtomicFile> policy_;
  std::optional<AtomicFile> bounds_;
};

// A policy of the model, read from a file as SolutionFiles writes it: the header and then every
// state exactly once, in any order. BadInput with file:line for all else, a state or an action that
// the model does not have included.
std::vector<std::uint32_t> ReadPolicy(const std::filesystem::path& path, const Model& model);

}  // namespace stableaa

#endif  // STABLEAA_MDP_WATCH_SOLVE_OUTPUT_H_
