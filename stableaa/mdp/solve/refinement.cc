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
        component_(values.size(), 0) {}

  // False if a limit was reached.
  bool Run() {
    const auto visit = [this](std::span<const std::uint32_t> states) { return Visit(states); };
    return ComponentSearch(run_.model(), model_.narrow_columns, visit).Run();
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
    constexpr std::uint64_t kRowsBetweenChecks = 4096;
    ++current_;
    for (const std::uint32_t s : states) component_[s] = current_;
    if (states.size() == 1) {
      Pass(states);
    } else if (!Correct(states)) {
      Level(states);
    }
    Bound(states);
    if (rows_ < kRowsBetweenChecks) return true;
    rows_ = 0;
    return !run_.RequestedEnd();
  }

  // A Gauss–Seidel pass. Returns the largest change.
  double Pass(std::span<const std::uint32_t> states) {
    double change = 0;
    for (const std::uint32_t s : states) {
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

  // Iterative refinement: the residual in twice the precision, its correction by elimination in
  // double. False if elimination takes too long.
  bool Correct(std::span<const std::uint32_t> states) {
    constexpr int kMostSteps = 4;
    constexpr std::uint64_t kMostOperations = 200;  // per state and transition
    copy_.Take(run_.model(), run_.discount(), states, rounded_);
    rest_.resize(states.size());
    const std::uint64_t most = kMostOperations * (copy_.states() + copy_.transitions());
    double before = kUnbounded;
    for (int step = 0; step < kMostSteps; ++step) {
      const double residual = FindResidual(states);
      if (residual == 0 || residual >= before) return true;
      before = residual;
      if (!elimination_.Solve(copy_, {}, most, rest_, rest_)) return false;
      for (std::size_t i = 0; i < states.size(); ++i) {
        values_[states[i]] = values_[states[i]] + rest_[i];
      }
    }
    return true;
  }

  // The residual of the best rows without their self-loops, and those rows as the copy's actions.
  double FindResidual(std::span<const std::uint32_t> states) {
    double largest = 0;
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
      largest = std::max(largest, std::abs(rest_[i]));
    }
    return largest;
  }

  // Passes, as long as they level anything.
  void Level(std::span<const std::uint32_t> states) {
    constexpr int kMostPasses = 20;
    for (int pass = 0; pass < kMostPasses; ++pass) {
      if (Pass(states) == 0) return;
    }
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
  double longest_ = 0;      // row so far
  std::uint64_t rows_ = 0;  // since limits were last checked

  // Of one component.
  ComponentModel copy_;
  Elimination elimination_;
  std::vector<double> rest_;
};

}  // namespace

void Refine(SolveRun& run, Solution& solution) {
  if (run.model().wide()) return;
  Refinement refinement(run, solution.values);
  if (!refinement.Run()) return;
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
