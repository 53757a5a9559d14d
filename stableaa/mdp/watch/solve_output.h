// The output files of a solve, with one line per state, as CSV:
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

// The requested files. They are opened before the solve, so that an unwritable path fails before
// the work; each appears atomically when complete (AtomicFile).
class SolutionFiles {
 public:
  struct Paths {
    std::optional<std::filesystem::path> values = {};
    std::optional<std::filesystem::path> policy = {};
    std::optional<std::filesystem::path> bounds = {};
  };

  explicit SolutionFiles(const Paths& paths);

  // Call once. Without a certificate the bounds are empty cells.
  void Write(const Solution& solution);

 private:
  std::optional<AtomicFile> values_;
  std::optional<AtomicFile> policy_;
  std::optional<AtomicFile> bounds_;
};

// Reads a policy for the model from a file as SolutionFiles writes it: the header, then every state
// exactly once, in any order. Anything else is BadInput with file:line, including a state or an
// action that the model does not have.
std::vector<std::uint32_t> ReadPolicy(const std::filesystem::path& path, const Model& model);

}  // namespace stableaa

#endif  // STABLEAA_MDP_WATCH_SOLVE_OUTPUT_H_
