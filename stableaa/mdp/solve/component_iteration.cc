#include "stableaa/mdp/solve/component_iteration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "stableaa/core/stopwatch.h"
#include "stableaa/mdp/model/renumber.h"
#include "stableaa/mdp/solve/component_policy.h"
#include "stableaa/mdp/solve/solving_order.h"

namespace stableaa {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The most passes over a policy between two improvements.
constexpr int kMostPolicyPasses = 20;

// A policy is evaluated until its change is this fraction of the improvement's.
constexpr double kForcing = 0.1;

// When auto switches from passes to a Krylov method. In a small component a wrong guess costs
// little, so one evaluation whose passes do not halve the change is enough. In a large one the
// passes must leave nearly all of it, and the policy must have settled.
constexpr std::uint64_t kSmallComponent = 30'000;  // states
constexpr int kFirstPasses = 6;                    // stop after these if the change hardly shrinks
constexpr double kMostLeft = 0.5;
constexpr double kMostLeftInLarge = 0.9;
constexpr double kSettled = 0.01;  // share of the states that still change their action

// on_step gets bounds once per this many passes.
constexpr double kPassesBetweenBounds = 25;

// The share of the tolerance that a component's residual may use up.
constexpr double kShare = 0.45;

// How accurately a Krylov method solves. Inexact values can make policies cycle: after a few
// improvements without a new smallest change, it must be ten times more accurate.
class KrylovAccuracy {
 public:
  double relative() const { return relative_; }

  void AddImprovement(double change) {
    constexpr int kTriesWithoutGain = 3;
    if (change < least_change_) {
      least_change_ = change;
      without_gain_ = 0;
    } else if (++without_gain_ >= kTriesWithoutGain) {
      relative_ = std::max(kExactValues, relative_ / 10);
      without_gain_ = 0;
    }
  }

 private:
  double relative_ = kForcing;
  double least_change_ = kInfinite;
  int without_gain_ = 0;
};

// How fast the changes of improvements shrink, including the passes between them.
class PassPace {
 public:
  // `passes` over the component so far, in full passes.
  void AddImprovement(double passes, double change) {
    std::rotate(last_.begin(), last_.begin() + 1, last_.end());
    last_.back() = {passes, change};
    ++improvements_;
  }

  // Slow if it takes too many passes to shrink the change tenfold. The limit is lower once the
  // policy has settled, since a Krylov method's work is then unlikely to be wasted.
  bool IsSlow(bool settled) const {
    constexpr double kMostPassesPerDecade = 60;
    constexpr double kMostPassesPerDecadeSettled = 25;
    if (improvements_ < last_.size()) return false;
    const Improvement& before = last_.front();
    const Improvement& now = last_.back();
    const double decades = std::log10(before.change / now.change);
    const double most = settled ? kMostPassesPerDecadeSettled : kMostPassesPerDecade;
    return now.passes - before.passes > most * decades;
  }

 private:
  struct Improvement {
    double passes = 0;
    double change = 0;
  };
  std::array<Improvement, 4> last_;
  std::size_t improvements_ = 0;
};

// What the components of a solve share.
struct ComponentWork {
  ComponentWork(SolveRun& solve_run, SolveMethod solve_method, std::vector<double> start)
      : run(solve_run), method(solve_method), model(solve_run, std::move(start)) {}

  void ShowBoundsNowAndThen() {
    if (run.iterations() < bounds_shown + kPassesBetweenBounds) return;
    run.ShowBounds(model.values);
    bounds_shown = run.iterations();
  }

  SolveRun& run;
  const SolveMethod method;
  OrderedModel model;
  ComponentBuffers buffers;
  double bounds_shown = 0;          // iterations when bounds were last shown
  std::uint64_t krylov_states = 0;  // auto: in components that switched to a Krylov method
};

struct BestRow {
  double value;
  std::uint64_t row;
};

// The best row of a state, with its self-loop solved out, and its value under the current values.
[[gnu::always_inline]] inline BestRow FindBest(const OrderedModel& m, std::uint64_t state) {
  BestRow best{-kInfinite, 0};
  for (std::uint64_t row = m.state_rows[state]; row < m.state_rows[state + 1]; ++row) {
    double sum = 0;
    double stay = 0;
    for (std::uint64_t k = m.row_transitions[row]; k < m.row_transitions[row + 1]; ++k) {
      const bool self = m.columns[k] == state;
      stay = self ? m.probabilities[k] : stay;
      sum += self ? 0 : m.probabilities[k] * m.values[m.columns[k]];
    }
    double q = m.rewards[row] + m.discount * sum;
    if (stay != 0) q /= 1 - m.discount * stay;  // the next state waits for the division
    best.row = q > best.value ? row : best.row;
    best.value = q > best.value ? q : best.value;
  }
  return best;
}

enum class Direction { kForward, kBackward };

// Solves one component of several states.
class ComponentSolve {
 public:
  // `share` is its rows ÷ the model's rows. `goal` is for the plain residual.
  ComponentSolve(ComponentWork& work, const StateRange& states, double share, double goal)
      : work_(work),
        run_(work.run),
        model_(work.model),
        states_(states),
        share_(share),
        goal_(goal),
        krylov_(work.method == SolveMethod::kIpi),
        policy_(work.run, work.model, work.buffers, states) {}

  // False if a limit was reached.
  bool Run();

 private:
  double PassInTurn(int step);
  template <Direction kDirection>
  double Pass();
  double Noise() const;
  Differences PlainDifferences();
  bool ResidualIsSmall();
  void Evaluate(double change);
  double EvaluateByPasses(double change);
  bool EvaluationIsSlow(double left) const;
  bool settled() const { return policy_.changed() <= kSettled; }
  std::uint64_t rows() const {
    return model_.state_rows[states_.last] - model_.state_rows[states_.first];
  }

  ComponentWork& work_;
  SolveRun& run_;
  OrderedModel& model_;
  const StateRange states_;
  const double share_;
  const double goal_;
  const double begin_ = run_.iterations();
  double largest_ = 0;  // |V| at the last pass
  bool krylov_;         // how policies are evaluated (unless exactly)
  ComponentPolicy policy_;
  KrylovAccuracy accuracy_;
  PassPace pace_;
};

bool ComponentSolve::Run() {
  double small = goal_;  // changes up to this trigger a look at the residual
  for (int step = 0;; ++step) {
    if (run_.Exhausted(share_ + 1)) return false;
    const double change = PassInTurn(step);
    run_.Report(change, nullptr);
    if (change <= Noise()) return true;
    if (change <= small * (krylov_ ? 20 : 1)) {
      if (run_.Exhausted(share_ + 1)) return false;
      if (ResidualIsSmall()) return true;
      if (change <= small) small = change / 2;
    }
    work_.ShowBoundsNowAndThen();
    policy_.Gather();
    Evaluate(change);
  }
}

double ComponentSolve::PassInTurn(int step) {
  const bool alternates = krylov_ || work_.method == SolveMethod::kPi;
  return alternates && step % 2 == 1 ? Pass<Direction::kBackward>() : Pass<Direction::kForward>();
}

// One Gauss–Seidel pass over all rows, which also finds the policy. Returns the largest change.
template <Direction kDirection>
double ComponentSolve::Pass() {
  const Stopwatch watch;
  double change = 0;
  double largest = 0;
  for (std::uint64_t i = 0; i < states_.size(); ++i) {
    const std::uint64_t s =
        kDirection == Direction::kBackward ? states_.last - 1 - i : states_.first + i;
    const BestRow best = FindBest(model_, s);
    change = std::max(change, std::abs(best.value - model_.values[s]));
    largest = std::max(largest, std::abs(best.value));
    model_.values[s] = best.value;
    model_.actions[s] = static_cast<std::uint32_t>(best.row - model_.state_rows[s]);
  }
  const std::uint64_t transitions = model_.row_transitions[model_.state_rows[states_.last]] -
                                    model_.row_transitions[model_.state_rows[states_.first]];
  run_.Count(rows(), 12 * transitions + 16 * rows() + 28 * states_.size(), watch.Seconds());
  largest_ = largest;
  return change;
}

// Changes up to this may be pure rounding and never end.
double ComponentSolve::Noise() const {
  return run_.certifier().Floor(largest_) * (1 - model_.discount);
}

// TV − V over the component, leaving the values untouched.
Differences ComponentSolve::PlainDifferences() {
  const Stopwatch watch;
  const OrderedModel& m = model_;
  Differences all = {kInfinite, -kInfinite, 0};
  for (std::uint64_t s = states_.first; s < states_.last; ++s) {
    double best = -kInfinite;
    for (std::uint64_t row = m.state_rows[s]; row < m.state_rows[s + 1]; ++row) {
      double sum = 0;
      for (std::uint64_t k = m.row_transitions[row]; k < m.row_transitions[row + 1]; ++k) {
        sum += m.probabilities[k] * m.values[m.columns[k]];
      }
      best = std::max(best, m.rewards[row] + m.discount * sum);
    }
    all.least = std::min(all.least, best - m.values[s]);
    all.largest = std::max(all.largest, best - m.values[s]);
  }
  run_.Count(rows(), 0, watch.Seconds());
  return all;
}

// A component that is the whole model may be off by a constant, which the certificate removes.
bool ComponentSolve::ResidualIsSmall() {
  const Differences differences = PlainDifferences();
  const bool whole = states_.size() == model_.values.size();
  return (whole ? differences.span() / 2 : differences.magnitude()) <= goal_;
}

// Brings the values closer to those of the policy. `change` is the improvement's.
void ComponentSolve::Evaluate(double change) {
  if (work_.method == SolveMethod::kPi) {
    policy_.EvaluateExactly(goal_);
    return;
  }
  if (krylov_) {
    accuracy_.AddImprovement(change);
    if (!policy_.EvaluateByKrylov(accuracy_.relative(), goal_)) EvaluateByPasses(change);
    return;
  }
  const double left = EvaluateByPasses(change);
  if (work_.method != SolveMethod::kAuto) return;
  pace_.AddImprovement((run_.iterations() - begin_) / share_, change);
  if (EvaluationIsSlow(left) || pace_.IsSlow(settled())) {
    krylov_ = true;
    work_.krylov_states += states_.size();
  }
}

// Returns the ratio of the last pass's change to the first's.
double ComponentSolve::EvaluateByPasses(double change) {
  const bool guessing = work_.method == SolveMethod::kAuto && states_.size() <= kSmallComponent;
  const int most = run_.options().evaluation_sweeps.value_or(kMostPolicyPasses);
  const double share =
      static_cast<double>(states_.size()) / static_cast<double>(run_.model().rows());
  double first = 0;
  double now = 0;
  for (int i = 0; i < most && !run_.Exhausted(share + 1); ++i) {
    now = policy_.Pass();
    if (i == 0) first = now;
    if (now <= kForcing * change || now <= goal_) return 0;
    if (guessing && i + 1 == kFirstPasses && now >= 0.95 * first) break;
  }
  return first > 0 ? now / first : 0;
}

// Whether passes that left this share of a change are not worth continuing.
bool ComponentSolve::EvaluationIsSlow(double left) const {
  if (states_.size() <= kSmallComponent) return left > kMostLeft;
  return settled() && left > kMostLeftInLarge;
}

// Solves one component after another. False if a limit was reached.
bool SolveEach(ComponentWork& work, std::span<const std::uint64_t> components, double goal) {
  SolveRun& run = work.run;
  OrderedModel& model = work.model;
  const auto all_rows = static_cast<double>(run.model().rows());
  for (std::size_t c = 0; c + 1 < components.size(); ++c) {
    const StateRange states{components[c], components[c + 1]};
    const std::uint64_t rows = model.state_rows[states.last] - model.state_rows[states.first];
    const double share = static_cast<double>(rows) / all_rows;
    if (states.size() == 1) {
      if (run.Exhausted(share + 1)) return false;
      model.values[states.first] = FindBest(model, states.first).value;
      run.Count(rows, 0, 0);
    } else if (!ComponentSolve(work, states, share, goal).Run()) {
      return false;
    }
  }
  return true;
}

// A few Gauss–Seidel passes in sequence over the model as numbered. If every row has one next
// state, the first pass often solves it, and finding components and renumbering would take longer.
std::optional<Solution> TryPasses(SolveRun& run, std::span<const std::uint32_t> sequence,
                                  std::vector<double>& values) {
  constexpr int kMostPasses = 3;
  const Model& model = run.model();
  const auto& arrays = model.arrays();
  double change = HUGE_VAL;
  for (int pass = 0; pass < kMostPasses && run.Magnify(change) > run.options().tolerance; ++pass) {
    if (run.Exhausted(2)) return std::nullopt;
    const Stopwatch watch;
    change = 0;
    for (const std::uint32_t s : sequence) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::uint64_t row = arrays.state_rows[s]; row < arrays.state_rows[s + 1]; ++row) {
        const std::uint32_t next = arrays.narrow_columns[row];  // the row's only transition
        const double reward = arrays.rewards[row];
        best = std::max(best, next == s ? reward / (1 - run.discount())
                                        : reward + run.discount() * values[next]);
      }
      change = std::max(change, std::abs(best - values[s]));
      values[s] = best;
    }
    run.Count(model.rows(), PassBytes(model), watch.Seconds());
    run.Report(change, nullptr);
  }
  // One more backup is reserved in case this one is not enough.
  if (run.Magnify(change) > run.options().tolerance || run.Exhausted(2)) return std::nullopt;
  std::vector<double> image(values.size());
  std::vector<std::uint32_t> policy(values.size());
  const Certificate certificate = run.Backup(values, image, policy);
  run.Report(run.differences().magnitude(), &certificate);
  if (!run.Enough(certificate)) return std::nullopt;
  return run.Finish(SolveMethod::kGs, std::move(image), std::move(policy), certificate);
}

// From the model's numbers to the new ones.
std::vector<double> Renumbered(std::span<const std::uint64_t> new_number,
                               const std::vector<double>& values) {
  std::vector<double> renumbered(values.size());
  for (std::size_t s = 0; s < values.size(); ++s) renumbered[new_number[s]] = values[s];
  return renumbered;
}

// And back.
void MoveBack(std::span<const std::uint64_t> new_number, Solution& solution) {
  const std::vector<double> values = std::move(solution.values);
  const std::vector<std::uint32_t> policy = std::move(solution.policy);
  solution.values.resize(values.size());
  solution.policy.resize(policy.size());
  for (std::size_t s = 0; s < values.size(); ++s) {
    solution.values[s] = values[new_number[s]];
    solution.policy[s] = policy[new_number[s]];
  }
}

}  // namespace

Solution SolveByComponents(SolveRun& run, SolveMethod method, std::vector<double> start) {
  StateSequence sequence = FindStateSequence(run.model(), run.options().order);
  const bool passes = method == SolveMethod::kGs || method == SolveMethod::kAuto;
  if (passes && run.model().transitions() == run.model().rows()) {
    std::optional<Solution> solution = TryPasses(run, sequence.states, start);
    if (solution) return *std::move(solution);
  }

  // Free what is no longer needed at once: for small models fresh memory costs as much as a pass.
  const SolvingOrder order = FindSolvingOrder(run.model(), std::exchange(sequence, {}));
  if (!order.as_numbered) {
    run.set_model(Renumber(run.model(), order.new_number));
    start = Renumbered(order.new_number, start);
  }

  std::optional<ComponentWork> work(std::in_place, run, method, std::move(start));
  const double tolerance = run.options().tolerance;
  double goal = kShare * tolerance * (1 - run.discount()) / std::max(run.discount(), 1e-300);
  std::vector<double> image(run.model().states());
  std::vector<std::uint32_t> policy(run.model().states());
  Certificate certificate;
  for (;;) {
    const bool finished = SolveEach(*work, order.components, goal);
    certificate = run.Backup(work->model.values, image, policy);
    run.Report(run.differences().magnitude(), &certificate);
    if (!finished || run.Enough(certificate) || run.Exhausted(2)) break;
    goal /= 4;
    if (run.Magnify(goal) < certificate.rounding / 64) {
      run.set_end(SolveEnd::kRounding);
      break;
    }
  }

  SolveMethod finished_by = method;
  if (method == SolveMethod::kAuto) {
    finished_by =
        2 * work->krylov_states > run.model().states() ? SolveMethod::kIpi : SolveMethod::kGs;
  }
  work.reset();  // its memory is enough for the rest
  Solution solution = run.Finish(finished_by, std::move(image), std::move(policy), certificate);
  if (!order.as_numbered) MoveBack(order.new_number, solution);
  return solution;
}

}  // namespace stableaa
