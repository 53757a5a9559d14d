// Numbers of twice the precision of double: the unevaluated sum of two, about 106 bits.
//
// Knuth's sum and Dekker's product, whose rounding errors are doubles themselves (Hida, Li and
// Bailey 2001). Every operation is off by less than kDoubleDoubleUnit of its result, a sum of numbers
// of different sign by that of the larger. Slow: for last attempts, not for loops.
#ifndef STABLEAA_MDP_SOLVE_DOUBLE_DOUBLE_H_
#define STABLEAA_MDP_SOLVE_DOUBLE_DOUBLE_H_

#include <cmath>

namespace stableaa {

inline constexpr double kDoubleDoubleUnit = 0x1p-102;

struct DoubleDouble {
  double high = 0;
  double low = 0;  // at most half a unit in the last place of `high`

  DoubleDouble() = default;
  DoubleDouble(double value) : high(value) {}  // NOLINT(google-explicit-constructor): no loss
  DoubleDouble(double high_part, double low_part) : high(high_part), low(low_part) {}

  explicit operator double() const { return high; }
};

// REQUIRES: |a| ≥ |b| or a = 0.
inline DoubleDouble QuickSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

inline DoubleDouble ExactSum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

inline DoubleDouble ExactProduct(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator-(const DoubleDouble& a) { return {-a.high, -a.low}; }

inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble high = ExactSum(a.high, b.high);
  const DoubleDouble low = ExactSum(a.low, b.low);
  const DoubleDouble sum = QuickSum(high.high, high.low + low.high);
  return QuickSum(sum.high, sum.low + low.low);
}

inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }

inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble product = ExactProduct(a.high, b.high);
  return QuickSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * first;
  const double second = rest.high / b.high;
  const double third = (rest - b * second).high / b.high;
  return QuickSum(first, second) + third;
}

inline bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
inline bool operator>(const DoubleDouble& a, const DoubleDouble& b) { return b < a; }

inline DoubleDouble Magnitude(const DoubleDouble& a) { return a.high < 0 ? -a : a; }

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_DOUBLE_DOUBLE_H_
