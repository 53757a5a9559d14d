// The bridge: states are saved as seeds and actions, and rebuilt by replaying them.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/gymnasium/bridge_test.h"

namespace stableaa::rebuilt_games_test {

using bridge_test::Bridge;
using bridge_test::ExpectError;
using bridge_test::kBad;
using bridge_test::kFailed;
using bridge_test::Same;
using bridge_test::Shown;

TEST_F(Bridge, GamesOfDifferentLengthsAreRebuiltTogether) {
  // The second one's shorter game waits, with actions that must be finite although the space is
  // not.
  const auto env = Faulty("ContinuousAction", {.num_envs = 2, .max_episode_steps = 5});
  env->Reset(1);
  const std::vector<float> actions = {.5F, 1, .25F, 2};
  for (int k = 0; k < 7; ++k) env->Step({.values = actions});
  ByteWriter out;
  env->Save(out);
  const auto other = Faulty("ContinuousAction", {.num_envs = 2, .max_episode_steps = 5});
  ByteReader in(out.bytes(), "state");
  other->Load(in);
  const auto counter = Faulty("EndsByAction", {.num_envs = 2});
  counter->Reset(1);
  const std::vector<float> one_ends = {0, 0, 1, 1};
  for (int k = 0; k < 4; ++k)
    counter->Step({.values = k == 2 ? one_ends : std::vector<float>(4, 0)});
  ByteWriter uneven;
  counter->Save(uneven);
  const auto again = Faulty("EndsByAction", {.num_envs = 2});
  ByteReader uneven_in(uneven.bytes(), "state");
  again->Load(uneven_in);
  EXPECT_EQ(again->observations().floats[2], 4);
  EXPECT_EQ(again->observations().floats[6], 1);
}

TEST_F(Bridge, StatesAreRebuiltByPlayingAgain) {
  const auto env = Faulty("Counter", {.num_envs = 4, .workers = 2});
  env->Reset(5);
  RandomStream random(2, "test");
  const auto actions = [&random] {
    std::vector<std::int32_t> drawn(4);
    for (auto& action : drawn)
      action = random.Below(12) == 0 ? 2 : static_cast<std::int32_t>(random.Below(2));
    return drawn;
  };
  for (int k = 0; k < 33; ++k) env->Step({.indices = actions()});
  ByteWriter out;
  env->Save(out);
  const auto other = Faulty("Counter", {.num_envs = 4, .workers = 1});
  ByteReader in(out.bytes(), "state");
  other->Load(in);
  in.ExpectEnd();
  for (int k = 0; k < 60; ++k) {
    const auto drawn = actions();
    env->Step({.indices = drawn});
    other->Step({.indices = drawn});
    for (int i = 0; i < 4; ++i) ASSERT_EQ(Shown(*env, i), Shown(*other, i)) << k;
  }
}

TEST_F(Bridge, StatesOfOthersAndDamagedOnesAreRefused) {
  const auto env = Faulty("Counter");
  env->Reset(5);
  for (int k = 0; k < 3; ++k) env->Step({.indices = Same(*env, 1)});
  ByteWriter out;
  env->Save(out);
  const std::vector<std::byte> whole(out.bytes().begin(), out.bytes().end());
  const auto load = [](Environment& into, std::span<const std::byte> bytes) {
    ByteReader in(bytes, "state");
    into.Load(in);
  };
  const auto other = Faulty("Exits");
  ExpectError(kBad, {"Exits-v0", "Counter-v0"}, [&] { load(*other, whole); });
  const auto two = Faulty("Counter", {.num_envs = 2});
  ExpectError(kBad, {"environments '2'"}, [&] { load(*two, whole); });
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ExpectError(kBad, {"state"}, [&] { load(*env, std::span(whole).first(size)); });
  }
  // A flipped bit is refused at once, discovered by playing, or (in a seed not used yet) harmless.
  RandomStream random(3, "test");
  int refused = 0;
  for (int k = 0; k < 60; ++k) {
    std::vector<std::byte> damaged = whole;
    damaged[random.Below(damaged.size())] ^= std::byte{1} << random.Below(8);
    try {
      load(*env, damaged);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 40);
  load(*env, whole);
  EXPECT_EQ(env->observations().floats[2], 3);
}

TEST_F(Bridge, NumbersOfAGameThatCannotBeAreRefusedBeforeItIsPlayed) {
  const auto env = Faulty("Counter");
  env->Reset(5);
  for (int k = 0; k < 3; ++k) env->Step({.indices = Same(*env, 1)});
  ByteWriter out;
  env->Save(out);
  // From the end: the hash, three actions and their count, one seed and the seeds' count, steps.
  const auto with = [&](std::size_t from_end, std::int64_t value) {
    std::vector<std::byte> changed(out.bytes().begin(), out.bytes().end());
    for (std::size_t i = 0; i < 8; ++i) {
      changed[changed.size() - from_end + i] = static_cast<std::byte>(value >> (8 * i));
    }
    return changed;
  };
  const auto refuses = [&](std::size_t from_end, std::int64_t value, const std::string& words) {
    const std::vector<std::byte> changed = with(from_end, value);
    ByteReader in(changed, "state");
    ExpectError(kBad, {"state", words}, [&] { env->Load(in); });
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t steps : {std::int64_t{-1}, std::int64_t{4}, kMost}) {
    refuses(64, steps, "steps of them in the last episode");
  }
  for (const std::int64_t seeds : {std::int64_t{-1}, kMost}) refuses(56, seeds, "fewer seeds");
  refuses(48, -1, "seeds and actions of a game");
  for (const std::int64_t count : {std::int64_t{-1}, kMost}) refuses(40, count, "fewer actions");
  for (const std::int64_t action : {std::int64_t{-1}, std::int64_t{1000}, kMost}) {
    refuses(32, action, "expected an action from 0 to");
  }
}

TEST_F(Bridge, WhatIsNotDeterministicCannotBeRebuilt) {
  const auto env = Faulty("Forgets");
  env->Reset(5);
  for (int k = 0; k < 3; ++k) env->Step({.indices = Same(*env, 1)});
  ByteWriter out;
  env->Save(out);
  ByteReader in(out.bytes(), "state");
  ExpectError(kFailed, {"playing the 3 actions", "led elsewhere"}, [&] { env->Load(in); });
}

}  // namespace stableaa::rebuilt_games_test
