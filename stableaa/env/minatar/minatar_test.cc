#include "stableaa/env/minatar/minatar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/minatar/drawing.h"
#include "stableaa/env/minatar/grid.h"
#include "stableaa/env/minatar/scripted_policy.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::minatar_test {

using minatar::kActions;
using minatar::kCells;
using Bytes = std::vector<std::uint8_t>;
using Options = MinatarEnvironmentOptions;

RandomStream Stream(std::uint64_t seed = 1) { return RandomStream(seed, "test"); }

// One game with everything needed to play it.
class Session {
 public:
  explicit Session(std::string_view name, const Options& options = {}, std::uint64_t seed = 1)
      : game(ParseMinatarGame(name)),
        simulation(MakeMinatar(name, options)),
        random(Stream(seed)),
        observation(static_cast<std::size_t>(kCells * MinatarChannels(game))) {
    Reset();
  }

  void Reset() {
    simulation->Reset(random);
    Observe();
  }
  Simulation::Outcome Step(int action) {
    const Simulation::Outcome outcome = simulation->Step({.index = action, .values = {}}, random);
    Observe();
    return outcome;
  }

  // Active cells of a channel.
  std::vector<int> Cells(int channel) const {
    std::vector<int> cells;
    const int channels = MinatarChannels(game);
    for (int cell = 0; cell < kCells; ++cell) {
      const int at = cell * channels + channel;
      if (observation[static_cast<std::size_t>(at)] != 0) cells.push_back(cell);
    }
    return cells;
  }

  std::vector<std::byte> Saved() const { return SavedBytes(*simulation); }
  void Load(std::span<const std::byte> bytes) {
    LoadBytes(*simulation, bytes);
    Observe();
  }

  int Scripted() const { return ScriptedMinatarAction(game, observation); }

  MinatarGame game;
  std::unique_ptr<Simulation> simulation;
  RandomStream random;
  Bytes observation;

 private:
  void Observe() {
    std::fill(observation.begin(), observation.end(), std::uint8_t{77});
    simulation->Observe({.bytes = observation, .floats = {}});
  }
};

bool Same(const Simulation::Outcome& a, const Simulation::Outcome& b) {
  return a.reward == b.reward && a.terminated == b.terminated;
}

// Follows the script half of the time: survives longer than random play, sees more than the script.
int MixedAction(const Session& session, RandomStream& choice) {
  return choice.Bernoulli(0.5) ? session.Scripted() : static_cast<int>(choice.Below(kActions));
}

// --- names and options

TEST(Minatar, NamesLeadToTheirGames) {
  EXPECT_EQ(MinatarNames(), (std::vector<std::string>{"asterix", "breakout", "freeway", "seaquest",
                                                      "space_invaders"}));
  EXPECT_EQ(ParseMinatarGame("freeway"), MinatarGame::kFreeway);
  EXPECT_EQ(ParseMinatarGame("space_invaders"), MinatarGame::kSpaceInvaders);
}

TEST(Minatar, UnknownNameIsRefusedWithTheListOfKnownOnes) {
  const std::string expected =
      "MinAtar game is 'pong': expected asterix, breakout, freeway, seaquest, space_invaders";
  EXPECT_EQ(MessageOf([] { MakeMinatar("pong"); }), expected);
  EXPECT_EQ(MessageOf([] { MinatarEnvironmentSpec("pong"); }), expected);
}

TEST(Minatar, StickyOutsideOfZeroToOneIsRefused) {
  for (const double sticky : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(MakeMinatar("breakout", {.sticky = sticky}), Error);
    EXPECT_THROW(MinatarEnvironmentSpec("breakout", {.sticky = sticky}), Error);
  }
}

TEST(Minatar, SpecDescribesTheGame) {
  const EnvironmentSpec spec = MinatarEnvironmentSpec("space_invaders");
  EXPECT_EQ(spec.id, "minatar/space_invaders");
  EXPECT_EQ(spec.observation, Space::Bytes({10, 10, 6}, 1));
  EXPECT_EQ(spec.action, Space::Discrete(6));
  EXPECT_EQ(spec.channel_axis, 2);
  EXPECT_EQ(spec.channel_names[5], "enemy bullet");
  EXPECT_EQ(spec.action_names,
            (std::vector<std::string>{"noop", "left", "up", "right", "down", "fire"}));
  EXPECT_EQ(spec.max_episode_steps, 5000);
  EXPECT_EQ(spec.noop, 0);
  EXPECT_EQ(spec.frames_per_second, 10);
  EXPECT_EQ(spec.protocol, "sticky 0.1, ramping, 6 actions");
}

TEST(Minatar, SpecFollowsTheOptions) {
  const EnvironmentSpec spec = MinatarEnvironmentSpec(
      "space_invaders", {.sticky = 0.25, .ramping = false, .minimal_actions = true});
  EXPECT_EQ(spec.action, Space::Discrete(4));
  EXPECT_EQ(spec.action_names, (std::vector<std::string>{"noop", "left", "right", "fire"}));
  EXPECT_EQ(spec.protocol, "sticky 0.25, no ramping, 4 actions");
}

TEST(Minatar, EveryGameHasItsChannelsAndMinimalActions) {
  const std::vector<std::pair<std::string, std::pair<int, std::vector<int>>>> games = {
      {"asterix", {4, {0, 1, 2, 3, 4}}},
      {"breakout", {4, {0, 1, 3}}},
      {"freeway", {7, {0, 2, 4}}},
      {"seaquest", {10, {0, 1, 2, 3, 4, 5}}},
      {"space_invaders", {6, {0, 1, 3, 5}}}};
  for (const auto& [name, expected] : games) {
    const auto& [channels, minimal] = expected;
    const EnvironmentSpec spec = MinatarEnvironmentSpec(name, {.minimal_actions = true});
    EXPECT_EQ(spec.observation.shape, (std::vector<int>{10, 10, channels})) << name;
    EXPECT_EQ(spec.channel_names.size(), static_cast<std::size_t>(channels)) << name;
    EXPECT_EQ(spec.action.n, static_cast<int>(minimal.size())) << name;
    const MinatarGame game = ParseMinatarGame(name);
    const std::span<const int> actions = MinimalMinatarActions(game);
    EXPECT_EQ(std::vector<int>(actions.begin(), actions.end()), minimal) << name;
    for (std::size_t i = 0; i < minimal.size(); ++i) {
      EXPECT_EQ(ToMinimalMinatarAction(game, minimal[i]), static_cast<int>(i)) << name;
    }
  }
  EXPECT_EQ(ToMinimalMinatarAction(MinatarGame::kBreakout, minatar::kFire), 0);
}

TEST(Minatar, MinimalActionsStandForThoseOfTheFullSet) {
  for (const std::string& name : MinatarNames()) {
    Session full(name);
    Session minimal(name, {.minimal_actions = true});
    const std::span<const int> actions = MinimalMinatarActions(full.game);
    RandomStream choice = Stream(2);
    for (int step = 0; step < 500; ++step) {
      const std::size_t index = choice.Below(actions.size());
      const auto expected = full.Step(actions[index]);
      ASSERT_TRUE(Same(minimal.Step(static_cast<int>(index)), expected)) << name;
      ASSERT_EQ(minimal.observation, full.observation) << name;
      if (!expected.terminated) continue;
      full.Reset();
      minimal.Reset();
    }
  }
}

// --- sticky actions

// Breakout draws nothing during play and always shows its paddle, so the layer around it can be
// followed step by step, through ends and resets.
TEST(MinatarSticky, ActionsRepeatAsDrawnThroughEndsAndResets) {
  constexpr double kSticky = 0.3;
  Session session("breakout", {.sticky = kSticky});
  RandomStream twin = Stream(1);
  RandomStream choice = Stream(2);
  twin.Below(2);  // the side from which the ball starts
  int last = minatar::kNoop;
  int paddle = 4;
  bool over = false;
  int repeats_across_resets = 0;
  bool fresh = false;
  for (int step = 0; step < 5000; ++step) {
    const int wanted = choice.Bernoulli(0.5) ? minatar::kLeft : minatar::kRight;
    const bool repeat = twin.Bernoulli(kSticky);
    const bool was_over = over;
    if (!repeat) last = wanted;
    if (repeat && fresh && last != wanted) ++repeats_across_resets;
    fresh = false;
    const auto outcome = session.Step(wanted);
    if (was_over) {
      ASSERT_TRUE(Same(outcome, {0, true}));
    } else {
      paddle = std::clamp(paddle + (last == minatar::kLeft    ? -1
                                    : last == minatar::kRight ? 1
                                                              : 0),
                          0, 9);
    }
    ASSERT_EQ(session.Cells(0), std::vector<int>{90 + paddle}) << step;
    over = outcome.terminated;
    if (over && choice.Bernoulli(0.3)) {  // after some steps at the end
      session.Reset();
      twin.Below(2);
      paddle = 4;
      over = false;
      fresh = true;
    }
  }
  EXPECT_EQ(session.random.state(), twin.state());
  EXPECT_GT(repeats_across_resets, 10);
}

TEST(MinatarSticky, NewSimulationRepeatsTheNoop) {
  Session session("space_invaders", {.sticky = 1});
  for (int step = 0; step < 10; ++step) session.Step(minatar::kLeft);
  EXPECT_EQ(session.Cells(0), std::vector<int>{95});
}

TEST(MinatarSticky, OneDrawIsMadeWhateverTheProbability) {
  for (const double sticky : {0.0, 0.1, 1.0}) {
    Session session("space_invaders", {.sticky = sticky});
    RandomStream twin = Stream(1);
    session.Step(minatar::kLeft);
    twin();
    EXPECT_EQ(session.random.state(), twin.state());
  }
}

// Within five standard deviations: a false alarm once in 1.7 million.
TEST(MinatarSticky, TenPercentByDefault) {
  constexpr int kSteps = 20000;
  Session session("space_invaders");
  int last = minatar::kNoop;
  int repeats = 0;
  for (int step = 0; step < kSteps; ++step) {
    const int wanted = last == minatar::kLeft ? minatar::kRight : minatar::kLeft;
    const int before = session.Cells(0)[0];
    const bool over = session.Step(wanted).terminated;
    const int after = session.Cells(0)[0];
    if (after != before) last = after < before ? minatar::kLeft : minatar::kRight;
    if (last != wanted) ++repeats;
    // Not every move is visible at a wall.
    if (over || after == 90 || after == 99) session.Reset();
  }
  EXPECT_NEAR(repeats, kSteps * 0.1, 5 * std::sqrt(kSteps * 0.09));
}

// --- known answers, without sticky actions

struct Played {
  int steps = 0;
  bool ended = false;
  double total = 0;
  std::vector<int> sums = {};  // active cells of each channel over all observations after a step

  bool operator==(const Played&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Played& played) {
  out << played.steps << " steps, " << (played.ended ? "ended" : "cut") << ", return "
      << played.total << ", sums";
  for (const int sum : played.sums) out << ' ' << sum;
  return out;
}

using Policy = std::function<int(const Session&, int step)>;

Played Play(Session& session, const Policy& policy, int limit = 5000) {
  Played played;
  played.sums.resize(static_cast<std::size_t>(MinatarChannels(session.game)));
  while (!played.ended && played.steps < limit) {
    const auto outcome = session.Step(policy(session, played.steps));
    ++played.steps;
    played.total += outcome.reward;
    played.ended = outcome.terminated;
    for (std::size_t i = 0; i < session.observation.size(); ++i) {
      played.sums[i % played.sums.size()] += session.observation[i];
    }
  }
  return played;
}

// One letter per action, repeated.
Policy Pattern(const std::string& letters) {
  std::vector<int> actions;
  for (const char letter : letters) {
    actions.push_back(static_cast<int>(std::string("nlurdf").find(letter)));
  }
  return [actions](const Session&, int step) {
    return actions[static_cast<std::size_t>(step) % actions.size()];
  };
}

int Script(const Session& session, int /*step*/) { return session.Scripted(); }

// A Breakout game whose ball starts in the column.
Session BreakoutFrom(int column) {
  for (std::uint64_t seed = 0;; ++seed) {
    Session session("breakout", {.sticky = 0}, seed);
    if (session.Cells(1) == std::vector<int>{30 + column}) return session;
  }
}

TEST(MinatarKnownAnswers, SpaceInvaders) {
  const std::vector<std::pair<std::string, Played>> answers = {
      {"n", {17, true, 0, {17, 408, 408, 0, 0, 7}}},
      {"l", {37, true, 0, {37, 888, 864, 24, 0, 21}}},
      {"r", {96, true, 0, {96, 2304, 864, 1440, 0, 57}}},
      {"f", {18, true, 3, {18, 409, 409, 0, 19, 8}}},
      {"fr", {97, true, 4, {97, 2212, 853, 1359, 129, 58}}},
      {"lfrf", {59, true, 9, {59, 1159, 775, 384, 53, 40}}},
      {"frrfl", {226, true, 11, {226, 4003, 1721, 2282, 362, 133}}},
      {"flllr", {48, true, 7, {48, 962, 757, 205, 61, 32}}}};
  for (const auto& [letters, answer] : answers) {
    Session session("space_invaders", {.sticky = 0});
    EXPECT_EQ(Play(session, Pattern(letters)), answer) << letters;
  }
}

TEST(MinatarKnownAnswers, SpaceInvadersByTheScript) {
  Session session("space_invaders", {.sticky = 0});
  EXPECT_EQ(Play(session, Script), (Played{1506, true, 162, {1506, 17298, 8272, 9026, 1596, 905}}));
}

TEST(MinatarKnownAnswers, BreakoutWithoutAPlayer) {
  Session left = BreakoutFrom(0);
  EXPECT_EQ(Play(left, Pattern("n")), (Played{6, true, 0, {6, 6, 6, 180}}));
  Session right = BreakoutFrom(9);
  EXPECT_EQ(Play(right, Pattern("n")), (Played{16, true, 1, {16, 16, 16, 474}}));
  Session away = BreakoutFrom(9);
  EXPECT_EQ(Play(away, Pattern("l")), (Played{6, true, 0, {6, 6, 6, 180}}));
}

TEST(MinatarKnownAnswers, BreakoutBallStepByStep) {
  Session session = BreakoutFrom(9);
  const std::vector<int> path = {48, 57, 66, 75, 84, 83, 72, 61, 50, 40, 41, 52, 63, 74};
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto outcome = session.Step(minatar::kNoop);
    EXPECT_EQ(session.Cells(1), std::vector<int>{path[i]}) << "step " << i + 1;
    EXPECT_EQ(outcome.reward, i + 1 == 11 ? 1 : 0) << "step " << i + 1;
    EXPECT_FALSE(outcome.terminated);
  }
}

TEST(MinatarKnownAnswers, BreakoutByTheScript) {
  for (const int column : {0, 9}) {
    Session session = BreakoutFrom(column);
    EXPECT_EQ(Play(session, Script), (Played{5000, false, 417, {5000, 5000, 5000, 70778}}));
  }
}

TEST(MinatarKnownAnswers, FreewayEndsAfter2501StepsWhateverIsDone) {
  for (const std::string letters : {"n", "u", "uddnlrf"}) {
    Session session("freeway", {.sticky = 0}, letters.size());
    const Played played = Play(session, Pattern(letters));
    EXPECT_EQ(played.steps, 2501);
    EXPECT_TRUE(played.ended);
    EXPECT_EQ(played.sums[0], 2501);
    EXPECT_EQ(played.sums[1], 20008);
    EXPECT_EQ(std::accumulate(played.sums.begin() + 2, played.sums.end(), 0), 20008);
    if (letters == "n") {
      EXPECT_EQ(played.total, 0);
    } else if (letters == "u") {
      EXPECT_GT(played.total, 10);
    }
  }
}

TEST(MinatarKnownAnswers, SeaquestPunishesComingUpAlone) {
  Session session("seaquest", {.sticky = 0});
  const Played played = Play(session, Pattern("du"));
  EXPECT_EQ(played.steps, 2);
  EXPECT_TRUE(played.ended);
  EXPECT_EQ(played.total, 0);
}

TEST(MinatarKnownAnswers, SeaquestNeverEndsAtTheSurface) {
  Session session("seaquest", {.sticky = 0});
  const Played played = Play(session, Pattern("n"), 20000);
  EXPECT_FALSE(played.ended);
  EXPECT_EQ(played.total, 0);
}

// --- the scripted players

TEST(MinatarScript, StaysWithinTheMinimalActions) {
  for (const std::string& name : MinatarNames()) {
    Session session(name);
    RandomStream choice = Stream(3);
    std::set<int> used;
    for (int step = 0; step < 3000; ++step) {
      const int action = session.Scripted();
      used.insert(action);
      const int minimal = ToMinimalMinatarAction(session.game, action);
      ASSERT_EQ(MinimalMinatarActions(session.game)[static_cast<std::size_t>(minimal)], action);
      if (session.Step(MixedAction(session, choice)).terminated) session.Reset();
    }
    EXPECT_GE(used.size(), name == "freeway" ? 1U : 3U) << name;
  }
}

TEST(MinatarScript, EarnsMoreThanRandomPlay) {
  for (const std::string& name : MinatarNames()) {
    RandomStream choice = Stream(3);
    const auto earned = [&](const Policy& policy) {
      Session session(name);
      double total = 0;
      int episodes = 0;
      for (int step = 0; step < 10000; ++step) {
        const auto outcome = session.Step(policy(session, step));
        total += outcome.reward;
        if (!outcome.terminated) continue;
        session.Reset();
        ++episodes;
      }
      return total / (episodes + 1);
    };
    const double random =
        earned([&](const Session&, int) { return static_cast<int>(choice.Below(kActions)); });
    EXPECT_GT(earned(Script), 2 * random + 1) << name;
  }
}

TEST(MinatarScript, ObservationOfAnotherSizeIsRefused) {
  for (const std::string& name : MinatarNames()) {
    EXPECT_THROW(ScriptedMinatarAction(ParseMinatarGame(name), Bytes(100)), Error);
  }
}

TEST(MinatarScript, EmptyObservationGetsANoop) {
  for (const std::string& name : MinatarNames()) {
    if (name == "freeway") continue;  // which does not look at anything
    Session session(name);
    const Bytes empty(session.observation.size());
    EXPECT_EQ(ScriptedMinatarAction(session.game, empty), minatar::kNoop) << name;
  }
}

// --- saved games

class SavedMinatar : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Games, SavedMinatar, testing::ValuesIn(MinatarNames()),
                         [](const auto& test) { return test.param; });

TEST_P(SavedMinatar, LoadedGameGoesOnLikeTheOneThatWasSaved) {
  Session session(GetParam());
  RandomStream choice = Stream(2);
  for (int round = 0; round < 100; ++round) {
    Session twin(GetParam(), {}, 9);
    twin.Load(session.Saved());
    twin.random = session.random;
    ASSERT_EQ(twin.observation, session.observation);
    for (int step = 0; step < 40; ++step) {
      const int action = MixedAction(session, choice);
      const auto outcome = session.Step(action);
      ASSERT_TRUE(Same(twin.Step(action), outcome)) << round << ' ' << step;
      ASSERT_EQ(twin.observation, session.observation) << round << ' ' << step;
      if (!outcome.terminated || choice.Bernoulli(0.5)) continue;  // also some steps after the end
      session.Reset();
      twin.Reset();
    }
    ASSERT_EQ(twin.Saved(), session.Saved());
  }
}

TEST_P(SavedMinatar, LastActionIsSaved) {
  Session session(GetParam(), {.sticky = 1});
  for (int action = 0; action < kActions; ++action) {
    std::vector<std::byte> bytes = session.Saved();
    bytes[0] = std::byte{static_cast<std::uint8_t>(action)};
    Session other(GetParam(), {.sticky = 1});
    other.Load(bytes);
    EXPECT_EQ(other.Saved(), bytes);
  }
  std::vector<std::byte> bytes = session.Saved();
  bytes[0] = std::byte{kActions};
  EXPECT_THROW(session.Load(bytes), Error);
}

// A game in progress, with things on the grid.
Session Underway(const std::string& name) {
  Session session(name, {.sticky = 0}, 5);
  for (int step = 0; step < 150; ++step) {
    if (session.Step(session.Scripted()).terminated) session.Reset();
  }
  return session;
}

TEST_P(SavedMinatar, TruncatedBytesAreRefusedAndChangeNothing) {
  const std::vector<std::byte> bytes = Underway(GetParam()).Saved();
  Session session(GetParam());
  const std::vector<std::byte> before = session.Saved();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(session.Load(std::span(bytes).first(size)), Error) << size;
    ASSERT_EQ(session.Saved(), before) << size;
  }
  session.Load(bytes);
  EXPECT_EQ(session.Saved(), bytes);
}

TEST_P(SavedMinatar, CorruptedBytesAreRefusedOrMakeAGameThatCanBePlayed) {
  const std::vector<std::byte> good = Underway(GetParam()).Saved();
  RandomStream random = Stream(7);
  int refused = 0;
  int played = 0;
  for (int trial = 0; trial < 600; ++trial) {
    std::vector<std::byte> bytes = good;
    // Small changes are often valid, large ones hardly ever.
    const auto changes = 1 + random.Below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      std::byte& byte = bytes[random.Below(bytes.size())];
      byte = std::byte{static_cast<std::uint8_t>(random.Below(random.Bernoulli(0.5) ? 12 : 256))};
    }
    Session session(GetParam());
    const std::vector<std::byte> before = session.Saved();
    try {
      session.Load(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_EQ(session.Saved(), before);
      ++refused;
      continue;
    }
    ++played;
    Picture picture;
    session.simulation->Draw(picture);
    for (int step = 0; step < 200; ++step) {
      session.Step(static_cast<int>(random.Below(kActions)));
      for (const std::uint8_t value : session.observation) ASSERT_LE(value, 1);
    }
    session.Load(session.Saved());  // its later state is valid too
  }
  EXPECT_GT(refused, 30);
  EXPECT_GT(played, 30);
}

// --- pictures

TEST_P(SavedMinatar, PictureShowsEveryChannelInItsOwnColour) {
  const MinatarGame game = ParseMinatarGame(GetParam());
  const auto channels = static_cast<std::size_t>(MinatarChannels(game));
  const Bytes nothing(kCells * channels);
  Picture empty;
  minatar::DrawObservation(game, nothing, empty);
  ASSERT_EQ(empty.width(), 160);
  ASSERT_EQ(empty.height(), 160);

  std::vector<Color> colors = {empty.at(8, 8), empty.at(0, 0)};
  for (std::size_t channel = 0; channel < channels; ++channel) {
    Bytes observation = nothing;
    observation[(3 * 10 + 7) * channels + channel] = 1;
    Picture picture;
    minatar::DrawObservation(game, observation, picture);
    for (int y = 0; y < 160; ++y) {
      for (int x = 0; x < 160; ++x) {
        const bool inside = x > 7 * 16 && x < 8 * 16 - 1 && y > 3 * 16 && y < 4 * 16 - 1;
        ASSERT_EQ(picture.at(x, y) == empty.at(x, y), !inside) << x << ' ' << y;
      }
    }
    colors.push_back(picture.at(7 * 16 + 8, 3 * 16 + 8));
  }
  const auto distance = [](Color a, Color b) {
    return std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue);
  };
  for (std::size_t i = 0; i < colors.size(); ++i) {
    for (std::size_t j = i + 1; j < colors.size(); ++j) {
      EXPECT_GE(distance(colors[i], colors[j]), i == 0 && j == 1 ? 20 : 60) << i << ' ' << j;
    }
  }
}

TEST_P(SavedMinatar, LayersNameEveryChannelOnce) {
  const MinatarGame game = ParseMinatarGame(GetParam());
  std::set<int> channels;
  for (const minatar::Layer& layer : minatar::LayersOf(game)) channels.insert(layer.channel);
  EXPECT_EQ(channels.size(), minatar::LayersOf(game).size());
  EXPECT_EQ(static_cast<int>(channels.size()), MinatarChannels(game));
  EXPECT_EQ(*channels.begin(), 0);
  EXPECT_EQ(*channels.rbegin(), MinatarChannels(game) - 1);
}

TEST(MinatarPicture, BallCoversBrick) {
  Session session("breakout");
  Picture picture;
  session.simulation->Draw(picture);
  Bytes ball_only(400);
  const int cell = session.Cells(1)[0];
  ball_only[static_cast<std::size_t>(cell) * 4 + 1] = 1;
  Picture expected;
  minatar::DrawObservation(session.game, ball_only, expected);
  const int x = cell % 10 * 16 + 8;
  const int y = cell / 10 * 16 + 8;
  EXPECT_EQ(picture.at(x, y), expected.at(x, y));
}

}  // namespace stableaa::minatar_test
