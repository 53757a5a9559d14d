#include "stableaa/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"

namespace stableaa::random_test {

static_assert(std::uniform_random_bit_generator<RandomStream>);

constexpr uint64_t kSeed = 2021;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The statistical tests use fixed seeds, so each always passes or always fails. With a fresh seed,
// a perfect generator would fail with roughly the probability stated at each test.

// The chi-square statistic of counts with equal expectations, as a standard normal deviation
// (Wilson and Hilferty's cube root, good from two degrees of freedom).
double ChiSquareDeviation(const std::vector<size_t>& counts) {
  const double total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), size_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double statistic = 0.0;
  for (const size_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    statistic += difference * difference / expected;
  }
  const double degrees = static_cast<double>(counts.size() - 1);
  const double variance = 2.0 / (9.0 * degrees);
  return (std::cbrt(statistic / degrees) - (1.0 - variance)) / std::sqrt(variance);
}

// Correlation of n pairs of uniforms in units of its standard deviation, 1/sqrt(n).
double CorrelationDeviation(RandomStream a, RandomStream b, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += (a.Uniform() - 0.5) * (b.Uniform() - 0.5);
  return sum * 12.0 / std::sqrt(n);
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(RandomStream, IsPhilox4x64WithTenRounds) {
  // The published known answer for an all-zero key and counter. A stream encrypts counter + 1.
  RandomStream stream(0, "");
  stream.set_state({{0, 0}, std::numeric_limits<uint64_t>::max(), 0});
  EXPECT_EQ(stream(), 0x16554d9eca36314cU);
  EXPECT_EQ(stream(), 0xdb20fe9d672d0fdcU);
  EXPECT_EQ(stream(), 0xd7e772cee186176bU);
  EXPECT_EQ(stream(), 0x7e68b68aec7ba23bU);
}

// The golden values in the next tests are NumPy's, with k1 from a separate Python implementation of
// the hash:
//   philox = lambda: np.random.Philox(key=[2021, 0xe0dcd80ce4d2a3ac], counter=0)
//   philox().random_raw(10)
//   np.random.Generator(philox()).random(6)
//   np.random.Generator(philox()).integers(0, 2**63 + 12345, 8, dtype=np.uint64)
//   np.random.Generator(philox()).integers(-10**12, 10**12, 6, endpoint=True)

TEST(RandomStream, KeyIsSeedAndHashedName) {
  const std::array<uint64_t, 2> key = {kSeed, 0xe0dcd80ce4d2a3ac};
  EXPECT_EQ(RandomStream(kSeed, "exploration").state().key, key);
  EXPECT_EQ(RandomStream(7, "").state().key[1], 0xf52a15e9a9b5e89bU);
}

TEST(RandomStream, RawWordsAreNumPys) {
  RandomStream stream(kSeed, "exploration");
  for (const uint64_t word :
       {0x834c61065cd71d89U, 0x17c32c7028ac40c8U, 0xde6ee7825bdd1405U, 0xa1c6ed33f18f29f1U,
        0x1a99570836733e6cU, 0xe1a7c9f066583edcU, 0x4bf7fcb1b030495bU, 0x942222351a0bdea5U,
        0x6dcc8eef246bc299U, 0x145b0ca21e5b5ca0U}) {
    EXPECT_EQ(stream(), word);
  }
}

TEST(RandomStream, UniformsAreNumPys) {
  RandomStream stream(kSeed, "exploration");
  for (const double value : {0x1.0698c20cb9ae3p-1, 0x1.7c32c7028ac40p-4, 0x1.bcddcf04b7ba2p-1,
                             0x1.438dda67e31e5p-1, 0x1.a995708367338p-4, 0x1.c34f93e0ccb07p-1}) {
    EXPECT_EQ(stream.Uniform(), value);
  }
}

TEST(RandomStream, IntegersOfWideRangesAreNumPys) {
  RandomStream below(kSeed, "exploration");  // half of all words are rejected for this n
  for (const uint64_t value :
       {856130571780629725U, 8014001335465587688U, 5828632746423464817U, 958329404603868216U,
        8130093506995440111U, 2737060856093750012U, 5337065839143553849U, 733389997036384805U}) {
    EXPECT_EQ(below.Below((uint64_t{1} << 63) + 12345), value);
  }
  RandomStream integer(kSeed, "exploration");
  for (const int64_t value :
       {25768402201, -814356274829, 737759531643, 263883257259, -792195435515, 762933008559}) {
    EXPECT_EQ(integer.Integer(-1'000'000'000'000, 1'000'000'000'000), value);
  }
}

// Same bytes on every platform. They are this library's own; NormalsAreTheQuantilesOfTheWords
// checks that they are right.
TEST(RandomStream, NormalsHaveTheirGoldenBytes) {
  RandomStream stream(kSeed, "exploration");
  for (const double value :
       {0x1.089d320008ba9p-5, -0x1.52d5e9489ca77p+0, 0x1.1f012743e8973p+0, 0x1.5916952d403b0p-2,
        -0x1.4276cdba891e6p+0, 0x1.2eae7784116afp+0, -0x1.114964bad109bp-1, 0x1.9662af2d39136p-3}) {
    EXPECT_EQ(stream.Normal(), value);
  }
  // The bits of ten thousand of them, tails included.
  uint64_t digest = 0;
  for (int i = 0; i < 10'000; ++i) {
    digest = digest * 6364136223846793005 + std::bit_cast<uint64_t>(stream.Normal());
  }
  EXPECT_EQ(digest, 6687329307002121966U);
}

TEST(RandomStream, NormalsAreTheQuantilesOfTheWords) {
  // mpmath: sqrt(2) * erfinv(2 * (k + 1/2) / 2**53 - 1) with k = word >> 11, at 300 bits.
  RandomStream stream(kSeed, "exploration");
  for (const double value :
       {0.03230151906634343, -1.3235765268588275, 1.121111349181402, 0.3370002087468107,
        -1.2596252994927624, 1.1823496529990891, -0.5337630727813293, 0.19843041283378124}) {
    EXPECT_NEAR(stream.Normal(), value, 1e-15 * std::abs(value));
  }
}

TEST(InverseNormalCdf, IsAccurateFromTheMiddleToTheFarthestTail) {
  // mpmath at 300 bits or more, at the doubles nearest these p.
  const std::map<double, double> expected = {
      {1e-300, -37.0470962993612},   {1e-100, -21.273453560965326},
      {1e-20, -9.262340089798407},   {1e-12, -7.034483825301132},
      {1e-5, -4.264890793922825},    {0.025, -1.9599639845400543},
      {0.0749, -1.4402382675279637}, {0.0751, -1.43882539275254},
      {0.3, -0.5244005127080408},    {0.5, 0.0},
      {0.75, 0.6744897501960817},    {0.9, 1.2815515655446006},
      {0.975, 1.9599639845400538},   {0.999999, 4.753424308817087}};
  for (const auto& [p, quantile] : expected) {
    EXPECT_NEAR(InverseNormalCdf(p), quantile, 2e-15 * std::abs(quantile)) << p;
  }
  for (const double p : {0.0, 1.0, -0.1, 1.1, kNaN}) EXPECT_THROW(InverseNormalCdf(p), Error) << p;
}

TEST(PortableLog, AgreesWithTheLibraryToTwoUnits) {
  RandomStream stream(kSeed, "log");
  const auto check = [](double x) {
    const double expected = std::log(x);
    const double unit = std::nextafter(std::abs(expected), kInfinity) - std::abs(expected);
    EXPECT_LE(std::abs(PortableLog(x) - expected), 2.5 * unit) << x;  // std::log's own: 0.5
  };
  for (int i = 0; i < 100'000; ++i) check(std::ldexp(stream.Uniform(0.5, 1.0), i % 2000 - 1000));
  for (int i = 0; i < 100'000; ++i) check(stream.Uniform(0.5, 2.0));
  for (const double x : {5e-324, 1e-310, std::numeric_limits<double>::min(), 1.0 - 0x1p-53,
                         1.0 + 0x1p-52, std::numeric_limits<double>::max()}) {
    check(x);
  }
  EXPECT_EQ(PortableLog(1.0), 0.0);
  for (const double x : {0.0, -1.0, kInfinity, kNaN}) EXPECT_THROW(PortableLog(x), Error) << x;
}

TEST(RandomStream, SeedAndNameAndOrderDecideAll) {
  RandomStream a(5, "replay");
  RandomStream b(5, "replay");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a(), b());
  EXPECT_NE(RandomStream(5, "replay")(), RandomStream(6, "replay")());
  EXPECT_NE(RandomStream(5, "replay")(), RandomStream(5, "replay2")());
}

// 120 correlations, each beyond 5 standard deviations with probability 6e-7: false alarm 7e-5.
TEST(RandomStream, NamesAndAdjacentSeedsAreUncorrelated) {
  const std::vector<std::string> names = {"a", "b", "aa", "ab", "worker0", "worker1"};
  std::vector<RandomStream> streams;
  for (const std::string& name : names) {
    streams.emplace_back(kSeed, name);
    streams.emplace_back(kSeed + 1, name);
  }
  streams.emplace_back(0, "");
  streams.emplace_back(1, "");
  streams.emplace_back(std::numeric_limits<uint64_t>::max(), "");
  streams.emplace_back(uint64_t{1} << 63, "");
  for (size_t i = 0; i < streams.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_LT(std::abs(CorrelationDeviation(streams[i], streams[j], 4000)), 5.0) << i << " " << j;
    }
  }
}

// The first words of streams with consecutive seeds, as in a suite of runs, fill 256 classes evenly
// in both the high and the low byte. Two deviations beyond 4.5: false alarm 1e-5.
TEST(RandomStream, FirstWordsOfConsecutiveSeedsAreUniform) {
  std::vector<size_t> high(256);
  std::vector<size_t> low(256);
  for (uint64_t seed = 0; seed < 50'000; ++seed) {
    const uint64_t word = RandomStream(seed, "environment")();
    ++high[word >> 56];
    ++low[word & 255];
  }
  EXPECT_LT(std::abs(ChiSquareDeviation(high)), 4.5);
  EXPECT_LT(std::abs(ChiSquareDeviation(low)), 4.5);
}

TEST(RandomStream, UniformStaysInItsHalfOpenRange) {
  RandomStream stream(kSeed, "uniform");
  for (int i = 0; i < 10'000; ++i) {
    const double wide = stream.Uniform(-3.0, 5.0);
    EXPECT_TRUE(wide >= -3.0 && wide < 5.0);
    // Only one double fits: half of all results round up to hi and must be kept below it.
    EXPECT_EQ(stream.Uniform(1.0, 1.0 + 0x1p-52), 1.0);
    const float single = stream.UniformFloat();
    EXPECT_TRUE(single >= 0.0F && single < 1.0F);
  }
  EXPECT_EQ(stream.Uniform(2.0, 2.0), 2.0);
  EXPECT_THROW(stream.Uniform(1.0, 0.0), Error);
  EXPECT_THROW(stream.Uniform(0.0, kInfinity), Error);
  EXPECT_THROW(stream.Uniform(kNaN, 1.0), Error);
  EXPECT_THROW(stream.Uniform(-1e308, 1e308), Error);
}

TEST(RandomStream, FillUniformRoundsUniformsToFloat) {
  RandomStream one(kSeed, "weights");
  RandomStream other(kSeed, "weights");
  std::vector<float> values(1000);
  one.FillUniform(values, -0.125F, 0.125F);
  for (const float value : values) {
    EXPECT_EQ(value, static_cast<float>(other.Uniform(-0.125, 0.125)));
    EXPECT_LT(value, 0.125F);
  }
  one.FillUniform(values, 1.0F, 1.0F + 0x1p-23F);
  for (const float value : values) EXPECT_EQ(value, 1.0F);
  one.FillUniform(values, -std::numeric_limits<float>::max(), std::numeric_limits<float>::max());
  for (const float value : values) EXPECT_TRUE(std::isfinite(value));
  EXPECT_THROW(one.FillUniform(values, 1.0F, 0.0F), Error);
}

// Four deviations beyond 4.5: false alarm 3e-5.
TEST(RandomStream, BelowIsUnbiased) {
  RandomStream stream(kSeed, "below");
  for (const uint64_t n : {3U, 7U, 100U, 1000U}) {
    std::vector<size_t> counts(n);
    for (uint64_t i = 0; i < 100 * n + 10'000; ++i) ++counts[stream.Below(n)];
    EXPECT_LT(std::abs(ChiSquareDeviation(counts)), 4.5) << n;
  }
}

// For n = 3 * 2^62 plain multiply-shift would give every third value twice the weight of the
// others, and taking the remainder would favour the lowest third. 20,000 draws: each count has a
// standard deviation of 67; false alarm 4e-6.
TEST(RandomStream, BelowIsUnbiasedNearTheWholeRange) {
  RandomStream stream(kSeed, "below");
  const uint64_t n = uint64_t{3} << 62;
  std::array<int, 3> residues = {};
  std::array<int, 3> thirds = {};
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t value = stream.Below(n);
    ASSERT_LT(value, n);
    ++residues[value % 3];
    ++thirds[value >> 62];
  }
  for (const int count : residues) EXPECT_NEAR(count, 20'000 / 3.0, 5 * 67);
  for (const int count : thirds) EXPECT_NEAR(count, 20'000 / 3.0, 5 * 67);
}

TEST(RandomStream, BelowOneIsZeroAndBelowZeroIsAnError) {
  RandomStream stream(kSeed, "below");
  EXPECT_EQ(stream.Below(1), 0U);
  EXPECT_THROW(stream.Below(0), Error);
}

TEST(RandomStream, IntegerReachesBothEndsOfEveryRange) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  RandomStream stream(kSeed, "integer");
  std::map<int64_t, int> seen;
  for (int i = 0; i < 1000; ++i) ++seen[stream.Integer(-2, 2)];
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen.begin()->first, -2);
  EXPECT_EQ(seen.rbegin()->first, 2);
  EXPECT_EQ(stream.Integer(kMin, kMin), kMin);
  EXPECT_EQ(stream.Integer(kMax, kMax), kMax);
  EXPECT_GE(stream.Integer(kMax - 1, kMax), kMax - 1);
  EXPECT_LE(stream.Integer(kMin, kMin + 1), kMin + 1);
  EXPECT_LT(stream.Integer(kMin, kMax - 1), kMax);
  EXPECT_THROW(stream.Integer(1, 0), Error);
}

TEST(RandomStream, IntegerOfTheFullRangeIsTheRawWord) {
  RandomStream stream(kSeed, "integer");
  RandomStream raw = stream;
  for (int i = 0; i < 100; ++i) {
    const int64_t value =
        stream.Integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(static_cast<uint64_t>(value), raw() + (uint64_t{1} << 63));
  }
}

TEST(RandomStream, BernoulliIsCertainAtItsEnds) {
  RandomStream stream(kSeed, "bernoulli");
  int successes = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(stream.Bernoulli(0.0));
    EXPECT_TRUE(stream.Bernoulli(1.0));
    successes += stream.Bernoulli(0.1) ? 1 : 0;
  }
  EXPECT_NEAR(successes, 1000, 5 * 30);  // false alarm 6e-7
  EXPECT_THROW(stream.Bernoulli(-0.1), Error);
  EXPECT_THROW(stream.Bernoulli(1.1), Error);
  EXPECT_THROW(stream.Bernoulli(kNaN), Error);
}

// Moments 1 to 4 of n normals: 0, 1, 0, 3, with variances 1, 2, 15, 96 over n. False alarm 2e-6.
TEST(RandomStream, NormalHasTheMomentsOfTheNormalDistribution) {
  constexpr int kDraws = 200'000;
  RandomStream stream(kSeed, "normal");
  std::array<double, 4> sums = {};
  for (int i = 0; i < kDraws; ++i) {
    double power = 1.0;
    const double x = stream.Normal();
    for (double& sum : sums) sum += power *= x;
  }
  const std::array<double, 4> moments = {0.0, 1.0, 0.0, 3.0};
  const std::array<double, 4> variances = {1.0, 2.0, 15.0, 96.0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(sums[i] / kDraws, moments[i], 5.0 * std::sqrt(variances[i] / kDraws)) << i + 1;
  }
}

// Kolmogorov-Smirnov: P(D sqrt(n) > 2.5) is about 2 exp(-2 * 2.5^2) = 7e-6.
TEST(RandomStream, NormalFollowsTheNormalDistribution) {
  constexpr size_t kDraws = 100'000;
  RandomStream stream(kSeed, "normal");
  std::vector<double> values(kDraws);
  for (double& value : values) value = stream.Normal();
  std::sort(values.begin(), values.end());
  double distance = 0.0;
  for (size_t i = 0; i < kDraws; ++i) {
    const double cdf = NormalCdf(values[i]);
    distance = std::max({distance, cdf - static_cast<double>(i) / kDraws,
                         static_cast<double>(i + 1) / kDraws - cdf});
  }
  EXPECT_LT(distance * std::sqrt(kDraws), 2.5);
}

TEST(RandomStream, NormalTakesOneWord) {
  RandomStream stream(kSeed, "normal");
  RandomStream raw = stream;
  for (int i = 0; i < 7; ++i) {
    stream.Normal();
    raw();
  }
  EXPECT_EQ(stream.state(), raw.state());
}

// Each count of 40,000 draws within 5 standard deviations: false alarm 2e-6.
TEST(RandomStream, ChoiceFollowsTheWeights) {
  const std::vector<double> weights = {0.0, 1.0, 0.0, 2.0, 5.0, 0.0};
  RandomStream stream(kSeed, "choice");
  std::vector<int> counts(weights.size());
  constexpr int kDraws = 40'000;
  for (int i = 0; i < kDraws; ++i) ++counts[stream.Choice(weights)];
  for (size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / 8.0;
    EXPECT_NEAR(counts[i], kDraws * p, 5.0 * std::sqrt(kDraws * p * (1.0 - p))) << i;
  }
}

TEST(RandomStream, ChoiceNeverTakesAZeroWeightEvenWhenTheSumRounds) {
  constexpr double kTiny = 5e-324;  // times a uniform above 1/2, it rounds up to itself
  RandomStream stream(kSeed, "choice");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(stream.Choice(std::vector<double>{0.0, kTiny, 0.0}), 1U);
    EXPECT_EQ(stream.Choice(std::vector<double>{0.0, 0.0, 1e300}), 2U);
    EXPECT_EQ(stream.Choice(std::vector<double>{1.0, -0.0}), 0U);
  }
}

TEST(RandomStream, ChoiceRefusesWeightsThatAreNoDistribution) {
  RandomStream stream(kSeed, "choice");
  for (const std::vector<double>& weights : {std::vector<double>{},
                                             {0.0, 0.0},
                                             {1.0, -1e-9},
                                             {1.0, kNaN},
                                             {1.0, kInfinity},
                                             {1e308, 1e308}}) {
    EXPECT_THROW(stream.Choice(weights), Error);
  }
}

TEST(RandomStream, ShufflePermutes) {
  RandomStream stream(kSeed, "shuffle");
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 0);
  std::vector<int> shuffled = values;
  stream.Shuffle(std::span(shuffled));
  EXPECT_NE(shuffled, values);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, values);
  std::vector<int> none;
  stream.Shuffle(std::span(none));
}

// 24 permutations; a deviation beyond 4.5: false alarm 7e-6.
TEST(RandomStream, ShuffleGivesEveryOrderTheSameChance) {
  RandomStream stream(kSeed, "shuffle");
  std::map<std::string, size_t> orders;
  for (int i = 0; i < 24'000; ++i) {
    std::string order = "abcd";
    stream.Shuffle(std::span(order));
    ++orders[order];
  }
  std::vector<size_t> counts;
  for (const auto& [order, count] : orders) counts.push_back(count);
  ASSERT_EQ(counts.size(), 24U);
  EXPECT_LT(std::abs(ChiSquareDeviation(counts)), 4.5);
}

TEST(RandomStream, ContinuesFromEveryPosition) {
  for (int used = 0; used < 8; ++used) {
    RandomStream stream(kSeed, "saved");
    for (int i = 0; i < used; ++i) stream();
    ByteWriter out;
    stream.Save(out);
    EXPECT_EQ(out.bytes().size(), 25U);

    RandomStream from_state(1, "other");
    from_state.set_state(stream.state());
    EXPECT_EQ(from_state.state(), stream.state());
    RandomStream from_bytes(kSeed, "saved");
    ByteReader in(out.bytes(), "memory");
    from_bytes.Load(in);
    in.ExpectEnd();
    for (int i = 0; i < 10; ++i) {
      const uint64_t word = stream();
      EXPECT_EQ(from_state(), word) << used;
      EXPECT_EQ(from_bytes(), word) << used;
    }
  }
}

TEST(RandomStream, LoadRefusesWhatIsNotItsOwnState) {
  RandomStream stream(kSeed, "saved");
  ByteWriter out;
  RandomStream(kSeed + 1, "saved").Save(out);
  ByteReader other_seed(out.bytes(), "checkpoint");
  EXPECT_THROW(stream.Load(other_seed), Error);

  ByteWriter saved;
  stream.Save(saved);
  std::vector<std::byte> bytes(saved.bytes().begin(), saved.bytes().end());
  bytes.back() = std::byte{4};
  ByteReader bad_position(bytes, "checkpoint");
  EXPECT_THROW(stream.Load(bad_position), Error);
  ByteReader truncated{std::span(bytes).first(24), "checkpoint"};
  EXPECT_THROW(stream.Load(truncated), Error);
  EXPECT_THROW(stream.set_state({{1, 2}, 0, 4}), Error);
  EXPECT_EQ(stream.state(), RandomStream(kSeed, "saved").state())
      << "a failed load changes nothing";
}

}  // namespace stableaa::random_test
