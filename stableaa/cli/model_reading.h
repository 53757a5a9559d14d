// Reads model files for commands and shows progress, as large ones take a while.
#ifndef STABLEAA_CLI_MODEL_READING_H_
#define STABLEAA_CLI_MODEL_READING_H_

#include <string>

#include "stableaa/mdp/formats/model_file.h"

namespace stableaa {

struct ReadingResult {
  LoadedModel loaded;
  double seconds = 0;
};

// ReadModel, with the elapsed time shown on the terminal.
ReadingResult ReadModelShowingProgress(const std::string& path, int threads);

// "grid.drn: 70 states, 280 rows, 812 transitions".
std::string ModelSummary(const std::string& path, const Model& model);

}  // namespace stableaa

#endif  // STABLEAA_CLI_MODEL_READING_H_
