#include "stableaa/bellman/backup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::backup_test {

using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kDenormal = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();

Backup Max() { return {BackupKind::kMax, 0}; }
Backup Mellowmax(double omega) { return {BackupKind::kMellowmax, omega}; }
Backup Boltzmann(double omega) { return {BackupKind::kBoltzmann, omega}; }

// Operators that can be evaluated, at temperatures from flat to hard.
std::vector<Backup> Operators() {
  std::vector<Backup> operators = {Max()};
  for (const double omega : {0.0, 1e-9, 0.01, 1.0, 7.5, 400.0, kInfinity}) {
    operators.push_back(Mellowmax(omega));
    operators.push_back(Boltzmann(omega));
  }
  return operators;
}

std::string Describe(const Backup& backup) {
  return std::string(BackupName(backup.kind)) + " omega " + std::to_string(backup.omega);
}

// Vectors of 1 to 18 actions at scales from 1e-3 to 1e3, some with ties.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : engine_(seed) {}

  Values operator()() {
    return operator()(std::uniform_int_distribution<std::size_t>(1, 18)(engine_));
  }

  Values operator()(std::size_t actions) {
    const double scale = std::pow(10.0, Uniform(-3, 3));
    const bool ties = Uniform(0, 1) < 0.2;
    Values q(actions);
    for (double& value : q) value = scale * (ties ? std::round(Uniform(-2, 2)) : Uniform(-1, 1));
    return q;
  }

  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }

  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

double Mean(const Values& q) {
  return static_cast<double>(std::accumulate(q.begin(), q.end(), 0.0L) /
                             static_cast<long double>(q.size()));
}
double Largest(const Values& q) { return *std::max_element(q.begin(), q.end()); }
double Smallest(const Values& q) { return *std::min_element(q.begin(), q.end()); }
double Magnitude(const Values& q) { return std::max(std::abs(Largest(q)), std::abs(Smallest(q))); }

double Distance(const Values& p, const Values& q) {
  double distance = 0;
  for (std::size_t a = 0; a < p.size(); ++a) distance = std::max(distance, std::abs(p[a] - q[a]));
  return distance;
}

Values Gradient(const Backup& backup, const Values& q) {
  Values gradient(q.size());
  backup.Gradient(q, gradient);
  return gradient;
}

// The definitions, in long double with the maximum taken out.
long double DirectMellowmax(const Values& q, double omega) {
  const long double max = Largest(q);
  long double sum = 0;
  for (const double value : q) sum += std::exp(omega * (value - max));
  return max + std::log(sum / static_cast<long double>(q.size())) / omega;
}

long double DirectBoltzmann(const std::vector<long double>& q, double omega) {
  const long double max = *std::max_element(q.begin(), q.end());
  long double sum = 0;
  long double weighted = 0;
  for (const long double value : q) {
    const long double weight = std::exp(omega * (value - max));
    sum += weight;
    weighted += weight * (value - max);
  }
  return max + weighted / sum;
}

// --- names and options

TEST(BackupKind, EveryNameLeadsBackToItsKind) {
  const std::vector<std::string> names = {"max", "mellowmax", "boltzmann", "dynamic-boltzmann"};
  for (const std::string& name : names) EXPECT_EQ(BackupName(ParseBackupKind(name)), name);
  EXPECT_EQ(ParseBackupKind("mellowmax"), BackupKind::kMellowmax);
}

TEST(BackupKind, AnUnknownNameIsRefusedWithTheListOfKnownOnes) {
  EXPECT_EQ(MessageOf([] { ParseBackupKind("softmax"); }),
            "backup is 'softmax': expected max, mellowmax, boltzmann, dynamic-boltzmann");
}

TEST(Backup, OmegaMayBeAnythingFromZeroToInfinity) {
  for (const double omega : {0.0, kDenormal, 1.0, kLargest, kInfinity}) {
    EXPECT_NO_THROW(Mellowmax(omega).Validate());
  }
  for (const double omega : {-kDenormal, -1.0, -kInfinity, kNaN}) {
    EXPECT_THROW(Mellowmax(omega).Validate(), Error);
  }
  EXPECT_EQ(MessageOf([] { Boltzmann(-2).Validate(); }),
            "omega of backup boltzmann is -2: expected a number in [0, inf]");
}

TEST(Backup, OnlyDynamicBoltzmannDependsOnTheIteration) {
  const Backup dynamic{BackupKind::kDynamicBoltzmann, 0.5};
  EXPECT_EQ(dynamic.At(1).kind, BackupKind::kBoltzmann);
  EXPECT_EQ(dynamic.At(1).omega, 0.5);
  EXPECT_EQ(dynamic.At(10).omega, 50);
  EXPECT_TRUE(std::isfinite(dynamic.At(std::numeric_limits<std::int64_t>::max()).omega));
  EXPECT_THROW(dynamic.At(0), Error);
  for (const Backup& backup : Operators()) {
    EXPECT_EQ(backup.At(7).kind, backup.kind);
    EXPECT_EQ(backup.At(7).omega, backup.omega);
  }
}

TEST(Backup, DynamicBoltzmannWithoutAnIterationHasNoValue) {
  const Backup dynamic{BackupKind::kDynamicBoltzmann, 1};
  const Values q = {1, 2};
  Values gradient(2);
  EXPECT_THROW(dynamic.Value(q), Error);
  EXPECT_THROW(dynamic.Gradient(q, gradient), Error);
}

TEST(Backup, DynamicBoltzmannApproachesMax) {
  const Backup dynamic{BackupKind::kDynamicBoltzmann, 1};
  const Values q = {0.3, -1, 0.9, 0.8};
  double previous = kInfinity;
  for (const std::int64_t t : {1, 2, 4, 8, 16, 32}) {
    const double bias = 0.9 - dynamic.At(t).Value(q);
    EXPECT_LT(bias, previous);
    previous = bias;
  }
  EXPECT_LT(previous, 1e-12);
}

// --- values

TEST(BackupValue, SmoothOperatorsLieBetweenMeanAndMaximum) {
  RandomValues random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const Values q = random();
    const double slack = 1e-15 * Magnitude(q);
    for (const Backup& backup : Operators()) {
      if (backup.kind == BackupKind::kMax) continue;
      EXPECT_GE(backup.Value(q), Mean(q) - slack) << Describe(backup);
      EXPECT_LE(backup.Value(q), Largest(q)) << Describe(backup);
    }
  }
}

TEST(BackupValue, OmegaZeroIsTheMeanAndOmegaInfinityTheMaximum) {
  RandomValues random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const Values q = random();
    EXPECT_NEAR(Mellowmax(0).Value(q), Mean(q), 2e-16 * Magnitude(q));
    EXPECT_EQ(Boltzmann(0).Value(q), Mellowmax(0).Value(q));
    EXPECT_EQ(Mellowmax(kInfinity).Value(q), Largest(q));
    EXPECT_EQ(Boltzmann(kInfinity).Value(q), Largest(q));
    EXPECT_EQ(Max().Value(q), Largest(q));
  }
}

TEST(BackupValue, TinyOmegaGivesTheMeanWithItsFirstCorrection) {
  const Values q = {-1, 0.5, 2, 3};
  long double variance = 0;
  for (const double value : q) variance += std::pow(value - 1.125L, 2) / 4;
  for (double omega = 1e-3; omega > 0; omega /= 8) {
    EXPECT_NEAR(Mellowmax(omega).Value(q), 1.125 + static_cast<double>(omega * variance / 2),
                omega * omega + 5e-16)
        << omega;
    EXPECT_NEAR(Boltzmann(omega).Value(q), 1.125 + static_cast<double>(omega * variance),
                3 * omega * omega + 5e-16)
        << omega;
  }
  EXPECT_EQ(Mellowmax(kDenormal).Value(q), 1.125);
}

TEST(BackupValue, DenormalOmegaStillSeesHugeValues) {
  // omega q is around 1e-15 here: the correction is lost, but the mean must not be.
  EXPECT_NEAR(Mellowmax(kDenormal).Value(Values{1e308, -1e308}) / 1e308, 0, 1e-15);
  // omega q = (2, -2), with differences that overflow a double: log(cosh 2) / omega.
  EXPECT_NEAR(Mellowmax(2e-308).Value(Values{1e308, -1e308}) / 1e308, std::log(std::cosh(2.0)) / 2,
              1e-15);
  EXPECT_NEAR(Boltzmann(2e-308).Value(Values{1e308, -1e308}) / 1e308, std::tanh(2.0), 1e-15);
}

TEST(BackupValue, MellowmaxAgreesWithItsDefinitionInLongDouble) {
  RandomValues random(3);
  for (int trial = 0; trial < 5000; ++trial) {
    const Values q = random();
    const double omega = std::pow(10.0, random.Uniform(-4, 4));
    // The definition itself cancels: it gives log(mean) to 1e-19, divided by omega.
    const double tolerance = 1e-15 * Magnitude(q) + 1e-18 / omega;
    EXPECT_NEAR(Mellowmax(omega).Value(q), static_cast<double>(DirectMellowmax(q, omega)),
                tolerance);
  }
}

TEST(BackupValue, BoltzmannAgreesWithItsDefinitionInLongDouble) {
  RandomValues random(4);
  for (int trial = 0; trial < 5000; ++trial) {
    const Values q = random();
    const double omega = std::pow(10.0, random.Uniform(-4, 4));
    const long double direct = DirectBoltzmann({q.begin(), q.end()}, omega);
    EXPECT_NEAR(Boltzmann(omega).Value(q), static_cast<double>(direct), 1e-14 * Magnitude(q));
  }
}

// A jump where the code switches formulas would show as a difference between neighbouring omegas
// that is larger than the change in omega allows.
TEST(BackupValue, MellowmaxIsContinuousAcrossItsFormulas) {
  const Values q = {0.1, -0.7, 0.3, 0.25};
  for (double omega = 1e-12; omega < 100; omega *= 1.01) {
    const double here = Mellowmax(omega).Value(q);
    const double next = Mellowmax(omega * 1.01).Value(q);
    EXPECT_LE(std::abs(next - here), 0.01 * omega + 4e-16) << omega;
  }
}

TEST(BackupValue, GrowsWithOmega) {
  RandomValues random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const Values q = random();
    const double slack = 4e-16 * Magnitude(q);
    for (const BackupKind kind : {BackupKind::kMellowmax, BackupKind::kBoltzmann}) {
      double previous = Backup{kind, 0}.Value(q);
      for (double omega = 1e-12; omega < 1e12; omega *= 3) {
        const double value = Backup{kind, omega}.Value(q);
        EXPECT_GE(value, previous - slack) << BackupName(kind) << " at " << omega;
        previous = value;
      }
    }
  }
}

TEST(BackupValue, AddingAConstantToAllValuesAddsItToTheResult) {
  RandomValues random(6);
  for (int trial = 0; trial < 1000; ++trial) {
    const Values q = random();
    const double shift = random.Uniform(-100, 100);
    Values shifted = q;
    for (double& value : shifted) value += shift;
    const double scale = Magnitude(q) + std::abs(shift);
    for (const Backup& backup : Operators()) {
      // boltzmann amplifies the rounding of the shifted values by its Lipschitz constant.
      const double expansion = std::isfinite(backup.omega) ? 1 + backup.omega * scale : 1;
      const double tolerance =
          1e-15 * scale * (backup.kind == BackupKind::kBoltzmann ? expansion : 1);
      EXPECT_NEAR(backup.Value(shifted), backup.Value(q) + shift, tolerance) << Describe(backup);
    }
  }
}

TEST(BackupValue, TheOrderOfActionsDoesNotMatter) {
  RandomValues random(7);
  for (int trial = 0; trial < 1000; ++trial) {
    const Values q = random();
    Values shuffled = q;
    std::shuffle(shuffled.begin(), shuffled.end(), random.engine());
    for (const Backup& backup : Operators()) {
      EXPECT_NEAR(backup.Value(shuffled), backup.Value(q), 2e-15 * Magnitude(q))
          << Describe(backup);
    }
  }
}

TEST(BackupValue, ScalingValuesAndTemperatureTogetherScalesTheResult) {
  RandomValues random(8);
  for (int trial = 0; trial < 1000; ++trial) {
    Values q = random();
    const double value = Mellowmax(3).Value(q);
    for (double& entry : q) entry *= 0x1p900;
    EXPECT_EQ(Mellowmax(3 * 0x1p-900).Value(q), value * 0x1p900);
  }
}

TEST(BackupValue, OneActionIsReturnedAsItIs) {
  for (const double value : {0.0, 0.1, -3.7, kDenormal, kLargest, -kLargest}) {
    for (const Backup& backup : Operators()) {
      EXPECT_EQ(backup.Value(Values{value}), value) << Describe(backup);
    }
    EXPECT_EQ(Mellowmax(kLargest).Value(Values{value}), value);
  }
}

TEST(BackupValue, EqualValuesAreReturnedAsTheyAre) {
  for (const double value : {0.1, -3.7, 1e-310, kLargest, -kLargest}) {
    for (std::size_t actions = 2; actions < 20; ++actions) {
      for (const Backup& backup : Operators()) {
        EXPECT_EQ(backup.Value(Values(actions, value)), value) << Describe(backup);
      }
    }
  }
}

TEST(BackupValue, NothingOverflows) {
  const double n = 3;
  for (const double q : {1e300, 1e308, kLargest}) {
    for (const double omega : {1e6, 1e300, 1e308, kLargest}) {
      for (const Values& values : {Values{q, -q, 0}, Values{-q, q, q / 2}, Values{q, -q, -q}}) {
        EXPECT_EQ(Mellowmax(omega).Value(values), q);
        EXPECT_EQ(Boltzmann(omega).Value(values), q);
      }
      const double below = std::log(n) / omega;
      EXPECT_NEAR(Mellowmax(omega).Value(Values{0, -q, -q}), -below, 1e-15 * below + 2 * kDenormal);
    }
    EXPECT_NEAR(Mellowmax(0).Value(Values{q, q, -q}) / q, 1 / n, 1e-15);
    EXPECT_NEAR(Boltzmann(0).Value(Values{q, -q, -q}) / q, -1 / n, 1e-15);
    EXPECT_NEAR(Mellowmax(1e-3 / q).Value(Values{q, -q, -q}) / q, -1 / n, 1e-3);
    EXPECT_NEAR(Boltzmann(1e-3 / q).Value(Values{q, -q, -q}) / q, -1 / n, 1e-3);
  }
}

TEST(BackupValue, TheDistanceBelowTheMaximumMayExceedTheLargestNumber) {
  Values q(100, -1.7e308);
  q[42] = 1.7e308;
  const long double scaled = DirectMellowmax(
      [&] {
        Values tenth = q;
        for (double& value : tenth) value /= 10;
        return tenth;
      }(),
      1e-307);
  const double value = Mellowmax(1e-308).Value(q);
  EXPECT_NEAR(value / 1e308, static_cast<double>(scaled * 10 / 1e308L), 1e-14);
  EXPECT_LT(value, -1.4e308);
}

TEST(BackupValue, NaNAnywhereIsSeen) {
  for (const Backup& backup : Operators()) {
    for (std::size_t position = 0; position < 4; ++position) {
      Values q = {1, 5, kInfinity, 3};
      q[position] = kNaN;
      EXPECT_TRUE(std::isnan(backup.Value(q))) << Describe(backup) << " at " << position;
      for (const double slope : Gradient(backup, q)) EXPECT_TRUE(std::isnan(slope));
    }
  }
}

TEST(BackupValue, ActionsOfMinusInfinityAreNeverTaken) {
  const Values q = {1, -kInfinity, 2};
  EXPECT_EQ(Max().Value(q), 2);
  EXPECT_EQ(Boltzmann(3).Value(q), Boltzmann(3).Value(Values{1, 2}));
  EXPECT_NEAR(Mellowmax(3).Value(q), Mellowmax(3).Value(Values{1, 2}) + std::log(2.0 / 3.0) / 3,
              1e-15);
  EXPECT_EQ(Gradient(Mellowmax(3), q)[1], 0);
  EXPECT_EQ(Gradient(Boltzmann(3), q)[1], 0);
  for (const Backup& backup : Operators()) {
    EXPECT_EQ(backup.Value(Values{kInfinity, 1}), kInfinity);
    EXPECT_EQ(backup.Value(Values{-kInfinity, -kInfinity}), -kInfinity);
  }
}

TEST(BackupValue, NoActionsIsBadInput) {
  Values nothing;
  for (const Backup& backup : Operators()) {
    EXPECT_THROW(backup.Value(nothing), Error);
    EXPECT_THROW(backup.Gradient(nothing, nothing), Error);
  }
}

// --- contraction

TEST(BackupContraction, MaxAndMellowmaxAreNonExpansions) {
  RandomValues random(9);
  for (int trial = 0; trial < 20000; ++trial) {
    const Values p = random();
    Values q = random(p.size());
    if (trial % 2 == 0) {  // close pairs test the slope, far ones the shape
      for (std::size_t a = 0; a < q.size(); ++a) q[a] = p[a] + 1e-3 * q[a];
    }
    const double bound = Distance(p, q) + 1e-15 * (Magnitude(p) + Magnitude(q));
    EXPECT_LE(std::abs(Max().Value(p) - Max().Value(q)), bound);
    const Backup mellowmax = Mellowmax(std::pow(10.0, random.Uniform(-6, 6)));
    EXPECT_LE(std::abs(mellowmax.Value(p) - mellowmax.Value(q)), bound) << mellowmax.omega;
  }
}

TEST(BackupContraction, BoltzmannExpandsSomePairs) {
  RandomValues random(10);
  double worst = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Values p = {random.Uniform(-1, 1), random.Uniform(-1, 1)};
    const Values q = {p[0] + random.Uniform(-0.1, 0.1), p[1] + random.Uniform(-0.1, 0.1)};
    const Backup boltzmann = Boltzmann(5);
    const double ratio = std::abs(boltzmann.Value(p) - boltzmann.Value(q)) / Distance(p, q);
    worst = std::max(worst, ratio);
  }
  EXPECT_GT(worst, 1.1);
}

// One state, discount .98: action a earns .05 and stays with probability .2, b earns .033 and stays
// with probability .99; otherwise the episode ends.
double OneStateBackup(const Backup& backup, double value) {
  const double discount = 0.98;
  return backup.Value(Values{0.05 + discount * 0.2 * value, 0.033 + discount * 0.99 * value});
}

// The sign changes of map(v) - v on a fine grid over [0, 2].
std::vector<double> FixedPoints(const std::function<double(double)>& map) {
  constexpr double kStep = 1e-4;
  std::vector<double> found;
  for (double value = kStep / 2; value < 2; value += kStep) {
    const bool here = map(value) > value;
    const bool next = map(value + kStep) > value + kStep;
    if (here != next) found.push_back(value + kStep / 2);
  }
  return found;
}

TEST(BackupContraction, BoltzmannHasThreeFixedPointsWhereMellowmaxAndMaxHaveOne) {
  const auto fixed_points = [](const Backup& backup) {
    return FixedPoints([&](double value) { return OneStateBackup(backup, value); });
  };
  const std::vector<double> boltzmann = fixed_points(Boltzmann(10));
  ASSERT_EQ(boltzmann.size(), 3U);
  EXPECT_NEAR(boltzmann[0], 0.176, 5e-4);
  EXPECT_NEAR(boltzmann[1], 0.258, 5e-4);
  EXPECT_NEAR(boltzmann[2], 1.101, 5e-4);
  EXPECT_EQ(fixed_points(Mellowmax(10)).size(), 1U);
  EXPECT_EQ(fixed_points(Max()).size(), 1U);
}

// --- gradients

// Central differences of the definitions in long double, which has digits to spare for the step.
double Slope(const std::function<long double(const std::vector<long double>&)>& operation,
             const Values& q, std::size_t action, long double step) {
  std::vector<long double> up(q.begin(), q.end());
  std::vector<long double> down = up;
  up[action] += step;
  down[action] -= step;
  return static_cast<double>((operation(up) - operation(down)) / (2 * step));
}

TEST(BackupGradient, AgreesWithFiniteDifferences) {
  RandomValues random(11);
  for (int trial = 0; trial < 500; ++trial) {
    Values q = random();
    const double max = Largest(q);
    for (double& value : q)
      value -= max;  // slopes depend only on differences; keeps the step's digits
    const double omega = random.Uniform(0.01, 20) / std::max(1e-3, -Smallest(q));
    const long double step = 1e-6L / omega;
    const Values mellowmax = Gradient(Mellowmax(omega), q);
    const Values boltzmann = Gradient(Boltzmann(omega), q);
    for (std::size_t a = 0; a < q.size(); ++a) {
      const auto direct_mellowmax = [&](const std::vector<long double>& at) {
        long double sum = 0;
        for (const long double value : at) sum += std::exp(omega * value);
        return std::log(sum) / omega;
      };
      const auto direct_boltzmann = [&](const std::vector<long double>& at) {
        return DirectBoltzmann(at, omega);
      };
      EXPECT_NEAR(mellowmax[a], Slope(direct_mellowmax, q, a, step), 1e-11);
      EXPECT_NEAR(boltzmann[a], Slope(direct_boltzmann, q, a, step), 1e-9);
    }
  }
}

// Finite differences of the implementation itself: value and gradient match.
TEST(BackupGradient, BelongsToTheValue) {
  RandomValues random(12);
  for (int trial = 0; trial < 500; ++trial) {
    Values q(6);
    for (double& value : q) value = random.Uniform(-1, 1);
    for (const Backup& backup :
         {Mellowmax(0), Mellowmax(0.01), Mellowmax(3), Boltzmann(0.01), Boltzmann(3)}) {
      const Values gradient = Gradient(backup, q);
      for (std::size_t a = 0; a < q.size(); ++a) {
        constexpr double kStep = 0x1p-17;
        Values up = q;
        Values down = q;
        up[a] += kStep;
        down[a] -= kStep;
        const double slope = (backup.Value(up) - backup.Value(down)) / (2 * kStep);
        EXPECT_NEAR(gradient[a], slope, 1e-9) << Describe(backup);
      }
    }
  }
}

TEST(BackupGradient, SumsToOneAndForMaxAndMellowmaxIsAProbability) {
  RandomValues random(13);
  for (int trial = 0; trial < 2000; ++trial) {
    const Values q = random();
    for (const Backup& backup : Operators()) {
      const Values gradient = Gradient(backup, q);
      double magnitude = 0;
      for (const double slope : gradient) magnitude += std::abs(slope);
      EXPECT_NEAR(std::accumulate(gradient.begin(), gradient.end(), 0.0), 1,
                  2e-15 * magnitude + 1e-14);
      if (backup.kind != BackupKind::kBoltzmann) {
        EXPECT_GE(Smallest(gradient), 0);
      }
    }
  }
}

TEST(BackupGradient, OfMaxIsOneAtTheFirstMaximum) {
  EXPECT_EQ(Gradient(Max(), {1, 3, 2, 3}), (Values{0, 1, 0, 0}));
  EXPECT_EQ(Gradient(Max(), {-kInfinity, -kInfinity}), (Values{1, 0}));
}

TEST(BackupGradient, AtTheEndsOfOmegaIsTheLimit) {
  for (const BackupKind kind : {BackupKind::kMellowmax, BackupKind::kBoltzmann}) {
    EXPECT_EQ(Gradient({kind, 0}, {1, 3, 2, 3}), (Values{0.25, 0.25, 0.25, 0.25}));
    EXPECT_EQ(Gradient({kind, kInfinity}, {1, 3, 2, 3}), (Values{0, 0.5, 0, 0.5}));
  }
}

TEST(BackupGradient, SurvivesExtremes) {
  for (const double q : {1e300, 1e308, kLargest}) {
    for (const double omega : {1e6, 1e308}) {
      for (const BackupKind kind : {BackupKind::kMellowmax, BackupKind::kBoltzmann}) {
        EXPECT_EQ(Gradient({kind, omega}, {-q, q, 0}), (Values{0, 1, 0}));
        EXPECT_EQ(Gradient({kind, omega}, {q, -q, q}), (Values{0.5, 0, 0.5}));
      }
    }
  }
  const Values logistic = Gradient(Mellowmax(1e-308), {1e308, -1e308});
  EXPECT_NEAR(logistic[0], 1 / (1 + std::exp(-2.0)), 1e-15);
}

TEST(BackupGradient, NeedsRoomForEveryAction) {
  Values gradient(2);
  EXPECT_THROW(Max().Gradient(Values{1, 2, 3}, gradient), Error);
}

// --- batches and float

TEST(BackupRows, EveryRowIsThatOfTheSingleVectorToTheBit) {
  RandomValues random(14);
  constexpr std::size_t kRows = 64;
  for (std::size_t actions = 1; actions < 19; ++actions) {
    Values q;
    for (std::size_t row = 0; row < kRows; ++row) {
      const Values next = random(actions);
      q.insert(q.end(), next.begin(), next.end());
    }
    for (const Backup& backup : Operators()) {
      Values values(kRows);
      Values gradients(q.size());
      backup.Values(q, actions, values);
      backup.Gradients(q, actions, gradients);
      for (std::size_t row = 0; row < kRows; ++row) {
        const auto start = q.begin() + static_cast<std::ptrdiff_t>(row * actions);
        const Values single(start, start + static_cast<std::ptrdiff_t>(actions));
        EXPECT_EQ(values[row], backup.Value(single));
        const Values gradient = Gradient(backup, single);
        EXPECT_TRUE(std::equal(gradient.begin(), gradient.end(),
                               gradients.begin() + static_cast<std::ptrdiff_t>(row * actions)));
      }
    }
  }
}

TEST(BackupRows, FloatIsTheDoubleResultRoundedOnce) {
  RandomValues random(15);
  for (int trial = 0; trial < 1000; ++trial) {
    const Values drawn = random();
    const std::vector<float> narrow(drawn.begin(), drawn.end());
    const Values wide(narrow.begin(), narrow.end());
    const std::size_t actions = narrow.size();
    for (const Backup& backup : Operators()) {
      EXPECT_EQ(backup.Value(narrow), backup.Value(wide)) << Describe(backup);
      std::vector<float> value(1);
      backup.Values(narrow, actions, value);
      EXPECT_EQ(value[0], static_cast<float>(backup.Value(wide)));
      std::vector<float> gradient(actions);
      backup.Gradients(narrow, actions, gradient);
      const Values expected = Gradient(backup, wide);
      for (std::size_t a = 0; a < actions; ++a) {
        EXPECT_EQ(gradient[a], static_cast<float>(expected[a])) << Describe(backup);
      }
    }
  }
}

TEST(BackupRows, ANumberOfValuesThatDoesNotFitTheRowsIsBadInput) {
  const Values q(7);
  Values two(2);
  Values seven(7);
  EXPECT_THROW(Max().Values(q, 3, two), Error);
  EXPECT_THROW(Max().Values(q, 0, two), Error);
  EXPECT_THROW(Max().Values(q, 7, two), Error);
  EXPECT_THROW(Max().Gradients(q, 3, seven), Error);
  EXPECT_THROW(Max().Gradients(q, 0, seven), Error);
  EXPECT_THROW(Max().Gradients(q, 7, two), Error);
  EXPECT_NO_THROW(Max().Values({}, 3, std::span<double>()));
}

// --- bias

TEST(MellowmaxBiasBound, IsLogActionsOverOmegaAndTheHorizon) {
  EXPECT_DOUBLE_EQ(MellowmaxBiasBound(4, 5, 0.9), std::log(4.0) / 0.5);
  EXPECT_EQ(MellowmaxBiasBound(4, 0, 0.9), kInfinity);
  EXPECT_EQ(MellowmaxBiasBound(4, kInfinity, 0.9), 0);
  EXPECT_EQ(MellowmaxBiasBound(1, 0, 0.9), 0);
}

TEST(MellowmaxBiasBound, HoldsAndIsReachedByOneGoodActionAmongWorthlessOnes) {
  RandomValues random(16);
  for (int trial = 0; trial < 1000; ++trial) {
    const Values q = random();
    const double omega = std::pow(10.0, random.Uniform(-3, 3));
    const double bias = Largest(q) - Mellowmax(omega).Value(q);
    EXPECT_LE(bias, MellowmaxBiasBound(q.size(), omega, 0) + 1e-15 * Magnitude(q));
  }
  EXPECT_DOUBLE_EQ(-Mellowmax(2).Value(Values{0, -1e9, -1e9}), MellowmaxBiasBound(3, 2, 0));
}

TEST(MellowmaxBiasBound, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(MellowmaxBiasBound(0, 1, 0.9), Error);
  EXPECT_THROW(MellowmaxBiasBound(2, -1, 0.9), Error);
  EXPECT_THROW(MellowmaxBiasBound(2, kNaN, 0.9), Error);
  EXPECT_THROW(MellowmaxBiasBound(2, 1, 1), Error);
  EXPECT_THROW(MellowmaxBiasBound(2, 1, -0.1), Error);
  EXPECT_THROW(MellowmaxBiasBound(2, 1, kNaN), Error);
}

}  // namespace stableaa::backup_test
