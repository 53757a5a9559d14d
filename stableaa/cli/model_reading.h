// Reads model files for commands and shows progress, as large ones take a while.
#ifndef STABLEAA_CLI_MODEL_READING_H_
#define STABLEAA_CLI_MODEL_READING_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "stableaa/mdp/formats/model_file.h"

namespace stableaa {

struct ReadingResult {
  LoadedModel loaded;
  double seconds = 0;
};

// --reward NAME.
void AddRewardFlag(CLI::App& command, std::optional<std::string>* reward);

// ReadModel, with the elapsed time shown on the terminal. With `reward`, the structure of this name
// is the model's; BadInput if there is none.
ReadingResult ReadModelShowingProgress(const std::string& path, int threads,
                                       const std::optional<std::string>& reward);

// "grid.drn: 70 states, 280 rows, 812 transitions".
std::string ModelSummary(const std::string& path, const Model& model);

}  // namespace stableaa

#endif  // STABLEAA_CLI_MODEL_READING_H_
