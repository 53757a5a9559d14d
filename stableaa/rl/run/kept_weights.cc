#include "stableaa/rl/run/kept_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <system_error>
#include <variant>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/base/text/whole_number.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/saved_agent.h"

namespace stableaa {
namespace {

constexpr std::int64_t kMaxKeepInterval = std::int64_t{1} << 40;

std::string KeptName(std::int64_t step) { return fmt::format("step-{:012}.safetensors", step); }

// Nothing for other files.
std::optional<std::int64_t> StepOfKept(const std::string& name) {
  constexpr std::string_view kStart = "step-";
  if (!name.starts_with(kStart)) return std::nullopt;
  std::int64_t step = 0;
  const char* const digits = name.data() + kStart.size();
  if (std::from_chars(digits, name.data() + name.size(), step).ec != std::errc()) return {};
  return step >= 0 && name == KeptName(step) ? std::optional(step) : std::nullopt;
}

// In order of their steps.
std::vector<KeptWeights> ListKept(const std::filesystem::path& weights) {
  std::vector<KeptWeights> kept;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(weights, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto step = StepOfKept(entry->path().filename().string())) {
      kept.push_back({*step, entry->path()});
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw SystemError(fmt::format("cannot read {}", ShownPath(weights)), error.value());
  }
  std::ranges::sort(kept, {}, &KeptWeights::step);
  return kept;
}

}  // namespace

KeepRule KeepRule::Parse(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  using Words = std::vector<std::string>;
  if (words == Words{"none"}) return {};
  if (words == Words{"evaluations"} || words == Words{"all", "evaluations"}) {
    return {.when = When::kEvaluations};
  }
  const bool has_unit = words.size() == 3 && (words[2] == "steps" || words[2] == "step");
  if ((words.size() == 2 || has_unit) && words[0] == "every") {
    const std::optional<WholeNumber> number = ReadWholeNumber(words[1]);
    const auto* const steps = number ? std::get_if<std::int64_t>(&*number) : nullptr;
    if (steps != nullptr && *steps >= 1 && *steps <= kMaxKeepInterval) {
      return {.when = When::kSteps, .interval_steps = *steps};
    }
  }
  throw BadInput(
      fmt::format("checkpoint.keep_weights: expected none, every N steps (N from 1 to 2^40) or all "
                  "evaluations, found '{}'",
                  Shorten(text)));
}

bool KeepRule::IsDue(std::int64_t before, std::int64_t step) const {
  return when == When::kSteps && step / interval_steps > before / interval_steps;
}

WeightsKeeper::WeightsKeeper(const RunDirectory& directory, const RunOptions& options,
                             const Agent& agent)
    : directory_(directory),
      options_(options),
      agent_(agent),
      rule_(KeepRule::Parse(options.train.keep_weights)) {}

void WeightsKeeper::Keep(std::int64_t step) const {
  WriteWeights(directory_.weights() / KeptName(step), agent_.weights(),
               DescribeWeights(options_, step));
}

void WeightsKeeper::RemoveLater(std::int64_t step, std::int64_t evaluated_step) const {
  if (rule_.when == KeepRule::When::kNever) return;
  const std::int64_t last = keeps_evaluations() ? evaluated_step : step;
  for (const KeptWeights& kept : ListKept(directory_.weights())) {
    if (kept.step <= last) continue;
    std::error_code error;
    std::filesystem::remove(kept.file, error);
    if (error) {
      throw SystemError(fmt::format("cannot remove {}", ShownPath(kept.file)), error.value());
    }
  }
}

std::vector<KeptWeights> FindKeptWeights(const std::filesystem::path& run) {
  RequireRun(run);
  std::vector<KeptWeights> kept = ListKept(run / "weights");
  if (!kept.empty()) return kept;
  const std::string rule = ReadRunOptions(run / "config.toml").train.keep_weights;
  const bool none = KeepRule::Parse(rule).when == KeepRule::When::kNever;
  throw BadInput(
      fmt::format("{}: the run has kept no weights{} (checkpoint.keep_weights = \"{}\"{})",
                  ShownPath(run), none ? "" : " yet", rule,
                  none ? "; with \"every N steps\" or \"all evaluations\" a run keeps them" : ""));
}

void RequireOwnStep(const KeptWeights& kept, const WeightsMetadata& metadata) {
  const std::optional<std::int64_t> step = StepOf(metadata);
  if (step == kept.step) return;
  throw BadInput(fmt::format(
      "{}: expected the weights of step {}, as the name says, found those {}", ShownPath(kept.file),
      kept.step, step ? fmt::format("of step {}", *step) : "of an unknown step"));
}

KeptWeights FindKeptWeights(const std::filesystem::path& run, std::int64_t step) {
  const std::vector<KeptWeights> kept = FindKeptWeights(run);
  const auto next = std::ranges::lower_bound(kept, step, {}, &KeptWeights::step);
  if (next != kept.end() && next->step == step) return *next;
  std::vector<std::string> nearest;
  if (next != kept.begin()) nearest.push_back(fmt::format("step {}", (next - 1)->step));
  if (next != kept.end()) nearest.push_back(fmt::format("step {}", next->step));
  throw BadInput(fmt::format("{}: the run has kept no weights in step {}; the nearest: {}",
                             ShownPath(run), step, fmt::join(nearest, ", ")));
}

}  // namespace stableaa
