#include "stableaa/cli/model_reading.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {

void AddRewardFlag(CLI::App& command, std::optional<std::string>* reward) {
  command
      .add_option("--reward", *reward,
                  "Reward structure to use, of a file with several (default: the first)")
      ->type_name("NAME");
}

ReadingResult ReadModelShowingProgress(const std::string& path, int threads,
                                       const std::optional<std::string>& reward) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  const std::string size =
      error ? "" : fmt::format(" ({}B)", HumanCount(static_cast<double>(bytes)));
  const Progress progress(
      {.label = fmt::format("reading {}{}", Shorten(path), size), .unit = "", .by_itself = true});
  const Stopwatch watch;
  LoadedModel loaded = ReadModel(path, threads);
  if (reward) UseRewardStructure(loaded, *reward, "--reward");
  return {std::move(loaded), watch.Seconds()};
}

std::string ModelSummary(const std::string& path, const Model& model) {
  return fmt::format("{}: {} states, {} rows, {} transitions", Shorten(path, 200), model.states(),
                     model.rows(), model.transitions());
}

}  // namespace stableaa
