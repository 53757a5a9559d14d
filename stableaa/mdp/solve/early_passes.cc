#include "stableaa/mdp/solve/early_passes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stableaa {
namespace {

// Analysing a model takes about as long as this many passes.
constexpr double kMostPasses = 6;

// The largest change.
double PassAlong(SolveRun& run, std::span<const std::uint32_t> sequence, double* values) {
  const ModelArrays& model = run.model().arrays();
  const double discount = run.discount();
  const CountedPass counted(run, run.model().rows(), PassBytes(run.model()));
  double change = 0;
  for (const std::uint32_t s : sequence) {
    const double best = BestWithoutLoop(model, discount, values, s);
    change = std::max(change, std::abs(best - values[s]));
    values[s] = best;
  }
  return change;
}

// True if the next few passes will not meet the goal.
bool TakesTooLong(double before, double change, double goal) {
  if (!(change < before)) return true;
  return std::log(goal / change) / std::log(change / before) > kMostPasses;
}

}  // namespace

std::optional<Solution> TryPasses(SolveRun& run, std::span<const std::uint32_t> sequence,
                                  std::vector<double>& values) {
  // After a pass a backup changes a value by no more than others have changed since its turn.
  const double goal = run.ResidualGoal();
  double change = HUGE_VAL;
  while (change > goal) {
    if (run.Exhausted(2)) return std::nullopt;
    const double before = std::exchange(change, PassAlong(run, sequence, values.data()));
    run.Report(change, nullptr);
    if (change > goal && before < HUGE_VAL && TakesTooLong(before, change, goal)) {
      return std::nullopt;
    }
  }
  // One more backup is reserved in case this one is not enough.
  if (run.Exhausted(2)) return std::nullopt;
  std::vector<double> image(values.size());
  std::vector<std::uint32_t> policy(values.size());
  const Certificate certificate = run.Backup(values, image, policy);
  run.Report(run.differences().magnitude(), &certificate);
  if (!run.Enough(certificate)) return std::nullopt;
  return run.Finish(SolveMethod::kGs, std::move(image), std::move(policy), certificate);
}

}  // namespace stableaa
