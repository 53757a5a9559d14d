#include "stableaa/mdp/solve/component_iteration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "stableaa/mdp/model/renumber.h"
#include "stableaa/mdp/solve/policy_system.h"
#include "stableaa/mdp/solve/solving_order.h"

namespace stableaa {
namespace {

constexpr int kEvaluationPasses = 20;

// A policy is evaluated until its change is this share of the improvement's.
constexpr double kForcing = 0.1;
constexpr double kExact = 1e-12;

// Values that are not exact can lead in a circle of policies. After so many improvements without a
// smaller change than ever before they are made ten times more exact.
constexpr int kTriesWithoutGain = 3;

// auto: passes are too slow when they take more than so many (full ones) to make the change of an
// improvement ten times smaller, seen over so many improvements. Fewer once the policy has settled
// and hardly any state changes its action: then a Krylov method is sure not to be lost on the next
// policy.
constexpr double kMostPassesPerDecade = 60;
constexpr double kMostPassesPerDecadeSettled = 25;
constexpr double kSettled = 0.01;  // share of the states
constexpr std::size_t kImprovementsSeen = 3;
// In a small component a wrong guess costs little: there one evaluation whose passes do not halve
// the change is enough to go over. In a large one they must leave nearly all of it, to a policy
// that has settled.
constexpr std::uint64_t kSmall = 30'000;  // states
constexpr int kFirstPasses = 6;           // or these, if they hardly change anything
constexpr double kMostLeft = 0.5;
constexpr double kMostLeftInLarge = 0.9;

// Bounds on the way, for those who watch: once per so many passes.
constexpr double kPassesBetweenBounds = 25;

// The part of the tolerance that a component's residual may use up.
constexpr double kShare = 0.45;

// The model in solving order and everything that the work on one component needs.
class ComponentIteration {
 public:
  ComponentIteration(SolveRun& run, SolveMethod method, std::vector<double> values)
      : run_(run),
        method_(method),
        discount_(run.discount()),
        state_rows_(run.model().state_rows().data()),
        row_transitions_(run.model().row_transitions().data()),
        columns_(run.model().arrays().narrow_columns.data()),
        probabilities_(run.model().probabilities().data()),
        rewards_(run.model().rewards().data()),
        values_(std::move(values)),
        actions_(values_.size()) {}

  // False when a limit was reached. `goal` is for the plain residual.
  bool Solve(std::uint64_t first, std::uint64_t last, double goal);

  std::vector<double>& values() { return values_; }
  std::uint64_t krylov_states() const { return krylov_states_; }

 private:
  struct Choice {
    double value;
    std::uint64_t row;
  };
  [[gnu::always_inline]] inline Choice Best(std::uint64_t state) const;
  void SolveSingle(std::uint64_t state);
  template <bool kBackward>
  double Pass();
  double Noise() const;
  Differences PlainDifferences();
  bool ResidualIsSmall(double goal);
  bool GatherPolicy();
  double EvaluateByPasses(double change, double goal);
  bool EvaluationIsSlow(double left) const;
  bool PassesAreSlow() const;
  void TightenIfStuck(double change);
  bool EvaluateByKrylov(double goal, bool same_policy);
  void EvaluateExactly(double goal);
  double PolicyPass();
  void PolicyResidual();
  void ShowBoundsNowAndThen();
  std::uint64_t size() const { return last_ - first_; }

  SolveRun& run_;
  const SolveMethod method_;
  const double discount_;
  const std::uint64_t* state_rows_;
  const std::uint64_t* row_transitions_;
  const std::uint32_t* columns_;
  const double* probabilities_;
  const double* rewards_;
  std::vector<double> values_;
  std::vector<std::uint32_t> actions_;
  double shown_ = 0;  // iterations when bounds were last shown
  std::uint64_t krylov_states_ = 0;

  // An improvement of the component at work.
  struct Pace {
    double passes;  // over the component so far, in full ones
    double change;
  };
  std::vector<Pace> history_;
  double forcing_ = kForcing;
  double least_change_ = 0;
  int without_progress_ = 0;

  // The component at work.
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  double largest_ = 0;                   // |V| at the last pass
  SparseRows policy_;                    // W of the policy, columns counted from first_
  std::vector<double> constants_;        // c: rewards and the values of other components
  std::vector<std::uint32_t> gathered_;  // the actions that policy_ was made of
  double changed_ = 1;                   // share of them that differed from those before
  TriangularFactors factors_;
  KrylovSolver krylov_;
  std::vector<double> residual_;
  std::vector<double> correction_;
};

// The best row of a state, its self-loop solved out, and what it gives with the values as they are.
ComponentIteration::Choice ComponentIteration::Best(std::uint64_t state) const {
  Choice best{-std::numeric_limits<double>::infinity(), 0};
  for (std::uint64_t row = state_rows_[state]; row < state_rows_[state + 1]; ++row) {
    double sum = 0;
    double stay = 0;
    for (std::uint64_t k = row_transitions_[row]; k < row_transitions_[row + 1]; ++k) {
      const bool self = columns_[k] == state;
      stay = self ? probabilities_[k] : stay;
      sum += self ? 0 : probabilities_[k] * values_[columns_[k]];
    }
    double q = rewards_[row] + discount_ * sum;
    if (stay != 0) q /= 1 - discount_ * stay;  // the next state waits for the division
    best.row = q > best.value ? row : best.row;
    best.value = q > best.value ? q : best.value;
  }
  return best;
}

void ComponentIteration::SolveSingle(std::uint64_t state) {
  values_[state] = Best(state).value;
  run_.Count(state_rows_[state + 1] - state_rows_[state], 0, 0);
}

// One Gauss–Seidel pass over all rows, and the policy it found. Returns the largest change.
template <bool kBackward>
double ComponentIteration::Pass() {
  const Stopwatch watch;
  double change = 0;
  double largest = 0;
  for (std::uint64_t i = 0; i < size(); ++i) {
    const std::uint64_t s = kBackward ? last_ - 1 - i : first_ + i;
    const Choice best = Best(s);
    change = std::max(change, std::abs(best.value - values_[s]));
    largest = std::max(largest, std::abs(best.value));
    values_[s] = best.value;
    actions_[s] = static_cast<std::uint32_t>(best.row - state_rows_[s]);
  }
  const std::uint64_t rows = state_rows_[last_] - state_rows_[first_];
  const std::uint64_t transitions =
      row_transitions_[state_rows_[last_]] - row_transitions_[state_rows_[first_]];
  run_.Count(rows, 12 * transitions + 16 * rows + 28 * size(), watch.Seconds());
  largest_ = largest;
  return change;
}

// Changes up to this may be nothing but rounding, and go on for ever.
double ComponentIteration::Noise() const {
  return run_.certifier().Floor(largest_) * (1 - discount_);
}

// TV − V over the component, values untouched.
Differences ComponentIteration::PlainDifferences() {
  const Stopwatch watch;
  Differences all = {std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity(), 0};
  for (std::uint64_t s = first_; s < last_; ++s) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::uint64_t row = state_rows_[s]; row < state_rows_[s + 1]; ++row) {
      double sum = 0;
      for (std::uint64_t k = row_transitions_[row]; k < row_transitions_[row + 1]; ++k) {
        sum += probabilities_[k] * values_[columns_[k]];
      }
      best = std::max(best, rewards_[row] + discount_ * sum);
    }
    all.least = std::min(all.least, best - values_[s]);
    all.largest = std::max(all.largest, best - values_[s]);
  }
  const std::uint64_t rows = state_rows_[last_] - state_rows_[first_];
  run_.Count(rows, 0, watch.Seconds());
  return all;
}

// A component that is the whole model may be off by a constant, which the certificate takes out.
bool ComponentIteration::ResidualIsSmall(double goal) {
  const Differences differences = PlainDifferences();
  const bool whole = size() == values_.size();
  return (whole ? differences.span() / 2 : differences.magnitude()) <= goal;
}

// Returns whether the policy is the one gathered before: then nothing is to be done, because what
// other components contribute is final.
bool ComponentIteration::GatherPolicy() {
  const std::span<const std::uint32_t> actions(actions_.data() + first_, size());
  if (gathered_.size() == actions.size()) {
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      changed += static_cast<std::uint64_t>(actions[i] != gathered_[i]);
    }
    changed_ = static_cast<double>(changed) / static_cast<double>(size());
    if (changed == 0) return true;
  }
  gathered_.assign(actions.begin(), actions.end());
  policy_.Clear();
  policy_.offsets.reserve(size() + 1);
  constants_.clear();
  constants_.reserve(size());
  for (std::uint64_t s = first_; s < last_; ++s) {
    const std::uint64_t row = state_rows_[s] + actions_[s];
    const std::uint64_t begin = row_transitions_[row];
    const std::uint64_t end = row_transitions_[row + 1];
    const auto self = std::lower_bound(columns_ + begin, columns_ + end, s) - columns_;
    const double stay =
        static_cast<std::uint64_t>(self) < end && columns_[self] == s ? probabilities_[self] : 0;
    const double factor = 1 / (1 - discount_ * stay);
    double constant = rewards_[row];
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint32_t next = columns_[k];
      if (next == s) continue;
      if (next < first_) {
        constant += discount_ * probabilities_[k] * values_[next];
      } else {
        policy_.columns.push_back(static_cast<std::uint32_t>(next - first_));
        policy_.weights.push_back(discount_ * probabilities_[k] * factor);
      }
    }
    policy_.offsets.push_back(policy_.columns.size());
    constants_.push_back(constant * factor);
  }
  return false;
}

// A Gauss–Seidel pass over the policy's rows. Returns the largest change.
double ComponentIteration::PolicyPass() {
  const Stopwatch watch;
  double* const values = values_.data() + first_;
  double change = 0;
  std::uint64_t k = 0;
  for (std::uint64_t i = 0; i < size(); ++i) {
    double value = constants_[i];
    for (const std::uint64_t end = policy_.offsets[i + 1]; k < end; ++k) {
      value += policy_.weights[k] * values[policy_.columns[k]];
    }
    change = std::max(change, std::abs(value - values[i]));
    values[i] = value;
  }
  run_.Count(size(), 12 * policy_.entries() + 24 * size(), watch.Seconds());
  return change;
}

// Returns by what factor the change of a pass fell from the first to the last.
double ComponentIteration::EvaluateByPasses(double change, double goal) {
  const bool guessing = method_ == SolveMethod::kAuto && size() <= kSmall;
  const int most = run_.options().evaluation_sweeps.value_or(kEvaluationPasses);
  const double share = static_cast<double>(size()) / static_cast<double>(run_.model().rows());
  double first = 0;
  double now = 0;
  for (int i = 0; i < most && !run_.Exhausted(share + 1); ++i) {
    now = PolicyPass();
    if (i == 0) first = now;
    if (now <= kForcing * change || now <= goal) return 0;
    if (guessing && i + 1 == kFirstPasses && now >= 0.95 * first) break;
  }
  return first > 0 ? now / first : 0;
}

// Whether passes that left this part of a change are not worth going on with.
bool ComponentIteration::EvaluationIsSlow(double left) const {
  if (size() <= kSmall) return left > kMostLeft;
  return changed_ <= kSettled && left > kMostLeftInLarge;
}

// Whether the changes of the last improvements, with the passes between them, shrink too slowly.
bool ComponentIteration::PassesAreSlow() const {
  if (history_.size() <= kImprovementsSeen) return false;
  const Pace& before = history_[history_.size() - 1 - kImprovementsSeen];
  const Pace& now = history_.back();
  const double decades = std::log10(before.change / now.change);
  const double most = changed_ <= kSettled ? kMostPassesPerDecadeSettled : kMostPassesPerDecade;
  return now.passes - before.passes > most * decades;
}

void ComponentIteration::TightenIfStuck(double change) {
  if (change < least_change_) {
    least_change_ = change;
    without_progress_ = 0;
  } else if (++without_progress_ >= kTriesWithoutGain) {
    forcing_ = std::max(kExact, forcing_ / 10);
    without_progress_ = 0;
  }
}

// residual_ ← c + W V − V.
void ComponentIteration::PolicyResidual() {
  const std::span<const double> values(values_.data() + first_, size());
  residual_.resize(size());
  Multiply(policy_, values, residual_, run_.options().threads);
  for (std::uint64_t i = 0; i < size(); ++i) residual_[i] = constants_[i] - residual_[i];
}

// V ← V + A⁻¹(c − AV), nearly. False if that did not get anywhere.
bool ComponentIteration::EvaluateByKrylov(double goal, bool same_policy) {
  if (!same_policy) {
    if (run_.options().preconditioner == Preconditioner::kIlu) {
      factors_.Factor(policy_);
    } else {
      factors_.TakeParts(policy_);
    }
  }
  PolicyResidual();
  correction_.resize(size());
  // A policy that stayed the same is likely to be the last: then it is worth to be exact.
  const KrylovOptions options{.relative = same_policy ? kExact : forcing_,
                              .absolute = goal / 4,
                              .threads = run_.options().threads,
                              .stop = [this] { return run_.Interrupted(); }};
  const KrylovResult result =
      run_.options().inner == InnerSolver::kBicgstab
          ? krylov_.Bicgstab(policy_, factors_, residual_, correction_, options)
          : krylov_.Gmres(policy_, factors_, residual_, correction_, options);
  run_.CountInner(result.iterations);
  if (!(result.reduction < 0.9)) return false;
  for (std::uint64_t i = 0; i < size(); ++i) values_[first_ + i] += correction_[i];
  return true;
}

void ComponentIteration::EvaluateExactly(double goal) {
  PolicyResidual();
  correction_.resize(size());
  if (SolveDirectly(policy_, residual_, correction_)) {
    run_.CountInner(1);
    for (std::uint64_t i = 0; i < size(); ++i) values_[first_ + i] += correction_[i];
    return;
  }
  factors_.Factor(policy_);
  for (int round = 0; round < 20 && EvaluateByKrylov(goal, true); ++round) {
    PolicyResidual();
    const auto [least, largest] = std::ranges::minmax(residual_);
    if (std::max(-least, largest) <= goal || run_.Interrupted()) return;
  }
}

void ComponentIteration::ShowBoundsNowAndThen() {
  if (run_.iterations() < shown_ + kPassesBetweenBounds) return;
  run_.ShowBounds(values_);
  shown_ = run_.iterations();
}

bool ComponentIteration::Solve(std::uint64_t first, std::uint64_t last, double goal) {
  const double share = static_cast<double>(state_rows_[last] - state_rows_[first]) /
                       static_cast<double>(run_.model().rows());
  if (last - first == 1) {
    if (run_.Exhausted(share + 1)) return false;
    SolveSingle(first);
    return true;
  }
  first_ = first;
  last_ = last;
  gathered_.clear();
  const double begin = run_.iterations();
  history_.clear();
  changed_ = 1;
  forcing_ = kForcing;
  least_change_ = std::numeric_limits<double>::infinity();
  without_progress_ = 0;
  bool krylov = method_ == SolveMethod::kIpi;
  double small = goal;  // the change from which on the residual is looked at
  for (int step = 0;; ++step) {
    if (run_.Exhausted(share + 1)) return false;
    const bool backward = (krylov || method_ == SolveMethod::kPi) && step % 2 == 1;
    const double change = backward ? Pass<true>() : Pass<false>();
    run_.Report(change, nullptr);
    if (change <= Noise()) return true;
    if (change <= small * (krylov ? 20 : 1)) {
      if (run_.Exhausted(share + 1)) return false;
      if (ResidualIsSmall(goal)) return true;
      if (change <= small) small = change / 2;
    }
    ShowBoundsNowAndThen();
    if (krylov) TightenIfStuck(change);
    const bool same_policy = GatherPolicy();
    bool slow = false;
    if (method_ == SolveMethod::kPi) {
      EvaluateExactly(goal);
    } else if (!krylov || !EvaluateByKrylov(goal, same_policy)) {
      slow = EvaluationIsSlow(EvaluateByPasses(change, goal));
    }
    history_.push_back({(run_.iterations() - begin) / share, change});
    if (method_ == SolveMethod::kAuto && !krylov && (slow || PassesAreSlow())) {
      krylov = true;
      krylov_states_ += size();
      gathered_.clear();  // not factored yet
    }
  }
}

// A few Gauss–Seidel passes in sequence over the model as it is numbered. Where every row has one
// next state the first often solves it, and finding components and renumbering would take longer
// than that.
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
  // One more backup is kept for the case that this one does not do.
  if (run.Magnify(change) > run.options().tolerance || run.Exhausted(2)) return std::nullopt;
  std::vector<double> image(values.size());
  std::vector<std::uint32_t> policy(values.size());
  const Certificate certificate = run.Backup(values, image, policy);
  run.Report(run.differences().magnitude(), &certificate);
  if (!run.Enough(certificate)) return std::nullopt;
  return run.Finish(SolveMethod::kGs, std::move(image), std::move(policy), certificate);
}

// From the numbers of the model to the new ones.
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

  // What is not needed any more is freed at once: fresh memory costs small models as much as a
  // pass.
  const SolvingOrder order = FindSolvingOrder(run.model(), std::exchange(sequence, {}));
  if (!order.as_numbered) {
    run.set_model(Renumber(run.model(), order.new_number));
    start = Renumbered(order.new_number, start);
  }

  std::optional<ComponentIteration> iteration(std::in_place, run, method, std::move(start));
  const double tolerance = run.options().tolerance;
  double goal = kShare * tolerance * (1 - run.discount()) / std::max(run.discount(), 1e-300);
  std::vector<double> image(run.model().states());
  std::vector<std::uint32_t> policy(run.model().states());
  Certificate certificate;
  for (;;) {
    bool finished = true;
    for (std::size_t c = 0; finished && c + 1 < order.components.size(); ++c) {
      finished = iteration->Solve(order.components[c], order.components[c + 1], goal);
    }
    certificate = run.Backup(iteration->values(), image, policy);
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
    finished_by = 2 * iteration->krylov_states() > run.model().states() ? SolveMethod::kIpi
                                                                        : SolveMethod::kGs;
  }
  iteration.reset();  // its memory is enough for the rest
  Solution solution = run.Finish(finished_by, std::move(image), std::move(policy), certificate);
  if (!order.as_numbered) MoveBack(order.new_number, solution);
  return solution;
}

}  // namespace stableaa
