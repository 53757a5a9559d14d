// A replay with a stream for each of several environments.
#include "stableaa/rl/replay/replay_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/rl/replay/naive_replay_test.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::replay_stream_test {

using naive_replay_test::kDiscount;
using naive_replay_test::NaiveReplay;
using naive_replay_test::Player;
using naive_replay_test::Saved;
using naive_replay_test::Shape;

struct StreamsCase {
  ReplayOptions options = {};
  int n_step = 1;
  int streams = 1;
  Shape shape = {};

  Replay Make() const {
    return {options, {.n_step = n_step, .discount = kDiscount}, shape.frames, shape.actions(), 5,
            streams};
  }
};

// Plays all streams, some of them more often than others, and knows what should be there.
class Players {
 public:
  Players(const StreamsCase& setup, Replay& replay) {
    ReplayOptions share = setup.options;
    share.size = (setup.options.size + setup.streams - 1) / setup.streams;
    for (int i = 0; i < setup.streams; ++i) {
      players_.emplace_back(replay, share, setup.n_step, setup.shape, 10 + i, i);
    }
  }

  void Play(int steps) {
    for (int k = 0; k < steps; ++k) {
      for (std::size_t i = 0; i < players_.size(); ++i) {
        // Episodes of different lengths make streams drift apart; so does this.
        if (i == 0 || !random_.Bernoulli(.1)) players_[i].Step();
      }
    }
  }

  const NaiveReplay& naive(std::size_t i) const { return players_[i].naive(); }
  void set_replay(Replay& replay) {
    for (Player& player : players_) player.set_replay(replay);
  }

  // The ids that can be sampled, in order.
  std::vector<std::int64_t> Ids() const {
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < players_.size(); ++i) {
      for (const std::int64_t id : naive(i).Ids()) ids.push_back(Global(i, id));
    }
    std::ranges::sort(ids);
    return ids;
  }

  void ExpectAsNaive(const ReplayBatch& batch, const FrameShape& shape) const {
    const auto count = static_cast<std::int64_t>(players_.size());
    for (std::size_t j = 0; j < batch.count(); ++j) {
      const std::int64_t id = batch.ids[j];
      const auto of = static_cast<std::size_t>(id % count);
      const auto expected = naive(of).At(id / count);
      ASSERT_TRUE(expected.has_value()) << id;
      ASSERT_EQ(batch.next_ids[j], Global(of, expected->next)) << id;
      ASSERT_EQ(batch.actions[j], expected->action) << id;
      ASSERT_EQ(batch.rewards[j], expected->reward) << id;
      ASSERT_EQ(batch.discounts[j], expected->discount) << id;
      const auto observation = [&](std::int64_t state) {
        return naive(of).states[static_cast<std::size_t>(state)].observation;
      };
      ASSERT_EQ(naive_replay_test::Joined(batch.State(j, shape.stack), shape.frame_bytes),
                observation(id / count));
      ASSERT_EQ(naive_replay_test::Joined(batch.Next(j, shape.stack), shape.frame_bytes),
                observation(expected->next));
    }
  }

 private:
  std::int64_t Global(std::size_t stream, std::int64_t id) const {
    return id * std::ssize(players_) + static_cast<std::int64_t>(stream);
  }

  std::vector<Player> players_;
  RandomStream random_{1, "players"};
};

TEST(ReplayStreams, KeepStacksAndReturnsApart) {
  for (const int streams : {2, 3, 16}) {
    for (const int n_step : {1, 4}) {
      for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
        const StreamsCase setup = {.options = {.size = 200, .compression = compression},
                                   .n_step = n_step,
                                   .streams = streams};
        Replay replay = setup.Make();
        Players players(setup, replay);
        RandomStream random(1, "sample");
        ReplayBatch batch;
        for (int part = 0; part < 40; ++part) {
          players.Play(7);
          const std::vector<std::int64_t> ids = players.Ids();
          ASSERT_EQ(replay.transitions(), std::ssize(ids));
          replay.Read(ids, batch);
          players.ExpectAsNaive(batch, setup.shape.frames);
          if (HasFatalFailure()) return;
          if (ids.empty()) continue;
          replay.SampleUniform(20, random, batch.ids);
          for (const std::int64_t id : batch.ids) ASSERT_TRUE(std::ranges::binary_search(ids, id));
        }
      }
    }
  }
}

// How far counts are from what is expected of them, in units of the standard deviation of the sum
// of squares if all is well.
double Surprise(const std::map<std::int64_t, double>& counts,
                const std::map<std::int64_t, double>& expected) {
  double chi_square = 0;
  for (const auto& [id, mean] : expected) {
    const auto found = counts.find(id);
    chi_square += std::pow((found == counts.end() ? 0 : found->second) - mean, 2) / mean;
  }
  const double degrees = static_cast<double>(expected.size()) - 1;
  return (chi_square - degrees) / std::sqrt(2 * degrees);
}

TEST(ReplayStreams, AreSampledUniformly) {
  // False alarm: below 1e-6 (the sum of squares has some 180 degrees of freedom).
  const StreamsCase setup = {.options = {.size = 200}, .n_step = 3, .streams = 3};
  Replay replay = setup.Make();
  Players players(setup, replay);
  players.Play(150);
  RandomStream random(1, "sample");
  std::map<std::int64_t, double> counts, expected;
  std::vector<std::int64_t> ids;
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) {
    replay.SampleUniform(32, random, ids);
    for (const std::int64_t id : ids) ++counts[id];
  }
  const std::vector<std::int64_t> all = players.Ids();
  for (const std::int64_t id : all) expected[id] = 32. * kRounds / static_cast<double>(all.size());
  EXPECT_EQ(counts.size(), all.size());
  EXPECT_LT(Surprise(counts, expected), 6);
}

TEST(ReplayStreams, AreSampledByPriority) {
  // Stratification makes counts vary less than independent draws would: false alarm below 1e-6.
  const StreamsCase setup = {
      .options = {.size = 100, .prioritized = true, .priority_exponent = .5, .priority_floor = .01},
      .n_step = 2,
      .streams = 4};
  Replay replay = setup.Make();
  Players players(setup, replay);
  players.Play(200);
  const std::vector<std::int64_t> all = players.Ids();
  RandomStream random(1, "sample");
  std::vector<float> errors;
  std::map<std::int64_t, double> counts, expected;
  double total = 0;
  for (const std::int64_t id : all) {
    errors.push_back(static_cast<float>(random.Uniform(-4, 4)));
    expected[id] = std::pow(std::abs(double{errors.back()}) + .01, .5);
    total += expected[id];
  }
  replay.SetPriorities(all, errors);
  constexpr int kRounds = 3000;
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  for (int i = 0; i < kRounds; ++i) {
    replay.Sample(7, .6, random, ids, weights);
    for (const std::int64_t id : ids) ++counts[id];
  }
  for (auto& [id, mean] : expected) mean *= 7. * kRounds / total;
  for (const auto& [id, count] : counts) ASSERT_TRUE(expected.contains(id)) << id;
  EXPECT_LT(Surprise(counts, expected), 6);
}

TEST(ReplayStreams, GoOnIdenticallyFromACheckpoint) {
  for (const bool prioritized : {false, true}) {
    const StreamsCase setup = {
        .options = {.size = 90, .prioritized = prioritized}, .n_step = 3, .streams = 3};
    const TemporaryFolder directory(TemporaryFolder::InMemory());
    Replay replay = setup.Make();
    Players players(setup, replay);
    for (int part = 0; part < 30; ++part) {
      const std::vector<std::byte> state = Saved(replay, directory.path());
      Replay loaded = setup.Make();
      ByteReader in(state, "state");
      loaded.Load(in, directory.path());
      in.ExpectEnd();
      ASSERT_EQ(Saved(loaded, directory.path()), state);

      Players twins = players;
      twins.set_replay(loaded);
      players.Play(5);
      twins.Play(5);
      ASSERT_EQ(replay.transitions(), loaded.transitions());
      if (replay.transitions() == 0) continue;
      RandomStream random(1, "future"), same(1, "future");
      ReplayBatch batch, copy;
      replay.Sample(8, .5, random, batch.ids, batch.weights);
      loaded.Sample(8, .5, same, copy.ids, copy.weights);
      ASSERT_EQ(batch.ids, copy.ids);
      ASSERT_EQ(batch.weights, copy.weights);
      loaded.Read(copy.ids, copy);
      twins.ExpectAsNaive(copy, setup.shape.frames);
      std::vector<float> errors;
      for (const std::int64_t id : batch.ids) errors.push_back(static_cast<float>(id % 7));
      replay.SetPriorities(batch.ids, errors);
    }
    for (const auto& file : std::filesystem::directory_iterator(directory.path())) {
      EXPECT_TRUE(file.path().filename().string().starts_with("stream-000")) << file.path();
    }
  }
}

TEST(ReplayStreams, OtherNumbersOfThemAreRefused) {
  const StreamsCase two = {.options = {.size = 90}, .streams = 2};
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = two.Make();
  Players players(two, replay);
  players.Play(60);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  for (const int streams : {1, 3}) {
    Replay other = StreamsCase{.options = {.size = 90}, .streams = streams}.Make();
    const auto load = [&] {
      ByteReader in(state, "state");
      other.Load(in, directory.path());
      in.ExpectEnd();
    };
    EXPECT_NE(MessageOf(load, Error::Kind::kBadInput), "no error") << streams;
  }
}

TEST(ReplayStreams, NeedMoreStatesThanAReturnHasSteps) {
  EXPECT_EQ(MessageOf([] {
              Replay({.size = 16}, {.n_step = 4}, {.stack = 1, .frame_bytes = 4}, {.count = 3}, 0,
                     4);
            }),
            "replay.size: expected more states for each of 4 environments than the 4 steps of a "
            "return, found 4");
}

TEST(ReplayStreams, HoldTheirShareOfTheStates) {
  const StreamsCase setup = {.options = {.size = 100}, .streams = 7};
  Replay replay = setup.Make();
  EXPECT_EQ(replay.slots(), 105);
  Players players(setup, replay);
  players.Play(500);
  EXPECT_GE(replay.states(), 100);
  EXPECT_LT(replay.states(), 100 + 7 * (5 + 5 + 3));
}

std::size_t FilesIn(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), {}));
}

// A share of 10 states is not cut into files of one state each.
TEST(ReplayStreams, WithASmallShareEachHaveFewFiles) {
  const StreamsCase setup = {.options = {.size = 1000}, .streams = 100};
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  Players players(setup, replay);
  for (int part = 0; part < 4; ++part) {
    players.Play(30);
    Saved(replay, directory.path());
    EXPECT_LE(FilesIn(directory.path()), 2U * 100);
  }
  EXPECT_GE(FilesIn(directory.path()), 50U);
  const auto estimated = static_cast<double>(
      Replay::EstimateBytes(setup.options, setup.shape.frames, setup.shape.actions(), 5, 100));
  EXPECT_LE(static_cast<double>(replay.bytes()) / estimated, 1.1);
}

TEST(ReplayStreams, RemoveTheirOwnFilesOnly) {
  const StreamsCase setup = {.options = {.size = 90}, .streams = 3};
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  const std::vector<std::string> own = {"stream-0000-segment-00000999.bin",
                                        "stream-0002-segment-00000999.bin"};
  const std::vector<std::string> others = {"stream-0003-segment-00000999.bin",
                                           "stream-0001-segment-999.bin",
                                           "stream-00010-segment-00000999.bin",
                                           "segment-00000999.bin",
                                           "state.bin",
                                           "s"};
  for (const std::vector<std::string>& names : {own, others}) {
    for (const std::string& name : names) std::ofstream(directory / name) << "touched";
  }
  Replay replay = setup.Make();
  Players players(setup, replay);
  players.Play(60);
  Saved(replay, directory.path());
  for (const std::string& name : own) EXPECT_FALSE(std::filesystem::exists(directory / name));
  for (const std::string& name : others) {
    EXPECT_TRUE(std::filesystem::exists(directory / name)) << name;
  }
}

// One scan for each stream would take 1000 times as long as one for all of them.
TEST(BenchReplayStreams, FindOldFilesInOneScanOfTheDirectory) {
  const StreamsCase setup = {.options = {.size = 10'000}, .streams = 1000};
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  for (int i = 0; i < 3000; ++i) std::ofstream(directory / std::to_string(i)) << "touched";
  const Replay replay = setup.Make();
  const auto seconds_of = [](const auto& work) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      const Stopwatch watch;
      work();
      least = std::min(least, watch.Seconds());
    }
    return least;
  };
  const double scan = seconds_of([&] { EXPECT_EQ(FilesIn(directory.path()), 3000U); });
  EXPECT_LE(seconds_of([&] { replay.RemoveOldSegments(directory.path()); }), 50 * scan);
}

}  // namespace stableaa::replay_stream_test
