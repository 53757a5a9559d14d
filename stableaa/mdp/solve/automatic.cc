#include "stableaa/mdp/solve/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stableaa/mdp/solve/component_iteration.h"
#include "stableaa/mdp/solve/state_values.h"
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
constexpr int kLaterPasses = 10;

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

// What a look at the model shows before any backup.
struct FirstLook {
  bool absorbing = false;      // some state cannot be left
  std::uint64_t up = 0;        // transitions to higher numbers
  std::uint64_t down = 0;      // to lower numbers
  bool nothing_to_do = false;  // one backup of V = 0 will meet the tolerance

  // Without cycles but for self-loops, a pass against the transitions is all it takes.
  bool acyclic_as_numbered() const { return up == 0 || down == 0; }
  bool upward() const { return up >= down; }
  // Whether the numbers say something about the way to the goals, as they do if a search from the
  // initial state gave them.
  bool ordered() const {
    constexpr double kLeastOrdered = 0.6;
    return static_cast<double>(std::max(up, down)) >=
           kLeastOrdered * static_cast<double>(up + down);
  }
};

// The backup of V = 0 is each state's best reward. Next states must have 32 bits.
FirstLook LookAt(const SolveRun& run) {
  const ModelArrays& model = run.model().arrays();
  FirstLook look;
  double least = HUGE_VAL;
  double largest = -HUGE_VAL;
  std::uint64_t row = 0;
  std::uint64_t k = 0;
  for (std::uint64_t s = 0; s < run.model().states(); ++s) {
    double best = -HUGE_VAL;
    for (; row < model.state_rows[s + 1]; ++row) best = std::max(best, model.rewards[row]);
    least = std::min(least, best);
    largest = std::max(largest, best);
    std::uint64_t up = 0;
    std::uint64_t down = 0;
    for (const std::uint64_t end = model.row_transitions[row]; k < end; ++k) {
      up += static_cast<std::uint64_t>(model.narrow_columns[k] > s);
      down += static_cast<std::uint64_t>(model.narrow_columns[k] < s);
    }
    look.absorbing = look.absorbing || up + down == 0;
    look.up += up;
    look.down += down;
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
    iteration.Evaluate(improvements < kProbeImprovements ? kProbePasses : kLaterPasses);
  }
  Rest rest{.start = iteration.LowerBound(), .reason = Reason(before, now)};
  const double least = LeastValue(run.model(), run.discount());
  for (double& value : rest.start) value = std::max(value, least);
  return rest;
}

struct PassChange {
  double largest = 0;
  std::uint64_t states = 0;  // that changed
};

// A Gauss–Seidel pass over the model as it is stored, against most of the transitions.
PassChange PassByNumber(SolveRun& run, const FirstLook& look, std::vector<double>& values) {
  const Model& model = run.model();
  const CountedPass counted(run, model.rows(), PassBytes(model));
  const auto states = static_cast<std::uint32_t>(model.states());
  PassChange change;
  for (std::uint32_t i = 0; i < states; ++i) {
    const std::uint32_t s = look.upward() ? states - 1 - i : i;
    const double best = BestWithoutLoop(model.arrays(), run.discount(), values.data(), s);
    change.largest = std::max(change.largest, std::abs(best - values[s]));
    change.states += static_cast<std::uint64_t>(best != values[s]);
    values[s] = best;
  }
  return change;
}

// Such passes: one without cycles, otherwise as long as they change hardly any state. Nothing if
// they are not enough, or at a limit.
std::optional<Solution> TryPasses(SolveRun& run, const FirstLook& look,
                                  std::vector<double>& values) {
  constexpr int kMostPasses = 4;
  constexpr std::uint64_t kFewStates = 20;  // one in so many
  for (int pass = 1;; ++pass) {
    if (run.Exhausted(2)) return std::nullopt;
    const PassChange change = PassByNumber(run, look, values);
    // A state's plain residual is at most the change of others since its turn.
    if (look.acyclic_as_numbered() || change.largest <= run.ResidualGoal()) break;
    if (pass == kMostPasses || change.states > values.size() / kFewStates) return std::nullopt;
  }
  const double passes = run.iterations();
  Solution solution = run.BackupAndFinish(SolveMethod::kGs, std::move(values));
  solution.choice = fmt::format("gs: {}{:.0f} sweep{} in the order of the states {} enough",
                                look.acyclic_as_numbered() ? "no cycles, " : "", passes,
                                passes == 1 ? "" : "s", passes == 1 ? "was" : "were");
  return solution;
}

// For models with absorbing states: components in order, depth first.
Solution SolveAbsorbing(SolveRun& run, const FirstLook& look) {
  const Model& model = run.model();
  ComponentPlan plan;
  if (look.ordered()) {
    plan.large =
        look.upward() ? ComponentPlan::Large::kDescending : ComponentPlan::Large::kAscending;
  } else if (model.transitions() == model.rows()) {
    plan.sequence = FindStateSequence(model, StateOrder::kBfs);
  }
  // From V = 0: below the optimum if no reward is negative, and often the optimum of many states.
  // Where neighbours are far apart in memory, a pass is too dear for a guess.
  constexpr std::uint64_t kSmallModel = 8'000'000;  // bytes
  std::vector<double> values(model.states());
  if (look.ordered() || model.bytes() <= kSmallModel) {
    if (std::optional<Solution> solution = TryPasses(run, look, values)) {
      return *std::move(solution);
    }
  }
  const double least = LeastValue(model, run.discount());
  if (least < 0) std::ranges::fill(values, least);
  plan.start = std::move(values);
  ComponentOutcome outcome = SolveByComponents(run, std::move(plan));
  outcome.solution.choice =
      outcome.components == 0
          ? "gs: deterministic, sweeps outwards from the goals were enough"
          : fmt::format("{}: {} component{}, the largest with {} states, solved in order",
                        Name(outcome.solution.method), outcome.components,
                        outcome.components == 1 ? "" : "s", outcome.largest);
  return std::move(outcome.solution);
}

}  // namespace

Solution SolveAutomatically(SolveRun& run) {
  if (!run.model().wide()) {
    const FirstLook look = LookAt(run);
    // Without cycles there are absorbing states.
    if (look.absorbing && !look.nothing_to_do) return SolveAbsorbing(run, look);
  }
  std::variant<Solution, Rest> tried = TryModifiedPolicyIteration(run);
  if (Solution* const solved = std::get_if<Solution>(&tried)) return std::move(*solved);
  Rest& rest = std::get<Rest>(tried);
  Solution solution =
      SolveByComponents(run, {.sequence = FindStateSequence(run.model(), StateOrder::kBfs),
                              .start = std::move(rest.start)})
          .solution;
  solution.choice = fmt::format("{}: {}", Name(solution.method), rest.reason);
  return solution;
}

}  // namespace stableaa
