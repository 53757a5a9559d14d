#include "stableaa/rl/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/replay/naive_replay_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::replay_sampling_test {

using naive_replay_test::Case;
using naive_replay_test::Player;
using naive_replay_test::Saved;

// Quantile of the chi-square distribution that is exceeded with probability 1e-6 (Wilson and
// Hilferty's approximation).
double ChiSquareLimit(double degrees) {
  const double z = InverseNormalCdf(1 - 1e-6);
  const double part = 2 / (9 * degrees);
  return degrees * std::pow(1 - part + z * std::sqrt(part), 3);
}

TEST(ReplaySampling, IsUniformOverTheTransitions) {
  // False alarm: 1e-6.
  for (const double ends : {.02, .9}) {
    const Case setup = {.options = {.size = 200}, .n_step = 3, .shape = {.ends = ends}};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    player.Play(333);
    RandomStream random(1, "sample");
    std::map<std::int64_t, double> counts;
    std::vector<std::int64_t> ids;
    constexpr int kRounds = 2000;
    for (int i = 0; i < kRounds; ++i) {
      replay.SampleUniform(32, random, ids);
      for (const std::int64_t id : ids) ++counts[id];
    }
    const auto all = player.naive().Ids();
    const double expected = 32. * kRounds / static_cast<double>(all.size());
    double chi_square = 0;
    for (const std::int64_t id : all) {
      chi_square += std::pow(counts[id] - expected, 2) / expected;
    }
    EXPECT_EQ(counts.size(), all.size());
    EXPECT_LT(chi_square, ChiSquareLimit(static_cast<double>(all.size() - 1)));
  }
}

ReplayOptions Prioritized(std::int64_t size) {
  return {.size = size, .prioritized = true, .priority_exponent = .5, .priority_floor = .01};
}

// priority^exponent for an error passed to SetPriorities.
double Powered(float error) { return std::pow(std::abs(double{error}) + .01, .5); }

TEST(ReplaySampling, IsInProportionToPowersOfPriorities) {
  // Stratification makes counts vary less than independent draws would: false alarm below 1e-6.
  const Case setup = {.options = Prioritized(100), .n_step = 2};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(777);
  const std::vector<std::int64_t> all = player.naive().Ids();
  RandomStream random(1, "sample");
  std::vector<float> errors;
  std::map<std::int64_t, double> priorities;
  double total = 0;
  for (const std::int64_t id : all) {
    errors.push_back(static_cast<float>(random.Uniform(-4, 4)));
    priorities[id] = Powered(errors.back());
    total += priorities[id];
  }
  replay.SetPriorities(all, errors);
  std::map<std::int64_t, double> counts;
  constexpr int kRounds = 3000;
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  for (int i = 0; i < kRounds; ++i) {
    replay.Sample(7, .6, random, ids, weights);
    double largest = 0;
    std::vector<double> expected;
    for (const std::int64_t id : ids) {
      ++counts[id];
      const double n = static_cast<double>(all.size());
      expected.push_back(std::pow(n * priorities[id] / total, -.6));
      largest = std::max(largest, expected.back());
    }
    ASSERT_EQ(weights.size(), 7);
    for (std::size_t j = 0; j < 7; ++j) ASSERT_NEAR(weights[j], expected[j] / largest, 1e-6);
  }
  double chi_square = 0;
  for (const std::int64_t id : all) {
    const double expected = 7. * kRounds * priorities[id] / total;
    chi_square += std::pow(counts[id] - expected, 2) / expected;
  }
  EXPECT_LT(chi_square, ChiSquareLimit(static_cast<double>(all.size() - 1)));
}

TEST(ReplaySampling, TakesOneFromEachStratum) {
  const Case setup = {.options = Prioritized(64), .shape = {.ends = 0}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(65 + 64);  // 63 of equal priority
  const auto all = player.naive().Ids();
  ASSERT_EQ(all.size(), 63);
  RandomStream random(1, "sample");
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  for (int i = 0; i < 20; ++i) {
    replay.Sample(63, 1, random, ids, weights);
    std::ranges::sort(ids);
    EXPECT_EQ(ids, all);
  }
}

TEST(ReplaySampling, NewTransitionsHaveTheLargestPrioritySoFar) {
  const Case setup = {.options = Prioritized(1000), .shape = {.ends = 0}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(3);  // transitions 0 and 1
  replay.SetPriorities(std::vector<std::int64_t>{0, 1}, std::vector<float>{-24.99F, 0.F});
  replay.SetPriorities(std::vector<std::int64_t>{0}, std::vector<float>{3.99F});
  player.Play(1);
  // Now sqrt(4), sqrt(.01), sqrt(25).
  RandomStream random(1, "sample");
  std::vector<double> counts(3);
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  constexpr int kRounds = 71'000;
  for (int i = 0; i < kRounds; ++i) {
    replay.Sample(1, 1, random, ids, weights);
    ++counts[static_cast<std::size_t>(ids[0])];
    EXPECT_EQ(weights[0], 1);
  }
  const std::vector<double> expected = {20'000, 1'000, 50'000};
  double chi_square = 0;  // false alarm: 1e-6
  for (std::size_t i = 0; i < 3; ++i) {
    chi_square += std::pow(counts[i] - expected[i], 2) / expected[i];
  }
  EXPECT_LT(chi_square, ChiSquareLimit(2));
}

TEST(ReplaySampling, OnlyTransitionsOfTheNewestStatesAreSampledByPriority) {
  for (const int n_step : {1, 4}) {
    for (const double ends : {.02, .3, .95}) {
      const Case setup = {.options = Prioritized(20), .n_step = n_step, .shape = {.ends = ends}};
      Replay replay = setup.Make();
      Player player = setup.MakePlayer(replay);
      RandomStream random(1, "sample");
      ReplayBatch batch;
      std::vector<std::int64_t> stale;
      for (int step = 0; step < 300; ++step) {
        player.Step();
        const auto all = player.naive().Ids();
        ASSERT_EQ(replay.transitions(), std::ssize(all));
        if (all.empty()) continue;
        replay.Sample(40, 1, random, batch.ids, batch.weights);
        for (const std::int64_t id : batch.ids) ASSERT_TRUE(std::ranges::binary_search(all, id));
        // Ids that are gone, not there yet or not transitions do no harm.
        stale.insert(stale.end(), {batch.ids[0], step + 1, -1, step + 1'000'000});
        const std::vector<float> errors(stale.size(), 1e-3F);
        replay.SetPriorities(stale, errors);
      }
    }
  }
}

TEST(ReplaySampling, ErrorsThatAreNotFiniteAreRefused) {
  const Case setup = {.options = Prioritized(20), .shape = {.ends = 0}};
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(10);
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  const auto before = Saved(replay, directory.path());
  for (const float error : {NAN, INFINITY, -INFINITY}) {
    const auto set = [&] {
      replay.SetPriorities(std::vector<std::int64_t>{0, 1}, std::vector<float>{2.F, error});
    };
    EXPECT_NE(MessageOf(set, Error::Kind::kWorkFailed), "no error");
  }
  EXPECT_EQ(Saved(replay, directory.path()), before);
}

TEST(ReplaySampling, UniformReplaysIgnorePriorities) {
  const Case setup = {.options = {.size = 20}};
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(10);
  replay.SetPriorities(std::vector<std::int64_t>{0}, std::vector<float>{NAN});
  RandomStream one(1, "sample"), other(1, "sample");
  std::vector<std::int64_t> ids, others;
  std::vector<float> weights = {1, 2, 3};
  replay.Sample(8, .5, one, ids, weights);
  replay.SampleUniform(8, other, others);
  EXPECT_EQ(ids, others);
  EXPECT_TRUE(weights.empty());
}

}  // namespace stableaa::replay_sampling_test
