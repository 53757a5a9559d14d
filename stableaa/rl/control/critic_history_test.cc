#include "stableaa/rl/control/critic_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"

namespace stableaa::critic_history_test {

constexpr std::size_t kObserved = 3, kElements = 2;

std::shared_ptr<const Plan> CriticPlan() {
  return std::make_shared<const Plan>(MakePlan(ParseSpec("vector(3, 2) linear(6) relu linear(1)")));
}

// Pairs of a replay: their numbers follow from their ids alone.
struct Pairs {
  std::vector<std::int64_t> ids;
  std::vector<float> states, actions;

  explicit Pairs(std::vector<std::int64_t> of) : ids(std::move(of)) {
    for (const std::int64_t id : ids) {
      RandomStream random(static_cast<std::uint64_t>(id), "pair");
      for (std::size_t k = 0; k < kObserved; ++k) states.push_back(random.UniformFloat());
      for (std::size_t k = 0; k < kElements; ++k) actions.push_back(random.UniformFloat());
    }
  }
  StateActions view() const { return {ids.size(), states, actions}; }
};

struct Bench {
  CriticHistoryOptions options;
  std::shared_ptr<const Plan> plan = CriticPlan();
  CriticValues values{plan, 1};
  CriticHistory history;
  CriticSet average;
  RandomStream random{1, "critics"};

  explicit Bench(const CriticHistoryOptions& of) : options(of), history(of, plan, values) {
    for (int c = 0; c < 2; ++c) average.emplace_back(plan);
  }

  // Makes the average one whose value of everything is `stamp`.
  void Stamp(int stamp) {
    for (std::size_t c = 0; c < average.size(); ++c) {
      const ParameterTensor bias = ParameterTensors(*plan).back();
      const float value = static_cast<float>(stamp) + static_cast<float>(c) / 2;
      average[c].Set(bias, {&value, 1});
    }
  }
  std::vector<int> Stamps() {
    const Pairs one({0});
    const auto members = history.Members(average);
    std::vector<float> out(members.size());
    values.Compute(members, one.view(), out);
    EXPECT_EQ(std::ssize(members), history.count());
    return {out.begin(), out.end()};
  }
  void Initialise() {
    for (Parameters& critic : average) critic.Initialise(random);
  }
  // What the history should answer, computed anew.
  std::vector<float> Recomputed(const Pairs& pairs) {
    const auto members = history.Members(average);
    std::vector<float> out(members.size() * pairs.ids.size());
    values.Compute(members, pairs.view(), out);
    return out;
  }
  std::vector<float> Stored(const Pairs& pairs) {
    std::vector<float> out(static_cast<std::size_t>(history.count()) * pairs.ids.size());
    history.StoredValues(average, pairs.view(), pairs.ids, out);
    return out;
  }
};

TEST(CriticHistory, OfOneMemberHasThePresentAverageOnly) {
  for (const WindowKind window : {WindowKind::kConsecutive, WindowKind::kSpaced}) {
    Bench bench({.window = window, .members = 1});
    for (int k = 0; k < 5; ++k) {
      bench.history.BeforeMove(bench.average);
      bench.Stamp(k);
      bench.history.TakeCopy(bench.average);
      EXPECT_EQ(bench.Stamps(), (std::vector<int>{k}));
    }
  }
}

TEST(CriticHistory, OfConsecutiveAveragesHasThoseAfterTheLastMoves) {
  Bench bench({.window = WindowKind::kConsecutive, .members = 3});
  bench.Stamp(0);
  EXPECT_EQ(bench.Stamps(), (std::vector<int>{0}));
  for (int move = 1; move < 10; ++move) {
    bench.history.BeforeMove(bench.average);
    bench.Stamp(move);
    bench.history.TakeCopy(bench.average);  // changes nothing
    std::vector<int> expected;
    for (int k = std::max(0, move - 2); k <= move; ++k) expected.push_back(k);
    EXPECT_EQ(bench.Stamps(), expected);
  }
}

// The average moves in each update and is stamped with their number.
TEST(CriticHistory, OfSpacedCopiesHasThoseOfTheIntervalsBeforeTheLastAndThePresentAverage) {
  constexpr int kInterval = 4;
  Bench bench({.window = WindowKind::kSpaced, .members = 3});
  for (int update = 1; update <= 30; ++update) {
    bench.history.BeforeMove(bench.average);  // changes nothing
    bench.Stamp(update);
    if (update % kInterval == 0) bench.history.TakeCopy(bench.average);
    const int taken = update / kInterval;  // of which the last waits
    std::vector<int> expected;
    for (int k = std::max(1, taken - 2); k < taken; ++k) expected.push_back(k * kInterval);
    expected.push_back(update);
    const std::vector<int> found = bench.Stamps();
    ASSERT_EQ(found, expected) << "update " << update;
    for (std::size_t i = 1; i < found.size(); ++i) EXPECT_GE(found[i] - found[i - 1], kInterval);
  }
}

TEST(CriticHistory, AnswersFromItsCacheWhatItWouldComputeBitForBit) {
  constexpr std::int64_t kCached = 32;
  Bench bench({.window = WindowKind::kSpaced, .members = 4, .cached_states = kCached});
  std::int64_t newest = kCached;  // ids go round the ring as a replay's do
  for (int update = 1; update <= 300; ++update) {
    ++newest;
    bench.Initialise();
    std::vector<std::int64_t> ids;
    for (int j = 0; j < 9; ++j) {
      ids.push_back(bench.random.Integer(newest - kCached, newest - 1));
    }
    const Pairs pairs(ids);
    ASSERT_EQ(bench.Stored(pairs), bench.Recomputed(pairs)) << "update " << update;
    if (update % 25 == 0) bench.history.TakeCopy(bench.average);
  }
  const CriticHistory::Counts& counts = bench.history.counts();
  EXPECT_GT(counts.asked, 3 * 200 * 9);
  EXPECT_LT(counts.computed, counts.asked / 2);
  EXPECT_GT(counts.computed, 0);
}

TEST(CriticHistory, NeverTakesAPairForAnotherInTheSamePlace) {
  constexpr std::int64_t kCached = 8;
  Bench bench({.window = WindowKind::kSpaced, .members = 2, .cached_states = kCached});
  bench.Initialise();
  bench.history.TakeCopy(bench.average);
  bench.Initialise();
  bench.history.TakeCopy(bench.average);
  ASSERT_EQ(bench.history.count(), 2);
  for (const std::int64_t round : {0, 1, 2, 1, 0, 1'000'000}) {
    std::vector<std::int64_t> ids = {5 + round * kCached, round * kCached};
    EXPECT_EQ(bench.Stored(Pairs(ids)), bench.Recomputed(Pairs(ids))) << round;
  }
  // One after the other within a batch too, and one twice.
  const Pairs both({3, 3 + kCached, 3, 3 + 2 * kCached});
  EXPECT_EQ(bench.Stored(both), bench.Recomputed(both));
}

TEST(CriticHistory, ForgetsTheValuesOfCopiesThatItDrops) {
  Bench bench({.window = WindowKind::kSpaced, .members = 3, .cached_states = 8});
  const Pairs pairs({0, 1, 2, 3, 4, 5, 6, 7});
  for (int k = 0; k < 20; ++k) {  // copies go into the memory of those before them
    bench.Initialise();
    bench.history.TakeCopy(bench.average);
    EXPECT_EQ(bench.Stored(pairs), bench.Recomputed(pairs));
    EXPECT_EQ(bench.Stored(pairs), bench.Recomputed(pairs));
  }
}

std::vector<std::byte> Saved(const CriticHistory& history) {
  ByteWriter out;
  history.Save(out);
  return {out.bytes().begin(), out.bytes().end()};
}

void Load(Bench& bench, std::span<const std::byte> bytes) {
  ByteReader in(bytes, "history");
  bench.history.Load(in, bench.average);
  in.ExpectEnd();
}

TEST(CriticHistory, LoadedItGoesOnTheSame) {
  const Pairs pairs({0, 1, 2, 3});
  for (const WindowKind window : {WindowKind::kConsecutive, WindowKind::kSpaced}) {
    const bool caches = window == WindowKind::kSpaced;
    const CriticHistoryOptions options = {
        .window = window, .members = 3, .cached_states = caches ? 16 : 0};
    for (int before = 0; before < 6; ++before) {
      Bench bench(options), loaded(options);
      // Something else, with cached values, that loading replaces.
      for (int k = 0; k < 4; ++k) {
        loaded.history.BeforeMove(loaded.average);
        loaded.Initialise();
        loaded.history.TakeCopy(loaded.average);
        loaded.Stored(pairs);
      }
      const auto move = [](Bench& of, int stamp) {
        of.history.BeforeMove(of.average);
        of.Stamp(stamp);
        of.history.TakeCopy(of.average);
      };
      for (int k = 0; k < before; ++k) move(bench, k);
      Load(loaded, Saved(bench.history));
      EXPECT_EQ(Saved(loaded.history), Saved(bench.history));
      loaded.average[0].CopyFrom(bench.average[0]);
      loaded.average[1].CopyFrom(bench.average[1]);
      for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(loaded.Stamps(), bench.Stamps());
        EXPECT_EQ(loaded.Stored(pairs), bench.Stored(pairs));
        move(bench, 10 + k);
        move(loaded, 10 + k);
      }
    }
  }
}

TEST(CriticHistory, RefusesCopiesThatOtherOptionsKept) {
  const CriticHistoryOptions spaced = {.window = WindowKind::kSpaced, .members = 3};
  Bench bench(spaced);
  bench.history.TakeCopy(bench.average);
  bench.history.TakeCopy(bench.average);
  bench.history.TakeCopy(bench.average);
  const std::vector<std::byte> saved = Saved(bench.history);
  const auto complaint_with = [&](const CriticHistoryOptions& options) {
    Bench other(options);
    return MessageOf([&] { Load(other, saved); });
  };
  EXPECT_EQ(complaint_with(spaced), "no error");
  EXPECT_NE(complaint_with({.window = WindowKind::kSpaced, .members = 2})
                .find("expected at most 1 copies of critics"),
            std::string::npos);
  EXPECT_NE(complaint_with({.window = WindowKind::kConsecutive, .members = 3})
                .find("expected no copy of critics that waits to join"),
            std::string::npos);
}

TEST(CriticHistory, RefusesWeightsThatAreNotNumbers) {
  Bench bench({.window = WindowKind::kSpaced, .members = 3}), other(bench.options);
  bench.average[1].block()[0] = HUGE_VALF;
  bench.history.TakeCopy(bench.average);
  EXPECT_NE(MessageOf([&] { Load(other, Saved(bench.history)); }).find("finite weights"),
            std::string::npos);
}

}  // namespace stableaa::critic_history_test
