// A program with its own Eigen code next to the library, which contains Eigen. Compiled for wider
// vectors than the library (-mavx), Eigen allocates differently. If the linker mixed its functions
// with the library's, one would free what the other allocated: "double free or corruption".
// scripts/check-install compiles it with several options; by hand:
//   c++ -std=c++20 -mavx beside_eigen.cc $(pkg-config --cflags --libs eigen3 stableaa)
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/trials.h"

namespace {

// The error of solving a few systems with the factorisation that the library also uses.
double OwnSystems() {
  double error = 0;
  for (int n = 1; n <= 24; ++n) {
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Random(n, n);
    matrix.diagonal().array() += 2 * n;
    const Eigen::VectorXd b = Eigen::VectorXd::Random(n);
    const Eigen::VectorXd x = matrix.colPivHouseholderQr().solve(b);
    error = std::max(error, (matrix * x - b).norm());
    matrix.resize(n + 3, n);
  }
  return error;
}

bool WeightsSumToOne() {
  const std::vector<std::vector<double>> columns = {
      {4, 1, -2, 0.5, 3}, {2, -1, 0.7, 0.1, 2}, {1, 0.2, -0.3, 0.9, 0.4}};
  const std::vector<std::span<const double>> residuals(columns.begin(), columns.end());
  stableaa::WeightOptions options;
  options.condition_limit = 0;  // forces a QR factorisation
  stableaa::WeightSolver solver(options);
  double sum = 0;
  for (const double weight : solver.Solve(residuals, {}).alpha) sum += weight;
  return std::abs(sum - 1) < 1e-12;
}

bool PolicyIterationConverges() {
  stableaa::GeneratorOptions garnet;
  garnet.kind = "garnet";
  garnet.states = 50;
  stableaa::SolveOptions options;
  options.method = stableaa::SolveMethod::kPi;  // uses sparse LU factorisations
  options.discount = 0.9;
  return stableaa::Solve(stableaa::GenerateModel(garnet), options).converged();
}

bool ClaimsHold() {
  stableaa::TrialOptions options;
  options.trials = 3;
  return std::ranges::all_of(stableaa::AllClaims(), [&](const stableaa::Claim& claim) {
    return stableaa::TestClaim(claim, options).corrected.verdict != stableaa::Verdict::kViolated;
  });
}

}  // namespace

int main() try {
  const double before = OwnSystems();
  const bool good = WeightsSumToOne() && PolicyIterationConverges() && ClaimsHold();
  const double error = std::max(before, OwnSystems());
  std::printf("own systems solved to %.1e, the library is %s (alignment %d)\n", error,
              good ? "right" : "wrong", EIGEN_MAX_ALIGN_BYTES);
  return good && error < 1e-10 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
