#include "stableaa/mdp/solve/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/passes.h"

namespace stableaa::certificate_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

struct Proof {
  Certificate certificate;
  std::vector<double> values;  // TV + shift
};

Proof Prove(const Model& model, double discount, const std::vector<double>& values) {
  Proof proof{{}, std::vector<double>(values.size())};
  const Differences differences = BackupPass(model, discount, values, proof.values, {}, 1);
  proof.certificate = Certifier(model, discount).Certify(differences);
  for (double& value : proof.values) value += proof.certificate.shift;
  return proof;
}

// The largest distance of the truth from the middle of the bounds.
double Distance(const Proof& proof, const std::vector<long double>& truth) {
  long double farthest = 0;
  for (std::size_t s = 0; s < truth.size(); ++s) {
    farthest = std::max(farthest, std::abs(truth[s] - proof.values[s]));
  }
  return static_cast<double>(farthest);
}

// The possible error of elimination in long double.
double TruthRounding(const std::vector<long double>& truth, double discount) {
  long double largest = 0;
  for (const long double value : truth) largest = std::max(largest, std::abs(value));
  return static_cast<double>(1e-18L * largest / (1 - discount));
}

TEST(Certificate, HoldsForAnyValues) {
  int beyond_rounding = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Model model = RandomModel(seed);
    RandomStream random(seed, "values");
    const std::vector<double> discounts = {0, 0.5, 0.99, 0.99999};
    const double discount = discounts[seed % discounts.size()];
    const std::vector<long double> truth = ExactValues(model, discount);
    for (const double scale : {0.0, 1e-6, 1.0, 1e6}) {
      for (const bool near : {false, true}) {
        std::vector<double> values(model.states());
        for (std::size_t s = 0; s < values.size(); ++s) {
          values[s] = (near ? static_cast<double>(truth[s]) : 0.0) + scale * random.Uniform(-1, 1);
        }
        const Proof proof = Prove(model, discount, values);
        ASSERT_TRUE(proof.certificate.finite());
        ASSERT_LE(Distance(proof, truth), proof.certificate.half + TruthRounding(truth, discount))
            << "seed " << seed << ", scale " << scale;
        beyond_rounding += Distance(proof, truth) > proof.certificate.rounding ? 1 : 0;
      }
    }
  }
  EXPECT_GT(beyond_rounding, 1000);  // so rounding is not what makes it hold
}

TEST(Certificate, IsAttainedByTheWorstModels) {
  // Two absorbing states: one attains the upper bound, the other the lower.
  ModelBuilder builder([] { return std::string("two"); });
  for (std::uint64_t s = 0; s < 2; ++s) {
    builder.BeginState();
    builder.Transition(s, 1);
    builder.EndRow(s == 0 ? 1 : -3);
  }
  const Proof proof = Prove(builder.Finish(std::nullopt), 0.75, {0, 0});
  EXPECT_DOUBLE_EQ(proof.certificate.shift, -3);
  EXPECT_NEAR(proof.certificate.half, 6, 2e-13);
  EXPECT_NEAR(Distance(proof, {4, -12}), 6, 2e-13);
}

TEST(Certificate, IsTightAtTheSolution) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Model model = RandomModel(seed);
    for (const double discount : {0.0, 0.9, 0.9999}) {
      const std::vector<long double> truth = ExactValues(model, discount);
      const std::vector<double> values(truth.begin(), truth.end());
      const Proof proof = Prove(model, discount, values);
      double largest = 0;
      for (const double value : values) largest = std::max(largest, std::abs(value));
      const double floor = Certifier(model, discount).Floor(largest);
      EXPECT_LE(proof.certificate.half, 4 * floor) << seed;
      EXPECT_LE(floor,
                64 * kEpsilon * (largest + largest * discount) / (1 - discount) +
                    64 * kEpsilon * Certifier(model, discount).largest_reward() / (1 - discount))
          << seed;
    }
  }
}

TEST(Certificate, WithoutFutureTheBackupIsTheAnswer) {
  const Model model = RandomModel(11);
  const Proof proof = Prove(model, 0, std::vector<double>(model.states(), 123.0));
  EXPECT_EQ(proof.certificate.shift, 0);
  EXPECT_EQ(proof.certificate.half, proof.certificate.rounding);
  EXPECT_EQ(Distance(proof, ExactValues(model, 0)), 0);
}

TEST(Certificate, IsNotFiniteWhereTheDifferencesAreNot) {
  const Certifier certifier(RandomModel(1), 0.9);
  const std::vector<Differences> bad = {{-kInfinity, 0, 1}, {0, kInfinity, 1},
                                        {kNan, 0, 1},       {0, kNan, 1},
                                        {0, 0, kInfinity},  {kInfinity, -kInfinity, 0}};
  for (const Differences& differences : bad) {
    const Certificate certificate = certifier.Certify(differences);
    EXPECT_FALSE(certificate.finite()) << differences.least << " " << differences.largest;
    EXPECT_FALSE(certificate.half <= 1e300);
  }
  EXPECT_FALSE(certifier.Certify({-1e308, 1e308, 0}).finite());
}

// `columns` next states, one row each, with probabilities given by `weight`, made canonical.
template <typename Weight>
Model ModelOfLongRows(std::uint64_t states, const Weight& weight) {
  ModelBuilder builder([] { return std::string("long rows"); });
  RandomStream random(5, "long rows");
  std::vector<double> weights(states);
  for (std::uint64_t s = 0; s < states; ++s) {
    builder.BeginState();
    if (s >= 20) {  // a few long rows are enough
      builder.Transition(s % 20, 1);
    } else {
      double sum = 0;
      for (double& w : weights) sum += w = weight(random);
      for (std::uint64_t next = 0; next < states; ++next) {
        builder.Transition(next, weights[next] / sum);
      }
    }
    builder.EndRow(random.Uniform(-1, 1));
  }
  return builder.Finish(std::nullopt);
}

TEST(Certificate, RoundingCoversBackupsOfLongRows) {
  RandomStream random(3, "values");
  for (const std::uint64_t states : {20, 100, 1000, 4000}) {
    const Model model =
        ModelOfLongRows(states, [](RandomStream& stream) { return stream.Uniform() + 1e-3; });
    const double discount = 0.9;
    for (const double offset : {0.0, 1e3, -1e8}) {
      std::vector<double> values(states);
      for (double& value : values) value = offset + random.Uniform(-1, 1);
      std::vector<double> image(states);
      const Differences differences = BackupPass(model, discount, values, image, {}, 1);
      long double worst = 0;
      for (std::uint64_t s = 0; s < states; ++s) {
        long double q = 0;
        for (std::uint64_t k = model.row_transitions()[s]; k < model.row_transitions()[s + 1];
             ++k) {
          q += static_cast<long double>(model.probabilities()[k]) * values[model.column(k)];
        }
        q = model.rewards()[s] + static_cast<long double>(discount) * q;
        worst = std::max(worst, std::abs(q - image[s]));
      }
      EXPECT_GT(worst, 0);
      EXPECT_LE(static_cast<double>(worst) / (1 - discount),
                Certifier(model, discount).Floor(differences.values))
          << states << ", " << offset;
    }
  }
}

// Every state leads to all n states alike, with probabilities whose sum is not quite 1. Values that
// are off by a constant then have a span of nearly zero, and bounds that ignored this error would
// be wrong.
TEST(Certificate, CoversRowsWhoseSumIsOffByAsMuchAsAModelMayHave) {
  for (const std::uint64_t n : {2, 10, 300}) {
    const auto size = static_cast<double>(n);
    for (const double sign : {-1.0, 1.0}) {
      const double p = (1 + sign * 0.8 * (size + 4) * kEpsilon) / size;
      ModelStorage storage;
      storage.state_rows = {0};
      storage.row_transitions = {0};
      for (std::uint64_t s = 0; s < n; ++s) {
        for (std::uint64_t next = 0; next < n; ++next) {
          storage.narrow_columns.push_back(static_cast<std::uint32_t>(next));
          storage.probabilities.push_back(p);
        }
        storage.row_transitions.push_back(storage.probabilities.size());
        storage.rewards.push_back(s == 0 ? 1 : 0);
        storage.state_rows.push_back(s + 1);
      }
      const Model model = MakeModel(storage, std::nullopt);
      ASSERT_NO_THROW(CheckCanonical(model.arrays(), "model", 1)) << n;
      const double discount = 0.999;
      // Every state has v = r + γ m with m = p Σ v, so m = p / (1 − γ n p).
      const long double mean = p / (1 - static_cast<long double>(discount) * size * p);
      std::vector<long double> truth(n, discount * mean);
      truth[0] += 1;
      for (const double offset : {0.0, 1e9, -1e9}) {
        std::vector<double> values(truth.begin(), truth.end());
        for (double& value : values) value += offset;
        const Proof proof = Prove(model, discount, values);
        EXPECT_LE(Distance(proof, truth), proof.certificate.half) << n << ", " << offset;
      }
    }
  }
}

// Products of numbers this small lose digits regardless of relative rounding.
TEST(Certificate, CoversNumbersNearTheSmallestOnes) {
  ModelBuilder builder([] { return std::string("tiny"); });
  builder.BeginState();
  builder.Transition(0, 1);
  builder.EndRow(kTiny);
  const Model model = builder.Finish(std::nullopt);
  // In units of the smallest number the true value is 10, and 1 + .9·5 = 5.5 is rounded back to 5.
  std::vector<double> values = {0};
  for (int pass = 0; pass < 100; ++pass) {
    const Proof proof = Prove(model, 0.9, values);
    EXPECT_LE(std::abs(proof.values[0] - 10 * kTiny), proof.certificate.half) << pass;
    BackupPass(model, 0.9, std::vector<double>(values), values, {}, 1);
  }
}

TEST(Certificate, IsExactlyZeroWhereAllIsZero) {
  const Model model = RandomModel(5).WithRewards(std::vector<double>(RandomModel(5).rows(), 0.0));
  const Proof proof = Prove(model, 0.9, std::vector<double>(model.states(), 0.0));
  EXPECT_EQ(proof.certificate.half, 0);
  EXPECT_EQ(proof.certificate.shift, 0);
}

}  // namespace stableaa::certificate_test
