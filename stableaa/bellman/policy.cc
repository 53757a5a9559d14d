#include "stableaa/bellman/policy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "stableaa/bellman/arguments.h"
#include "stableaa/bellman/softmax.h"
#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

using internal::Exponent;
using internal::FirstMaximum;
using internal::HalfGap;

constexpr int kNewtonEvaluations = 30;
static_assert(kMaxRootEvaluations == kNewtonEvaluations + 64);
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// With x = omega (max - min), the expansion of the root has an error of about x^2 / 100 and the
// search, whose terms cancel, of about kEpsilon / x: here both are around 1e-11 relative.
constexpr double kExpandedSpread = 3e-5;

template <typename T>
void RequireFinite(std::span<const T> q) {
  internal::RequireActions(q.size());
  for (std::size_t a = 0; a < q.size(); ++a) {
    if (!std::isfinite(q[a])) {
      throw BadInput(Concat("value of action ", a, " is ", q[a], ": expected a finite number"));
    }
  }
}

void RequireFiniteOmega(double omega) {
  internal::RequireOmega("the maximum-entropy policy", omega);
  if (std::isinf(omega)) {
    throw BadInput("omega of the maximum-entropy policy is inf: expected a number in [0, inf)");
  }
}

// The double halfway between two non-negative ones in the order of their bit patterns, which is
// also their numerical order: 64 halvings separate any two, whatever their magnitudes.
double BitMidpoint(double low, double high) {
  const auto low_bits = std::bit_cast<std::uint64_t>(low);
  const auto high_bits = std::bit_cast<std::uint64_t>(high);
  return std::bit_cast<double>(low_bits + (high_bits - low_bits) / 2);
}

// log sum exp of weights given by their logarithms, and the weighted mean of a gap.
struct LogSum {
  double log = 0;
  double mean_gap = 0;
};

// Finds rho for one state after another, reusing its buffers.
template <typename T>
class RootFinder {
 public:
  // REQUIRES: q is finite and not empty, omega is finite.
  MaxEntropyRoot Find(std::span<const T> q, double omega) {
    max_ = q[FirstMaximum(q)];
    const double min = *std::min_element(q.begin(), q.end());
    if (min == max_ || omega == 0) return {};
    const double spread = -Exponent(min, max_, omega);
    if (spread < kExpandedSpread) return {omega * ExpandedRoot(q, min, spread)};
    SplitTerms(q, omega);
    return Search(omega);
  }

 private:
  // One term exp(rho (q - mm)) (q - mm) of the equation, without the factors exp(rho (max - mm))
  // and omega, which are common to all terms and cancel in g.
  struct Term {
    double q;
    double log_distance;  // log(omega |q - mm|)
    double gap;           // (q - max) / 2n, so that the sum of n gaps fits
  };

  // The equation evaluated at one rho.
  struct Evaluation {
    double g;
    double noise;        // how far rounding can move g
    double newton_step;  // -g / g'
  };

  // rho / omega = 1/2 + k3 / (24 k2), with the cumulants of omega q. Computed from values scaled to
  // [-1, 0], since those of omega q may be denormal.
  double ExpandedRoot(std::span<const T> q, double min, double spread) const {
    const double n = static_cast<double>(q.size());
    const double unit = -HalfGap(min, max_);
    if (unit == 0) return 0.5;  // adjacent denormal numbers
    double mean = 0;
    for (const T value : q) mean += HalfGap(value, max_) / unit / n;
    double k2 = 0;
    double k3 = 0;
    for (const T value : q) {
      const double deviation = HalfGap(value, max_) / unit - mean;
      k2 += deviation * deviation;
      k3 += deviation * deviation * deviation;
    }
    return 0.5 + spread * k3 / (24 * k2);
  }

  // Splits the actions by the sign of q - mm into the terms of P and those of N.
  void SplitTerms(std::span<const T> q, double omega) {
    internal::LogMeanExp log_mean_exp;
    for (const T value : q) log_mean_exp.Add(Exponent(value, max_, omega));
    const double mm = log_mean_exp.Result();  // omega (mm - max), in [-log n, 0)

    const double n = static_cast<double>(q.size());
    above_.clear();
    below_.clear();
    for (const T value : q) {
      const double z = Exponent(value, max_, omega);
      const double half_gap = HalfGap(value, max_);
      // If the exponent overflows, mm has no influence on the difference.
      const double log_distance = std::isinf(z)
                                      ? std::log(omega) + std::log(-half_gap) + std::numbers::ln2
                                      : std::log(std::abs(z - mm));
      (z > mm ? above_ : below_).push_back({value, log_distance, half_gap / n});
    }
  }

  LogSum Sum(const std::vector<Term>& terms, double rho) {
    log_weights_.clear();
    for (const Term& term : terms) {
      log_weights_.push_back(term.log_distance + Exponent(term.q, max_, rho));
    }
    const double largest = *std::max_element(log_weights_.begin(), log_weights_.end());
    double sum = 0;
    double weighted_gap = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const double weight = std::exp(log_weights_[i] - largest);
      sum += weight;
      weighted_gap += weight * terms[i].gap;
    }
    return {largest + std::log(sum), weighted_gap / sum};
  }

  Evaluation Evaluate(double rho) {
    const LogSum positive = Sum(above_, rho);
    const LogSum negative = Sum(below_, rho);
    const double g = positive.log - negative.log;
    const double noise = 2 * kEpsilon * (1 + std::abs(positive.log) + std::abs(negative.log));
    const double n = static_cast<double>(above_.size() + below_.size());
    return {g, noise, -g / (2 * n) / (positive.mean_gap - negative.mean_gap)};
  }

  // Newton's method from 0, kept inside the bracket [low, high] of the sign change.
  MaxEntropyRoot Search(double omega) {
    double low = 0;
    double high = omega;
    double rho = 0;
    for (int evaluations = 1;; ++evaluations) {
      const Evaluation at = Evaluate(rho);
      if (std::abs(at.g) <= at.noise) return {rho, evaluations};
      // NaN counts as positive: rho was so large that every weight in N vanished.
      (at.g < 0 ? low : high) = rho;
      double next = rho + at.newton_step;
      const bool inside = next >= low && next <= high;
      if (!inside || evaluations >= kNewtonEvaluations) next = BitMidpoint(low, high);
      // The step is down to the spacing of doubles, or the bracket's ends are neighbours.
      if (std::abs(next - rho) <= kEpsilon * rho || next == low) return {next, evaluations};
      rho = next;
    }
  }

  double max_ = 0;
  std::vector<Term> above_;  // q > mm: the positive terms
  std::vector<Term> below_;  // q <= mm
  std::vector<double> log_weights_;
};

template <typename T>
std::size_t Greedy(std::span<const T> q) {
  internal::RequireActions(q.size());
  const std::size_t best = FirstMaximum(q);
  if (std::isnan(q[best])) {
    throw BadInput(Concat("value of action ", best, " is nan: expected a number"));
  }
  return best;
}

template <typename T>
void GreedyRows(std::span<const T> q, std::size_t actions, std::span<std::size_t> best) {
  internal::RequireRows(q.size(), best.size(), actions);
  for (std::size_t row = 0; row < best.size(); ++row) {
    best[row] = Greedy(q.subspan(row * actions, actions));
  }
}

template <typename T>
void SoftmaxOf(std::span<const T> q, double omega, std::span<T> probabilities) {
  RequireFinite(q);
  internal::RequireOmega("the softmax policy", omega);
  internal::RequireSize("probabilities", probabilities.size(), q.size());
  internal::Softmax(q, q[FirstMaximum(q)], omega, probabilities);
}

template <typename T>
void SoftmaxRows(std::span<const T> q, std::size_t actions, double omega,
                 std::span<T> probabilities) {
  internal::RequireSize("probabilities", probabilities.size(), q.size());
  internal::RequireWholeRows(q.size(), actions);
  for (std::size_t start = 0; start < q.size(); start += actions) {
    SoftmaxOf(q.subspan(start, actions), omega, probabilities.subspan(start, actions));
  }
}

template <typename T>
MaxEntropyRoot MaxEntropyOf(RootFinder<T>& finder, std::span<const T> q, double omega,
                            std::span<T> probabilities) {
  RequireFinite(q);
  const MaxEntropyRoot root = finder.Find(q, omega);
  internal::Softmax(q, q[FirstMaximum(q)], root.rho, probabilities);
  return root;
}

template <typename T>
MaxEntropyRoot RootOf(std::span<const T> q, double omega) {
  RequireFinite(q);
  RequireFiniteOmega(omega);
  return RootFinder<T>().Find(q, omega);
}

template <typename T>
MaxEntropyRoot MaxEntropyRow(std::span<const T> q, double omega, std::span<T> probabilities) {
  RequireFiniteOmega(omega);
  internal::RequireSize("probabilities", probabilities.size(), q.size());
  RootFinder<T> finder;
  return MaxEntropyOf(finder, q, omega, probabilities);
}

template <typename T>
void MaxEntropyRows(std::span<const T> q, std::size_t actions, double omega,
                    std::span<T> probabilities, std::span<double> rho) {
  RequireFiniteOmega(omega);
  internal::RequireRows(q.size(), rho.size(), actions);
  internal::RequireSize("probabilities", probabilities.size(), q.size());
  RootFinder<T> finder;
  for (std::size_t row = 0; row < rho.size(); ++row) {
    const std::size_t start = row * actions;
    rho[row] = MaxEntropyOf(finder, q.subspan(start, actions), omega,
                            probabilities.subspan(start, actions))
                   .rho;
  }
}

}  // namespace

std::size_t GreedyAction(std::span<const double> q) { return Greedy(q); }
std::size_t GreedyAction(std::span<const float> q) { return Greedy(q); }

void GreedyActions(std::span<const double> q, std::size_t actions, std::span<std::size_t> best) {
  GreedyRows(q, actions, best);
}
void GreedyActions(std::span<const float> q, std::size_t actions, std::span<std::size_t> best) {
  GreedyRows(q, actions, best);
}

void SoftmaxPolicy(std::span<const double> q, double omega, std::span<double> probabilities) {
  SoftmaxOf(q, omega, probabilities);
}
void SoftmaxPolicy(std::span<const float> q, double omega, std::span<float> probabilities) {
  SoftmaxOf(q, omega, probabilities);
}

void SoftmaxPolicies(std::span<const double> q, std::size_t actions, double omega,
                     std::span<double> probabilities) {
  SoftmaxRows(q, actions, omega, probabilities);
}
void SoftmaxPolicies(std::span<const float> q, std::size_t actions, double omega,
                     std::span<float> probabilities) {
  SoftmaxRows(q, actions, omega, probabilities);
}

MaxEntropyRoot FindMaxEntropyRoot(std::span<const double> q, double omega) {
  return RootOf(q, omega);
}
MaxEntropyRoot FindMaxEntropyRoot(std::span<const float> q, double omega) {
  return RootOf(q, omega);
}

MaxEntropyRoot MaxEntropyPolicy(std::span<const double> q, double omega,
                                std::span<double> probabilities) {
  return MaxEntropyRow(q, omega, probabilities);
}
MaxEntropyRoot MaxEntropyPolicy(std::span<const float> q, double omega,
                                std::span<float> probabilities) {
  return MaxEntropyRow(q, omega, probabilities);
}

void MaxEntropyPolicies(std::span<const double> q, std::size_t actions, double omega,
                        std::span<double> probabilities, std::span<double> rho) {
  MaxEntropyRows(q, actions, omega, probabilities, rho);
}
void MaxEntropyPolicies(std::span<const float> q, std::size_t actions, double omega,
                        std::span<float> probabilities, std::span<double> rho) {
  MaxEntropyRows(q, actions, omega, probabilities, rho);
}

}  // namespace stableaa
