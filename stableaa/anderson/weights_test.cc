#include "stableaa/anderson/weights.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"
#ifdef _OPENMP
#include <omp.h>
#endif

namespace stableaa::weights_test {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Columns = std::vector<std::span<const double>>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr WeightRule kRules[] = {WeightRule::kVanilla, WeightRule::kRaa, WeightRule::kStable,
                                 WeightRule::kRelative};

// Residuals e_0 … e_m and iterates x_0 … x_m as columns, oldest first.
struct History {
  Matrix residuals;
  Matrix iterates;

  Matrix Differences() const {
    const auto m = iterates.cols() - 1;
    return iterates.rightCols(m) - iterates.leftCols(m);
  }
};

Columns AsColumns(const Matrix& matrix) {
  Columns columns;
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
    columns.emplace_back(matrix.col(j).data(), static_cast<std::size_t>(matrix.rows()));
  }
  return columns;
}

MixingWeights Solve(const WeightOptions& options, const History& history) {
  WeightSolver solver(options);
  const Matrix differences = history.Differences();
  return solver.Solve(AsColumns(history.residuals), AsColumns(differences));
}

Vector Map(const std::vector<double>& v) {
  return Eigen::Map<const Vector>(v.data(), static_cast<Eigen::Index>(v.size()));
}

class Histories {
 public:
  explicit Histories(unsigned seed) : random_(seed) {}

  Matrix Normal(int rows, int columns) {
    std::normal_distribution<double> normal;
    return Matrix::NullaryExpr(rows, columns, [&] { return normal(random_); });
  }

  History Full(int n, int m) { return {Normal(n, m + 1), Normal(n, m + 1)}; }

  // Residuals in a subspace with fewer dimensions than columns.
  History Deficient(int n, int m, int rank) {
    return {Normal(n, rank) * Normal(rank, m + 1), Normal(n, m + 1)};
  }

 private:
  std::mt19937_64 random_;
};

// Newest first, as in the paper.
Matrix ResidualDifferences(const Matrix& residuals) {
  const auto m = residuals.cols() - 1;
  return (residuals.rightCols(m) - residuals.leftCols(m)).rowwise().reverse();
}

double MaxDifference(const std::vector<double>& a, const std::vector<double>& b) {
  return a.empty() ? 0 : (Map(a) - Map(b)).lpNorm<Eigen::Infinity>();
}

TEST(Weights, AlphaSumsToOneForEveryRule) {
  Histories histories(1);
  for (const WeightRule rule : kRules) {
    for (int m = 0; m <= 12; ++m) {
      const MixingWeights w = Solve({.rule = rule, .eta = 1e-3}, histories.Full(20, m));
      ASSERT_EQ(w.alpha.size(), static_cast<std::size_t>(m + 1));
      ASSERT_EQ(w.tau.size(), static_cast<std::size_t>(m));
      EXPECT_NEAR(Map(w.alpha).sum(), 1, 1e-12) << Name(rule) << " m = " << m;
    }
  }
}

TEST(Weights, AlphaAndTauDescribeTheSameMixedResidual) {
  Histories histories(2);
  for (const WeightRule rule : kRules) {
    const History history = histories.Full(15, 6);
    const MixingWeights w = Solve({.rule = rule, .eta = .01}, history);
    const Vector by_alpha = history.residuals * Map(w.alpha);
    const Vector by_tau =
        history.residuals.col(6) - ResidualDifferences(history.residuals) * Map(w.tau);
    EXPECT_LT((by_alpha - by_tau).norm(), 1e-12);
    EXPECT_NEAR(w.gain, by_alpha.norm() / history.residuals.col(6).norm(), 1e-12);
  }
}

// Eq. 4 of the paper, in long double and without the differences.
Vector KktAlpha(const Matrix& residuals, long double lambda) {
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const Long e = residuals.cast<long double>();
  Long gram = e.transpose() * e;
  gram.diagonal().array() += lambda;
  const Eigen::Matrix<long double, Eigen::Dynamic, 1> one =
      Eigen::Matrix<long double, Eigen::Dynamic, 1>::Ones(gram.rows());
  const Eigen::Matrix<long double, Eigen::Dynamic, 1> solution = gram.fullPivLu().solve(one);
  return (solution / solution.sum()).cast<double>();
}

TEST(VanillaWeights, NormalEquationsQrAndKktAgreeOnFullRank) {
  Histories histories(3);
  for (int m = 1; m <= 10; ++m) {
    const History history = histories.Full(25, m);
    const MixingWeights fast = Solve({.rule = WeightRule::kVanilla}, history);
    const MixingWeights qr = Solve({.rule = WeightRule::kVanilla, .condition_limit = 0}, history);
    EXPECT_FALSE(fast.from_qr);
    EXPECT_TRUE(qr.from_qr);
    EXPECT_EQ(qr.rank, m);
    EXPECT_LT(MaxDifference(fast.alpha, qr.alpha), 1e-10);
    EXPECT_LT((Map(qr.alpha) - KktAlpha(history.residuals, 0)).norm(), 1e-10);
  }
}

TEST(RaaWeights, MatchTheirClosedFormByBothRoutes) {
  Histories histories(4);
  for (const double eta : {1e-6, .1, 10.}) {
    const History history = histories.Full(12, 5);
    const Matrix gram = history.residuals.transpose() * history.residuals;
    const double lambda = eta * gram.cwiseAbs().mean();
    for (const double limit : {1e10, 0.}) {
      const MixingWeights w =
          Solve({.rule = WeightRule::kRaa, .eta = eta, .condition_limit = limit}, history);
      EXPECT_NEAR(w.lambda, lambda, 1e-12 * lambda);
      EXPECT_LT((Map(w.alpha) - KktAlpha(history.residuals, lambda)).norm(), 1e-10);
    }
  }
}

TEST(RidgeWeights, MatchTheClosedFormOfEquationElevenByBothRoutes) {
  Histories histories(5);
  for (const WeightRule rule : {WeightRule::kStable, WeightRule::kRelative}) {
    const History history = histories.Full(12, 5);
    const Matrix h = ResidualDifferences(history.residuals);
    const double delta_squared =
        rule == WeightRule::kStable ? history.Differences().squaredNorm() : 0;
    const double lambda = .1 * (delta_squared + h.squaredNorm());
    const Matrix system = h.transpose() * h + lambda * Matrix::Identity(5, 5);
    const Vector tau = system.fullPivLu().solve(h.transpose() * history.residuals.col(5));
    for (const double limit : {1e10, 0.}) {
      const MixingWeights w = Solve({.rule = rule, .eta = .1, .condition_limit = limit}, history);
      EXPECT_NEAR(w.lambda, lambda, 1e-12 * lambda);
      EXPECT_LT((Map(w.tau) - tau).norm(), 1e-12);
    }
  }
}

TEST(Weights, ScalingAllColumnsLeavesPenalisedWeightsUnchanged) {
  Histories histories(6);
  for (const WeightRule rule : {WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    for (const double eta : {1e-10, 1e-3, 1.}) {
      const History history = histories.Full(10, 4);
      const WeightOptions options{.rule = rule, .eta = eta};
      const MixingWeights reference = Solve(options, history);
      for (const double factor : {1e-150, 1e-30, 1e30, 1e150}) {
        const MixingWeights scaled =
            Solve(options, {history.residuals * factor, history.iterates * factor});
        EXPECT_LT(MaxDifference(scaled.alpha, reference.alpha), 1e-9 * Map(reference.alpha).norm())
            << Name(rule) << " eta " << eta << " factor " << factor;
        EXPECT_NEAR(scaled.gain, reference.gain, 1e-9);
      }
    }
  }
}

TEST(Weights, HugeEtaGivesThePlainStepForRidgesAndUniformWeightsForRaa) {
  Histories histories(7);
  for (const double eta : {1e12, 1e100}) {
    for (const double limit : {1e10, 0.}) {
      const History history = histories.Full(10, 4);
      for (const WeightRule rule : {WeightRule::kStable, WeightRule::kRelative}) {
        const MixingWeights w =
            Solve({.rule = rule, .eta = eta, .condition_limit = limit}, history);
        EXPECT_LT(Map(w.tau).norm(), 1e-9) << Name(rule);
        EXPECT_NEAR(w.alpha.back(), 1, 1e-9);
      }
      const MixingWeights w =
          Solve({.rule = WeightRule::kRaa, .eta = eta, .condition_limit = limit}, history);
      for (const double alpha : w.alpha) EXPECT_NEAR(alpha, 1. / 5, 1e-9);
    }
  }
}

TEST(Weights, VanishingEtaGivesVanilla) {
  Histories histories(8);
  for (const WeightRule rule : {WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    const History history = histories.Full(20, 5);
    const MixingWeights vanilla = Solve({.rule = WeightRule::kVanilla}, history);
    double previous = kInfinity;
    for (const double eta : {1e-3, 1e-6, 1e-9, 0.}) {
      const double distance =
          MaxDifference(Solve({.rule = rule, .eta = eta}, history).alpha, vanilla.alpha);
      EXPECT_LT(distance, previous) << Name(rule) << " eta " << eta;
      previous = distance;
    }
    EXPECT_LT(previous, 1e-12);
  }
}

TEST(Weights, GainIsAtMostOneExceptForRaa) {
  Histories histories(9);
  for (int trial = 0; trial < 200; ++trial) {
    const History history = histories.Full(3 + trial % 7, 1 + trial % 9);
    for (const WeightRule rule :
         {WeightRule::kVanilla, WeightRule::kStable, WeightRule::kRelative}) {
      EXPECT_LE(Solve({.rule = rule, .eta = .1}, history).gain, 1 + 1e-12) << Name(rule);
    }
  }
}

TEST(Weights, RankDeficientWindowsYieldModestWeights) {
  Histories histories(10);
  for (const WeightRule rule : kRules) {
    for (const double eta : {0., 1e-10, .1}) {
      for (int trial = 0; trial < 50; ++trial) {
        const int rank = 1 + trial % 4;
        const int m = 6 + trial % 5;
        const History history = histories.Deficient(4 + trial % 20, m, rank);
        const MixingWeights w = Solve({.rule = rule, .eta = eta}, history);
        ASSERT_TRUE(Map(w.alpha).allFinite()) << Name(rule) << " eta " << eta;
        // Without the noise columns this is a random problem of `rank` columns; one in a few
        // thousand of those has weights beyond 1e4, while rounding noise would give 1e10 and more.
        EXPECT_LT(Map(w.alpha).norm(), 1e6) << Name(rule) << " eta " << eta << " rank " << rank;
        EXPECT_NEAR(Map(w.alpha).sum(), 1, 1e-8);
        if (rule == WeightRule::kVanilla) {
          EXPECT_LE(w.rank, rank);
        }
      }
    }
  }
}

TEST(Weights, RepeatedAndZeroColumnsAreHarmless) {
  Histories histories(11);
  for (const WeightRule rule : kRules) {
    History same = histories.Full(8, 4);
    for (int j = 0; j < 4; ++j) same.residuals.col(j) = same.residuals.col(4);  // H = 0
    const MixingWeights w = Solve({.rule = rule}, same);
    EXPECT_TRUE(Map(w.alpha).allFinite());
    EXPECT_NEAR(w.gain, 1, 1e-12);  // every combination gives the same residual
    if (rule != WeightRule::kRaa) {
      EXPECT_EQ(Map(w.tau).norm(), 0) << Name(rule);
    }
    const History zero{Matrix::Zero(8, 5), Matrix::Zero(8, 5)};
    EXPECT_EQ(Map(Solve({.rule = rule}, zero).tau).norm(), 0) << Name(rule);
  }
}

TEST(Weights, AConvergedNewestResidualIsKept) {
  Histories histories(12);
  History history = histories.Full(8, 3);
  history.residuals.col(3).setZero();
  for (const WeightRule rule : {WeightRule::kVanilla, WeightRule::kStable, WeightRule::kRelative}) {
    EXPECT_LT(Map(Solve({.rule = rule}, history).tau).norm(), 1e-15) << Name(rule);
  }
}

TEST(Weights, MoreColumnsThanComponentsFindTheExactCombination) {
  Histories histories(13);
  const MixingWeights w = Solve({.rule = WeightRule::kVanilla}, histories.Full(3, 8));
  EXPECT_EQ(w.rank, 3);
  EXPECT_LT(w.gain, 1e-10);
}

TEST(Weights, IllConditionedWindowsGoThroughQrAndKeepTheirDigits) {
  Histories histories(14);
  History history = histories.Full(30, 3);
  const Vector direction = histories.Normal(30, 1);
  for (int j = 0; j < 3; ++j) {  // three differences that agree to seven digits
    history.residuals.col(2 - j) =
        history.residuals.col(3 - j) - direction - 1e-7 * histories.Normal(30, 1);
  }
  const MixingWeights w = Solve({.rule = WeightRule::kVanilla}, history);
  EXPECT_TRUE(w.from_qr);
  EXPECT_EQ(w.rank, 3);
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const Long e = history.residuals.cast<long double>();
  const Long h = (e.rightCols(3) - e.leftCols(3)).rowwise().reverse();
  const Long tau = h.colPivHouseholderQr().solve(e.col(3));
  const Vector reference = (e.col(3) - h * tau).cast<double>();
  const Vector mixed =
      history.residuals.col(3) - ResidualDifferences(history.residuals) * Map(w.tau);
  EXPECT_LT((mixed - reference).norm(), 1e-7);  // the normal equations would leave no correct digit
  EXPECT_NEAR(w.gain, reference.norm() / history.residuals.col(3).norm(), 1e-7);
}

TEST(Weights, GainOfAResidualFarBelowTheOthersKeepsItsDigits) {
  // e_k is 1e-9 of the rest, so the normal equations cannot tell its gain from rounding.
  const History history{Matrix{{3., -2., 1e-9}}, Matrix{{0., 1., 2.}}};
  for (const WeightRule rule : {WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    const WeightOptions options{.rule = rule, .eta = .1};
    WeightOptions by_qr = options;
    by_qr.condition_limit = 0;
    const double exact = Solve(by_qr, history).gain;
    EXPECT_NEAR(Solve(options, history).gain, exact, .01 * exact) << Name(rule);
  }
}

#ifdef _OPENMP
// A window so large that Eigen, if allowed, would split the products among threads.
TEST(Weights, HaveTheSameBitsForAnyNumberOfThreads) {
  Histories histories(12);
  const History history = {histories.Normal(5000, 33), histories.Normal(5000, 33)};
  const int usual = omp_get_max_threads();
  omp_set_num_threads(1);
  const MixingWeights alone = Solve({}, history);
  omp_set_num_threads(2);
  const MixingWeights shared = Solve({}, history);
  omp_set_num_threads(usual);
  EXPECT_FALSE(alone.from_qr);
  EXPECT_EQ(shared.tau, alone.tau);
  EXPECT_EQ(shared.gain, alone.gain);
}
#endif

TEST(Weights, BadColumnsAreErrorsThatNameThem) {
  Histories histories(15);
  History history = histories.Full(5, 2);
  history.residuals(3, 1) = kNaN;
  EXPECT_EQ(MessageOf([&] { Solve({}, history); }), "residual column 1 has nan at component 3");
  history = histories.Full(5, 2);
  history.iterates(0, 0) = kInfinity;
  EXPECT_THROW(Solve({.rule = WeightRule::kStable}, history), Error);

  WeightSolver solver({.rule = WeightRule::kStable});
  const Matrix two = histories.Normal(4, 2);
  EXPECT_THROW(solver.Solve({}, {}), Error);
  EXPECT_THROW(solver.Solve(AsColumns(two), {}), Error);  // stable needs differences
  const std::vector<double> shorter(3);
  Columns ragged = AsColumns(two);
  ragged[1] = shorter;
  EXPECT_THROW(WeightSolver({}).Solve(ragged, {}), Error);
}

TEST(WeightOptions, OutOfRangeValuesAreNamed) {
  for (const WeightOptions& options :
       {WeightOptions{.eta = -1}, WeightOptions{.eta = kNaN}, WeightOptions{.eta = kInfinity},
        WeightOptions{.rank_tolerance = 0}, WeightOptions{.rank_tolerance = 1},
        WeightOptions{.condition_limit = -1}, WeightOptions{.condition_limit = kNaN}}) {
    EXPECT_THROW(options.Validate(), Error);
    EXPECT_THROW(WeightSolver{options}, Error);
  }
  EXPECT_EQ(MessageOf([] { WeightOptions{.eta = -1}.Validate(); }),
            "eta = -1.0 is outside its range [0, 1e+100]");
}

}  // namespace stableaa::weights_test
