// exp(omega q) without overflow, in one place. Internal to this folder.
//
// Everything is written in the exponents z_a = omega (q_a - max q) <= 0, at least one of which is
// 0: no exponential overflows and no sum of them vanishes, whatever the magnitudes of omega and q.
#ifndef STABLEAA_BELLMAN_SOFTMAX_H_
#define STABLEAA_BELLMAN_SOFTMAX_H_

#include <cmath>
#include <cstddef>
#include <span>

namespace stableaa::internal {

// The first largest entry, or the first NaN if there is one, which a comparison alone would skip.
// REQUIRES: q is not empty.
template <typename T>
std::size_t FirstMaximum(std::span<const T> q) {
  std::size_t best = 0;
  for (std::size_t a = 1; a < q.size() && !std::isnan(q[best]); ++a) {
    if (!(q[a] <= q[best])) best = a;
  }
  return best;
}

// (q - max) / 2: near the ends of the range the difference itself overflows, but this does not.
inline double HalfGap(double q, double max) { return 0.5 * q - 0.5 * max; }

// omega (q - max), for any omega in [0, infinity] and q <= max < infinity, with 0 * infinity = 0.
inline double Exponent(double q, double max, double omega) {
  if (q == max || omega == 0) return 0;
  const double gap = q - max;
  return std::isinf(gap) ? HalfGap(q, max) * omega * 2 : omega * gap;
}

// log(mean exp z) with a small *relative* error, even close to 0 when all z are.
class LogMeanExp {
 public:
  void Add(double z) {
    const double minus_one = std::expm1(z);
    sum_minus_one_ += minus_one;
    sum_ += 1 + minus_one;
    ++count_;
  }

  double Result() const {
    const double n = static_cast<double>(count_);
    const double mean_minus_one = sum_minus_one_ / n;
    // log1p loses digits as its argument nears -1, log as its argument nears 1.
    return mean_minus_one > -0.5 ? std::log1p(mean_minus_one) : std::log(sum_ / n);
  }

 private:
  double sum_minus_one_ = 0;
  double sum_ = 0;
  std::size_t count_ = 0;
};

// sum_a exp(z_a), in [1, n].
template <typename T>
double SumExp(std::span<const T> q, double max, double omega) {
  double sum = 0;
  for (const T value : q) sum += std::exp(Exponent(value, max, omega));
  return sum;
}

// probabilities = softmax(omega q), where `max` is the finite maximum of q. omega = infinity is the
// limit: uniform over the maxima. The exponentials are computed twice so that float rows need no
// double buffer.
template <typename T>
void Softmax(std::span<const T> q, double max, double omega, std::span<T> probabilities) {
  const double sum = SumExp(q, max, omega);
  for (std::size_t a = 0; a < q.size(); ++a) {
    probabilities[a] = static_cast<T>(std::exp(Exponent(q[a], max, omega)) / sum);
  }
}

}  // namespace stableaa::internal

#endif  // STABLEAA_BELLMAN_SOFTMAX_H_
