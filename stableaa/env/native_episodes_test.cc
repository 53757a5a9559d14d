// Native environments: when episodes end, and what Reset forgets.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/env/native_play_test.h"
#include "stableaa/env/registry.h"

namespace stableaa::native_episodes_test {

using native_play_test::Difference;
using native_play_test::EveryNative;
using native_play_test::kSeed;
using native_play_test::Players;
using native_play_test::PlayFrom;
using native_play_test::Trajectory;

// The first episode, with random actions.
struct FirstEnd {
  std::int64_t length = 0;
  bool terminated = false, truncated = false;
};

FirstEnd PlayToTheEnd(Environment& environment) {
  environment.Reset(kSeed);
  Players players(environment);
  FirstEnd end;
  do {
    environment.Step(players.Next());
    ++end.length;
  } while (!environment.ended(0));
  end.terminated = environment.terminated()[0] != 0;
  end.truncated = environment.truncated()[0] != 0;
  return end;
}

TEST_P(EveryNative, EpisodesAreTruncatedAtTheLimitUnlessTheyTerminateThere) {
  const auto usual = Make();
  const std::int64_t usual_limit = usual->spec().max_episode_steps;
  const FirstEnd natural = PlayToTheEnd(*usual);
  ASSERT_NE(natural.terminated, natural.truncated);
  if (natural.truncated) {
    EXPECT_EQ(natural.length, usual_limit);
  } else {
    EXPECT_LE(natural.length, usual_limit);
  }
  for (const std::int64_t limit :
       {std::int64_t{1}, natural.length - 1, natural.length, natural.length + 1, 2 * usual_limit}) {
    const auto environment = Make({.max_episode_steps = limit});
    EXPECT_EQ(environment->spec().max_episode_steps, limit);
    const FirstEnd end = PlayToTheEnd(*environment);
    EXPECT_NE(end.terminated, end.truncated) << limit;
    if (natural.terminated) {
      EXPECT_EQ(end.length, std::min(limit, natural.length));
      EXPECT_EQ(end.terminated, limit >= natural.length) << limit;
    } else if (limit <= usual_limit) {
      EXPECT_EQ(end.length, limit);
      EXPECT_TRUE(end.truncated) << limit;
    }
  }
}

TEST_P(EveryNative, EveryEpisodeHasTheWholeLimitAndFlagsHoldForOneStep) {
  const auto environment = Make({.num_envs = 2, .max_episode_steps = 9});
  environment->Reset(kSeed);
  Players players(*environment);
  std::vector<int> lengths(2);
  for (int step = 0; step < 200; ++step) {
    environment->Step(players.Next());
    for (int i = 0; i < 2; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const bool terminated = environment->terminated()[row] != 0;
      const bool truncated = environment->truncated()[row] != 0;
      ++lengths[row];
      ASSERT_FALSE(terminated && truncated);
      ASSERT_EQ(terminated || truncated, environment->ended(i));
      ASSERT_EQ(truncated, lengths[row] == 9 && !terminated) << "step " << step;
      ASSERT_LE(lengths[row], 9);
      if (environment->ended(i)) lengths[row] = 0;
    }
  }
}

TEST_P(EveryNative, AGameIsAnEpisode) {
  const auto environment = MakeEnvironment(GetParam(), {.num_envs = 3, .max_episode_steps = 40});
  environment->Reset(kSeed);
  Players players(*environment);
  int ended = 0;
  for (int step = 0; step < 100; ++step) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(environment->game_ended(i), environment->ended(i));
      ended += environment->game_ended(i) ? 1 : 0;
    }
    environment->Step(players.Next());
  }
  EXPECT_GE(ended, 6);
}

// The default limits, reached by players that can survive that long.
TEST(NativeEnvironment, UsualLimits) {
  const auto length_of = [](const std::string& id, const std::function<int(Observations)>& act) {
    const auto environment = MakeEnvironment(id, {.sticky = 0});
    environment->Reset(kSeed);
    for (std::int64_t length = 1;; ++length) {
      const std::int32_t index = act(environment->observations());
      environment->Step({std::span(&index, 1), {}});
      if (environment->ended(0)) {
        EXPECT_TRUE(environment->truncated()[0]) << id;
        return length;
      }
    }
  };
  EXPECT_EQ(length_of("classic/cartpole",
                      [](const Observations& seen) {
                        return seen.floats[2] + seen.floats[3] + .1F * seen.floats[1] > 0 ? 1 : 0;
                      }),
            500);
  const auto nothing = [](const Observations&) { return 1; };
  EXPECT_EQ(length_of("classic/mountain_car", nothing), 200);
  EXPECT_EQ(length_of("classic/acrobot", nothing), 500);
  const auto up = [](const Observations&) { return 2; };
  EXPECT_EQ(length_of("minatar/seaquest", up), 5000);
  const auto pendulum = MakeEnvironment("classic/pendulum");
  EXPECT_EQ(PlayToTheEnd(*pendulum).length, 200);
  const auto car = MakeEnvironment("classic/mountain_car_continuous");
  EXPECT_EQ(PlayToTheEnd(*car).length, 999);
}

// --- Reset

TEST_P(EveryNative, ResetInMidEpisodeIsLikeANewObject) {
  // Very sticky: the previous action matters, and must not outlive a Reset.
  const EnvironmentOptions options = {.num_envs = 2, .sticky = .5};
  const auto fresh = Make(options);
  const Trajectory expected = PlayFrom(kSeed, *fresh, 200);
  const auto used = Make(options);
  for (const int steps : {0, 1, 7, 33}) {
    PlayFrom(100, *used, steps);
    EXPECT_EQ(Difference(PlayFrom(kSeed, *used, 200), expected), std::nullopt) << steps;
  }
}

TEST(NativeEnvironment, ResetForgetsTheActionThatStickyOnesRepeat) {
  const auto environment = MakeEnvironment("minatar/breakout", {.sticky = .9});
  const std::vector<std::int32_t> right = {3};
  const auto paddle = [&] {
    for (std::size_t x = 0; x < 10; ++x) {
      if (environment->observations().bytes[(90 + x) * 4] != 0) return x;
    }
    return std::size_t{99};
  };
  int still = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    environment->Reset(seed);
    const std::size_t start = paddle();
    environment->Step({.indices = right});
    if (paddle() == start) ++still;
    for (int step = 0; step < 5; ++step) environment->Step({.indices = right});
  }
  // Binomial(50, 0.9): 45 on average, below 30 with probability 4e-9; the seeds are fixed. If the
  // action were remembered, all would move but those before the first that was not repeated.
  EXPECT_GE(still, 30);
  EXPECT_LT(still, 50);
}

TEST_P(EveryNative, ResetShowsNoRewardAndNoEnd) {
  const auto environment = Make({.max_episode_steps = 1});
  PlayFrom(kSeed, *environment, 1);
  ASSERT_TRUE(environment->ended(0));
  environment->Reset(kSeed);
  EXPECT_FALSE(environment->ended(0));
  EXPECT_EQ(environment->rewards()[0], 0);
}

}  // namespace stableaa::native_episodes_test
