// Solves x = cos(A x + b) for a coupled pair, and takes the mellowmax of three action values.
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>

#include "stableaa/anderson/fixed_point.h"
#include "stableaa/bellman/backup.h"

int main() try {
  const auto map = [](std::span<const double> x, std::span<double> image) {
    image[0] = std::cos(0.7 * x[0] + 0.2 * x[1]);
    image[1] = std::cos(0.3 * x[0] + 0.6 * x[1] + 0.1);
  };
  std::array<double, 2> x = {0, 0};
  const stableaa::FixedPointSummary summary = stableaa::SolveFixedPoint(map, x);
  std::array<double, 2> image = {};
  map(x, image);
  const double residual = std::hypot(image[0] - x[0], image[1] - x[1]);
  std::printf("x = (%.6f, %.6f), residual %.1e after %lld evaluations\n", x[0], x[1], residual,
              static_cast<long long>(summary.evaluations));

  const std::array<double, 3> q = {1, 2, 3};
  const stableaa::Backup backup{stableaa::BackupKind::kMellowmax, 5};
  const double value = backup.Value(q);
  const double expected = std::log((std::exp(5.) + std::exp(10.) + std::exp(15.)) / 3) / 5;
  std::printf("mellowmax(1, 2, 3) = %.6f\n", value);

  return summary.converged && residual < 1e-9 && std::abs(value - expected) < 1e-12 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
