#include "stableaa/mdp/solve/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stableaa/mdp/solve/component_iteration.h"
#include "stableaa/mdp/solve/early_passes.h"
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

// Numbers of states say nothing about the way to the goals if fewer transitions than this go the
// same way. A search from the goals finds a better order, which pays in large components.
constexpr double kLeastOrdered = 0.6;
constexpr std::uint64_t kLeastSearched = 5000;  // states

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

// What a look at the model shows before any backup.
struct FirstLook {
  bool absorbing = false;    // some state cannot be left
  bool nothing_to_do = false;  // one backup of V = 0 will meet the tolerance
};

bool IsAbsorbing(const Model& model, std::uint64_t state) {
  const std::uint64_t end = model.row_transitions()[model.state_rows()[state + 1]];
  for (std::uint64_t k = model.row_transitions()[model.state_rows()[state]]; k < end; ++k) {
    if (model.column(k) != state) return false;
  }
  return true;
}

// The backup of V = 0 is each state's best reward.
FirstLook LookAt(const SolveRun& run) {
  const Model& model = run.model();
  const auto rewards = model.rewards();
  FirstLook look;
  double least = HUGE_VAL;
  double largest = -HUGE_VAL;
  std::uint64_t row = 0;
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    double best = -HUGE_VAL;
    for (; row < model.state_rows()[s + 1]; ++row) best = std::max(best, rewards[row]);
    least = std::min(least, best);
    largest = std::max(largest, best);
    look.absorbing = look.absorbing || IsAbsorbing(model, s);
  }
  look.nothing_to_do = run.Magnify(largest - least) / 2 <= run.options().tolerance;
  return look;
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

// For models with absorbing states. Passes in the order of the numbers come first, from V = 0:
// below the optimum if no reward is negative, and often close to it otherwise.
Solution SolveAbsorbing(SolveRun& run) {
  const Model& model = run.model();
  const double least = LeastValue(model, run.discount());
  const double share = UpwardShare(model);
  StateSequence sequence = SequenceByNumber(model, share);
  std::vector<double> values(model.states());
  if (std::optional<Solution> solution = TryPasses(run, sequence.states, values)) {
    solution->choice = fmt::format("gs: {:.1f} sweeps in the order of the states were enough",
                                   run.iterations());
    return *std::move(solution);
  }
  if (least < 0) std::ranges::fill(values, least);
  const Components components = FindComponents(model);
  const std::uint64_t largest = std::ranges::max(ComponentSizes(components));
  const bool unordered = std::max(share, 1 - share) < kLeastOrdered;
  if (unordered && largest >= kLeastSearched) {
    sequence = FindStateSequence(model, StateOrder::kBfs);
  }
  Solution solution = SolveByComponents(run, {.method = SolveMethod::kAuto,
                                              .order = OrderByComponents(components, sequence),
                                              .start = std::move(values),
                                              .direct_first = true});
  solution.choice = fmt::format("{}: {} components, the largest with {} states, solved in order",
                                Name(solution.method), components.count, largest);
  return solution;
}

}  // namespace

Solution SolveAutomatically(SolveRun& run) {
  const FirstLook look = LookAt(run);
  if (look.absorbing && !look.nothing_to_do && !run.model().wide()) return SolveAbsorbing(run);
  std::variant<Solution, Rest> tried = TryModifiedPolicyIteration(run);
  if (Solution* const solved = std::get_if<Solution>(&tried)) return std::move(*solved);
  Rest& rest = std::get<Rest>(tried);
  Solution solution = SolveByComponents(
      run, {.method = SolveMethod::kAuto,
            .order = FindSolvingOrder(run.model(),
                                      FindStateSequence(run.model(), StateOrder::kBfs)),
            .start = std::move(rest.start)});
  solution.choice = fmt::format("{}: {}", Name(solution.method), rest.reason);
  return solution;
}

}  // namespace stableaa
