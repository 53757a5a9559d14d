// Fixed-point maps and loops shared by this folder's tests.
#ifndef STABLEAA_ANDERSON_MAPS_TEST_H_
#define STABLEAA_ANDERSON_MAPS_TEST_H_

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "stableaa/anderson/accelerator.h"

namespace stableaa {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline std::span<double> AsSpan(Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}
inline std::span<const double> AsSpan(const Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

// x → Ax + b with a contraction A, nonsymmetric unless requested.
struct LinearMap {
  Matrix a;
  Vector b;

  LinearMap(int n, double contraction, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    a = Matrix::NullaryExpr(n, n, [&] { return normal(random); });
    a *= contraction / a.jacobiSvd().singularValues()(0);
    b = Vector::NullaryExpr(n, [&] { return normal(random); });
  }
  Vector operator()(const Vector& x) const { return a * x + b; }
  Vector FixedPoint() const {
    return (Matrix::Identity(a.rows(), a.cols()) - a).fullPivLu().solve(b);
  }
};

using VectorMap = std::function<Vector(const Vector&)>;

// All iterates x_0 … x_steps.
inline std::vector<Vector> Iterate(const VectorMap& g, Vector x, int steps,
                                   const AcceleratorOptions& options) {
  Accelerator accelerator(static_cast<std::size_t>(x.size()), options);
  std::vector<Vector> iterates = {x};
  for (int k = 0; k < steps; ++k) {
    const Vector image = g(x);
    accelerator.Step(AsSpan(x), AsSpan(image));
    iterates.push_back(x);
  }
  return iterates;
}

// Evaluations of g until ‖g(x) − x‖ < tolerance, or `cap`.
inline int StepsToTolerance(const VectorMap& g, Vector x, double tolerance, int cap,
                            const AcceleratorOptions& options, Vector* solution = nullptr) {
  Accelerator accelerator(static_cast<std::size_t>(x.size()), options);
  for (int k = 0; k < cap; ++k) {
    const Vector image = g(x);
    if ((image - x).norm() < tolerance) {
      if (solution != nullptr) *solution = x;
      return k;
    }
    accelerator.Step(AsSpan(x), AsSpan(image));
  }
  return cap;
}

inline Vector CosineMap(const Vector& x) {
  return x.unaryExpr([](double v) { return std::cos(v); });
}

// x → |x| − c, slope ±1, with a kink that throws secant steps far off.
inline Vector KinkMap(const Vector& x) {
  Vector image(x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    image(i) = .98 * std::abs(x(i)) - 1 - .3 * static_cast<double>(i % 3);
  }
  return image;
}

// Value iteration for three states and two actions, deterministic, discount .9: an accelerator's
// window becomes singular after a few steps.
inline Vector SingularMdpBackup(const Vector& v) {
  constexpr int kNext[3][2] = {{0, 2}, {1, 1}, {2, 2}};
  constexpr double kReward[3][2] = {{.669199, .564838}, {.524535, .003973}, {.748376, .968998}};
  Vector image(3);
  for (int s = 0; s < 3; ++s) {
    image(s) = std::max(kReward[s][0] + .9 * v(kNext[s][0]), kReward[s][1] + .9 * v(kNext[s][1]));
  }
  return image;
}

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_MAPS_TEST_H_
