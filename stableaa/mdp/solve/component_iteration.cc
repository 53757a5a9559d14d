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
#include "stableaa/mdp/solve/component_model.h"
#include "stableaa/mdp/solve/component_policy.h"
#include "stableaa/mdp/solve/early_passes.h"

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

  bool any() const { return improvements_ > 0; }

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

// How the values of a policy are found.
enum class Evaluation { kPasses, kDirect, kKrylov };

// What the components of a solve share.
struct ComponentWork {
  ComponentWork(SolveRun& solve_run, ComponentPlan plan)
      : run(solve_run),
        method(plan.method),
        direct_first(plan.direct_first),
        order(std::move(plan.order)),
        values(std::move(plan.start)) {}

  SolveRun& run;
  const SolveMethod method;
  const bool direct_first;
  const SolvingOrder order;
  std::vector<double> values;  // of all states
  ComponentModel component;    // the one being solved
  ComponentBuffers buffers;
  double bounds_shown = 0;  // iterations when bounds were last shown
  // auto: the states in components that ended up with these evaluations.
  std::uint64_t direct_states = 0;
  std::uint64_t krylov_states = 0;
};

enum class Direction { kForward, kBackward };

// Solves one component of several states.
class ComponentSolve {
 public:
  // `goal` is for the plain residual.
  ComponentSolve(ComponentWork& work, const PlaceRange& range, double goal)
      : work_(work),
        run_(work.run),
        model_(work.component),
        range_(range),
        goal_(goal),
        evaluation_(FirstEvaluation(work, range.size())),
        policy_(work.run, work.component, work.buffers) {}

  // False if a limit was reached.
  bool Run();

 private:
  static Evaluation FirstEvaluation(const ComponentWork& work, std::uint64_t states);

  bool Improve();
  double PassInTurn(int step);
  template <Direction kDirection>
  double Pass();
  double Noise() const;
  bool ResidualIsSmall();
  void Evaluate(double change);
  bool EvaluateDirectly();
  void EvaluateByKrylov(double change);
  double EvaluateByPasses(double change);
  bool EvaluationIsSlow(double left) const;
  void WriteBack();
  void ShowBoundsNowAndThen();
  bool settled() const { return policy_.changed() <= kSettled; }

  ComponentWork& work_;
  SolveRun& run_;
  ComponentModel& model_;
  const PlaceRange range_;
  const double goal_;
  const double begin_ = run_.iterations();
  double share_ = 0;    // its rows ÷ the model's rows
  double largest_ = 0;  // |V| at the last pass
  Evaluation evaluation_;
  bool direct_failed_ = false;
  ComponentPolicy policy_;
  KrylovAccuracy accuracy_;
  PassPace pace_;
};

Evaluation ComponentSolve::FirstEvaluation(const ComponentWork& work, std::uint64_t states) {
  if (work.method == SolveMethod::kIpi) return Evaluation::kKrylov;
  return work.direct_first && states <= kSmallComponent ? Evaluation::kDirect
                                                        : Evaluation::kPasses;
}

bool ComponentSolve::Run() {
  model_.Take(run_.model(), run_.discount(), work_.order, range_, work_.values);
  share_ = static_cast<double>(model_.rows()) / static_cast<double>(run_.model().rows());
  const bool finished = Improve();
  WriteBack();
  if (evaluation_ == Evaluation::kDirect) work_.direct_states += range_.size();
  if (evaluation_ == Evaluation::kKrylov) work_.krylov_states += range_.size();
  return finished;
}

// Passes and evaluations in turn.
bool ComponentSolve::Improve() {
  for (int step = 0;; ++step) {
    if (run_.Exhausted(share_ + 1)) return false;
    const double change = PassInTurn(step);
    run_.Report(change, nullptr);
    // A state's plain residual is at most the change of others since its turn.
    if (change <= std::max(goal_, Noise())) return true;
    if (evaluation_ == Evaluation::kKrylov && change <= 20 * goal_) {
      if (run_.Exhausted(share_ + 1)) return false;
      if (ResidualIsSmall()) return true;
    }
    ShowBoundsNowAndThen();
    policy_.Gather();
    Evaluate(change);
  }
}

// Passes go outwards from the exits as long as that is enough. A policy that needs many improvements
// gets them sooner from both sides.
double ComponentSolve::PassInTurn(int step) {
  constexpr int kFewImprovements = 6;
  const bool alternates = evaluation_ == Evaluation::kKrylov ||
                          work_.method == SolveMethod::kPi ||
                          (evaluation_ == Evaluation::kDirect &&
                           (!work_.direct_first || step >= kFewImprovements));
  return alternates && step % 2 == 1 ? Pass<Direction::kBackward>() : Pass<Direction::kForward>();
}

// One Gauss–Seidel pass over all rows, which also finds the policy. Returns the largest change.
template <Direction kDirection>
double ComponentSolve::Pass() {
  const std::uint64_t states = model_.states();
  const CountedPass counted(run_, model_.rows(),
                            12 * model_.transitions() + 16 * model_.rows() + 28 * states);
  const std::uint64_t* const state_rows = model_.state_rows();
  const std::uint64_t* const row_transitions = model_.row_transitions();
  const std::uint32_t* const columns = model_.columns();
  const double* const weights = model_.weights();
  const double* const constants = model_.constants();
  double* const values = model_.values.data();
  double change = 0;
  double largest = 0;
  for (std::uint64_t i = 0; i < states; ++i) {
    const std::uint64_t s = kDirection == Direction::kBackward ? states - 1 - i : i;
    double best = -kInfinite;
    std::uint64_t best_row = 0;
    for (std::uint64_t row = state_rows[s]; row < state_rows[s + 1]; ++row) {
      double q = constants[row];
      for (std::uint64_t k = row_transitions[row]; k < row_transitions[row + 1]; ++k) {
        q += weights[k] * values[columns[k]];
      }
      best_row = q > best ? row : best_row;
      best = q > best ? q : best;
    }
    change = std::max(change, std::abs(best - values[s]));
    largest = std::max(largest, std::abs(best));
    values[s] = best;
    model_.actions[s] = static_cast<std::uint32_t>(best_row - state_rows[s]);
  }
  largest_ = largest;
  return change;
}

// Changes up to this may be pure rounding and never end.
double ComponentSolve::Noise() const {
  return run_.certifier().Floor(largest_) * (1 - run_.discount());
}

// Whether a plain backup would change no value by more than the goal. The residual of rows whose
// self-loop is solved out is no smaller than the plain one.
bool ComponentSolve::ResidualIsSmall() {
  const std::uint64_t* const row_transitions = model_.row_transitions();
  const double* const values = model_.values.data();
  run_.Count(model_.rows(), 0, 0);
  for (std::uint64_t s = 0; s < model_.states(); ++s) {
    double best = -kInfinite;
    for (std::uint64_t row = model_.state_rows()[s]; row < model_.state_rows()[s + 1]; ++row) {
      double q = model_.constants()[row];
      for (std::uint64_t k = row_transitions[row]; k < row_transitions[row + 1]; ++k) {
        q += model_.weights()[k] * values[model_.columns()[k]];
      }
      best = std::max(best, q);
    }
    if (std::abs(best - values[s]) > goal_) return false;
  }
  return true;
}

// Brings the values closer to those of the policy. `change` is the improvement's.
void ComponentSolve::Evaluate(double change) {
  if (work_.method == SolveMethod::kPi) {
    policy_.EvaluateExactly(goal_);
    return;
  }
  if (evaluation_ == Evaluation::kDirect && EvaluateDirectly()) return;
  if (evaluation_ == Evaluation::kKrylov) {
    EvaluateByKrylov(change);
    return;
  }
  const double left = EvaluateByPasses(change);
  if (work_.method != SolveMethod::kAuto) return;
  pace_.AddImprovement((run_.iterations() - begin_) / share_, change);
  if (EvaluationIsSlow(left) || pace_.IsSlow(settled())) {
    evaluation_ = direct_failed_ ? Evaluation::kKrylov : Evaluation::kDirect;
  }
}

// False if elimination takes too long, which will not be tried again.
bool ComponentSolve::EvaluateDirectly() {
  constexpr std::uint64_t kMostOperations = 50;  // per state and transition of the policy
  if (policy_.EvaluateDirectly(kMostOperations * (model_.states() + policy_.entries()))) {
    return true;
  }
  direct_failed_ = true;
  evaluation_ = pace_.any() ? Evaluation::kKrylov : Evaluation::kPasses;
  return false;
}

void ComponentSolve::EvaluateByKrylov(double change) {
  accuracy_.AddImprovement(change);
  if (!policy_.EvaluateByKrylov(accuracy_.relative(), goal_)) EvaluateByPasses(change);
}

// Returns the ratio of the last pass's change to the first's.
double ComponentSolve::EvaluateByPasses(double change) {
  const bool guessing = work_.method == SolveMethod::kAuto && model_.states() <= kSmallComponent;
  const int most = run_.options().evaluation_sweeps.value_or(kMostPolicyPasses);
  const double share =
      static_cast<double>(model_.states()) / static_cast<double>(run_.model().rows());
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
  if (model_.states() <= kSmallComponent) return left > kMostLeft;
  return settled() && left > kMostLeftInLarge;
}

void ComponentSolve::WriteBack() {
  for (std::uint64_t i = 0; i < range_.size(); ++i) {
    work_.values[work_.order.states[range_.first + i]] = model_.values[i];
  }
}

void ComponentSolve::ShowBoundsNowAndThen() {
  if (run_.iterations() < work_.bounds_shown + kPassesBetweenBounds) return;
  WriteBack();
  run_.ShowBounds(work_.values);
  work_.bounds_shown = run_.iterations();
}

// Solves the components of one state from `c` on. Returns the next component with more, or the
// first that a limit leaves undone.
std::size_t SolveSingles(ComponentWork& work, std::size_t c) {
  constexpr std::uint64_t kRowsBetweenChecks = 4096;
  SolveRun& run = work.run;
  const std::vector<std::uint64_t>& components = work.order.components;
  const ModelArrays& model = run.model().arrays();
  const auto all_rows = static_cast<double>(run.model().rows());
  while (c + 1 < components.size() && components[c + 1] - components[c] == 1) {
    const std::size_t from = c;
    std::uint64_t rows = 0;
    for (; rows < kRowsBetweenChecks && c + 1 < components.size() &&
           components[c + 1] - components[c] == 1;
         ++c) {
      const std::uint32_t s = work.order.states[components[c]];
      const std::uint64_t more = model.state_rows[s + std::size_t{1}] - model.state_rows[s];
      if (run.options().max_iterations < run.iterations() + 1 +
                                             static_cast<double>(rows + more) / all_rows) {
        run.Count(rows, 0, 0);
        static_cast<void>(run.Exhausted(static_cast<double>(more) / all_rows + 1));
        return c;
      }
      work.values[s] = BestWithoutLoop(model, run.discount(), work.values.data(), s);
      rows += more;
    }
    static_cast<void>(from);
    run.Count(rows, 0, 0);
    if (run.Interrupted()) return c;
  }
  return c;
}

// Solves one component after another. False if a limit was reached.
bool SolveEach(ComponentWork& work, double goal) {
  const std::vector<std::uint64_t>& components = work.order.components;
  for (std::size_t c = 0; c + 1 < components.size();) {
    const PlaceRange range{components[c], components[c + 1]};
    if (range.size() == 1) {
      c = SolveSingles(work, c);
      if (work.run.exhausted()) return false;
    } else {
      if (!ComponentSolve(work, range, goal).Run()) return false;
      ++c;
    }
  }
  return true;
}

}  // namespace

Solution SolveByComponents(SolveRun& run, ComponentPlan plan) {
  const SolveMethod method = plan.method;
  std::optional<ComponentWork> work(std::in_place, run, std::move(plan));
  double goal = run.ResidualGoal();
  std::vector<double> image(run.model().states());
  std::vector<std::uint32_t> policy(run.model().states());
  Certificate certificate;
  for (;;) {
    const bool finished = SolveEach(*work, goal);
    certificate = run.Backup(work->values, image, policy);
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
    finished_by = SolveMethod::kGs;
    if (2 * work->krylov_states > run.model().states()) finished_by = SolveMethod::kIpi;
    if (2 * work->direct_states > run.model().states()) finished_by = SolveMethod::kPi;
  }
  work.reset();  // its memory is enough for the rest
  return run.Finish(finished_by, std::move(image), std::move(policy), certificate);
}

}  // namespace stableaa
