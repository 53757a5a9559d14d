// Native environments: actions that are refused, and calls out of order.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/env/classic/classic.h"
#include "stableaa/env/native_environment.h"
#include "stableaa/env/native_play_test.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::native_actions_test {

using native_play_test::Bytes;
using native_play_test::Difference;
using native_play_test::EveryNative;
using native_play_test::kSeed;
using native_play_test::Players;
using native_play_test::PlayFrom;
using native_play_test::ShownBy;
using native_play_test::Trajectory;

TEST_P(EveryNative, InvalidActionsAreRefusedAndChangeNothing) {
  const auto environment = Make({.num_envs = 2});
  PlayFrom(kSeed, *environment, 4);
  const Bytes before = SavedBytes(*environment);
  const std::string shown = ShownBy(*environment);
  const auto refuse_indices = [&](const std::vector<std::int32_t>& indices) {
    ExpectBadInput([&] { environment->Step({.indices = indices}); }, GetParam());
  };
  const auto refuse_values = [&](const std::vector<float>& values) {
    ExpectBadInput([&] { environment->Step({.values = values}); }, GetParam());
  };
  if (const Space& space = environment->spec().action; space.kind == Space::Kind::kDiscrete) {
    constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
    for (const std::int32_t wrong : {-1, space.n, kLargest, -kLargest - 1}) {
      refuse_indices({wrong, 0});
      refuse_indices({0, wrong});
    }
    refuse_indices({});
    refuse_indices({0});
    refuse_indices({0, 0, 0});
    refuse_values({0, 0});
  } else {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      refuse_values({wrong, 0});
      refuse_values({0, wrong});
    }
    refuse_values({});
    refuse_values({0});
    refuse_values({0, 0, 0});
    refuse_indices({0, 0});
  }
  EXPECT_EQ(SavedBytes(*environment), before);
  EXPECT_TRUE(ShownBy(*environment) == shown);
  Players players(*environment);
  EXPECT_NO_THROW(environment->Step(players.Next()));
}

TEST_P(EveryNative, ActionsOfTheOtherKindAreNotTakenForTheRightOnes) {
  const auto environment = Make({.num_envs = 2});
  const auto reference = Make({.num_envs = 2});
  environment->Reset(kSeed);
  reference->Reset(kSeed);
  const std::vector<std::int32_t> indices = {1, 1};
  const std::vector<float> values = {1};
  const bool discrete = environment->spec().action.kind == Space::Kind::kDiscrete;
  const std::vector<float> torques = {1, 1};
  // Either refused or ignored.
  try {
    environment->Step(discrete ? Actions{indices, values}
                               : Actions{std::span(indices).first(1), torques});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
    return;
  }
  reference->Step(discrete ? Actions{.indices = indices} : Actions{.values = torques});
  EXPECT_TRUE(ShownBy(*environment) == ShownBy(*reference));
}

TEST_P(EveryNative, SendAndRecvAreAStep) {
  const auto stepped = Make({.num_envs = 2});
  const Trajectory expected = PlayFrom(kSeed, *stepped, 100);
  const auto halves = Make({.num_envs = 2});
  halves->Reset(kSeed);
  Players players(*halves);
  Trajectory found = {ShownBy(*halves)};
  for (int step = 0; step < 100; ++step) {
    halves->Send(players.Next());
    halves->Recv();
    found.push_back(ShownBy(*halves));
  }
  EXPECT_EQ(Difference(found, expected), std::nullopt);
}

TEST(NativeEnvironment, CallsOutOfOrderAreRefused) {
  const auto environment = MakeEnvironment("classic/cartpole");
  const std::vector<std::int32_t> left = {0}, wrong = {9};
  const Actions actions = {.indices = left};
  EXPECT_THROW(environment->Step(actions), std::logic_error);
  EXPECT_THROW(environment->Send(actions), std::logic_error);
  EXPECT_THROW(environment->Recv(), std::logic_error);
  EXPECT_THROW(SavedBytes(*environment), std::logic_error);

  environment->Reset(kSeed);
  EXPECT_THROW(environment->Recv(), std::logic_error);
  EXPECT_THROW(environment->Send({.indices = wrong}), Error);
  EXPECT_THROW(environment->Recv(), std::logic_error);  // nothing was sent
  environment->Send(actions);
  EXPECT_THROW(environment->Send(actions), std::logic_error);
  EXPECT_THROW(environment->Step(actions), std::logic_error);
  EXPECT_THROW(SavedBytes(*environment), std::logic_error);
  environment->Recv();
  EXPECT_THROW(environment->Recv(), std::logic_error);
  EXPECT_NO_THROW(environment->Step(actions));

  environment->Send(actions);
  environment->Reset(kSeed);  // works in any phase
  EXPECT_THROW(environment->Recv(), std::logic_error);
  EXPECT_NO_THROW(environment->Step(actions));
}

TEST(NativeEnvironment, ABatchHasAtLeastOne) {
  const auto make = [] { return MakeClassic("cartpole"); };
  for (const int count : {0, -1}) {
    ExpectBadInput([&] { NativeEnvironment(ClassicEnvironmentSpec("cartpole"), count, make); });
  }
}

}  // namespace stableaa::native_actions_test
