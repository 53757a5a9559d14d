#include "stableaa/rl/replay/replay_segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"

namespace stableaa::replay_segment_test {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kFrameBytes = 50;
constexpr ActionShape kActions = {.count = 3};

// Some are identical, some differ slightly, some cannot be compressed.
std::vector<Bytes> MakeFrames(std::size_t count) {
  RandomStream random(1, "frames");
  std::vector<Bytes> frames;
  for (std::size_t i = 0; i < count; ++i) {
    Bytes frame(kFrameBytes, static_cast<std::uint8_t>(7));
    const std::size_t changed = i % 3 == 0 ? 0 : i % 3 == 1 ? 4 : kFrameBytes;
    for (std::size_t j = 0; j < changed; ++j) frame[j] = static_cast<std::uint8_t>(random());
    frames.push_back(frame);
  }
  return frames;
}

ReplaySegment MakeSegment(const std::vector<Bytes>& frames, FrameCodec& codec) {
  ReplaySegment segment(3, {.stack = 1, .frame_bytes = kFrameBytes}, kActions, codec);
  for (const Bytes& frame : frames) {
    segment.Add(frame, 1);
    segment.SetOutcome({.action = 2, .reward = -1.5F});
  }
  return segment;
}

class OfEveryCompression : public testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(ReplaySegment, OfEveryCompression,
                         testing::Values(Compression::kNone, Compression::kLz4, Compression::kZstd),
                         [](const auto& param) {
                           return Compressions()[static_cast<std::size_t>(param.param)].first;
                         });

TEST_P(OfEveryCompression, AnyRunOfFramesIsReadAsItWasWritten) {
  FrameCodec codec(GetParam(), kFrameBytes);
  const std::vector<Bytes> frames = MakeFrames(23);
  const ReplaySegment segment = MakeSegment(frames, codec);
  ASSERT_EQ(segment.frames(), frames.size());
  for (std::size_t first = 0; first < frames.size(); ++first) {
    for (std::size_t count = 1; first + count <= frames.size(); ++count) {
      Bytes out(count * kFrameBytes + 1, 99);
      ASSERT_TRUE(segment.ReadFrames(first, count, out.data()));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(std::ranges::equal(std::span(out).subspan(i * kFrameBytes, kFrameBytes),
                                       frames[first + i]));
      }
      EXPECT_EQ(out.back(), 99);  // nothing is written beyond it
    }
  }
}

TEST_P(OfEveryCompression, AFrameNeverTakesMoreThanItselfAndItsPlace) {
  FrameCodec codec(GetParam(), kFrameBytes);
  RandomStream random(1, "noise");
  ReplaySegment segment(0, {.stack = 1, .frame_bytes = kFrameBytes}, kActions, codec);
  for (int i = 0; i < 20; ++i) {
    Bytes frame(kFrameBytes);
    for (std::uint8_t& byte : frame) byte = static_cast<std::uint8_t>(random());
    segment.Add(frame, 1);
  }
  EXPECT_EQ(segment.frame_bytes(), 20 * (kFrameBytes + (GetParam() == Compression::kNone ? 0 : 4)));
}

TEST_P(OfEveryCompression, WhatIsSavedIsLoaded) {
  FrameCodec codec(GetParam(), kFrameBytes);
  const ReplaySegment segment = MakeSegment(MakeFrames(23), codec);
  ByteWriter out, again;
  segment.Save(out);
  ByteReader in(out.bytes(), "test");
  const ReplaySegment loaded(in, 3, 23, {.stack = 1, .frame_bytes = kFrameBytes}, kActions, codec);
  in.ExpectEnd();
  loaded.Save(again);
  EXPECT_TRUE(std::ranges::equal(out.bytes(), again.bytes()));
  EXPECT_EQ(loaded.state(5).action, 2);
  EXPECT_EQ(loaded.state(5).reward, -1.5F);
}

// Whatever the bytes, the result is an error or a segment in which every frame can be read.
TEST_P(OfEveryCompression, DamagedOnesAreRefusedOrCanBeRead) {
  FrameCodec codec(GetParam(), kFrameBytes);
  ByteWriter out;
  MakeSegment(MakeFrames(11), codec).Save(out);
  const std::vector<std::byte> saved(out.bytes().begin(), out.bytes().end());
  const auto accepts = [&](std::span<const std::byte> bytes) {
    try {
      ByteReader in(bytes, "test");
      const ReplaySegment loaded(in, 3, 11, {.stack = 1, .frame_bytes = kFrameBytes}, kActions,
                                 codec);
      in.ExpectEnd();
      Bytes frames(11 * kFrameBytes);
      EXPECT_TRUE(loaded.ReadFrames(0, 11, frames.data()));
      ByteWriter again;
      loaded.Save(again);
      EXPECT_TRUE(std::ranges::equal(bytes, again.bytes()));
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      return false;
    }
  };
  ASSERT_TRUE(accepts(saved));
  for (std::size_t length = 0; length < saved.size(); ++length) {
    EXPECT_FALSE(accepts(std::span(saved).first(length)));
  }
  int refused = 0;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    for (const int change : {1, 0x80, 0xff}) {
      std::vector<std::byte> damaged = saved;
      damaged[i] ^= static_cast<std::byte>(change);
      if (!accepts(damaged)) ++refused;
    }
  }
  // At least every damaged number: of the segment, of states, of frames, and the length.
  EXPECT_GE(refused, 3 * 24);
}

TEST(ReplaySegment, AStateHasAtMostAStackOfNewFrames) {
  FrameCodec codec(Compression::kNone, 1);
  const auto load = [&](std::uint32_t newest_frame) {
    ByteWriter out;
    out.U64(0);
    out.U32(2);
    out.U32(newest_frame + 1);
    for (const std::uint32_t frame : {1U, newest_frame}) {
      out.U32(frame);
      out.U32(0);
      out.U32(0);
      out.U8(0);
    }
    out.Text(std::string(newest_frame + 1, 'x'));
    ByteReader in(out.bytes(), "test");
    ReplaySegment(in, 0, 2, {.stack = 2, .frame_bytes = 1}, kActions, codec);
  };
  EXPECT_NO_THROW(load(1));
  EXPECT_NO_THROW(load(3));
  EXPECT_THROW(load(0), Error);
  EXPECT_THROW(load(4), Error);
}

TEST(ReplaySegment, ActionsRewardsAndFlagsAreChecked) {
  FrameCodec codec(Compression::kNone, 1);
  const auto complaint_of = [&](std::int32_t action, float reward, std::uint8_t flags) {
    ByteWriter out;
    out.U64(0);
    out.U32(1);
    out.U32(1);
    out.U32(0);
    out.U32(static_cast<std::uint32_t>(action));
    out.U32(std::bit_cast<std::uint32_t>(reward));
    out.U8(flags);
    out.Text("x");
    ByteReader in(out.bytes(), "segment");
    return MessageOf(
        [&] { ReplaySegment(in, 0, 1, {.stack = 1, .frame_bytes = 1}, kActions, codec); });
  };
  for (const std::int32_t action : {0, 1, 2})
    EXPECT_EQ(complaint_of(action, -1e38F, 3), "no error");
  EXPECT_EQ(complaint_of(-1, 0, 0), "no error");
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t action : {3, 4, 1000, kMost, -2, -kMost - 1}) {
    EXPECT_EQ(complaint_of(action, 0, 0),
              "segment: before byte 24: expected an action from 0 to 2, or -1 for none, found " +
                  std::to_string(action));
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float reward : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_NE(complaint_of(1, reward, 0).find("finite reward"), std::string::npos);
  }
  EXPECT_NE(complaint_of(1, 0, 4).find("flags 4"), std::string::npos);
  EXPECT_NE(complaint_of(-1, 1, 0).find("without an action"), std::string::npos);
  EXPECT_NE(complaint_of(-1, 0, 1).find("without an action"), std::string::npos);
}

TEST(ReplaySegment, NumbersOfContinuousActionsAreSavedAndChecked) {
  constexpr ActionShape kNumbers = {.count = 1, .floats = 2};
  constexpr FrameShape kShape = {.stack = 1, .frame_bytes = 1};
  FrameCodec codec(Compression::kNone, 1);
  ReplaySegment segment(0, kShape, kNumbers, codec);
  for (const std::vector<float>& values : {std::vector<float>{1, -2}, {0.5F, 3}}) {
    segment.Add(Bytes{7}, 1);
    segment.SetOutcome({.action = 0}, values);
  }
  segment.Add(Bytes{8}, 1);  // no action yet
  ByteWriter out;
  segment.Save(out);
  const auto load = [&](std::span<const std::byte> bytes) {
    ByteReader in(bytes, "segment");
    ReplaySegment loaded(in, 0, 3, kShape, kNumbers, codec);
    in.ExpectEnd();
    return loaded;
  };
  const ReplaySegment loaded = load(out.bytes());
  EXPECT_EQ(std::vector(loaded.action_values(0).begin(), loaded.action_values(0).end()),
            (std::vector<float>{1, -2}));
  EXPECT_EQ(loaded.action_values(1)[1], 3);
  EXPECT_EQ(loaded.action_values(2)[0], 0);

  constexpr std::size_t kValues = 16 + 3 * 13;
  std::vector<std::byte> damaged(out.bytes().begin(), out.bytes().end());
  for (std::size_t i = 0; i < 4; ++i) damaged[kValues + 4 + i] = std::byte{0xff};  // NaN
  ExpectBadInput([&] { load(damaged); }, "expected finite numbers of an action");
  damaged.assign(out.bytes().begin(), out.bytes().end());
  damaged[kValues + 16] = std::byte{1};  // a number without an action
  ExpectBadInput([&] { load(damaged); }, "found action -1 of state 2");
}

TEST(ReplaySegment, SimilarFramesTakeLittle) {
  for (const Compression compression : {Compression::kLz4, Compression::kZstd}) {
    FrameCodec codec(compression, 7056);
    ReplaySegment segment(0, {.stack = 1, .frame_bytes = 7056}, kActions, codec);
    RandomStream random(1, "noise");
    Bytes frame(7056);
    for (std::uint8_t& byte : frame) byte = static_cast<std::uint8_t>(random());
    for (std::size_t i = 0; i < 40; ++i) {
      frame[i] ^= 1;
      segment.Add(frame, 1);
    }
    // Only the key of each group cannot be compressed.
    EXPECT_LT(segment.frame_bytes(), 10 * 7056 + 30 * 100);
  }
}

}  // namespace stableaa::replay_segment_test
