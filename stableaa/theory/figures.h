// The figures of the theory: `stableaa theory --figures DIR`.
//
//   residual     residual against backups on a Garnet model: value iteration, its span form, and
//                Anderson acceleration at several η, with the η rule's speed-ups
//   gain         the gain θ_k of each step, in the 2-norm and in the sup norm, where it exceeds 1
//   stability    ‖G̃‖₂ against η: random windows, windows of runs and the worst of one column,
//                with the printed bound and the corrected ones
//   eigenvalues  the eigenvalues of G̃ along runs, within the circles of these bounds
//   boltzmann    a map of one state with three fixed points, and mellowmax's with one
//
// gnuplot draws each as NAME.svg and NAME.png, and its numbers are written to NAME.csv. They are
// computed in figure_data.h.
#ifndef STABLEAA_THEORY_FIGURES_H_
#define STABLEAA_THEORY_FIGURES_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace stableaa {

// Writes all figures into the directory, creating it if needed, and returns the files' paths.
// Existing files are replaced atomically. Calls `watch`, if given, with each figure's name before
// its numbers are computed; it may throw to stop. Takes a few seconds in total.
//
// Throws WorkFailed, before computing or creating anything, if there is no gnuplot, or if the
// directory is a file or cannot be created or written to.
std::vector<std::filesystem::path> DrawTheoryFigures(
    const std::filesystem::path& directory, std::uint64_t seed,
    const std::function<void(std::string_view name)>& watch = {});

}  // namespace stableaa

#endif  // STABLEAA_THEORY_FIGURES_H_
