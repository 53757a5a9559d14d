#include "stableaa/mdp/solve/refinement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "stableaa/mdp/model/component_search.h"
#include "stableaa/mdp/solve/component_model.h"
#include "stableaa/mdp/solve/double_double.h"
#include "stableaa/mdp/solve/elimination.h"

namespace stableaa {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// What eliminations may take in all, however small the model, and per state and transition.
constexpr std::uint64_t kFreeOperations = 30'000'000;
constexpr std::uint64_t kMostOperations = 4;

// The next double above: bounds must not be rounded down.
double Above(double value) { return std::nextafter(value, kUnbounded); }

class Refinement {
 public:
  Refinement(SolveRun& run, std::span<const double> values)
      : run_(run),
        model_(run.model().arrays()),
        discount_(run.discount()),
        rounded_(values),
        values_(values.begin(), values.end()),
        policy_(values.size()),
        above_(values.size()),
        below_(values.size()),
        component_(values.size(), 0),
        operations_left_(kFreeOperations +
                         kMostOperations * (run.model().states() + run.model().transitions())) {}

  // False if a limit was reached, or nothing can be proved in this way.
  bool Run() {
    const auto visit = [this](std::span<const std::uint32_t> states) { return Visit(states); };
    return ComponentSearch(run_.model(), model_.narrow_columns, visit).Run() && !unbounded_;
  }

  // Values, policy and bounds; the bounds include the rounding of the values.
  void Store(Solution& solution) {
    double upper = 0;
    double lower = 0;
    for (std::size_t s = 0; s < values_.size(); ++s) {
      solution.values[s] = values_[s].high;
      upper = std::max(upper, Above(above_[s] + values_[s].low));
      lower = std::max(lower, Above(below_[s] - values_[s].low));
    }
    solution.policy = std::move(policy_);
    solution.upper = upper;
    solution.lower = -lower;
    solution.error = std::max(upper, lower);
    solution.policy_error = Above(upper + lower);
    solution.rounding = solution.error;
  }

 private:
  // A row, from the values as they are.
  struct Row {
    DoubleDouble value;    // without its self-loop
    double magnitude = 0;  // of what was added up
    DoubleDouble stay;     // γ times the probability of the self-loop
    DoubleDouble inside;   // of staying in the component, including the self-loop
    double above = 0;      // γ Σ p e⁺ over next states outside
    double below = 0;
    double length = 0;
    bool leaves = false;  // the component
  };

  Row ReadRow(std::uint32_t state, std::uint64_t row) {
    ++rows_;
    Row read;
    read.value = model_.rewards[row];
    read.magnitude = std::abs(model_.rewards[row]);
    const std::uint64_t end = model_.row_transitions[row + 1];
    for (std::uint64_t k = model_.row_transitions[row]; k < end; ++k) {
      const std::uint32_t next = model_.narrow_columns[k];
      const DoubleDouble weight = ExactProduct(discount_, model_.probabilities[k]);
      ++read.length;
      if (component_[next] == current_) {
        read.inside = read.inside + weight;
      } else {
        read.leaves = true;
        read.above += weight.high * above_[next];
        read.below += weight.high * below_[next];
      }
      if (next == state) {
        read.stay = weight;
        continue;
      }
      const DoubleDouble term = weight * values_[next];
      read.value = read.value + term;
      read.magnitude += std::abs(term.high);
    }
    return read;
  }

  bool Visit(std::span<const std::uint32_t> states) {
    ++current_;
    for (const std::uint32_t s : states) component_[s] = current_;
    if (states.size() == 1) {
      Pass(states);
    } else if (!Correct(states)) {
      Level(states);
    }
    if (ended_) return false;
    Bound(states);
    return !Ended() && !unbounded_;
  }

  // Whether a limit has been reached, asked now and then.
  bool Ended() {
    constexpr std::uint64_t kRowsBetweenChecks = 4096;
    if (rows_ >= kRowsBetweenChecks) {
      rows_ = 0;
      ended_ = ended_ || run_.RequestedEnd().has_value();
    }
    return ended_;
  }

  // A Gauss–Seidel pass. Returns the largest change.
  double Pass(std::span<const std::uint32_t> states) {
    double change = 0;
    for (const std::uint32_t s : states) {
      if (Ended()) break;
      DoubleDouble best = -kUnbounded;
      const std::uint64_t last = model_.state_rows[s + std::size_t{1}];
      for (std::uint64_t row = model_.state_rows[s]; row < last; ++row) {
        const Row read = ReadRow(s, row);
        best = std::max(best, read.value / (1.0 - read.stay));
      }
      change = std::max(change, Magnitude(best - values_[s]).high);
      values_[s] = best;
    }
    return change;
  }

  // Policy iteration with iterative refinement: the residual in twice the precision, its correction
  // by elimination in double. False if elimination takes too long.
  bool Correct(std::span<const std::uint32_t> states) {
    constexpr int kMostSteps = 60;
    constexpr int kMostStepsWithoutGain = 12;  // as long as policies change, residuals may grow
    constexpr double kNothingLeft = 0x1p-90;   // of the largest value
    copy_.Take(run_.model(), run_.discount(), states, rounded_);
    rest_.resize(states.size());
    double least = kUnbounded;
    int without_gain = 0;
    bool eliminated = true;
    for (int step = 0; step < kMostSteps && without_gain < kMostStepsWithoutGain && !Ended();
         ++step) {
      const Residual residual = FindResidual(states);
      ++without_gain;
      if (residual.largest < least) {
        least = residual.largest;
        without_gain = 0;
        best_values_.resize(states.size());
        for (std::size_t i = 0; i < states.size(); ++i) best_values_[i] = values_[states[i]];
      }
      if (least <= kNothingLeft * residual.largest_value) break;
      eliminated = elimination_.Solve(copy_, {}, operations_left_, rest_, rest_);
      operations_left_ -= std::min(operations_left_, elimination_.operations());
      if (!eliminated) break;
      for (std::size_t i = 0; i < states.size(); ++i) {
        values_[states[i]] = values_[states[i]] + rest_[i];
      }
    }
    if (least < kUnbounded) {
      for (std::size_t i = 0; i < states.size(); ++i) values_[states[i]] = best_values_[i];
    }
    return eliminated;
  }

  struct Residual {
    double largest = 0;
    double largest_value = 0;
  };

  // The residual of the best rows without their self-loops, and those rows as the copy's actions.
  Residual FindResidual(std::span<const std::uint32_t> states) {
    Residual residual;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::uint32_t s = states[i];
      const std::uint64_t first = model_.state_rows[s];
      DoubleDouble best = -kUnbounded;
      for (std::uint64_t row = first; row < model_.state_rows[s + std::size_t{1}]; ++row) {
        const Row read = ReadRow(s, row);
        const DoubleDouble value = read.value / (1.0 - read.stay);
        if (!(value > best)) continue;
        best = value;
        copy_.actions[i] = static_cast<std::uint32_t>(row - first);
      }
      rest_[i] = static_cast<double>(best - values_[s]);
      residual.largest = std::max(residual.largest, std::abs(rest_[i]));
      residual.largest_value = std::max(residual.largest_value, std::abs(best.high));
    }
    return residual;
  }

  // Passes, as long as they level anything.
  void Level(std::span<const std::uint32_t> states) {
    constexpr int kMostPasses = 20;
    if (LevelClosed(states)) return;
    for (int pass = 0; pass < kMostPasses && !ended_; ++pass) {
      if (Pass(states) == 0) return;
    }
  }

  // A component that is never left: backups, each followed by a shift of all values to the middle of
  // their bounds, as long as the bounds are too wide and become narrower. False if it can be left.
  bool LevelClosed(std::span<const std::uint32_t> states) {
    constexpr int kMostPasses = 20;
    constexpr double kShare = 0.125;  // of the tolerance
    const double magnified = discount_ / (1 - discount_);
    double width = kUnbounded;
    for (int pass = 0; pass < kMostPasses && !Ended(); ++pass) {
      double least = kUnbounded;
      double largest = -kUnbounded;
      for (std::size_t i = 0; i < states.size(); ++i) {
        const std::uint32_t s = states[i];
        DoubleDouble best = -kUnbounded;
        for (std::uint64_t row = model_.state_rows[s]; row < model_.state_rows[s + std::size_t{1}];
             ++row) {
          const Row read = ReadRow(s, row);
          if (read.leaves) return false;
          best = std::max(best, read.value + read.stay * values_[s]);
        }
        rest_[i] = static_cast<double>(best - values_[s]);
        least = std::min(least, rest_[i]);
        largest = std::max(largest, rest_[i]);
        if (Ended()) return true;
      }
      const double shift = magnified * (least + (largest - least) / 2);
      for (std::size_t i = 0; i < states.size(); ++i) {
        values_[states[i]] = values_[states[i]] + rest_[i] + shift;
      }
      const double before = std::exchange(width, magnified * (largest - least));
      if (width <= kShare * run_.options().tolerance || !(width < before)) return true;
    }
    return true;
  }

  void Bound(std::span<const std::uint32_t> states) {
    double above = 0;
    double below = 0;
    for (const std::uint32_t s : states) {
      const std::uint64_t first = model_.state_rows[s];
      const DoubleDouble value = values_[s];
      DoubleDouble best = -kUnbounded;
      double below_of_best = 0;
      for (std::uint64_t row = first; row < model_.state_rows[s + std::size_t{1}]; ++row) {
        const Row read = ReadRow(s, row);
        const DoubleDouble loop = read.stay * value;
        const DoubleDouble difference = read.value + loop - value;
        // Every addition and product rounds by a unit of what it adds up; the smallest underflow.
        const double rounding =
            4 * (read.length + 4) *
            (kDoubleDoubleUnit * (read.magnitude + std::abs(loop.high) + std::abs(value.high)) +
             4 * std::numeric_limits<double>::denorm_min());
        const double rest = (1.0 - read.inside - 4 * (read.length + 4) * kDoubleDoubleUnit).high;
        // Written so that NaN counts as unbounded.
        unbounded_ = unbounded_ || !(rest > 0) || !std::isfinite(difference.high + rounding);
        above = std::max(above, (difference.high + rounding + read.above) / rest);
        if (difference > best) {
          best = difference;
          below_of_best = (-difference.high + rounding + read.below) / rest;
          policy_[s] = static_cast<std::uint32_t>(row - first);
        }
        longest_ = std::max(longest_, read.length);
      }
      below = std::max(below, below_of_best);
    }
    // The errors themselves, sums and quotients of numbers that are not negative but for the
    // difference, are in double.
    const double more = 1 + 4 * (longest_ + 8) * std::numeric_limits<double>::epsilon();
    for (const std::uint32_t s : states) {
      above_[s] = above * more;
      below_[s] = below * more;
    }
  }

  SolveRun& run_;
  const ModelArrays& model_;
  const double discount_;
  const std::span<const double> rounded_;  // the values at the beginning
  std::vector<DoubleDouble> values_;
  std::vector<std::uint32_t> policy_;
  std::vector<double> above_;  // e⁺ of states that are done
  std::vector<double> below_;
  std::vector<std::uint32_t> component_;  // numbered from 1; 0 for those not yet visited
  std::uint32_t current_ = 0;
  std::uint64_t operations_left_;  // of eliminations
  double longest_ = 0;             // row so far
  std::uint64_t rows_ = 0;         // since limits were last checked
  bool ended_ = false;             // by a limit
  bool unbounded_ = false;         // some row's bound is not finite

  // Of one component.
  ComponentModel copy_;
  Elimination elimination_;
  std::vector<double> rest_;
  std::vector<DoubleDouble> best_values_;
};

}  // namespace

void Refine(SolveRun& run, Solution& solution) {
  if (run.model().wide()) return;
  Refinement refinement(run, solution.values);
  if (!refinement.Run()) {
    solution.end = run.RequestedEnd().value_or(solution.end);
    solution.seconds = run.seconds();
    return;
  }
  Solution refined = solution;
  refinement.Store(refined);
  if (!(refined.error < solution.error)) return;
  solution = std::move(refined);
  if (solution.error <= run.options().tolerance) solution.end = SolveEnd::kConverged;
  std::vector<double> next(solution.values.size());
  solution.residual =
      BackupPass(run.model(), run.discount(), solution.values, next, {}, run.options().threads)
          .magnitude();
  solution.seconds = run.seconds();
}

}  // namespace stableaa
