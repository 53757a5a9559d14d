#include "stableaa/theory/accelerated_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/bellman/backup.h"
#include "stableaa/core/random.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/theory/choices.h"
#include "stableaa/theory/dense_algebra.h"

namespace stableaa::accelerated_run_test {

using Index = Eigen::Index;

constexpr AcceleratedRunOptions kVanillaRun = {};
constexpr AcceleratedRunOptions kStableRun = {.weights = {.rule = WeightRule::kStable}};

// One state whose actions all lead back to it.
Model OneState(const std::vector<double>& rewards) {
  ModelBuilder builder([] { return std::string("test"); });
  builder.BeginState();
  for (const double reward : rewards) {
    builder.Transition(0, 1);
    builder.EndRow(reward);
  }
  return builder.Finish({});
}

// DESIGN.md, section 5: one action, P = [[.9, .1], [.2, .8]], r = (1, 0).
Model TwoStates() {
  ModelBuilder builder([] { return std::string("test"); });
  builder.BeginState();
  builder.Transition(0, .9);
  builder.Transition(1, .1);
  builder.EndRow(1);
  builder.BeginState();
  builder.Transition(0, .2);
  builder.Transition(1, .8);
  builder.EndRow(0);
  return builder.Finish({});
}

LongVector RandomVector(Index size, double scale, RandomStream& stream) {
  LongVector v(size);
  for (Index i = 0; i < size; ++i) v[i] = scale * stream.Normal();
  return v;
}

std::vector<AcceleratedRun> DrawRuns(int count, const AcceleratedRunOptions& options,
                                     const char* name) {
  RandomStream stream(1, name);
  std::vector<AcceleratedRun> runs;
  for (int i = 0; i < count; ++i) {
    Choices choices(&stream);
    runs.push_back(ChooseRun(choices, options, nullptr));
  }
  return runs;
}

// ---- The map ----

TEST(MellowmaxMap, HasTheValuesOfACalculationByHand) {
  // mm_1(ln 1, ln 3) = ln((1 + 3)/2) = ln 2.
  const MellowmaxMap map{.model = OneState({1, 2}), .discount = .5, .omega = 1};
  const LongVector image = map(LongVector{{0, std::log(3.0L)}});
  ASSERT_EQ(image.size(), 2);
  EXPECT_NEAR(static_cast<double>(image[0] - (1 + std::log(2.0L) / 2)), 0, 1e-18);
  EXPECT_NEAR(static_cast<double>(image[1] - (2 + std::log(2.0L) / 2)), 0, 1e-18);
}

TEST(MellowmaxMap, IsTheBackupOfTheBellmanLayer) {
  RandomStream stream(1, "test/values");
  for (const AcceleratedRun& run : DrawRuns(200, {.steps = 1}, "test/map")) {
    const Model& model = run.map.model;
    const auto rows = static_cast<Index>(model.rows());
    const LongVector q = RandomVector(rows, 10, stream);
    const Eigen::VectorXd q_double = q.cast<double>();
    const Backup backup{.kind = BackupKind::kMellowmax, .omega = run.map.omega};
    std::vector<double> values;
    for (std::uint64_t s = 0; s < model.states(); ++s) {
      values.push_back(
          backup.Value(std::span(q_double.data() + model.state_rows()[s], model.actions(s))));
    }
    const LongVector image = run.map(q);
    for (Index row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      double sum = 0;
      for (auto t = model.row_transitions()[at]; t < model.row_transitions()[at + 1]; ++t) {
        sum += model.probabilities()[t] * values[model.column(t)];
      }
      const double expected = model.rewards()[at] + run.map.discount * sum;
      EXPECT_NEAR(static_cast<double>(image[row]), expected, 1e-13 * (100 + std::abs(expected)));
    }
  }
}

// (T(q + hu) − 2 T(q) + T(q − hu))/h², the second derivative along u twice.
long double SecondDerivative(const MellowmaxMap& map, const LongVector& q, const LongVector& u) {
  const long double h = 1e-4L / map.omega;
  return SupNorm(map(q + h * u) - 2 * map(q) + map(q - h * u)) / (h * h);
}

TEST(MellowmaxMap, ItsCurvatureBoundsTheSecondDerivative) {
  RandomStream stream(1, "test/directions");
  for (const AcceleratedRun& run : DrawRuns(300, {.steps = 1}, "test/curvature")) {
    const auto rows = static_cast<Index>(run.map.model.rows());
    const LongVector q = RandomVector(rows, 1 / run.map.omega, stream);
    LongVector u(rows);
    for (long double& entry : u) entry = stream.Bernoulli(.5) ? 1 : -1;
    const long double rounding = 1e-6L * run.map.omega;
    EXPECT_LE(SecondDerivative(run.map, q, u), run.map.curvature() * (1 + 1e-6L) + rounding);
  }
}

TEST(MellowmaxMap, TwoEqualActionsPulledApartAttainTheCurvature) {
  for (const double omega : {.1, 1.0, 10.0}) {
    const MellowmaxMap map{.model = OneState({1, 2}), .discount = .8, .omega = omega};
    EXPECT_DOUBLE_EQ(map.curvature(), .8 * omega);
    const long double second = SecondDerivative(map, LongVector{{3, 3}}, LongVector{{1, -1}});
    EXPECT_NEAR(static_cast<double>(second) / map.curvature(), 1, 1e-6);
  }
}

TEST(MellowmaxMap, WithOneActionEverywhereItHasNoCurvature) {
  const MellowmaxMap map{.model = TwoStates(), .discount = .9, .omega = 7};
  EXPECT_EQ(map.curvature(), 0);
  const LongVector q{{5, -3}};
  const LongVector u{{1, -1}};
  EXPECT_LE(SupNorm(map(q + u) + map(q - u) - 2 * map(q)), 1e-17L);
}

// ---- The weights in their two forms ----

TEST(AlphaOf, GivesTheWeightsOfTheLibrary) {
  RandomStream stream(1, "test/alpha");
  for (std::size_t m = 1; m <= 6; ++m) {
    std::vector<std::vector<double>> columns(m + 1, std::vector<double>(10));
    for (auto& column : columns) {
      for (double& entry : column) entry = stream.Normal();
    }
    WeightSolver solver({.rule = WeightRule::kVanilla});
    const MixingWeights& weights =
        solver.Solve(std::vector<std::span<const double>>(columns.begin(), columns.end()), {});
    const LongVector tau =
        Eigen::Map<const Eigen::VectorXd>(weights.tau.data(), static_cast<Index>(m))
            .cast<long double>();
    const LongVector alpha = AlphaOf(tau);
    ASSERT_EQ(alpha.size(), static_cast<Index>(m) + 1);
    for (std::size_t i = 0; i <= m; ++i) {
      EXPECT_NEAR(static_cast<double>(alpha[static_cast<Index>(i)]), weights.alpha[i], 1e-14);
    }
  }
}

TEST(AlphaOf, SumsToOneAndItsPartialSumsAreTau) {
  RandomStream stream(2, "test/alpha");
  for (Index m = 0; m <= 6; ++m) {
    const LongVector tau = RandomVector(m, 3, stream);
    const LongVector alpha = AlphaOf(tau);
    EXPECT_NEAR(static_cast<double>(alpha.sum()), 1, 1e-17);
    for (Index i = 0; i < m; ++i) {  // Section 2.2: τ_i = α_0 + … + α_{m−i−1}
      EXPECT_NEAR(static_cast<double>(alpha.head(m - i).sum() - tau[i]), 0, 1e-17);
    }
  }
}

// ---- Runs ----

TEST(RunAccelerated, DoesTheTwoStateExampleAsByHand) {
  const AcceleratedRun run = RunAccelerated({.model = TwoStates(), .discount = .9},
                                            LongVector::Zero(2), {.memory = 1, .steps = 3});
  ASSERT_EQ(run.steps.size(), 3U);
  const AcceleratedRun::Step& first = run.steps[0];
  EXPECT_EQ(first.tau.size(), 0);
  ASSERT_EQ(first.alpha.size(), 1);
  EXPECT_EQ(first.alpha[0], 1);
  EXPECT_EQ(first.residual, (LongVector{{1, 0}}));
  EXPECT_EQ(first.mixed_residual, first.residual);

  const AcceleratedRun::Step& second = run.steps[1];
  EXPECT_EQ(second.x, (LongVector{{1, 0}}));
  EXPECT_LE(SupNorm(second.residual - LongVector{{.81L, .18L}}), 1e-15L);
  // h = (−.19, .18), so τ = h·e/h·h = −.1215/.0685 and e − τh = (64.8, 68.4)/137.
  ASSERT_EQ(second.tau.size(), 1);
  EXPECT_NEAR(static_cast<double>(second.tau[0]), -243.0 / 137, 1e-13);
  EXPECT_LE(SupNorm(second.mixed_residual - LongVector{{64.8L, 68.4L}} / 137), 1e-13L);
  EXPECT_EQ(run.Iterates(1), (LongMatrix{{1}, {0}}));
  EXPECT_LE((run.Residuals(1) - LongMatrix{{-.19L}, {.18L}}).norm(), 1e-15L);
  // x_2 = x_1 − τδ + e^α.
  const LongVector third = LongVector{{380 + 64.8L, 68.4L}} / 137;
  EXPECT_LE(SupNorm(run.steps[2].x - third), 1e-13L);
  EXPECT_EQ(run.Distance(1), 1);
}

TEST(RunAccelerated, SolvesOneStateInOneAcceleratedStep) {
  const AcceleratedRun run = RunOneState({.memory = 1});
  ASSERT_EQ(run.steps.size(), 3U);  // 0, 1, and 1/(1 − γ), where it stops
  EXPECT_NEAR(static_cast<double>(run.steps[1].residual[0]), .9, 1e-15);
  EXPECT_NEAR(static_cast<double>(run.steps[1].mixed_residual[0]), 0, 1e-14);
  EXPECT_NEAR(static_cast<double>(run.steps[2].x[0]), 10, 1e-13);
}

TEST(RunAccelerated, StartsWhereItIsToldAndEndsOnItsCountOrItsReduction) {
  const MellowmaxMap map{.model = OneState({1, 0, 2}), .discount = .95, .omega = 2};
  const LongVector start{{4, -2, 1}};
  const AcceleratedRun counted = RunAccelerated(map, start, {.steps = 4});
  EXPECT_EQ(counted.steps.size(), 4U);
  EXPECT_EQ(counted.steps[0].x, start);

  const AcceleratedRunOptions until{.memory = 2, .steps = 1000, .reduction = 1e-5L};
  const AcceleratedRun reduced = RunAccelerated(map, start, until);
  const long double goal = 1e-5L * SupNorm(reduced.steps[0].residual);
  EXPECT_LT(reduced.steps.size(), 1000U);
  EXPECT_LE(SupNorm(reduced.steps.back().residual), goal);
  for (std::size_t k = 0; k + 1 < reduced.steps.size(); ++k) {
    EXPECT_GT(SupNorm(reduced.steps[k].residual), goal);
  }
}

TEST(RunAccelerated, ResidualsAreThoseOfTheMap) {
  for (const AcceleratedRun& run : DrawRuns(100, kVanillaRun, "test/residuals")) {
    for (const AcceleratedRun::Step& step : run.steps) {
      EXPECT_EQ(step.residual, run.map(step.x) - step.x);
    }
  }
}

// Σ α_i v_i and so on, in the long form of Eq. 2.
struct Equation2 {
  LongVector next;
  LongVector mixed_residual;
  long double size = 0;  // of its terms
};

Equation2 Evaluate(const AcceleratedRun& run, std::size_t k, const LongVector& alpha) {
  const long double beta = run.damping;
  Equation2 result{LongVector::Zero(run.steps[k].x.size()), {}, 0};
  result.mixed_residual = result.next;
  const auto oldest = k + 1 - static_cast<std::size_t>(alpha.size());
  for (Index i = 0; i < alpha.size(); ++i) {
    const LongVector& x = run.steps[oldest + static_cast<std::size_t>(i)].x;
    const LongVector image = run.map(x);
    result.next += (1 - beta) * alpha[i] * x + beta * alpha[i] * image;
    result.mixed_residual += alpha[i] * (image - x);
    result.size += std::abs(alpha[i]) * (SupNorm(x) + SupNorm(image));
  }
  return result;
}

TEST(RunAccelerated, EveryStepIsEquation2UpToItsDefect) {
  int steps = 0;
  for (const AcceleratedRunOptions& options : {kVanillaRun, kStableRun}) {
    for (const AcceleratedRun& run : DrawRuns(200, options, "test/equation2")) {
      for (std::size_t k = 0; k + 1 < run.steps.size(); ++k, ++steps) {
        const AcceleratedRun::Step& step = run.steps[k];
        ASSERT_LE(step.alpha.size(), static_cast<Index>(k) + 1);
        ASSERT_EQ(step.alpha.size(), step.tau.size() + 1);
        const Equation2 expected = Evaluate(run, k, step.alpha);
        const long double rounding =
            10 * std::numeric_limits<long double>::epsilon() * expected.size;
        EXPECT_LE(SupNorm(run.steps[k + 1].x - expected.next), step.defect + rounding);
        EXPECT_LE(SupNorm(step.mixed_residual - expected.mixed_residual), rounding);
      }
    }
  }
  EXPECT_GT(steps, 3000);
}

TEST(RunAccelerated, TheDefectIsRoundingAndNoMore) {
  for (const AcceleratedRun& run : DrawRuns(300, kVanillaRun, "test/defect")) {
    for (std::size_t k = 0; k + 1 < run.steps.size(); ++k) {
      const Equation2 expected = Evaluate(run, k, run.steps[k].alpha);
      EXPECT_GE(run.steps[k].defect, 0);
      EXPECT_LE(run.steps[k].defect, 50 * std::numeric_limits<double>::epsilon() * expected.size);
      // A weight off by 1e-6 must exceed the defect a thousandfold, wherever the weight matters.
      if (run.steps[k].tau.size() == 0 || run.Distance(k) < 1e-4L * expected.size) continue;
      LongVector tau = run.steps[k].tau;
      tau[0] += 1e-6L;
      const Equation2 wrong = Evaluate(run, k, AlphaOf(tau));
      const LongVector moved = run.Iterates(k).col(0) + run.damping * run.Residuals(k).col(0);
      EXPECT_NEAR(static_cast<double>(SupNorm(wrong.next - expected.next) / SupNorm(moved) * 1e6L),
                  1, 1e-3);
      if (SupNorm(moved) < 1e-3L * expected.size) continue;
      EXPECT_GT(SupNorm(run.steps[k + 1].x - wrong.next), 1000 * run.steps[k].defect);
    }
  }
}

// Newest first, by the definitions Δ = [δ_k, δ_{k−1}, …], H = [e_k − e_{k−1}, …].
TEST(RunAccelerated, TheColumnsOfItsWindowsAreDifferencesNewestFirst) {
  int wide = 0;
  for (const AcceleratedRun& run : DrawRuns(200, kVanillaRun, "test/columns")) {
    for (std::size_t k = 0; k < run.steps.size(); ++k) {
      const LongMatrix iterates = run.Iterates(k);
      const LongMatrix residuals = run.Residuals(k);
      const Index m = run.steps[k].tau.size();
      ASSERT_EQ(iterates.cols(), m);
      ASSERT_EQ(residuals.cols(), m);
      if (m > 2) ++wide;
      for (Index i = 0; i < m; ++i) {
        const auto& newer = run.steps[k - static_cast<std::size_t>(i)];
        const auto& older = run.steps[k - static_cast<std::size_t>(i) - 1];
        EXPECT_EQ(iterates.col(i), newer.x - older.x);
        EXPECT_EQ(residuals.col(i), newer.residual - older.residual);
      }
      if (k > 0 && m > 0) {
        EXPECT_EQ(run.Distance(k), SupNorm(iterates.col(0)));
      }
    }
  }
  EXPECT_GT(wide, 100);
}

// (HᵀH + λI)⁻¹Hᵀe with a plain inverse, where that is accurate.
TEST(RunAccelerated, TheWeightsSolveTheLeastSquaresProblemOfTheirRule) {
  for (const AcceleratedRunOptions& options : {kVanillaRun, kStableRun}) {
    int compared = 0;
    for (const AcceleratedRun& run : DrawRuns(400, options, "test/weights")) {
      for (std::size_t k = 1; k < run.steps.size(); ++k) {
        const AcceleratedRun::Step& step = run.steps[k];
        const LongMatrix h = run.Residuals(k);
        if (h.cols() == 0 || h.cols() > h.rows()) continue;
        const LongVector singular = SingularValues(h);
        const long double least = singular[singular.size() - 1];
        // Only while the window is still resolved in the library's doubles.
        const long double known = SupNorm(step.x) + SupNorm(step.residual);
        if (!(least > 1e-3L * singular[0] && least > 1e-4L * known)) continue;
        const long double ridge =
            static_cast<long double>(run.eta) * (run.Iterates(k).squaredNorm() + h.squaredNorm());
        LongMatrix normal = h.transpose() * h;
        normal.diagonal().array() += ridge;
        const LongVector expected = normal.inverse() * (h.transpose() * step.residual);
        EXPECT_LE(SupNorm(step.tau - expected), 1e-8L * (1 + SupNorm(expected)));
        ++compared;
      }
    }
    EXPECT_GT(compared, 300);
  }
}

// ---- Runs made by choices ----

TEST(ChooseRun, EqualChoicesMakeEqualRuns) {
  RandomStream stream(3, "test/repeat");
  RandomStream none(4, "test/unused");
  for (int i = 0; i < 50; ++i) {
    Choices choices(&stream);
    const AcceleratedRun run = ChooseRun(choices, kStableRun, nullptr);
    Choices copy(choices.Taken(), &none);
    std::string description;
    const AcceleratedRun again = ChooseRun(copy, kStableRun, &description);
    ASSERT_EQ(run.steps.size(), again.steps.size());
    EXPECT_EQ(run.steps.back().x, again.steps.back().x);
    EXPECT_TRUE(run.map.model == again.map.model);
    const std::string expected =
        fmt::format("states {}, pairs {}, discount {:.4g}, omega {:.4g}", run.map.model.states(),
                    run.map.model.rows(), run.map.discount, run.map.omega);
    EXPECT_TRUE(description.starts_with(expected)) << description;
    EXPECT_NE(description.find(fmt::format("damping {:.4g}, eta {:.4g}", run.damping, run.eta)),
              std::string::npos)
        << description;
  }
}

TEST(ChooseRun, ReachesEveryKindOfRun) {
  std::array<int, 6> memory = {};  // by the largest window in the run
  int affine = 0, curved = 0, one_pair = 0, many_states = 0, plain = 0, damped = 0;
  int converged = 0, cut = 0, slow = 0, more_differences_than_entries = 0, from_zero = 0;
  const auto runs = DrawRuns(1000, kVanillaRun, "test/kinds");
  for (const AcceleratedRun& run : runs) {
    ASSERT_FALSE(run.steps.empty());
    ASSERT_LE(run.steps.size(), 20U);
    EXPECT_EQ(run.eta, 0);
    EXPECT_GT(run.damping, 0);
    EXPECT_LE(run.damping, 1);
    EXPECT_GE(run.map.discount, 0);
    EXPECT_LT(run.map.discount, 1);
    Index most = 0;
    for (const AcceleratedRun::Step& step : run.steps) {
      most = std::max(most, step.tau.size());
      EXPECT_TRUE(step.x.allFinite() && step.residual.allFinite() && step.tau.allFinite());
    }
    ASSERT_LE(most, 5);
    ++memory[static_cast<std::size_t>(most)];
    ++(run.map.curvature() > 0 ? curved : affine);
    ++(run.damping == 1 ? plain : damped);
    const bool small =
        SupNorm(run.steps.back().residual) <= 1e-9L * SupNorm(run.steps.front().residual);
    ++(small ? converged : cut);
    EXPECT_TRUE(small || run.steps.size() == 20);
    if (run.map.model.rows() == 1) ++one_pair;
    if (run.map.model.states() > 4) ++many_states;
    if (run.map.discount > .99) ++slow;
    if (most > static_cast<Index>(run.map.model.rows())) ++more_differences_than_entries;
    if (run.steps.front().x.isZero(0)) ++from_zero;
  }
  for (std::size_t m = 1; m <= 5; ++m) EXPECT_GT(memory[m], 50) << m;
  for (const int count : {affine, curved, one_pair, many_states, plain, damped, converged, cut,
                          slow, more_differences_than_entries, from_zero}) {
    EXPECT_GT(count, 10);
  }
}

TEST(ChooseRun, TheStableRuleGetsEtasOfManySizes) {
  double least = 1e300;
  double most = 0;
  for (const AcceleratedRun& run : DrawRuns(300, kStableRun, "test/etas")) {
    least = std::min(least, run.eta);
    most = std::max(most, run.eta);
  }
  EXPECT_LT(least, 1e-5);
  EXPECT_GT(most, 10);
}

}  // namespace stableaa::accelerated_run_test
