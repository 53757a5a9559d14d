#include "stableaa/mdp/solve/component_solver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>

namespace stableaa {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The most passes over a policy between two improvements.
constexpr int kMostPolicyPasses = 20;

// A policy is evaluated until its change is this fraction of the improvement's.
constexpr double kComponentForcing = 0.1;

// When auto switches from passes to a Krylov method. In a small component a wrong guess costs
// little, so one evaluation whose passes do not halve the change is enough. In a large one the
// passes must leave nearly all of it, and the policy must have settled.
constexpr std::uint64_t kSmallComponent = 30'000;  // states
constexpr int kFirstPasses = 6;                    // stop after these if the change hardly shrinks
constexpr double kMostLeft = 0.5;
constexpr double kMostLeftInLarge = 0.9;
constexpr double kSettled = 0.01;  // share of the states that still change their action

// In a large component elimination is worth a try if more passes than this lie ahead. Before the
// policy has settled, exact values are soon out of date.
constexpr double kManyPasses = 25;
constexpr double kManyPassesUnsettled = 100;

// Changes that elimination's rounding can cause, and the passes that follow.
constexpr double kNearNoise = 64;
constexpr int kLevellingPasses = 3;
constexpr int kMostWithoutGain = 12;

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
  double relative_ = kComponentForcing;
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

  // Passes until the change meets the goal, at the pace of the last few improvements; 0 before
  // there have been as many.
  double Forecast(double goal, std::size_t few) const {
    if (improvements_ < few) return 0;
    const Improvement& before = last_[last_.size() - few];
    const Improvement& now = last_.back();
    if (!(now.change < before.change)) return kInfinite;
    return (now.passes - before.passes) * std::log(goal / now.change) /
           std::log(now.change / before.change);
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

// How the values of a policy are found.
enum class Evaluation { kPasses, kDirect, kKrylov };

enum class Direction { kForward, kBackward };

}  // namespace

// Solves one component of several states.
class ComponentSolve {
 public:
  ComponentSolve(ComponentSolver& work, const ComponentStates& component, double goal)
      : work_(work),
        run_(work.run_),
        model_(work.component_),
        component_(component),
        states_(component.states),
        goal_(goal),
        evaluation_(FirstEvaluation(work.method_, component)),
        policy_(work.run_, work.component_, work.buffers_) {}

  // False if a limit was reached.
  bool Run();

 private:
  static Evaluation FirstEvaluation(SolveMethod method, const ComponentStates& component);

  bool Improve();
  bool Gains(double change);
  double PassInTurn(int step);
  template <Direction kDirection>
  double Pass();
  bool ResidualIsSmall();
  void Evaluate(double change);
  bool EvaluateDirectly();
  std::span<const std::uint32_t> OtherOrder();
  void EvaluateByKrylov(double change);
  double EvaluateByPasses(double change);
  bool EvaluationIsSlow(double left) const;
  void WriteBack();
  void ShowBoundsNowAndThen();
  bool settled() const { return policy_.changed() <= kSettled; }

  ComponentSolver& work_;
  SolveRun& run_;
  ComponentModel& model_;
  const ComponentStates component_;
  const std::span<const std::uint32_t> states_;
  const double goal_;
  const double begin_ = run_.iterations();
  double share_ = 0;    // its rows ÷ the model's rows
  double largest_ = 0;  // |V| at the last pass
  Evaluation evaluation_;
  bool direct_tried_ = false;     // without success
  bool direct_failed_ = false;    // and will not be tried again
  bool has_other_order_ = false;  // work_.other_order_ is of this component
  bool directly_evaluated_ = false;
  int levelling_ = 0;
  double least_change_ = kInfinite;
  int without_gain_ = 0;
  ComponentPolicy policy_;
  KrylovAccuracy accuracy_;
  PassPace pace_;
};

Evaluation ComponentSolve::FirstEvaluation(SolveMethod method, const ComponentStates& component) {
  if (method == SolveMethod::kIpi) return Evaluation::kKrylov;
  return component.direct_first ? Evaluation::kDirect : Evaluation::kPasses;
}

bool ComponentSolve::Run() {
  model_.Take(run_.model(), run_.discount(), states_, work_.values_);
  share_ = static_cast<double>(model_.rows()) / static_cast<double>(run_.model().rows());
  const bool finished = Improve();
  WriteBack();
  if (evaluation_ == Evaluation::kDirect) work_.direct_states_ += states_.size();
  if (evaluation_ == Evaluation::kKrylov) work_.krylov_states_ += states_.size();
  return finished;
}

// Passes and evaluations in turn.
bool ComponentSolve::Improve() {
  for (int step = 0;; ++step) {
    if (run_.Exhausted(share_ + 1)) return false;
    const double change = PassInTurn(step);
    run_.Report(change, nullptr);
    // A state's plain residual is at most the change of others since its turn.
    if (change <= std::max(goal_, run_.Noise(largest_))) return true;
    const bool exact = directly_evaluated_ || work_.method_ == SolveMethod::kPi;
    if (exact && change <= kNearNoise * run_.Noise(largest_)) {
      // A few passes level what elimination or LU left.
      if (++levelling_ > kLevellingPasses) return true;
      continue;
    }
    if (directly_evaluated_ && !Gains(change)) return true;
    if (evaluation_ == Evaluation::kKrylov && change <= 20 * goal_) {
      if (run_.Exhausted(share_ + 1)) return false;
      if (ResidualIsSmall()) return true;
    }
    ShowBoundsNowAndThen();
    Evaluate(change);
  }
}

// False if exact evaluations no longer bring smaller changes: between equally good policies rounding
// can exceed the noise and never end.
bool ComponentSolve::Gains(double change) {
  if (change < least_change_) {
    least_change_ = change;
    without_gain_ = 0;
  } else {
    ++without_gain_;
  }
  return without_gain_ <= kMostWithoutGain;
}

// Passes go outwards from the exits as long as that is enough. A policy that needs many improvements
// gets them sooner from both sides.
double ComponentSolve::PassInTurn(int step) {
  constexpr int kFewImprovements = 6;
  const bool alternates = evaluation_ == Evaluation::kKrylov || work_.method_ == SolveMethod::kPi ||
                          (evaluation_ == Evaluation::kDirect &&
                           (!component_.direct_first || step >= kFewImprovements));
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
  if (evaluation_ == Evaluation::kDirect && EvaluateDirectly()) return;
  policy_.Take();
  if (work_.method_ == SolveMethod::kPi) {
    policy_.EvaluateExactly(goal_);
    return;
  }
  if (evaluation_ == Evaluation::kKrylov) {
    EvaluateByKrylov(change);
    return;
  }
  const double left = EvaluateByPasses(change);
  if (work_.method_ != SolveMethod::kAuto) return;
  pace_.AddImprovement((run_.iterations() - begin_) / share_, change);
  if (!direct_failed_ && !component_.depth_first.empty()) {
    const bool slow = settled() ? pace_.Forecast(goal_, 2) > kManyPasses
                                : pace_.Forecast(goal_, 4) > kManyPassesUnsettled;
    if (slow) evaluation_ = Evaluation::kDirect;
  } else if (EvaluationIsSlow(left) || pace_.IsSlow(settled())) {
    evaluation_ = direct_failed_ ? Evaluation::kKrylov : Evaluation::kDirect;
  }
}

// False if elimination takes too long. In small components it gets a second chance if passes turn
// out to be slow, too.
bool ComponentSolve::EvaluateDirectly() {
  // Operations per state and transition of a policy. In small components, the first number is what
  // elimination may take in place of passes, the second in place of a Krylov method. In large ones a
  // failure is dear, most of all where nothing is known of a good order.
  constexpr double kFewOperations = 20;
  constexpr double kMostOperations = 80;
  constexpr double kMostOperationsInLarge = 30;
  constexpr double kMostOperationsInSequence = 10;
  const auto states = static_cast<double>(model_.states());
  const double size = states + states * static_cast<double>(model_.transitions()) /
                                   static_cast<double>(model_.rows());
  model_.GatherConstants(work_.constants_);
  const auto eliminate = [&](bool other, double most) {
    const auto order = other ? OtherOrder() : std::span<const std::uint32_t>();
    if (!work_.elimination_.Solve(model_, order, static_cast<std::uint64_t>(most * size),
                                  work_.constants_, model_.values)) {
      return false;
    }
    work_.prefers_other_order_ = other;
    return true;
  };
  const bool first = work_.prefers_other_order_;
  bool done = false;
  if (component_.direct_first) {
    const double most = direct_tried_ ? kMostOperations : kFewOperations;
    done = eliminate(first, most) || eliminate(!first, most);
  } else if (!component_.depth_first.empty()) {
    done = eliminate(first, kMostOperationsInLarge) || eliminate(!first, kMostOperationsInLarge);
  } else {
    done = eliminate(false, kMostOperationsInSequence);
  }
  if (done) {
    run_.CountInner(1);
    directly_evaluated_ = true;
    return true;
  }
  directly_evaluated_ = false;
  direct_failed_ = direct_tried_ || !component_.direct_first;
  direct_tried_ = true;
  evaluation_ = pace_.any() ? Evaluation::kKrylov : Evaluation::kPasses;
  return false;
}

// The places as a depth-first search left the states or, if that is the component's own order, from
// the highest state number to the lowest.
std::span<const std::uint32_t> ComponentSolve::OtherOrder() {
  std::vector<std::uint32_t>& places = work_.other_order_;
  if (has_other_order_) return places;
  has_other_order_ = true;
  places.resize(states_.size());
  if (component_.depth_first.empty()) {
    std::iota(places.begin(), places.end(), 0U);
    std::ranges::sort(places, std::greater(), [&](std::uint32_t place) { return states_[place]; });
  } else {
    std::ranges::transform(component_.depth_first, places.begin(),
                           [&](std::uint32_t s) { return model_.PlaceOf(s); });
  }
  return places;
}

void ComponentSolve::EvaluateByKrylov(double change) {
  accuracy_.AddImprovement(change);
  if (!policy_.EvaluateByKrylov(accuracy_.relative(), goal_)) EvaluateByPasses(change);
}

// Returns the ratio of the last pass's change to the first's.
double ComponentSolve::EvaluateByPasses(double change) {
  const bool guessing = work_.method_ == SolveMethod::kAuto && model_.states() <= kSmallComponent;
  const int most = run_.options().evaluation_sweeps.value_or(kMostPolicyPasses);
  const double share =
      static_cast<double>(model_.states()) / static_cast<double>(run_.model().rows());
  double first = 0;
  double now = 0;
  for (int i = 0; i < most && !run_.Exhausted(share + 1); ++i) {
    now = policy_.Pass();
    if (i == 0) first = now;
    if (now <= kComponentForcing * change || now <= goal_) return 0;
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
  for (std::uint64_t i = 0; i < states_.size(); ++i) {
    work_.values_[states_[i]] = model_.values[i];
  }
}

void ComponentSolve::ShowBoundsNowAndThen() {
  if (run_.iterations() < work_.bounds_shown_ + kPassesBetweenBounds) return;
  WriteBack();
  run_.ShowBounds(work_.values_);
  work_.bounds_shown_ = run_.iterations();
}

bool ComponentSolver::Solve(const ComponentStates& component, double goal) {
  return ComponentSolve(*this, component, goal).Run();
}

}  // namespace stableaa
