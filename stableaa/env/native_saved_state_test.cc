// Native environments: saved states, sound and broken.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/native_play_test.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::native_saved_state_test {

using native_play_test::Bytes;
using native_play_test::Difference;
using native_play_test::EveryNative;
using native_play_test::kSeed;
using native_play_test::NativeIds;
using native_play_test::Play;
using native_play_test::Players;
using native_play_test::PlayFrom;
using native_play_test::ShownBy;
using native_play_test::Trajectory;

TEST_P(EveryNative, ALoadedStateGoesOnToTheSameBytes) {
  for (const double sticky : {.1, .6}) {
    const EnvironmentOptions options = {.num_envs = 3, .sticky = sticky};
    const auto saved = Make(options);
    saved->Reset(kSeed);
    Players players(*saved);
    Play(*saved, players, 137);
    const Bytes state = SavedBytes(*saved);

    const auto loaded = Make(options);
    LoadBytes(*loaded, state);
    EXPECT_EQ(SavedBytes(*loaded), state);
    Players same_players = players;
    const Trajectory expected = Play(*saved, players, 1500);
    const Trajectory found = Play(*loaded, same_players, 1500);
    // Before the first step, rewards and ends belong to no step: only observations agree.
    EXPECT_EQ(Difference({expected.begin() + 1, expected.end()}, {found.begin() + 1, found.end()}),
              std::nullopt);
    EXPECT_EQ(SavedBytes(*loaded), SavedBytes(*saved));
  }
}

TEST_P(EveryNative, LoadShowsTheObservationWithoutARewardOrAnEnd) {
  const auto saved = Make({.render = true, .max_episode_steps = 5});
  PlayFrom(kSeed, *saved, 5);
  const auto loaded = Make({.render = true, .max_episode_steps = 5});
  PlayFrom(kSeed + 1, *loaded, 5);
  LoadBytes(*loaded, SavedBytes(*saved));
  EXPECT_TRUE(std::ranges::equal(loaded->observations().bytes, saved->observations().bytes));
  EXPECT_TRUE(std::ranges::equal(loaded->observations().floats, saved->observations().floats));
  EXPECT_TRUE(loaded->frame(0) == saved->frame(0));
  EXPECT_EQ(loaded->rewards()[0], 0);
  EXPECT_FALSE(loaded->ended(0));
}

// The number of steps in the episode is part of the state.
TEST_P(EveryNative, TheLimitCountsFromTheBeginningOfTheEpisodeAndNotFromLoad) {
  const auto saved = Make({.max_episode_steps = 4});
  PlayFrom(kSeed, *saved, 2);
  const auto loaded = Make({.max_episode_steps = 4});
  LoadBytes(*loaded, SavedBytes(*saved));
  Players players(*loaded, 2);
  for (int step = 3; step <= 4; ++step) {
    loaded->Step(players.Next());
    EXPECT_EQ(loaded->truncated()[0], step == 4 ? 1 : 0);
  }
}

TEST_P(EveryNative, AStateBeyondTheLimitIsRefused) {
  const auto saved = Make({.max_episode_steps = 4});
  PlayFrom(kSeed, *saved, 3);
  const auto shorter = Make({.max_episode_steps = 3});
  ExpectBadInput([&] { LoadBytes(*shorter, SavedBytes(*saved)); },
                 "expected fewer steps than 3, found 3");
}

// A refused state leaves no trace.
class RefusedState : public testing::Test {
 protected:
  void SetUp() override {
    PlayFrom(kSeed, *environment_, 9);
    before_ = SavedBytes(*environment_);
    shown_ = ShownBy(*environment_);
  }

  void ExpectUnchanged() {
    ASSERT_EQ(SavedBytes(*environment_), before_);
    ASSERT_TRUE(ShownBy(*environment_) == shown_);
  }

  // Continues like one on which Load was never tried.
  void ExpectUsable() {
    const auto other = MakeEnvironment("minatar/breakout", {.num_envs = 2});
    LoadBytes(*other, before_);
    Players players(*environment_, 3), same_players = players;
    const Trajectory found = Play(*environment_, players, 50);
    const Trajectory expected = Play(*other, same_players, 50);
    EXPECT_EQ(Difference({expected.begin() + 1, expected.end()}, {found.begin() + 1, found.end()}),
              std::nullopt);
  }

  std::unique_ptr<Environment> environment_ = MakeEnvironment("minatar/breakout", {.num_envs = 2});
  Bytes before_;
  std::string shown_;
};

// Another state of the same environment, from another seed.
Bytes AnotherState(const std::string& id, int num_envs) {
  const auto other = MakeEnvironment(id, {.num_envs = num_envs});
  PlayFrom(kSeed + 1, *other, 5);
  return SavedBytes(*other);
}

TEST_F(RefusedState, OfAnotherIdOrNumber) {
  for (const std::string& id : NativeIds()) {
    if (id == "minatar/breakout") continue;
    ExpectBadInput([&] { LoadBytes(*environment_, AnotherState(id, 2)); }, id);
    ExpectUnchanged();
  }
  ExpectBadInput([&] { LoadBytes(*environment_, AnotherState("minatar/breakout", 1)); },
                 "expected the state of 2 environments, found 1");
  ExpectBadInput([&] { LoadBytes(*environment_, AnotherState("minatar/breakout", 3)); }, "found 3");
  ExpectUnchanged();
  ExpectUsable();
}

TEST_F(RefusedState, TruncatedAnywhere) {
  const Bytes state = AnotherState("minatar/breakout", 2);
  for (std::size_t size = 0; size < state.size(); ++size) {
    ExpectBadInput([&] { LoadBytes(*environment_, std::span(state).first(size)); });
    ExpectUnchanged();
  }
  ExpectUsable();
  LoadBytes(*environment_, state);  // only the length was wrong
  EXPECT_EQ(SavedBytes(*environment_), state);
}

// A flipped bit makes another valid state or is refused; there is nothing in between.
TEST_F(RefusedState, WithAFlippedBit) {
  const Bytes state = AnotherState("minatar/breakout", 2);
  const std::size_t header = 8 + std::string_view("minatar/breakout").size() + 8 + 8;
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * state.size(); ++bit) {
    Bytes flipped = state;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      LoadBytes(*environment_, flipped);
      ASSERT_GE(bit / 8, header) << "the id, the number or the seed was not read";
      ASSERT_EQ(SavedBytes(*environment_), flipped);
      Players players(*environment_);
      Play(*environment_, players, 3);
      LoadBytes(*environment_, before_);
      ASSERT_EQ(SavedBytes(*environment_), before_);
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.kind(), Error::Kind::kBadInput);
      ASSERT_EQ(SavedBytes(*environment_), before_);
    }
  }
  EXPECT_GT(refused, 300);
  ExpectUsable();
}

// The second environment's part is wrong: the first one's must not have been adopted.
TEST_F(RefusedState, WithAnErrorInItsLastByte) {
  Bytes state = AnotherState("minatar/breakout", 2);
  state.back() = std::byte{2};
  ExpectBadInput([&] { LoadBytes(*environment_, state); });
  ExpectUnchanged();
  ExpectUsable();
}

TEST(NativeEnvironment, LoadMakesANewEnvironmentReadyUnlessItFails) {
  const Bytes state = AnotherState("classic/cartpole", 1);
  const auto environment = MakeEnvironment("classic/cartpole");
  const std::vector<std::int32_t> left = {0};
  EXPECT_THROW(SavedBytes(*environment), std::logic_error);
  ExpectBadInput([&] { LoadBytes(*environment, std::span(state).first(state.size() - 1)); });
  EXPECT_THROW(environment->Step({.indices = left}), std::logic_error);
  LoadBytes(*environment, state);
  EXPECT_NO_THROW(environment->Step({.indices = left}));
}

// A pole that turns as fast as a state allows turns faster a step later, and is still a valid
// state.
TEST(NativeEnvironment, WhatFollowsFromALoadedStateCanBeLoaded) {
  const auto environment = MakeEnvironment("classic/cartpole");
  const auto other = MakeEnvironment("classic/cartpole");
  environment->Reset(kSeed);
  const Bytes whole = SavedBytes(*environment);
  const auto header = std::span(whole).first(whole.size() - 4 * sizeof(double));
  RandomStream random(kSeed, "states");
  Players players(*environment);
  int accepted = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    ByteWriter out;
    for (const double largest : {2.4, 400., .209, 40.}) out.F64(random.Uniform(-largest, largest));
    Bytes state(header.begin(), header.end());
    state.insert(state.end(), out.bytes().begin(), out.bytes().end());
    try {
      LoadBytes(*environment, state);
    } catch (const Error&) {
      continue;
    }
    ++accepted;
    for (int step = 0; step < 3; ++step) {
      environment->Step(players.Next());
      ASSERT_NO_THROW(LoadBytes(*other, SavedBytes(*environment)));
    }
  }
  EXPECT_GT(accepted, 100);
}

// A file's text is not printed raw.
TEST(NativeEnvironment, AForeignIdIsNamedInOneCleanLine) {
  const auto environment = MakeEnvironment("classic/cartpole");
  environment->Reset(kSeed);
  ByteWriter out;
  out.Text("minatar/\n\xff");
  const std::string message = MessageOf([&] { LoadBytes(*environment, out.bytes()); });
  EXPECT_NE(message, "no error");
  EXPECT_TRUE(IsCleanUtf8(message));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(NativeEnvironment, StatesMayFollowOneAnother) {
  ByteWriter out;
  const auto environment = MakeEnvironment("classic/acrobot");
  PlayFrom(kSeed, *environment, 3);
  environment->Save(out);
  out.U64(42);
  const auto loaded = MakeEnvironment("classic/acrobot");
  ByteReader in(out.bytes(), "checkpoint");
  loaded->Load(in);
  EXPECT_EQ(in.U64(), 42U);
  in.ExpectEnd();
}

}  // namespace stableaa::native_saved_state_test
