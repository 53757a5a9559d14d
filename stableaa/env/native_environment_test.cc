// Trajectories of all native environments, and their pictures. Ends and resets are in
// native_episodes_test.cc, the rest in native_saved_state_test.cc and native_actions_test.cc.

#include "stableaa/env/native_environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/classic/classic.h"
#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/native_play_test.h"
#include "stableaa/env/picture.h"

namespace stableaa::native_environment_test {

using native_play_test::Difference;
using native_play_test::EveryNative;
using native_play_test::kSeed;
using native_play_test::NativeIds;
using native_play_test::Players;
using native_play_test::PlayFrom;
using native_play_test::Shown;
using native_play_test::ShownBy;
using native_play_test::Trajectory;

std::unique_ptr<Simulation> MakeBare(const std::string& id) {
  const std::string name = id.substr(id.find('/') + 1);
  return id.starts_with("minatar/") ? MakeMinatar(name) : MakeClassic(name);
}

Simulation::Action ActionOf(const Actions& actions, std::size_t i) {
  if (actions.values.empty()) return {.index = actions.indices[i]};
  return {.values = actions.values.subspan(i, 1)};
}

// What NativeEnvironment promises for environment i, done by hand with a simulation and a stream.
class ByHand {
 public:
  ByHand(const EnvironmentSpec& spec, std::uint64_t seed, int i, bool draws)
      : spec_(spec),
        draws_(draws),
        simulation_(MakeBare(spec.id)),
        random_(seed, fmt::format("env/{}", i)) {
    simulation_->Reset(random_);
    Observe();
    shown_.Add(0, false, false);
    if (draws_) simulation_->Draw(frame_);
  }

  void Step(Simulation::Action action) {
    const auto [reward, terminated] = simulation_->Step(action, random_);
    ++steps_;
    const bool truncated = !terminated && steps_ == spec_.max_episode_steps;
    Shown last;
    shown_ = {};
    if (terminated || truncated) {
      Observe();
      std::swap(last, shown_);
      if (draws_) simulation_->Draw(final_frame_);
      simulation_->Reset(random_);
      steps_ = 0;
      ++episodes_;
    }
    Observe();
    shown_.Add(reward, terminated, truncated);
    shown_.Add(std::span<const char>(last.text()));
    if (draws_) simulation_->Draw(frame_);
  }

  const std::string& shown() const { return shown_.text(); }
  const Picture& frame() const { return frame_; }
  const Picture& final_frame() const { return final_frame_; }
  int episodes() const { return episodes_; }

 private:
  void Observe() {
    if (spec_.observation.type == ElementType::kUint8) {
      std::vector<std::uint8_t> bytes(spec_.observation.size(), 99);
      simulation_->Observe({.bytes = bytes});
      shown_.Add(std::span<const std::uint8_t>(bytes));
    } else {
      std::vector<float> floats(spec_.observation.size(), 99);
      simulation_->Observe({.floats = floats});
      shown_.Add(std::span<const float>(floats));
    }
  }

  EnvironmentSpec spec_;
  bool draws_;
  std::unique_ptr<Simulation> simulation_;
  RandomStream random_;
  std::int64_t steps_ = 0;
  int episodes_ = 0;
  Shown shown_;
  Picture frame_, final_frame_;
};

INSTANTIATE_TEST_SUITE_P(Environments, EveryNative, testing::ValuesIn(NativeIds()),
                         [](const testing::TestParamInfo<std::string>& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

TEST(NativeEnvironment, AllTenAreHere) { EXPECT_EQ(NativeIds().size(), 10U); }

// --- trajectories

TEST_P(EveryNative, SameSeedAndActionsGiveTheSameTrajectory) {
  const auto first = Make({.num_envs = 2});
  const auto second = Make({.num_envs = 2});
  const Trajectory trajectory = PlayFrom(kSeed, *first, 600);
  EXPECT_EQ(Difference(trajectory, PlayFrom(kSeed, *second, 600)), std::nullopt);
  EXPECT_NE(Difference(trajectory, PlayFrom(kSeed + 1, *second, 600)), std::nullopt);
}

TEST_P(EveryNative, EachOfABatchDoesTheSameInBatchesOfAnySize) {
  constexpr int kLargest = 8;
  std::vector<Trajectory> largest(kLargest);
  for (const int count : {kLargest, 3, 1}) {
    const auto environment = Make({.num_envs = count});
    ASSERT_EQ(environment->num_envs(), count);
    environment->Reset(kSeed);
    Players players(*environment);
    std::vector<Trajectory> trajectories(static_cast<std::size_t>(count));
    for (int step = 0; step < 400; ++step) {
      for (int i = 0; i < count; ++i) {
        trajectories[static_cast<std::size_t>(i)].push_back(ShownBy(*environment, i));
      }
      environment->Step(players.Next());
    }
    if (count == kLargest) largest = trajectories;
    for (std::size_t i = 0; i < trajectories.size(); ++i) {
      EXPECT_EQ(Difference(trajectories[i], largest[i]), std::nullopt) << count << " " << i;
    }
  }
  EXPECT_NE(Difference(largest[0], largest[1]), std::nullopt);
}

// Compares rewards, flags, ends, first and final observations, and the pictures of both.
void CompareWithSteppingByHand(Environment& environment, int steps, bool expect_ends) {
  environment.Reset(kSeed);
  Players players(environment);
  std::vector<ByHand> by_hand;
  for (int i = 0; i < environment.num_envs(); ++i) {
    by_hand.emplace_back(environment.spec(), kSeed, i, environment.renders());
  }
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < environment.num_envs(); ++i) {
      const ByHand& hand = by_hand[static_cast<std::size_t>(i)];
      ASSERT_TRUE(ShownBy(environment, i) == hand.shown()) << i << " step " << step;
      if (!environment.renders()) continue;
      ASSERT_TRUE(environment.frame(i) == hand.frame()) << i << " step " << step;
      if (!environment.ended(i)) continue;
      ASSERT_TRUE(environment.final_frame(i) == hand.final_frame()) << i << " step " << step;
    }
    const Actions actions = players.Next();
    environment.Step(actions);
    for (std::size_t i = 0; i < by_hand.size(); ++i) by_hand[i].Step(ActionOf(actions, i));
  }
  for (const ByHand& hand : by_hand) EXPECT_EQ(hand.episodes() > 0, expect_ends);
}

TEST_P(EveryNative, AStepIsThatOfASimulationDrivenByHand) {
  const auto usual = Make({.num_envs = 2});
  const bool long_episodes = GetParam() == "minatar/freeway";  // 2500 steps
  CompareWithSteppingByHand(*usual, 1000, !long_episodes);
  const auto short_episodes = Make({.num_envs = 2, .render = true, .max_episode_steps = 11});
  CompareWithSteppingByHand(*short_episodes, 25, true);
}

TEST_P(EveryNative, ObservationsAreWithinTheirSpace) {
  const auto environment = Make({.num_envs = 3});
  const Space& space = environment->spec().observation;
  environment->Reset(kSeed);
  Players players(*environment);
  for (int step = 0; step < 300; ++step) {
    const auto [bytes, floats] = environment->observations();
    ASSERT_EQ(bytes.size(), space.type == ElementType::kUint8 ? 3 * space.size() : 0);
    ASSERT_EQ(floats.size(), space.type == ElementType::kFloat ? 3 * space.size() : 0);
    for (std::size_t k = 0; k < floats.size(); ++k) {
      ASSERT_GE(floats[k], space.LowOf(k % space.size()));
      ASSERT_LE(floats[k], space.HighOf(k % space.size()));
    }
    ASSERT_TRUE(std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte <= 1; }));
    environment->Step(players.Next());
  }
}

// --- pictures

TEST_P(EveryNative, FramesHaveOneSizeAndChangeWithTheState) {
  const auto environment = Make({.num_envs = 2, .render = true, .max_episode_steps = 12});
  ASSERT_TRUE(environment->renders());
  environment->Reset(kSeed);
  const int width = environment->frame(0).width(), height = environment->frame(0).height();
  EXPECT_GT(width, 0);
  EXPECT_GT(height, 0);
  Players players(*environment);
  std::set<std::string> pictures;
  bool ended = false;
  for (int step = 0; step < 14; ++step) {
    for (int i = 0; i < 2; ++i) {
      const Picture& frame = environment->frame(i);
      ASSERT_EQ(frame.width(), width);
      ASSERT_EQ(frame.height(), height);
      pictures.emplace(frame.rgb().begin(), frame.rgb().end());
      if (!environment->ended(i)) continue;
      ended = true;
      ASSERT_EQ(environment->final_frame(i).width(), width);
      ASSERT_EQ(environment->final_frame(i).height(), height);
      EXPECT_FALSE(environment->final_frame(i) == frame);
    }
    environment->Step(players.Next());
  }
  EXPECT_TRUE(ended);
  EXPECT_GT(pictures.size(), 10U);
}

TEST_P(EveryNative, WithoutRenderThereAreNoFrames) {
  const auto environment = Make();
  environment->Reset(kSeed);
  EXPECT_FALSE(environment->renders());
  EXPECT_THROW(environment->frame(0), std::logic_error);
  EXPECT_THROW(environment->final_frame(0), std::logic_error);
}

TEST_P(EveryNative, RenderingChangesNothing) {
  const auto plain = Make();
  const auto rendering = Make({.render = true});
  EXPECT_EQ(Difference(PlayFrom(kSeed, *plain, 30), PlayFrom(kSeed, *rendering, 30)), std::nullopt);
}

}  // namespace stableaa::native_environment_test
