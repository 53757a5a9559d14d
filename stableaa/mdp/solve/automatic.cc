#include "stableaa/mdp/solve/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stableaa/mdp/solve/component_iteration.h"
#include "stableaa/mdp/solve/value_iteration.h"

namespace stableaa {
namespace {

// The probe: this many backups, each followed by this many passes of the policy. The first bounds
// say little, because policies still change; if they grow at first, or have not begun to shrink by
// the third, they will not do so soon.
constexpr int kProbeImprovements = 4;
constexpr double kMostGrowth = 1.5;
constexpr double kLeastShrinkage = 0.95;
constexpr int kProbePasses = 5;
constexpr int kEvaluationPasses = 10;

// The iterations (full passes) that mpi may still need after the probe. Finding an order and
// renumbering take about as long as 20, and only then does the work begin.
constexpr double kMostIterations = 60;

// The bounds after a backup.
struct Pace {
  double iterations = 0;
  double gap = 0;
};

// Iterations until the bounds meet the tolerance, if they continue at the pace between these two.
double Forecast(const Pace& before, const Pace& now, double tolerance) {
  const double shrinkage = std::log(now.gap / before.gap);
  if (!(shrinkage < 0)) return HUGE_VAL;
  return (now.iterations - before.iterations) * std::log(tolerance / now.gap) / shrinkage;
}

std::string Reason(const Pace& before, const Pace& now) {
  if (now.gap >= before.gap) return "the bounds of mpi do not shrink";
  const double rate =
      std::pow(now.gap / before.gap, 1 / std::max(now.iterations - before.iterations, 1.0));
  return fmt::format("the bounds of mpi shrink to {:.4g} of themselves a sweep only", rate);
}

std::string Conclusion(const Solution& solution, double iterations) {
  return solution.converged()
             ? fmt::format("mpi: its bounds shrink fast, {:.1f} sweeps in all", iterations)
             : fmt::format("mpi: stopped after {:.1f} sweeps", iterations);
}

// What mpi leaves to be done.
struct Rest {
  std::vector<double> start;  // values from below
  std::string reason;         // why it stopped
};

// Solves by mpi as long as it is fast enough. Its memory has been freed when this returns.
std::variant<Solution, Rest> TryModifiedPolicyIteration(SolveRun& run) {
  ModifiedPolicyIteration iteration(run);
  double limit = HUGE_VAL;  // on mpi's iterations
  double forecast = HUGE_VAL;
  Pace before;
  Pace now;
  for (int improvements = 1;; ++improvements) {
    if (iteration.Improve()) {
      Solution solution = iteration.Finish();
      solution.choice = Conclusion(solution, run.iterations());
      return solution;
    }
    const double former = forecast;
    before = std::exchange(now, {run.iterations(), iteration.certificate().half});
    // Rounding allows nothing closer.
    const double goal = std::max(run.options().tolerance, iteration.certificate().rounding);
    forecast = Forecast(before, now, goal);
    if (improvements == 2 && now.gap > kMostGrowth * before.gap) break;
    if (improvements == 3 && now.gap > kLeastShrinkage * before.gap) break;
    if (improvements == kProbeImprovements) {
      const double better = std::min(former, forecast);  // the pace is uneven while policies change
      limit = better <= kMostIterations ? run.iterations() + 2 * better + 5 : 0;
    }
    if (run.iterations() > limit) break;
    iteration.Evaluate(improvements < kProbeImprovements ? kProbePasses : kEvaluationPasses);
  }
  Rest rest{.start = iteration.LowerBound(), .reason = Reason(before, now)};
  const double least = LeastValue(run.model(), run.discount());
  for (double& value : rest.start) value = std::max(value, least);
  return rest;
}

}  // namespace

Solution SolveAutomatically(SolveRun& run) {
  std::variant<Solution, Rest> tried = TryModifiedPolicyIteration(run);
  if (Solution* const solved = std::get_if<Solution>(&tried)) return std::move(*solved);
  Rest& rest = std::get<Rest>(tried);
  Solution solution = SolveByComponents(run, SolveMethod::kAuto, std::move(rest.start));
  solution.choice = fmt::format("{}: {}", Name(solution.method), rest.reason);
  return solution;
}

}  // namespace stableaa
