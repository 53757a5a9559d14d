#include "stableaa/bellman/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "stableaa/bellman/backup.h"
#include "stableaa/core/error.h"

namespace stableaa::policy_test {

using Values = std::vector<double>;
using LongValues = std::vector<long double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kDenormal = std::numeric_limits<double>::denorm_min();

struct Case {
  Values q;
  double omega;
};

// Ordinary cases: 2 to 18 actions, omega times the spread from 1e-3 to 1e4.
class RandomCases {
 public:
  explicit RandomCases(std::uint64_t seed) : engine_(seed) {}

  Case operator()() {
    Case drawn;
    drawn.q.resize(std::uniform_int_distribution<std::size_t>(2, 18)(engine_));
    const double scale = std::pow(10.0, Uniform(-3, 3));
    const double centre = Uniform(-1, 1) * scale;
    for (double& value : drawn.q) value = centre + scale * Uniform(-1, 1);
    drawn.omega = std::pow(10.0, Uniform(-3, 4)) / scale;
    return drawn;
  }

  // Gaps below the maximum of any magnitude: products omega * gap from 1e-20 to 1e300.
  Case Wild() {
    Case drawn = operator()();
    drawn.omega = std::pow(10.0, Uniform(-8, 150));
    for (double& value : drawn.q) value = -std::pow(10.0, Uniform(-20, 300)) / drawn.omega;
    drawn.q[0] = 0;
    return drawn;
  }

  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

Values Policy(const Values& q, double omega) {
  Values probabilities(q.size());
  MaxEntropyPolicy(q, omega, probabilities);
  return probabilities;
}

double Spread(const Values& q) {
  const auto [low, high] = std::minmax_element(q.begin(), q.end());
  return *high - *low;
}

// omega (q_a - max) and omega (mm - max), directly from their definitions.
LongValues Exponents(const Case& c) {
  const long double max = *std::max_element(c.q.begin(), c.q.end());
  LongValues z;
  for (const double value : c.q) z.push_back(c.omega * (value - max));
  return z;
}

long double LogMeanExp(const LongValues& z) {
  long double sum = 0;
  for (const long double value : z) sum += std::expm1(value);
  return std::log1p(sum / static_cast<long double>(z.size()));
}

// The header's equation at rho = ratio * omega, divided by the sum of its terms' magnitudes: 1 in
// absolute value if all terms have one sign, 0 at the root.
long double RelativeResidual(const Case& c, long double ratio) {
  const LongValues z = Exponents(c);
  const long double mm = LogMeanExp(z);
  long double sum = 0;
  long double sizes = 0;
  for (const long double value : z) {
    const long double term = std::exp(ratio * (value - mm)) * (value - mm);
    sum += term;
    sizes += std::abs(term);
  }
  return sum / sizes;
}

// The root by plain bisection of that equation.
long double BisectedRatio(const Case& c) {
  long double low = 0;
  long double high = 1;
  for (int halving = 0; halving < 200; ++halving) {
    const long double middle = (low + high) / 2;
    (RelativeResidual(c, middle) < 0 ? low : high) = middle;
  }
  return low;
}

double Entropy(const Values& probabilities) {
  double entropy = 0;
  for (const double p : probabilities) {
    if (p > 0) entropy -= p * std::log(p);
  }
  return entropy;
}

// --- greedy and softmax

TEST(GreedyAction, IsTheFirstOfTheLargest) {
  EXPECT_EQ(GreedyAction(Values{1, 3, 2, 3}), 1U);
  EXPECT_EQ(GreedyAction(Values{-kInfinity, -kInfinity}), 0U);
  EXPECT_EQ(GreedyAction(std::vector<float>{-1, -3}), 0U);
}

TEST(GreedyAction, RefusesNaNAndEmptyValues) {
  EXPECT_THROW(GreedyAction(Values{}), Error);
  for (std::size_t position = 0; position < 3; ++position) {
    Values q = {1, 2, 3};
    q[position] = kNaN;
    EXPECT_THROW(GreedyAction(q), Error) << position;
  }
}

TEST(GreedyAction, OfABatchIsThatOfEachRow) {
  std::vector<std::size_t> best(3);
  GreedyActions(Values{1, 2, 5, 4, 3, 3}, 2, best);
  EXPECT_EQ(best, (std::vector<std::size_t>{1, 0, 0}));
  GreedyActions(std::vector<float>{1, 2, 5, 4, 3, 3}, 2, best);
  EXPECT_EQ(best, (std::vector<std::size_t>{1, 0, 0}));
  EXPECT_THROW(GreedyActions(Values{1, 2, 5, 4}, 2, best), Error);
}

TEST(SoftmaxPolicy, IsTheGradientOfMellowmax) {
  RandomCases random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const Case c = random();
    Values policy(c.q.size());
    Values gradient(c.q.size());
    SoftmaxPolicy(c.q, c.omega, policy);
    Backup{BackupKind::kMellowmax, c.omega}.Gradient(c.q, gradient);
    EXPECT_EQ(policy, gradient);
  }
}

TEST(SoftmaxPolicy, GoesFromUniformToUniformOverTheBest) {
  Values policy(4);
  SoftmaxPolicy(Values{1, 3, 2, 3}, 0, policy);
  EXPECT_EQ(policy, Values(4, 0.25));
  SoftmaxPolicy(Values{1, 3, 2, 3}, kInfinity, policy);
  EXPECT_EQ(policy, (Values{0, 0.5, 0, 0.5}));
}

TEST(SoftmaxPolicy, OfABatchIsThatOfEachRow) {
  std::vector<float> batch(4);
  std::vector<float> row(2);
  SoftmaxPolicies(std::vector<float>{1, 2, 4, 3.5F}, 2, 2.0, batch);
  SoftmaxPolicy(std::vector<float>{4, 3.5F}, 2.0, row);
  EXPECT_EQ(batch[2], row[0]);
  EXPECT_EQ(batch[3], row[1]);
  EXPECT_THROW(SoftmaxPolicies(std::vector<float>{1, 2, 4, 3}, 3, 2.0, batch), Error);
}

TEST(SoftmaxPolicy, RefusesWhatHasNoPolicy) {
  Values policy(2);
  EXPECT_THROW(SoftmaxPolicy(Values{1, kNaN}, 1, policy), Error);
  EXPECT_THROW(SoftmaxPolicy(Values{1, kInfinity}, 1, policy), Error);
  EXPECT_THROW(SoftmaxPolicy(Values{1, 2}, -1, policy), Error);
  EXPECT_THROW(SoftmaxPolicy(Values{1, 2, 3}, 1, policy), Error);
}

// --- maximum entropy: the root

TEST(MaxEntropyRoot, SolvesTheEquationItIsDefinedBy) {
  RandomCases random(2);
  for (int trial = 0; trial < 5000; ++trial) {
    const Case c = random();
    const double rho = FindMaxEntropyRoot(c.q, c.omega).rho;
    // One unit in the last place of rho moves the exponents by this much.
    const double rounding = 1e-15 * (4 + rho * Spread(c.q));
    EXPECT_LE(std::abs(RelativeResidual(c, static_cast<long double>(rho) / c.omega)), rounding);
  }
}

TEST(MaxEntropyRoot, AgreesWithBisectionInLongDouble) {
  RandomCases random(3);
  for (int trial = 0; trial < 500; ++trial) {
    const Case c = random();
    const double ratio = FindMaxEntropyRoot(c.q, c.omega).rho / c.omega;
    const double expected = static_cast<double>(BisectedRatio(c));
    // Rounding in the equation, divided by its slope there.
    EXPECT_NEAR(ratio / expected, 1, 1e-14 + 1e-14 / (c.omega * Spread(c.q)));
  }
}

TEST(MaxEntropyRoot, LiesBetweenZeroAndOmega) {
  RandomCases random(4);
  for (int trial = 0; trial < 5000; ++trial) {
    const Case c = trial % 2 == 0 ? random() : random.Wild();
    const double rho = FindMaxEntropyRoot(c.q, c.omega).rho;
    EXPECT_GE(rho, 0);
    EXPECT_LE(rho, c.omega);
  }
}

TEST(MaxEntropyRoot, IsHalfOfOmegaForSmallOmegaWithItsFirstCorrection) {
  const Values q = {0, 0.2, 1};
  for (double omega = 1e-2; omega > 1e-300; omega /= 10) {
    const Case c = {q, omega};
    const double ratio = FindMaxEntropyRoot(q, omega).rho / omega;
    EXPECT_NEAR(ratio, 0.5, omega) << omega;
    // Below this, long double itself has no digits left.
    if (omega > 1e-6) {
      EXPECT_NEAR(ratio, static_cast<double>(BisectedRatio(c)), 5e-11) << omega;
    }
  }
  EXPECT_LE(FindMaxEntropyRoot(q, kDenormal).rho, kDenormal);
}

TEST(MaxEntropyRoot, OfTwoActionsHasAClosedForm) {
  // p = softmax(rho q) must give the better action the weight that makes the mean mm.
  for (const double omega : {0.01, 1.0, 30.0, 1e4, 1e300}) {
    const double below = Backup{BackupKind::kMellowmax, omega}.Value(Values{0, -1});
    const double expected = std::log1p(below) - std::log(-below);
    EXPECT_NEAR(FindMaxEntropyRoot(Values{0, -1}, omega).rho / expected, 1,
                1e-13 / std::min(omega, 1.0));
  }
}

TEST(MaxEntropyRoot, IsInvariantToShiftsAndOrder) {
  const Values q = {0.5, -0.25, 1.75, 0};
  const double rho = FindMaxEntropyRoot(q, 4).rho;
  EXPECT_NEAR(FindMaxEntropyRoot(Values{8.5, 7.75, 9.75, 8}, 4).rho, rho, 1e-14);
  EXPECT_NEAR(FindMaxEntropyRoot(Values{1.75, 0, 0.5, -0.25}, 4).rho, rho, 1e-14);
}

// --- maximum entropy: the policy

TEST(MaxEntropyPolicy, ExpectsMellowmax) {
  RandomCases random(5);
  for (int trial = 0; trial < 5000; ++trial) {
    const Case c = random();
    const Values policy = Policy(c.q, c.omega);
    const double mm = Backup{BackupKind::kMellowmax, c.omega}.Value(c.q);
    const double expected = std::inner_product(c.q.begin(), c.q.end(), policy.begin(), 0.0);
    EXPECT_NEAR(expected, mm, 1e-14 * (std::abs(mm) + Spread(c.q)));
    EXPECT_NEAR(std::accumulate(policy.begin(), policy.end(), 0.0), 1, 1e-14);
  }
}

TEST(MaxEntropyPolicy, HasMoreEntropyThanAnyOtherOfTheSameExpectation) {
  RandomCases random(6);
  int perturbed = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Case c = random();
    if (c.q.size() < 3) continue;  // two actions leave no freedom
    c.omega = random.Uniform(0.1, 5) / Spread(c.q);
    const Values policy = Policy(c.q, c.omega);
    // Move weight among three actions without changing the total or the mean.
    const double size = random.Uniform(0.01, 0.5) / Spread(c.q);
    Values other = policy;
    other[0] += size * (c.q[1] - c.q[2]) * policy[0] * policy[1] * policy[2];
    other[1] += size * (c.q[2] - c.q[0]) * policy[0] * policy[1] * policy[2];
    other[2] += size * (c.q[0] - c.q[1]) * policy[0] * policy[1] * policy[2];
    if (*std::min_element(other.begin(), other.end()) < 0) continue;
    const double mean = std::inner_product(c.q.begin(), c.q.end(), other.begin(), 0.0);
    ASSERT_NEAR(mean, Backup({BackupKind::kMellowmax, c.omega}).Value(c.q),
                1e-13 * (std::abs(mean) + Spread(c.q)));
    double moved = 0;
    for (std::size_t a = 0; a < 3; ++a) moved += std::pow(other[a] - policy[a], 2);
    // Entropy is concave with curvature at least 1: half the squared distance is lost.
    EXPECT_LT(Entropy(other), Entropy(policy) - 0.4 * moved + 1e-14);
    if (moved > 1e-12) ++perturbed;
  }
  EXPECT_GT(perturbed, 500);
}

// softmax(omega q) has a larger mean than mellowmax: the reason for this policy.
TEST(MaxEntropyPolicy, IsMoreRandomThanSoftmaxAtOmega) {
  const Values q = {0, 1, 3};
  Values softmax(3);
  SoftmaxPolicy(q, 2, softmax);
  EXPECT_GT(Entropy(Policy(q, 2)), Entropy(softmax) + 0.1);
}

TEST(MaxEntropyPolicy, IsUniformWhereNothingTellsTheActionsApart) {
  Values policy(3);
  for (const Case& c :
       {Case{{2, 2, 2}, 5}, Case{{1e308, 1e308, 1e308}, 1e308}, Case{{1, 2, 3}, 0}}) {
    const MaxEntropyRoot root = MaxEntropyPolicy(c.q, c.omega, policy);
    EXPECT_EQ(root.rho, 0);
    EXPECT_EQ(root.evaluations, 0);
    EXPECT_EQ(policy, Values(3, 1.0 / 3.0));
  }
  EXPECT_EQ(Policy({7}, 3), Values{1});
}

TEST(MaxEntropyPolicy, RefusesWhatHasNoPolicy) {
  Values policy(2);
  for (const double value : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_THROW(MaxEntropyPolicy(Values{1, value}, 1, policy), Error) << value;
    EXPECT_THROW(FindMaxEntropyRoot(Values{1, value}, 1), Error) << value;
  }
  for (const double omega : {-1.0, kNaN, kInfinity}) {
    EXPECT_THROW(MaxEntropyPolicy(Values{1, 2}, omega, policy), Error) << omega;
    EXPECT_THROW(FindMaxEntropyRoot(Values{1, 2}, omega), Error) << omega;
  }
  EXPECT_THROW(MaxEntropyPolicy(Values{1, 2, 3}, 1, policy), Error);
  EXPECT_THROW(FindMaxEntropyRoot(Values{}, 1), Error);
}

// --- maximum entropy: extremes

TEST(MaxEntropyRoot, IsFoundAcrossThreeHundredOrdersOfMagnitude) {
  const Case c = {{0, -1, -1e300}, 1};
  const double rho = FindMaxEntropyRoot(c.q, c.omega).rho;
  EXPECT_NEAR(rho * 1e300, 691, 5);
  EXPECT_LE(std::abs(RelativeResidual(c, rho)), 1e-12);
}

TEST(MaxEntropyRoot, SolvesTheEquationForValuesOfAnyMagnitude) {
  RandomCases random(7);
  for (int trial = 0; trial < 5000; ++trial) {
    const Case c = random.Wild();
    const double rho = FindMaxEntropyRoot(c.q, c.omega).rho;
    EXPECT_LE(std::abs(RelativeResidual(c, static_cast<long double>(rho) / c.omega)), 1e-12);
  }
}

TEST(MaxEntropyRoot, IsFoundWhereTheExponentsThemselvesOverflow) {
  // omega (q - max) = -1e616: exp(-rho) 1e616 = log 2 for the unit gap 1e308.
  const MaxEntropyRoot root = FindMaxEntropyRoot(Values{0, -1e308}, 1e308);
  EXPECT_NEAR(root.rho * 1e308, 616 * std::log(10.0) - std::log(std::log(2.0)), 1e-9);
  EXPECT_EQ(Policy({1e308, -1e308, 1e308}, 1e308), (Values{0.5, 0, 0.5}));
  // Differences that overflow: omega q = (1, -1) has the answer for (1, -1) at omega = 1.
  const double expected = FindMaxEntropyRoot(Values{1, -1}, 1).rho;
  EXPECT_NEAR(FindMaxEntropyRoot(Values{1e308, -1e308}, 1e-308).rho * 1e308, expected, 1e-12);
  EXPECT_NEAR(FindMaxEntropyRoot(Values{kDenormal, 0}, 1).rho, 0.5, 1e-15);
}

TEST(MaxEntropyRoot, TakesABoundedNumberOfEvaluations) {
  RandomCases random(8);
  int most = 0;
  int most_wild = 0;
  double total = 0;
  constexpr int kTrials = 20000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Case ordinary = random();
    const int evaluations = FindMaxEntropyRoot(ordinary.q, ordinary.omega).evaluations;
    most = std::max(most, evaluations);
    total += evaluations;
    const Case wild = random.Wild();
    most_wild = std::max(most_wild, FindMaxEntropyRoot(wild.q, wild.omega).evaluations);
  }
  RecordProperty("most", most);
  RecordProperty("most_wild", most_wild);
  EXPECT_LT(total / kTrials, 10);
  EXPECT_LE(most, 20);
  EXPECT_LE(most_wild, kMaxRootEvaluations);
}

// A thousand scales: Newton's method would visit every one of them, and halving the bracket every
// power of two down to a root of 1e-100.
TEST(MaxEntropyRoot, IsFoundByBisectionOfBitsWhereNewtonIsTooSlow) {
  RandomCases random(11);
  for (const double smallest : {-20, 100}) {
    for (int trial = 0; trial < 20; ++trial) {
      Case c = {Values(1000), 1};
      for (double& value : c.q) value = -std::pow(10.0, random.Uniform(smallest, 300));
      c.q[0] = 0;
      const MaxEntropyRoot root = FindMaxEntropyRoot(c.q, c.omega);
      EXPECT_GT(root.evaluations, 30);
      EXPECT_LE(root.evaluations, kMaxRootEvaluations);
      EXPECT_LE(std::abs(RelativeResidual(c, root.rho)), 1e-12);
    }
  }
}

// --- batches and float

TEST(MaxEntropyPolicies, OfABatchAreThoseOfEachRow) {
  RandomCases random(9);
  constexpr std::size_t kRows = 50;
  constexpr std::size_t kActions = 6;
  Values q(kRows * kActions);
  for (double& value : q) value = random.Uniform(-2, 2);
  std::fill_n(q.begin(), kActions, 1.0);
  Values policies(q.size());
  Values rho(kRows);
  MaxEntropyPolicies(q, kActions, 5, policies, rho);
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::span<const double> values(q.data() + row * kActions, kActions);
    Values single(kActions);
    EXPECT_EQ(rho[row], MaxEntropyPolicy(values, 5, single).rho);
    EXPECT_EQ(rho[row], FindMaxEntropyRoot(values, 5).rho);
    EXPECT_TRUE(std::equal(single.begin(), single.end(),
                           policies.begin() + static_cast<std::ptrdiff_t>(row * kActions)));
  }
  EXPECT_THROW(MaxEntropyPolicies(q, 7, 5, policies, rho), Error);
  q[20] = kNaN;
  EXPECT_THROW(MaxEntropyPolicies(q, kActions, 5, policies, rho), Error);
}

TEST(MaxEntropyPolicies, FloatIsTheDoubleResultRoundedOnce) {
  RandomCases random(10);
  for (int trial = 0; trial < 500; ++trial) {
    const Case c = random();
    const std::vector<float> narrow(c.q.begin(), c.q.end());
    const Values wide(narrow.begin(), narrow.end());
    std::vector<float> policy(narrow.size());
    Values rho(1);
    MaxEntropyPolicies(narrow, narrow.size(), c.omega, policy, rho);
    EXPECT_EQ(rho[0], FindMaxEntropyRoot(wide, c.omega).rho);
    EXPECT_EQ(rho[0], FindMaxEntropyRoot(narrow, c.omega).rho);
    const Values expected = Policy(wide, c.omega);
    for (std::size_t a = 0; a < policy.size(); ++a) {
      EXPECT_EQ(policy[a], static_cast<float>(expected[a]));
    }
  }
}

}  // namespace stableaa::policy_test
