#include "stableaa/rl/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/replay/naive_replay_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::replay_test {

namespace fs = std::filesystem;
using naive_replay_test::Bytes;
using naive_replay_test::Case;
using naive_replay_test::ExpectAsNaive;
using naive_replay_test::Player;
using naive_replay_test::Saved;

constexpr ActionShape kActions = {.count = 3};

using DefinitionParam = std::tuple<Compression, int, int, int>;  // n, stack, size
class ReplayTransitions : public testing::TestWithParam<DefinitionParam> {};
INSTANTIATE_TEST_SUITE_P(All, ReplayTransitions,
                         testing::Combine(testing::Values(Compression::kNone, Compression::kLz4,
                                                          Compression::kZstd),
                                          testing::Values(1, 2, 3, 7), testing::Values(1, 4),
                                          testing::Values(8, 50, 300)));

TEST_P(ReplayTransitions, AreThoseOfTheDefinitionAfterEveryStep) {
  const auto [compression, n_step, stack, size] = GetParam();
  for (const double ends : {.02, .3, .95}) {
    const Case setup = {.options = {.size = size, .compression = compression},
                        .n_step = n_step,
                        .shape = {.frames = {.stack = stack, .frame_bytes = 30}, .ends = ends}};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    RandomStream random(1, "sample");
    ReplayBatch batch;
    const int steps = 3 * size + 100;
    for (int step = 0; step < steps; ++step) {
      player.Step();
      ASSERT_EQ(replay.stream(0).next_id(), std::ssize(player.naive().states));
      if (size > 50 && step % 17 != 0) continue;
      const std::vector<std::int64_t> ids = player.naive().Ids();
      ASSERT_EQ(replay.transitions(), std::ssize(ids)) << step;
      if (step % 5 == 0) {
        replay.Read(ids, batch);
        ASSERT_EQ(batch.ids, ids);
        ExpectAsNaive(batch, player.naive(), setup.shape.frames);
      }
      if (ids.empty()) continue;
      replay.SampleUniform(10, random, batch.ids);
      ASSERT_EQ(batch.ids.size(), 10);
      for (const std::int64_t id : batch.ids) ASSERT_TRUE(std::ranges::binary_search(ids, id));
    }
  }
}

TEST(Replay, KeepsContinuousActionsWithTheirTransitions) {
  for (const int floats : {1, 3, 17}) {
    for (const int n_step : {1, 3}) {
      const Case setup = {.options = {.size = 50, .prioritized = n_step == 3},
                          .n_step = n_step,
                          .shape = {.floats = floats}};
      Replay replay = setup.Make();
      Player player = setup.MakePlayer(replay);
      ReplayBatch batch;
      for (int part = 0; part < 30; ++part) {
        player.Play(13);
        replay.Read(player.naive().Ids(), batch);
        ASSERT_EQ(batch.action_values.size(), batch.count() * static_cast<std::size_t>(floats));
        ExpectAsNaive(batch, player.naive(), setup.shape.frames);
      }
    }
  }
}

TEST(Replay, TakesOnlyActionsOfItsShape) {
  const Case setup = {.options = {.size = 16}, .shape = {.floats = 2}};
  Replay replay = setup.Make();
  const Bytes observation(setup.shape.frames.observation_bytes());
  replay.Begin(observation);
  const auto add = [&](const TakenAction& action) {
    replay.Add(action, 0, false, false, observation);
  };
  const std::vector<float> good = {1, -1}, short_one = {1},
                           bad = {1, std::numeric_limits<float>::infinity()};
  EXPECT_NO_THROW(add({.values = good}));
  EXPECT_THROW(add({.values = short_one}), std::logic_error);
  EXPECT_THROW(add({.values = bad}), std::logic_error);
  EXPECT_THROW(add({0}), std::logic_error);
  EXPECT_THROW(add({.index = 1, .values = good}), std::logic_error);
  for (const ActionShape shape : {ActionShape{0, 0}, ActionShape{2, 3}, ActionShape{1, -1},
                                  ActionShape{1, ActionShape::kMaxFloats + 1}}) {
    ExpectBadInput([&] { Replay({}, {}, setup.shape.frames, shape, 0); });
  }
}

TEST(Replay, ManySegmentsOfFullSizeWrapAround) {
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    const Case setup = {.options = {.size = 9000, .compression = compression},
                        .n_step = 3,
                        .shape = {.frames = {.stack = 4, .frame_bytes = 20}, .ends = .02}};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    ReplayBatch batch;
    for (int part = 0; part < 5; ++part) {
      player.Play(5000);
      const std::vector<std::int64_t> ids = player.naive().Ids();
      ASSERT_EQ(replay.transitions(), std::ssize(ids));
      replay.Read(ids, batch);
      ExpectAsNaive(batch, player.naive(), setup.shape.frames);
    }
    EXPECT_GE(replay.states(), 9000);
    EXPECT_LT(replay.states(), 9000 + 1024);
  }
}

TEST(Replay, BatchesMayBeReadIntoTheIdsThatWereSampledIntoThem) {
  const Case setup = {.options = {.size = 100}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(90);
  RandomStream random(1, "sample");
  ReplayBatch batch;
  for (const int count : {5, 50, 1}) {
    replay.Sample(count, 1, random, batch.ids, batch.weights);
    replay.Read(batch.ids, batch);
    EXPECT_EQ(batch.count(), static_cast<std::size_t>(count));
    EXPECT_TRUE(batch.weights.empty());
    ExpectAsNaive(batch, player.naive(), setup.shape.frames);
  }
}

TEST(Replay, ABatchStaysWhatItIsWhileTheReplayGoesOn) {
  const Case setup = {.options = {.size = 50}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(60);
  ReplayBatch batch;
  replay.Read(player.naive().Ids(), batch);
  player.Play(500);
  ExpectAsNaive(batch, player.naive(), setup.shape.frames);
}

TEST(Replay, FramesThatStatesShareAreReadOnce) {
  const Case setup = {.options = {.size = 100'000}};
  Replay replay = setup.Make();
  Bytes observation(setup.shape.frames.observation_bytes());
  std::iota(observation.begin(), observation.end(), std::uint8_t{0});
  replay.Begin(observation);
  std::rotate(observation.begin(), observation.begin() + 30, observation.end());
  replay.Add({0}, 0, false, false, observation);
  ReplayBatch batch;
  replay.Read(std::vector<std::int64_t>{0}, batch);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(batch.Next(0, 4)[i], batch.State(0, 4)[i + 1]);
  EXPECT_EQ(batch.storage.size(), 5 * 30);
}

TEST(Replay, FramesThatObservationsShareAreStoredOnce) {
  const FrameShape shape = {.stack = 4, .frame_bytes = 1000};
  const auto bytes_after = [&](int new_frames) {
    Replay replay({.size = 80'000}, {}, shape, kActions, 0);
    RandomStream random(1, "frames");
    Bytes observation(shape.observation_bytes());
    replay.Begin(observation);
    for (int i = 0; i < 1000; ++i) {
      for (int k = 0; k < new_frames; ++k) {
        std::rotate(observation.begin(), observation.begin() + 1000, observation.end());
        for (std::size_t j = 3000; j < 4000; ++j) {
          observation[j] = static_cast<std::uint8_t>(random());
        }
      }
      const bool ends = i % 10 == 9;  // frames are shared across these ends too
      replay.Add({0}, 0, ends, false, observation);
      if (ends) replay.Begin(observation);
    }
    EXPECT_EQ(replay.bytes_per_frame(), 1000);

    const TemporaryFolder directory(TemporaryFolder::InMemory());
    return Saved(replay, directory.path()).size() +
           (fs::is_empty(directory.path()) ? 0 : fs::file_size(directory / "segment-00000000.bin"));
  };
  // Three more frames for the segment that holds the last of the 1101 states.
  const std::size_t none = bytes_after(0);
  EXPECT_LT(none, 8000 + 1101 * 13 + 300);
  for (const std::size_t k : {1U, 2U, 4U}) {
    const std::size_t grown = bytes_after(static_cast<int>(k)) - none;
    EXPECT_GE(grown, (1000 - 3) * k * 1000);
    EXPECT_LE(grown, 1000 * k * 1000);
  }
}

TEST(Replay, WhatWasSampledWithinTheReserveCanBeRead) {
  for (const std::int64_t reserve : {1, 10, 200}) {
    const Case setup = {.options = {.size = 100, .compression = Compression::kLz4},
                        .n_step = 2,
                        .reserve = reserve};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    player.Play(130);
    ReplayBatch batch;
    for (int round = 0; round < 20; ++round) {
      const std::vector<std::int64_t> ids = player.naive().Ids();
      player.Play(static_cast<int>(reserve));
      replay.Read(ids, batch);
      ExpectAsNaive(batch, player.naive(), setup.shape.frames);
    }
    EXPECT_GE(replay.states(), 100 + reserve);
    EXPECT_LE(replay.states(), 100 + reserve + 12);
  }
}

TEST(Replay, OnlyTransitionsCanBeRead) {
  const Case setup = {.options = {.size = 16}, .n_step = 2};
  Replay replay = setup.Make();
  const Bytes observation(setup.shape.frames.observation_bytes());
  ReplayBatch batch;
  const auto read = [&](std::int64_t id) { replay.Read(std::vector{id}, batch); };
  EXPECT_THROW(read(0), std::logic_error);
  replay.Begin(observation);
  replay.Add({0}, 0, false, false, observation);
  EXPECT_THROW(read(0), std::logic_error);  // its next state is missing
  replay.Add({0}, 0, true, false, observation);
  EXPECT_NO_THROW(read(0));
  EXPECT_NO_THROW(read(1));
  EXPECT_THROW(read(2), std::logic_error);  // an episode's last state
  EXPECT_THROW(read(3), std::logic_error);
  EXPECT_THROW(read(-1), std::logic_error);
  for (int i = 0; i < 40; ++i) {
    replay.Begin(observation);
    replay.Add({0}, 0, true, false, observation);
  }
  EXPECT_THROW(read(0), std::logic_error);  // gone
}

TEST(Replay, EpisodesBeginEndAndAreWellFormed) {
  const Case setup = {.options = {.size = 16}};
  Replay replay = setup.Make();
  const Bytes observation(setup.shape.frames.observation_bytes());
  RandomStream random(1, "sample");
  std::vector<std::int64_t> ids;
  EXPECT_THROW(replay.SampleUniform(1, random, ids), std::logic_error);
  EXPECT_THROW(replay.Add({0}, 0, false, false, observation), std::logic_error);
  EXPECT_THROW(replay.Begin(std::span(observation).first(7)), std::logic_error);
  replay.Begin(observation);
  EXPECT_THROW(replay.Begin(observation), std::logic_error);
  EXPECT_THROW(replay.Add({-1}, 0, false, false, observation), std::logic_error);
  replay.Add({0}, 0, true, false, observation);
  EXPECT_THROW(replay.Add({0}, 0, false, false, observation), std::logic_error);
}

TEST(Replay, ReturnsAreSummedInDoublePrecision) {
  const FrameShape shape = {.stack = 1, .frame_bytes = 1};
  Replay replay({.size = 100}, {.n_step = 3, .discount = .9}, shape, kActions, 0);
  const Bytes observation = {0};
  replay.Begin(observation);
  const std::vector<float> rewards = {1e8F, 3.F, -1e8F / .81F};
  for (const float reward : rewards) replay.Add({0}, reward, false, false, observation);
  ReplayBatch batch;
  replay.Read(std::vector<std::int64_t>{0}, batch);
  EXPECT_EQ(batch.rewards[0], static_cast<float>(1e8 + .9 * 3 + .9 * .9 * double{rewards[2]}));
  EXPECT_EQ(batch.discounts[0], static_cast<float>(.9 * .9 * .9));
}

// ---- Options and memory ----

TEST(ReplayOptions, HaveRanges) {
  EXPECT_NO_THROW(ReplayOptions().Validate());
  const auto complaint = [](const ReplayOptions& options) {
    return MessageOf([&] { options.Validate(); });
  };
  EXPECT_NE(complaint({.size = 0}).find("replay.size"), std::string::npos);
  EXPECT_NE(complaint({.size = (std::int64_t{1} << 40) + 1}), "no error");
  EXPECT_NE(complaint({.start = 0}).find("replay.start"), std::string::npos);
  EXPECT_NE(complaint({.priority_exponent = 1.1}).find("replay.priority_exponent"),
            std::string::npos);
  EXPECT_NE(complaint({.priority_floor = 0}).find("replay.priority_floor"), std::string::npos);
  EXPECT_NE(complaint({.importance_start = -.1}).find("replay.importance_start"),
            std::string::npos);
  EXPECT_NE(complaint({.importance_steps = -1}).find("replay.importance_steps"), std::string::npos);
  EXPECT_EQ(complaint({.size = 10, .start = 1000}), "no error");
}

TEST(ReplayOptions, AReplayHoldsMoreStatesThanAReturnHasSteps) {
  const FrameShape shape = {.stack = 1, .frame_bytes = 1};
  const auto complaint = [&](std::int64_t size, int n_step) {
    return MessageOf([&] { Replay({.size = size}, {.n_step = n_step}, shape, kActions, 0); });
  };
  EXPECT_NE(complaint(3, 3).find("replay.size"), std::string::npos);
  EXPECT_EQ(complaint(4, 3), "no error");
  EXPECT_NE(complaint(4, 0), "no error");
}

TEST(ReplayOptions, ObservationsThatAreNoneOrTooLargeAreRefused) {
  for (const FrameShape shape : {FrameShape{1, 0}, FrameShape{0, 1}, FrameShape{4, 1U << 31},
                                 FrameShape{1 << 30, std::size_t{1} << 60}}) {
    EXPECT_NE(MessageOf([&] { Replay({}, {}, shape, kActions, 0); }), "no error");
  }
}

TEST(ReplayMemory, IsWhatWasEstimated) {
  for (const bool prioritized : {false, true}) {
    const ReplayOptions options = {.size = 20'000, .prioritized = prioritized};
    const FrameShape shape = {.stack = 4, .frame_bytes = 100};
    Replay replay(options, {}, shape, kActions, 32);
    RandomStream random(1, "frames");
    Bytes observation(shape.observation_bytes());
    replay.Begin(observation);
    for (int i = 0; i < 30'000; ++i) {
      std::rotate(observation.begin(), observation.begin() + 100, observation.end());
      observation.back() = static_cast<std::uint8_t>(random());
      observation[300] = static_cast<std::uint8_t>(random());
      replay.Add({0}, 0, false, false, observation);
    }
    const auto estimated = static_cast<double>(Replay::EstimateBytes(options, shape, kActions, 32));
    EXPECT_NEAR(static_cast<double>(replay.bytes()) / estimated, 1, .1);
    EXPECT_EQ(replay.bytes_per_frame(), 100);
  }
}

TEST(ReplayMemory, OfContinuousActionsIsWhatWasEstimated) {
  const ReplayOptions options = {.size = 20'000};
  const FrameShape shape = {.stack = 1, .frame_bytes = 68};  // HalfCheetah's sizes
  const ActionShape actions = {.count = 1, .floats = 6};
  Replay replay(options, {}, shape, actions, 1);
  RandomStream random(1, "frames");
  Bytes observation(shape.observation_bytes());
  const std::vector<float> action(actions.values(), 0.5F);
  replay.Begin(observation);
  for (int i = 0; i < 30'000; ++i) {
    for (std::uint8_t& byte : observation) byte = static_cast<std::uint8_t>(random());
    replay.Add({.values = action}, 0, false, false, observation);
  }
  const auto estimated = static_cast<double>(Replay::EstimateBytes(options, shape, actions, 1));
  EXPECT_NEAR(static_cast<double>(replay.bytes()) / estimated, 1, .1);
}

TEST(ReplayMemory, EstimatesDoNotOverflow) {
  const ReplayOptions huge = {.size = std::int64_t{1} << 40, .prioritized = true};
  EXPECT_GT(Replay::EstimateBytes(huge, {.stack = 1, .frame_bytes = 1U << 28}, kActions, 0),
            std::numeric_limits<std::uint64_t>::max() / 2);
  const ReplayOptions atari = {.size = 1'000'000, .compression = Compression::kLz4};
  const auto bytes = Replay::EstimateBytes(atari, {.stack = 4, .frame_bytes = 7056}, kActions, 0);
  EXPECT_GT(bytes, 1'000'000'000);
  EXPECT_LT(bytes, 1'060'000'000);
}

}  // namespace stableaa::replay_test
