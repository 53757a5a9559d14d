#include "stableaa/env/native_environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/env/classic/classic.h"
#include "stableaa/env/fixed_policy.h"
#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"

namespace stableaa::native_environment_test {

constexpr std::uint64_t kSeed = 7;

std::vector<std::string> NativeIds() {
  std::vector<std::string> ids;
  for (const EnvironmentListing& listing : ListEnvironments()) {
    if (listing.id.starts_with("minatar/") || listing.id.starts_with("classic/")) {
      ids.push_back(listing.id);
    }
  }
  return ids;
}

std::unique_ptr<Simulation> MakeBare(const std::string& id) {
  const std::string name = id.substr(id.find('/') + 1);
  return id.starts_with("minatar/") ? MakeMinatar(name) : MakeClassic(name);
}

// Random actions. Each environment has its own stream, so its actions are the same in batches of
// any size.
class Players {
 public:
  explicit Players(const Environment& environment, std::uint64_t seed = 1)
      : space_(environment.spec().action) {
    for (int i = 0; i < environment.num_envs(); ++i) {
      streams_.emplace_back(seed, fmt::format("player/{}", i));
    }
  }

  // Valid until the next call.
  Actions Next() {
    indices_.clear();
    values_.clear();
    for (RandomStream& random : streams_) {
      if (space_.kind == Space::Kind::kDiscrete) {
        indices_.push_back(
            static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(space_.n))));
      } else {
        values_.push_back(static_cast<float>(random.Uniform(-2, 2)));
      }
    }
    return {indices_, values_};
  }

 private:
  Space space_;
  std::vector<RandomStream> streams_;
  std::vector<std::int32_t> indices_;
  std::vector<float> values_;
};

Simulation::Action ActionOf(const Actions& actions, std::size_t i) {
  if (actions.values.empty()) return {.index = actions.indices[i]};
  return {.values = actions.values.subspan(i, 1)};
}

// What a step shows, as bytes, so that -0 and 0 differ.
class Shown {
 public:
  template <typename T>
  Shown& Add(std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return *this;
  }
  Shown& Add(double reward, bool terminated, bool truncated) {
    Add(std::span<const double>(&reward, 1));
    text_ += terminated ? 'T' : '-';
    text_ += truncated ? 'L' : '-';
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <typename T>
std::span<const T> RowOf(std::span<const T> all, int i, int count) {
  const std::size_t size = all.size() / static_cast<std::size_t>(count);
  return all.subspan(static_cast<std::size_t>(i) * size, size);
}

std::string ShownBy(const Environment& environment, int i) {
  const auto row = static_cast<std::size_t>(i);
  const int count = environment.num_envs();
  Shown shown;
  const auto add = [&](const Observations& observations) {
    shown.Add(RowOf(observations.bytes, i, count)).Add(RowOf(observations.floats, i, count));
  };
  add(environment.observations());
  shown.Add(environment.rewards()[row], environment.terminated()[row] != 0,
            environment.truncated()[row] != 0);
  if (environment.ended(i)) add(environment.final_observations());
  return shown.text();
}

std::string ShownBy(const Environment& environment) {
  std::string all;
  for (int i = 0; i < environment.num_envs(); ++i) all += ShownBy(environment, i);
  return all;
}

using Trajectory = std::vector<std::string>;  // one entry per step

Trajectory Play(Environment& environment, Players& players, int steps) {
  Trajectory trajectory = {ShownBy(environment)};
  for (int step = 0; step < steps; ++step) {
    environment.Step(players.Next());
    trajectory.push_back(ShownBy(environment));
  }
  return trajectory;
}

Trajectory PlayFrom(std::uint64_t seed, Environment& environment, int steps) {
  environment.Reset(seed);
  Players players(environment);
  return Play(environment, players, steps);
}

// The first step in which they differ, so that a failure prints a number instead of a megabyte.
std::optional<std::size_t> Difference(const Trajectory& a, const Trajectory& b) {
  for (std::size_t step = 0; step < std::min(a.size(), b.size()); ++step) {
    if (a[step] != b[step]) return step;
  }
  if (a.size() != b.size()) return std::min(a.size(), b.size());
  return std::nullopt;
}

using Bytes = std::vector<std::byte>;

Bytes Saved(const Environment& environment) {
  ByteWriter out;
  environment.Save(out);
  return {out.bytes().begin(), out.bytes().end()};
}

void LoadAll(Environment& environment, std::span<const std::byte> bytes) {
  ByteReader in(bytes, "state");
  environment.Load(in);
  in.ExpectEnd();
}

void ExpectBadInput(const std::function<void()>& action, std::string_view part = "") {
  const std::string message = MessageOf(action);
  EXPECT_NE(message, "no error") << "expected a message with: " << part;
  EXPECT_NE(message.find(part), std::string::npos) << message;
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

class EveryNative : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Environment> Make(const EnvironmentOptions& options = {}) {
    return MakeEnvironment(GetParam(), options);
  }
};

INSTANTIATE_TEST_SUITE_P(Environments, EveryNative, testing::ValuesIn(NativeIds()),
                         [](const testing::TestParamInfo<std::string>& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

TEST(NativeEnvironment, AllNineAreHere) { EXPECT_EQ(NativeIds().size(), 9U); }

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

// --- ends

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

// The default limits, reached by players that can survive that long.
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

// --- saved state

TEST_P(EveryNative, ALoadedStateGoesOnToTheSameBytes) {
  for (const double sticky : {.1, .6}) {
    const EnvironmentOptions options = {.num_envs = 3, .sticky = sticky};
    const auto saved = Make(options);
    saved->Reset(kSeed);
    Players players(*saved);
    Play(*saved, players, 137);
    const Bytes state = Saved(*saved);

    const auto loaded = Make(options);
    LoadAll(*loaded, state);
    EXPECT_EQ(Saved(*loaded), state);
    Players same_players = players;
    const Trajectory expected = Play(*saved, players, 1500);
    const Trajectory found = Play(*loaded, same_players, 1500);
    // Before the first step, rewards and ends belong to no step: only observations agree.
    EXPECT_EQ(Difference({expected.begin() + 1, expected.end()}, {found.begin() + 1, found.end()}),
              std::nullopt);
    EXPECT_EQ(Saved(*loaded), Saved(*saved));
  }
}

TEST_P(EveryNative, LoadShowsTheObservationWithoutARewardOrAnEnd) {
  const auto saved = Make({.render = true, .max_episode_steps = 5});
  PlayFrom(kSeed, *saved, 5);
  const auto loaded = Make({.render = true, .max_episode_steps = 5});
  PlayFrom(kSeed + 1, *loaded, 5);
  LoadAll(*loaded, Saved(*saved));
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
  LoadAll(*loaded, Saved(*saved));
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
  ExpectBadInput([&] { LoadAll(*shorter, Saved(*saved)); }, "expected fewer steps than 3, found 3");
}

// A refused state leaves no trace.
class RefusedState : public testing::Test {
 protected:
  void SetUp() override {
    PlayFrom(kSeed, *environment_, 9);
    before_ = Saved(*environment_);
    shown_ = ShownBy(*environment_);
  }

  void ExpectUnchanged() {
    ASSERT_EQ(Saved(*environment_), before_);
    ASSERT_TRUE(ShownBy(*environment_) == shown_);
  }

  // Continues like one on which Load was never tried.
  void ExpectUsable() {
    const auto other = MakeEnvironment("minatar/breakout", {.num_envs = 2});
    LoadAll(*other, before_);
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
  return Saved(*other);
}

TEST_F(RefusedState, OfAnotherIdOrNumber) {
  for (const std::string& id : NativeIds()) {
    if (id == "minatar/breakout") continue;
    ExpectBadInput([&] { LoadAll(*environment_, AnotherState(id, 2)); }, id);
    ExpectUnchanged();
  }
  ExpectBadInput([&] { LoadAll(*environment_, AnotherState("minatar/breakout", 1)); },
                 "expected the state of 2 environments, found 1");
  ExpectBadInput([&] { LoadAll(*environment_, AnotherState("minatar/breakout", 3)); }, "found 3");
  ExpectUnchanged();
  ExpectUsable();
}

TEST_F(RefusedState, TruncatedAnywhere) {
  const Bytes state = AnotherState("minatar/breakout", 2);
  for (std::size_t size = 0; size < state.size(); ++size) {
    ExpectBadInput([&] { LoadAll(*environment_, std::span(state).first(size)); });
    ExpectUnchanged();
  }
  ExpectUsable();
  LoadAll(*environment_, state);  // only the length was wrong
  EXPECT_EQ(Saved(*environment_), state);
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
      LoadAll(*environment_, flipped);
      ASSERT_GE(bit / 8, header) << "the id, the number or the seed was not read";
      ASSERT_EQ(Saved(*environment_), flipped);
      Players players(*environment_);
      Play(*environment_, players, 3);
      LoadAll(*environment_, before_);
      ASSERT_EQ(Saved(*environment_), before_);
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.kind(), Error::Kind::kBadInput);
      ASSERT_EQ(Saved(*environment_), before_);
    }
  }
  EXPECT_GT(refused, 300);
  ExpectUsable();
}

// The second environment's part is wrong: the first one's must not have been adopted.
TEST_F(RefusedState, WithAnErrorInItsLastByte) {
  Bytes state = AnotherState("minatar/breakout", 2);
  state.back() = std::byte{2};
  ExpectBadInput([&] { LoadAll(*environment_, state); });
  ExpectUnchanged();
  ExpectUsable();
}

TEST(NativeEnvironment, LoadMakesANewEnvironmentReadyUnlessItFails) {
  const Bytes state = AnotherState("classic/cartpole", 1);
  const auto environment = MakeEnvironment("classic/cartpole");
  const std::vector<std::int32_t> left = {0};
  EXPECT_THROW(Saved(*environment), std::logic_error);
  ExpectBadInput([&] { LoadAll(*environment, std::span(state).first(state.size() - 1)); });
  EXPECT_THROW(environment->Step({.indices = left}), std::logic_error);
  LoadAll(*environment, state);
  EXPECT_NO_THROW(environment->Step({.indices = left}));
}

// A pole that turns as fast as a state allows turns faster a step later, and is still a valid
// state.
TEST(NativeEnvironment, WhatFollowsFromALoadedStateCanBeLoaded) {
  const auto environment = MakeEnvironment("classic/cartpole");
  const auto other = MakeEnvironment("classic/cartpole");
  environment->Reset(kSeed);
  const Bytes whole = Saved(*environment);
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
      LoadAll(*environment, state);
    } catch (const Error&) {
      continue;
    }
    ++accepted;
    for (int step = 0; step < 3; ++step) {
      environment->Step(players.Next());
      ASSERT_NO_THROW(LoadAll(*other, Saved(*environment)));
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
  const std::string message = MessageOf([&] { LoadAll(*environment, out.bytes()); });
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

// --- actions

TEST_P(EveryNative, InvalidActionsAreRefusedAndChangeNothing) {
  const auto environment = Make({.num_envs = 2});
  PlayFrom(kSeed, *environment, 4);
  const Bytes before = Saved(*environment);
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
  EXPECT_EQ(Saved(*environment), before);
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

// --- Send and Recv

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
  EXPECT_THROW(Saved(*environment), std::logic_error);

  environment->Reset(kSeed);
  EXPECT_THROW(environment->Recv(), std::logic_error);
  EXPECT_THROW(environment->Send({.indices = wrong}), Error);
  EXPECT_THROW(environment->Recv(), std::logic_error);  // nothing was sent
  environment->Send(actions);
  EXPECT_THROW(environment->Send(actions), std::logic_error);
  EXPECT_THROW(environment->Step(actions), std::logic_error);
  EXPECT_THROW(Saved(*environment), std::logic_error);
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
