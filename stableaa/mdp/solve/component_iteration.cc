#include "stableaa/mdp/solve/component_iteration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "stableaa/mdp/model/component_search.h"
#include "stableaa/mdp/solve/component_solver.h"
#include "stableaa/mdp/solve/state_values.h"

namespace stableaa {
namespace {

// Copying a component and factoring a policy takes about as long as this many passes.
constexpr double kMostPassesAhead = 8;

// A pass that changes fewer states than this share of the pass before is worth another.
constexpr double kDyingOut = 0.75;

// Passes over components with more states should read neighbouring memory, and go outwards from the
// goals.
constexpr std::size_t kLargeComponent = 1000;

class ComponentIteration {
 public:
  ComponentIteration(SolveRun& run, ComponentPlan plan)
      : run_(run),
        plan_(std::move(plan)),
        values_(std::move(plan_.start)),
        depth_first_(plan_.method == SolveMethod::kAuto && plan_.sequence.states.empty()),
        solver_(run, plan_.method, values_) {}

  // Solves one component after another. False if a limit was reached.
  bool Solve(double goal);

  std::vector<double>& values() { return values_; }
  std::uint64_t components() const { return components_; }
  std::uint64_t largest() const { return largest_; }
  SolveMethod finished_by() const;

 private:
  enum class Passed { kDone, kSlow, kLimit };

  bool SolveComponent(std::span<const std::uint32_t> states, double goal);
  bool SolveSingle(std::uint32_t state);
  Passed PassInPlace(std::span<const std::uint32_t> states, double goal);
  std::span<const std::uint32_t> InOrder(std::span<const std::uint32_t> states);
  template <typename At, typename Rank>
  void Select(std::span<const std::uint32_t> states, const At& at, const Rank& rank);
  bool Reserve(std::uint64_t rows);

  SolveRun& run_;
  ComponentPlan plan_;
  std::vector<double> values_;  // of all states
  const bool depth_first_;      // the plan has no sequence
  ComponentSolver solver_;
  std::vector<std::uint32_t> rank_;    // of each state in the plan's sequence
  std::vector<std::uint32_t> sorted_;  // a component's states
  std::uint64_t pending_rows_ = 0;     // updated, but not yet counted
  std::uint64_t components_ = 0;
  std::uint64_t largest_ = 0;
};

bool ComponentIteration::Solve(double goal) {
  components_ = 0;
  const Model& model = run_.model();
  const std::vector<std::uint32_t>& sequence = plan_.sequence.states;
  if (!depth_first_ && model.transitions() == model.rows() && plan_.method != SolveMethod::kPi &&
      plan_.method != SolveMethod::kIpi) {
    // Every row has one next state: a pass outwards from the goals often solves it.
    const Passed passed = PassInPlace(sequence, goal);
    run_.Count(std::exchange(pending_rows_, 0), 0, 0);
    if (passed != Passed::kSlow) return passed == Passed::kDone;
  }
  if (!depth_first_ && ShowsOneComponent(model, plan_.sequence.all_reach_first
                                                    ? std::span<const std::uint32_t>(sequence)
                                                    : std::span<const std::uint32_t>())) {
    components_ = 1;
    largest_ = model.states();
    return solver_.Solve({.states = sequence}, goal);
  }
  const auto visit = [&](std::span<const std::uint32_t> states) {
    return SolveComponent(states, goal);
  };
  const bool finished = ComponentSearch(model, model.arrays().narrow_columns, visit).Run();
  run_.Count(std::exchange(pending_rows_, 0), 0, 0);
  return finished;
}

bool ComponentIteration::SolveComponent(std::span<const std::uint32_t> states, double goal) {
  ++components_;
  largest_ = std::max<std::uint64_t>(largest_, states.size());
  if (states.size() == 1) return SolveSingle(states.front());
  ComponentStates component{.states = states, .direct_first = true};
  if (!depth_first_ || states.size() > kLargeComponent) {
    component = {.states = InOrder(states),
                 .depth_first = depth_first_ ? states : std::span<const std::uint32_t>()};
  }
  // Where neighbours are far apart in memory, even one pass is faster on a copy.
  if (depth_first_ && (component.direct_first || plan_.large != ComponentPlan::Large::kOutwards)) {
    const Passed passed = PassInPlace(component.states, goal);
    if (passed != Passed::kSlow) return passed == Passed::kDone;
  }
  run_.Count(std::exchange(pending_rows_, 0), 0, 0);
  return solver_.Solve(component, goal);
}

bool ComponentIteration::SolveSingle(std::uint32_t state) {
  const ModelArrays& model = run_.model().arrays();
  if (!Reserve(model.state_rows[state + std::size_t{1}] - model.state_rows[state])) return false;
  values_[state] = BestWithoutLoop(model, run_.discount(), values_.data(), state);
  return true;
}

// Gauss–Seidel passes over the model itself, as long as few more will do.
ComponentIteration::Passed ComponentIteration::PassInPlace(std::span<const std::uint32_t> states,
                                                           double goal) {
  const ModelArrays& model = run_.model().arrays();
  double change = std::numeric_limits<double>::infinity();
  std::size_t changed = states.size();
  for (;;) {
    std::uint64_t rows = 0;
    double largest = 0;
    const double before = std::exchange(change, 0);
    const std::size_t changed_before = std::exchange(changed, 0);
    for (const std::uint32_t s : states) {
      const double best = BestWithoutLoop(model, run_.discount(), values_.data(), s);
      change = std::max(change, std::abs(best - values_[s]));
      largest = std::max(largest, std::abs(best));
      changed += static_cast<std::size_t>(best != values_[s]);
      values_[s] = best;
      rows += model.state_rows[s + std::size_t{1}] - model.state_rows[s];
    }
    if (!Reserve(rows)) return Passed::kLimit;
    // A state's plain residual is at most the change of others since its turn.
    if (change <= std::max(goal, run_.Noise(largest))) return Passed::kDone;
    if (before == std::numeric_limits<double>::infinity()) continue;
    // Without loops that return often, what changes soon dies out.
    if (static_cast<double>(changed) <= kDyingOut * static_cast<double>(changed_before)) continue;
    if (!(change < before) ||
        std::log(goal / change) / std::log(change / before) > kMostPassesAhead) {
      return Passed::kSlow;
    }
  }
}

// The states in the order in which passes are to visit them.
std::span<const std::uint32_t> ComponentIteration::InOrder(std::span<const std::uint32_t> states) {
  using Large = ComponentPlan::Large;
  if (depth_first_ && plan_.large != Large::kOutwards) {
    Select(
        states, [&](std::uint32_t i) { return i; }, [&](std::uint32_t s) { return s; });
    if (plan_.large == Large::kDescending) std::ranges::reverse(sorted_);
    return sorted_;
  }
  if (plan_.sequence.states.empty()) {
    plan_.sequence = FindStateSequence(run_.model(), StateOrder::kBfs);
  }
  const std::vector<std::uint32_t>& sequence = plan_.sequence.states;
  if (states.size() == sequence.size()) return sequence;
  if (rank_.empty()) {
    rank_.resize(sequence.size());
    for (std::uint32_t i = 0; i < sequence.size(); ++i) rank_[sequence[i]] = i;
  }
  Select(
      states, [&](std::uint32_t i) { return sequence[i]; },
      [&](std::uint32_t s) { return rank_[s]; });
  return sorted_;
}

// sorted_ ← the states by rank. `at` gives the state at a rank.
template <typename At, typename Rank>
void ComponentIteration::Select(std::span<const std::uint32_t> states, const At& at,
                                const Rank& rank) {
  constexpr std::size_t kLeastShare = 16;  // of the states, for which looking at all is faster
  const std::size_t all = run_.model().states();
  sorted_.clear();
  if (states.size() >= all / kLeastShare) {
    std::vector<bool> chosen(all, false);
    for (const std::uint32_t s : states) chosen[rank(s)] = true;
    for (std::uint32_t i = 0; i < all; ++i) {
      if (chosen[i]) sorted_.push_back(at(i));
    }
    return;
  }
  for (const std::uint32_t s : states) sorted_.push_back(rank(s));
  std::ranges::sort(sorted_);
  for (std::uint32_t& i : sorted_) i = at(i);
}

// Accounts for rows about to be updated, in lots: components may be small. False if a limit is
// reached.
bool ComponentIteration::Reserve(std::uint64_t rows) {
  constexpr std::uint64_t kRowsBetweenChecks = 4096;
  const auto all = static_cast<double>(run_.model().rows());
  const double upcoming = static_cast<double>(pending_rows_ + rows) / all + 1;
  if (run_.iterations() + upcoming > run_.options().max_iterations) {
    static_cast<void>(run_.Exhausted(upcoming));
    return false;
  }
  pending_rows_ += rows;
  if (pending_rows_ < kRowsBetweenChecks) return true;
  run_.Count(std::exchange(pending_rows_, 0), 0, 0);
  return !run_.Interrupted();
}

SolveMethod ComponentIteration::finished_by() const {
  if (plan_.method != SolveMethod::kAuto) return plan_.method;
  if (2 * solver_.krylov_states() > run_.model().states()) return SolveMethod::kIpi;
  if (2 * solver_.direct_states() > run_.model().states()) return SolveMethod::kPi;
  return SolveMethod::kGs;
}

}  // namespace

ComponentOutcome SolveByComponents(SolveRun& run, ComponentPlan plan) {
  std::optional<ComponentIteration> iteration(std::in_place, run, std::move(plan));
  std::vector<double> image(run.model().states());
  std::vector<std::uint32_t> policy(run.model().states());
  for (double goal = run.ResidualGoal();; goal /= 4) {
    const bool finished = iteration->Solve(goal);
    const Certificate certificate = run.Backup(iteration->values(), image, policy);
    const Certificate of_values = run.CertificateOfValues(certificate);
    run.Report(run.differences().magnitude(), &of_values);
    if (!finished || run.Enough(certificate) || run.Exhausted(2)) break;
    if (run.Magnify(goal) < certificate.rounding / 16) {
      run.set_end(SolveEnd::kRounding);
      break;
    }
  }
  ComponentOutcome outcome;
  outcome.components = iteration->components();
  outcome.largest = iteration->largest();
  const SolveMethod method = iteration->finished_by();
  std::vector<double> values = std::move(iteration->values());
  iteration.reset();  // its memory is enough for the rest
  outcome.solution =
      run.FinishValues(method, std::move(values), std::move(image), std::move(policy));
  return outcome;
}

}  // namespace stableaa
