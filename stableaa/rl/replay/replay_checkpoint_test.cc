#include "stableaa/rl/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/replay/naive_replay_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::replay_checkpoint_test {

namespace fs = std::filesystem;
using naive_replay_test::Bytes;
using naive_replay_test::Case;
using naive_replay_test::ExpectAsNaive;
using naive_replay_test::kDiscount;
using naive_replay_test::Player;
using naive_replay_test::Saved;

std::set<std::string> Files(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& file : fs::directory_iterator(directory)) {
    names.insert(file.path().filename().string());
  }
  return names;
}

void Load(Replay& replay, std::span<const std::byte> bytes, const fs::path& directory) {
  ByteReader in(bytes, "state");
  replay.Load(in, directory);
  in.ExpectEnd();
}

// Expects the same future: samples, reads, and the final saved state.
void ExpectSameFuture(Replay& one, Replay& other, Player player, int steps) {
  Player twin = player;
  player.set_replay(one);
  twin.set_replay(other);
  RandomStream random(1, "future"), same(1, "future");
  ReplayBatch batch, copy;
  for (int step = 0; step < steps; ++step) {
    player.Step();
    twin.Step();
    ASSERT_EQ(one.transitions(), other.transitions());
    ASSERT_EQ(one.states(), other.states());
    ASSERT_EQ(one.stream(0).next_id(), other.stream(0).next_id());
    if (one.transitions() == 0) continue;
    one.Sample(8, .5, random, batch.ids, batch.weights);
    other.Sample(8, .5, same, copy.ids, copy.weights);
    ASSERT_EQ(batch.ids, copy.ids);
    ASSERT_EQ(batch.weights, copy.weights);
    one.Read(batch.ids, batch);
    other.Read(copy.ids, copy);
    ASSERT_EQ(batch.rewards, copy.rewards);
    ExpectAsNaive(copy, twin.naive(), {.stack = 4, .frame_bytes = 30});
    std::vector<float> errors;
    for (const std::int64_t id : batch.ids) {
      errors.push_back(static_cast<float>(id % 7) - batch.rewards[errors.size()]);
    }
    one.SetPriorities(batch.ids, errors);
    other.SetPriorities(copy.ids, errors);
  }
  const TemporaryFolder a(TemporaryFolder::InMemory()), b(TemporaryFolder::InMemory());
  ASSERT_EQ(Saved(one, a.path()), Saved(other, b.path()));
  ASSERT_EQ(Files(a.path()), Files(b.path()));
}

// Compression, priorities, and numbers per continuous action or 0.
class ReplayCheckpoints : public testing::TestWithParam<std::tuple<Compression, bool, int>> {
 protected:
  Case MakeCase() const {
    const auto [compression, prioritized, floats] = GetParam();
    return {.options = {.size = 60, .compression = compression, .prioritized = prioritized},
            .n_step = 3,
            .shape = {.floats = floats},
            .reserve = 5};
  }
};
INSTANTIATE_TEST_SUITE_P(All, ReplayCheckpoints,
                         testing::Combine(testing::Values(Compression::kNone, Compression::kLz4,
                                                          Compression::kZstd),
                                          testing::Bool(), testing::Values(0, 2)));

TEST_P(ReplayCheckpoints, GoOnIdenticallyFromAnyStep) {
  const Case setup = MakeCase();
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  std::set<bool> in_episode;
  for (int step = 0; step < 150; ++step) {
    const std::vector<std::byte> state = Saved(replay, directory.path());
    Replay loaded = setup.Make();
    Load(loaded, state, directory.path());
    ASSERT_EQ(Saved(loaded, directory.path()), state);
    if (step % 25 == 0) {
      Replay original = setup.Make();
      Load(original, state, directory.path());
      ExpectSameFuture(original, loaded, player, 80);
    }
    in_episode.insert(player.in_episode());
    player.Step();
  }
  EXPECT_EQ(in_episode.size(), 2);
}

TEST_P(ReplayCheckpoints, TheReplayThatWentOnAndTheLoadedOneDoTheSame) {
  const Case setup = MakeCase();
  for (const int steps : {1, 30, 61, 200, 203}) {
    const TemporaryFolder directory(TemporaryFolder::InMemory());
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    player.Play(steps);
    const std::vector<std::byte> state = Saved(replay, directory.path());
    Replay loaded = setup.Make();
    Load(loaded, state, directory.path());
    ExpectSameFuture(replay, loaded, player, 150);
  }
}

TEST_P(ReplayCheckpoints, SegmentFilesOfAnAbandonedFutureAreReplaced) {
  const Case setup = MakeCase();
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(70);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  // Continues, writes more segments, and is killed before Save.
  Player abandoned = player;
  abandoned.Play(10);
  const std::size_t files = Files(directory.path()).size();
  replay.SaveSegments(directory.path());
  EXPECT_GT(Files(directory.path()).size(), files);

  Replay loaded = setup.Make();
  Replay fresh = setup.Make();
  Load(loaded, state, directory.path());
  const Bytes observation(setup.shape.frames.observation_bytes(), 200);
  if (!player.in_episode()) loaded.Begin(observation);
  const std::vector<float> numbers(setup.shape.actions().values(), 0.25F);
  for (int i = 0; i < 20; ++i) loaded.Add({0, numbers}, 100, false, false, observation);
  const std::vector<std::byte> later = Saved(loaded, directory.path());
  Load(fresh, later, directory.path());
  EXPECT_EQ(Saved(fresh, directory.path()), later);
}

TEST_P(ReplayCheckpoints, SegmentsOfAnotherRunAreNoticed) {
  const Case setup = MakeCase();
  const TemporaryFolder directory(TemporaryFolder::InMemory()),
      foreign(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  Replay stranger = setup.Make();
  setup.MakePlayer(replay).Play(100);
  setup.MakePlayer(stranger, /*seed=*/2).Play(100);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  Saved(stranger, foreign.path());
  const std::string name = *Files(directory.path()).rbegin();
  fs::copy_file(foreign / name, directory / name, fs::copy_options::overwrite_existing);
  Replay loaded = setup.Make();
  const std::string complaint = MessageOf([&] { Load(loaded, state, directory.path()); });
  EXPECT_NE(complaint.find((directory / name).string() + ": expected checksum "), std::string::npos)
      << complaint;
  EXPECT_NE(complaint.find("of another run"), std::string::npos) << complaint;
  fs::remove(directory / name);
  EXPECT_NE(MessageOf([&] { Load(loaded, state, directory.path()); }).find(name),
            std::string::npos);
}

TEST_P(ReplayCheckpoints, EveryTruncatedStateIsRefused) {
  const Case setup = MakeCase();
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(30);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  Replay loaded = setup.Make();
  for (std::size_t length = 0; length < state.size(); ++length) {
    const auto part = std::span(state).first(length);
    EXPECT_NE(MessageOf([&] { Load(loaded, part, directory.path()); }), "no error") << length;
  }
  Load(loaded, state, directory.path());
}

// Frames may hold any bytes, and rewards and actions any valid value; everything else must be
// consistent. Whatever is accepted must work.
TEST_P(ReplayCheckpoints, DamagedStatesAreRefusedOrWork) {
  const Case setup = MakeCase();
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(66);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  int refused = 0;
  RandomStream random(1, "damage");
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::vector<std::byte> damaged = state;
    damaged[i] ^= static_cast<std::byte>(1U << random.Below(8));
    Replay loaded = setup.Make();
    if (MessageOf([&] { Load(loaded, damaged, directory.path()); }) != "no error") {
      ++refused;
      continue;
    }
    ByteWriter again;
    loaded.Save(again);
    ASSERT_TRUE(std::ranges::equal(again.bytes(), damaged)) << i;
    ReplayBatch batch;
    loaded.Sample(32, 1, random, batch.ids, batch.weights);
    loaded.Read(batch.ids, batch);
  }
  EXPECT_GE(refused, 8 * 8 + 3 * 8);  // options, numbers and checksums at least
}

TEST_P(ReplayCheckpoints, DamagedSegmentFilesAreRefused) {
  const Case setup = MakeCase();
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(40);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  const fs::path file = directory / "segment-00000002.bin";
  const std::string content = ReadTextFile(file, 1 << 20);
  const auto complaint_of = [&](const std::string& damaged) {
    std::ofstream(file, std::ios::binary) << damaged;
    Replay loaded = setup.Make();
    return MessageOf([&] { Load(loaded, state, directory.path()); });
  };
  for (std::size_t i = 0; i < content.size(); i += 7) {
    EXPECT_NE(complaint_of(content.substr(0, i)).find(file.string()), std::string::npos) << i;
    std::string damaged = content;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    EXPECT_NE(complaint_of(damaged).find(file.string()), std::string::npos) << i;
  }
  EXPECT_EQ(complaint_of(content), "no error");
}

TEST_P(ReplayCheckpoints, AFailedLoadChangesNothing) {
  const Case setup = MakeCase();
  const TemporaryFolder directory(TemporaryFolder::InMemory()), other(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(100);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  fs::remove(directory / *Files(directory.path()).begin());
  Replay loaded = setup.Make();
  setup.MakePlayer(loaded, /*seed=*/2).Play(50);
  const std::vector<std::byte> before = Saved(loaded, other.path());
  EXPECT_NE(MessageOf([&] { Load(loaded, state, directory.path()); }), "no error");
  EXPECT_EQ(Saved(loaded, other.path()), before);
}

TEST_P(ReplayCheckpoints, FullSegmentsAreWrittenOnceAndRemovedWhenOld) {
  const Case setup = MakeCase();  // 7 states each
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  std::ofstream(directory / "segment-notes.bin") << "mine";
  std::ofstream(directory / "segment-7.bin") << "mine";
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(7);
  Saved(replay, directory.path());
  EXPECT_EQ(Files(directory.path()), (std::set<std::string>{"segment-7.bin", "segment-notes.bin"}));
  player.Play(8);
  Saved(replay, directory.path());
  const fs::path first = directory / "segment-00000000.bin";
  EXPECT_EQ(Files(directory.path()),
            (std::set<std::string>{"segment-00000000.bin", "segment-00000001.bin", "segment-7.bin",
                                   "segment-notes.bin"}));
  std::ofstream(first) << "touched";
  player.Play(20);
  replay.SaveSegments(directory.path());
  EXPECT_EQ(ReadTextFile(first, 100), "touched");
  // Another directory needs all segments.
  const TemporaryFolder other(TemporaryFolder::InMemory());
  replay.SaveSegments(other.path());
  EXPECT_EQ(Files(other.path()).size(), 4);
  player.Play(100);
  Saved(replay, directory.path());
  const std::int64_t full = (replay.states() - 1) / 7;
  EXPECT_EQ(std::ssize(Files(directory.path())), full + 2);
  EXPECT_FALSE(fs::exists(first));
}

TEST(ReplayCheckpoint, SaveNeedsTheSegmentsOnDisk) {
  const Case setup = {.options = {.size = 60}};
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(30);
  ByteWriter out;
  EXPECT_THROW(replay.Save(out), std::logic_error);
}

TEST(ReplayCheckpoint, FilesThatAStateOnItsWayToDiskNamesStayUntilTheNext) {
  const Case setup = {.options = {.size = 60}};
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(70);
  replay.SaveSegments(directory.path());
  ByteWriter out;
  replay.Save(out);
  player.Play(50);
  replay.RemoveOldSegments(directory.path());
  Replay loaded = setup.Make();
  EXPECT_NO_THROW(Load(loaded, out.bytes(), directory.path()));
}

TEST(ReplayCheckpoint, OtherOptionsAreRefused) {
  const Case setup = {.options = {.size = 60}};
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(40);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  const auto complaint_with = [&](const auto& change) {
    ReplayOptions options = setup.options;
    ReturnOptions returns = {.n_step = setup.n_step, .discount = kDiscount};
    FrameShape shape = setup.shape.frames;
    change(options, returns, shape);
    Replay loaded(options, returns, shape, setup.shape.actions(), 0);
    return MessageOf([&] { Load(loaded, state, directory.path()); });
  };
  EXPECT_EQ(complaint_with([](auto&, auto&, auto&) {}), "no error");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.size = 61; }), "no error");
  EXPECT_NE(
      complaint_with([](auto& options, auto&, auto&) { options.compression = Compression::kLz4; }),
      "no error");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.prioritized = true; }),
            "no error");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.priority_floor = .5; }),
            "no error");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.priority_exponent = .5; }),
            "no error");
  EXPECT_NE(complaint_with([](auto&, auto& returns, auto&) { returns.n_step = 2; }), "no error");
  EXPECT_NE(complaint_with([](auto&, auto& returns, auto&) { returns.discount = .6; }), "no error");
  EXPECT_NE(complaint_with([](auto&, auto&, auto& shape) { shape = {2, 60}; }), "no error");
  EXPECT_NE(complaint_with([](auto&, auto&, auto& shape) { shape.frame_bytes = 31; }), "no error");
}

TEST(ReplayCheckpoint, OtherActionsAreRefused) {
  const auto complaint_of = [](int floats, int others) {
    const Case setup = {.options = {.size = 60}, .shape = {.floats = floats}};
    const Case other = {.options = {.size = 60}, .shape = {.floats = others}};
    const TemporaryFolder directory(TemporaryFolder::InMemory());
    Replay replay = setup.Make(), loaded = other.Make();
    setup.MakePlayer(replay).Play(40);
    const std::vector<std::byte> state = Saved(replay, directory.path());
    return MessageOf([&] { Load(loaded, state, directory.path()); });
  };
  EXPECT_EQ(complaint_of(2, 2), "no error");
  EXPECT_NE(complaint_of(2, 3).find("expected a replay with actions of 3 numbers, found one with "
                                    "actions of 2 numbers"),
            std::string::npos);
  EXPECT_NE(complaint_of(0, 2).find("found one with discrete actions"), std::string::npos);
  EXPECT_NE(complaint_of(2, 0).find("expected a replay with discrete actions"), std::string::npos);
}

TEST(ReplayCheckpoint, TheLayoutOnDiskDoesNotChange) {
  const FrameShape shape = {.stack = 2, .frame_bytes = 3};
  Replay replay({.size = 16}, {.n_step = 1, .discount = .5}, shape, {.count = 3}, 0);
  replay.Begin(Bytes{1, 2, 3, 4, 5, 6});
  replay.Add({2}, 1.5F, false, false, Bytes{4, 5, 6, 7, 8, 9});
  replay.Add({0}, -1, false, true, Bytes{4, 5, 6, 7, 8, 9});
  const TemporaryFolder directory(TemporaryFolder::InMemory());
  const std::vector<std::byte> state = Saved(replay, directory.path());

  ByteWriter segment;
  segment.U64(0);
  segment.U32(2);
  segment.U32(3);
  segment.U32(1);
  segment.U32(2);
  segment.U32(0x3fc00000);
  segment.U8(0);
  segment.U32(2);
  segment.U32(0);
  segment.U32(0xbf800000);
  segment.U8(2);
  segment.Text("\1\2\3\4\5\6\7\10\11");
  const CheckedFile file = ReadCheckedFile(directory / "segment-00000000.bin", "replay", 1);
  EXPECT_TRUE(std::ranges::equal(file.payload, segment.bytes()));

  ByteReader in(state, "state");
  EXPECT_EQ(in.U32(), 2);
  EXPECT_EQ(in.U32(), 0);
  EXPECT_EQ(in.U64(), 3);
  EXPECT_EQ(in.I64(), 16);
  EXPECT_EQ(in.U64(), 0);
  EXPECT_EQ(in.U64(), 1);
  EXPECT_EQ(in.F64(), .5);
  EXPECT_FALSE(in.Bool());
  EXPECT_EQ(in.F64(), .6);
  EXPECT_EQ(in.F64(), 1e-6);
  EXPECT_EQ(in.I64(), 3);
  EXPECT_EQ(in.I64(), 0);
  in.U32();  // checksum
  EXPECT_EQ(in.U64(), 1);
  EXPECT_EQ(in.U32(), 1);
  EXPECT_EQ(in.U32(), 2);
  EXPECT_EQ(in.U32(), 1);
  EXPECT_EQ(in.U32(), 0xffffffff);
  EXPECT_EQ(in.U32(), 0);
  EXPECT_EQ(in.U8(), 0);
  EXPECT_EQ(in.Text(6), "\4\5\6\7\10\11");
  in.ExpectEnd();
}

TEST(ReplayCheckpoint, EpisodesThatDoNotFitTogetherAreRefused) {
  const Case setup = {.options = {.size = 800},
                      .shape = {.frames = {.stack = 1, .frame_bytes = 1}}};
  Replay replay = setup.Make();
  const Bytes observation = {0};
  replay.Begin(observation);
  replay.Add({0}, 0, false, false, observation);
  replay.Add({0}, 0, true, false, observation);  // states 0 and 1; 2 is the last
  replay.Begin(observation);
  replay.Add({0}, 0, false, false, observation);  // 4 is the newest
  ByteWriter out;
  replay.Save(out);
  constexpr std::size_t kRecords = 65 + 8 + 8 + 16;
  const auto complaint_with = [&](std::size_t state, std::uint32_t action, int flags) {
    std::vector<std::byte> damaged(out.bytes().begin(), out.bytes().end());
    for (std::size_t i = 0; i < 4; ++i) {
      damaged[kRecords + 13 * state + 4 + i] = static_cast<std::byte>(action >> (8 * i));
    }
    damaged[kRecords + 13 * state + 12] = static_cast<std::byte>(flags);
    Replay loaded = setup.Make();
    return MessageOf([&] { Load(loaded, damaged, "/nowhere"); });
  };
  constexpr std::uint32_t kNone = 0xffffffff;
  EXPECT_EQ(complaint_with(0, 7, 0), "no error");
  EXPECT_EQ(complaint_with(1, 7, 2), "no error");
  EXPECT_EQ(complaint_with(2, kNone, 0), "no error");
  EXPECT_NE(complaint_with(0, 0, 1).find("state 1"), std::string::npos);
  EXPECT_NE(complaint_with(1, 0, 0).find("state 2"), std::string::npos);
  EXPECT_NE(complaint_with(1, kNone, 0).find("state 1"), std::string::npos);
  EXPECT_NE(complaint_with(2, 0, 0).find("state 2"), std::string::npos);
  EXPECT_NE(complaint_with(4, 0, 0).find("state 4"), std::string::npos);
  EXPECT_NE(complaint_with(3, kNone, 0).find("state 3"), std::string::npos);
}

}  // namespace stableaa::replay_checkpoint_test
