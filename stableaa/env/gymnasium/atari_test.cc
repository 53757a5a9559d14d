// The bridge: Atari and its protocols.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/env/environment_benchmark.h"
#include "stableaa/env/fixed_policy.h"
#include "stableaa/env/gymnasium/bridge_test.h"
#include "stableaa/env/registry.h"

namespace stableaa::atari_test {

using bridge_test::Bridge;
using bridge_test::ExpectError;
using bridge_test::kBad;
using bridge_test::Same;
using bridge_test::Shown;

using FullAtari = Bridge;

EnvironmentOptions WithProtocol(EnvironmentOptions::Protocol protocol, int num_envs = 1) {
  return {.num_envs = num_envs, .protocol = protocol};
}

using Protocol = EnvironmentOptions::Protocol;

// Expects both environments to do the same for `steps` random steps; returns how many episodes
// ended.
int ExpectSame(Environment& a, Environment& b, int steps, std::uint64_t seed) {
  FixedPolicy policy("random", a.spec(), seed);
  int ended = 0;
  for (int k = 0; k < steps; ++k) {
    const Actions actions = policy.Act(a.observations());
    a.Step(actions);
    b.Step(actions);
    for (int i = 0; i < a.num_envs(); ++i) {
      EXPECT_EQ(Shown(a, i) == Shown(b, i), true) << "step " << k << " environment " << i;
      ended += a.ended(i) ? 1 : 0;
    }
    if (::testing::Test::HasFailure()) break;
  }
  return ended;
}

TEST_F(FullAtari, TheSameSeedGivesTheSameGames) {
  for (const Protocol protocol : {Protocol::kAuthors, Protocol::kNature, Protocol::kMachado}) {
    const auto a = Make("atari/Breakout", WithProtocol(protocol));
    const auto b = Make("atari/breakout", WithProtocol(protocol, 1));
    a->Reset(4);
    b->Reset(9);  // a different history
    ExpectSame(*a, *a, 1, 1);
    b->Step({.indices = Same(*b, 1)});
    a->Reset(4);
    b->Reset(4);
    ASSERT_EQ(Shown(*a, 0), Shown(*b, 0));
    EXPECT_GE(ExpectSame(*a, *b, 300, 7), 1);
  }
}

TEST_F(FullAtari, GamesAreRebuiltFromTheirSeedsAndActions) {
  struct Case {
    std::string id;
    Protocol protocol;
    int num_envs, before, after;
  };
  // Breakout has games of several lives; Pong has one long game.
  for (const Case& c : {Case{"atari/breakout", Protocol::kNature, 2, 130, 300},
                        Case{"atari/breakout", Protocol::kAuthors, 2, 130, 200},
                        Case{"atari/pong", Protocol::kMachado, 2, 400, 100},
                        Case{"atari/pong", Protocol::kNature, 1, 900, 100}}) {
    const auto a = Make(c.id, WithProtocol(c.protocol, c.num_envs));
    a->Reset(6);
    FixedPolicy policy("random", a->spec(), 8);
    for (int k = 0; k < c.before; ++k) a->Step(policy.Act(a->observations()));
    ByteWriter out;
    a->Save(out);
    const auto b = Make(c.id, WithProtocol(c.protocol, c.num_envs));
    ByteReader in(out.bytes(), "state");
    b->Load(in);
    in.ExpectEnd();
    ExpectSame(*a, *b, c.after, 9);
    ASSERT_FALSE(HasFailure()) << c.id;
  }
}

TEST_F(FullAtari, ProtocolsAreWhatTheirNamesSay) {
  const auto machado = Make("atari/breakout", WithProtocol(Protocol::kMachado));
  EXPECT_EQ(machado->spec().action.n, 18);
  EXPECT_EQ(machado->spec().noop, 0);
  const auto nature = Make("atari/breakout", WithProtocol(Protocol::kNature));
  const auto authors = Make("atari/breakout", WithProtocol(Protocol::kAuthors));
  for (const auto* env : {&nature, &authors}) {
    EXPECT_EQ((*env)->spec().action_names,
              (std::vector<std::string>{"noop", "fire", "right", "left"}));
    EXPECT_EQ((*env)->spec().observation, Space::Bytes({4, 84, 84}));
    EXPECT_EQ((*env)->spec().max_episode_steps, 27000);
  }
  // Counts lives lost while standing still. Authors: each life begins with fire, so lives pass
  // without the player doing anything. Nature: the next ball waits for the player to fire.
  authors->Reset(2);
  int lost = 0;
  for (int k = 0; k < 200; ++k) {
    authors->Step({.indices = Same(*authors, 0)});
    lost += authors->terminated()[0];
  }
  EXPECT_GE(lost, 5);
  nature->Reset(2);
  lost = 0;
  for (int k = 0; k < 200; ++k) {
    nature->Step({.indices = Same(*nature, 0)});
    lost += nature->terminated()[0];
  }
  EXPECT_EQ(lost, 1);
  // Machado: nobody starts the game.
  machado->Reset(2);
  for (int k = 0; k < 200; ++k) {
    machado->Step({.indices = Same(*machado, 0)});
    ASSERT_FALSE(machado->ended(0));
  }
}

// Counts the episodes and games that end within a number of random steps.
struct Ends {
  int episodes = 0, games = 0;
};

Ends CountEnds(Environment& environment, int steps, int episodes_per_game) {
  Ends ends;
  environment.Reset(3);
  EXPECT_FALSE(environment.game_ended(0)) << "a game has begun, none has ended";
  FixedPolicy policy("random", environment.spec(), 5);
  for (int k = 0; k < steps; ++k) {
    environment.Step(policy.Act(environment.observations()));
    const bool ended = environment.ended(0), game_ended = environment.game_ended(0);
    EXPECT_TRUE(ended || !game_ended);
    ends.episodes += ended ? 1 : 0;
    if (!game_ended) continue;
    ++ends.games;
    EXPECT_EQ(ends.episodes, episodes_per_game * ends.games);
  }
  return ends;
}

TEST_F(FullAtari, AGameEndsWithItsLastLife) {
  const auto nature = Make("atari/breakout", WithProtocol(Protocol::kNature));
  const auto authors = Make("atari/breakout", WithProtocol(Protocol::kAuthors));
  EnvironmentOptions drawn = WithProtocol(Protocol::kNature);
  drawn.render = true;  // by the worker's own class
  const auto own = Make("atari/breakout", drawn);
  for (const auto* env : {&nature, &authors, &own}) {
    EXPECT_GE(CountEnds(**env, 700, 5).games, 2);  // Breakout has five lives
  }
  const auto machado = Make("atari/breakout", WithProtocol(Protocol::kMachado));
  EXPECT_GE(CountEnds(*machado, 700, 1).games, 2);
}

TEST_F(FullAtari, ModeAndDifficultyAreOfTheGameAndTheRestOfTheProtocol) {
  EnvironmentOptions options = WithProtocol(Protocol::kNature);
  const auto usual = Make("atari/pong", options);
  options.kwargs = R"({"difficulty": 1})";
  const auto hard = Make("atari/pong", options);
  options.kwargs = R"({"difficulty": 0, "mode": 0})";
  const auto same = Make("atari/pong", options);
  for (const auto* env : {&usual, &hard, &same}) (*env)->Reset(2);
  EXPECT_EQ(Shown(*same, 0), Shown(*usual, 0));
  ExpectSame(*usual, *same, 40, 3);
  // The difficulty changes the opponent's bat, which shows once the game has begun.
  for (int k = 0; k < 40; ++k) hard->Step({.indices = Same(*hard, 0)});
  usual->Reset(2);
  for (int k = 0; k < 40; ++k) usual->Step({.indices = Same(*usual, 0)});
  EXPECT_NE(Shown(*hard, 0), Shown(*usual, 0));

  const auto refused = [&](const std::string& kwargs, const std::vector<std::string>& words) {
    options.kwargs = kwargs;
    ExpectError(kBad, words, [&] { Make("atari/pong", options); });
  };
  refused(R"({"frameskip": 1})", {"env.kwargs", "frameskip", "env.protocol decides it"});
  refused(R"({"repeat_action_probability": 0.5})", {"env.kwargs", "env.sticky decides it"});
  refused(R"({"difficulty": 9})", {"env.kwargs", "difficulty", "0, 1", "9"});
  refused(R"({"mode": true})", {"env.kwargs", "mode"});
  refused(R"({"sound_obs": true})", {"env.kwargs", "sound_obs", "mode and difficulty"});
}

TEST_F(FullAtari, ACutEndsTheGameWithAllItsLives) {
  EnvironmentOptions options = WithProtocol(Protocol::kNature);
  options.max_episode_steps = 10;  // too few to lose a ball
  const auto env = Make("atari/breakout", options);
  EXPECT_EQ(CountEnds(*env, 35, 1).games, 3);
}

TEST_F(FullAtari, EveryGameOfThePaperStarts) {
  for (const EnvironmentListing& entry : ListEnvironments()) {
    if (!entry.id.starts_with("atari/") || entry.id.find('<') != std::string::npos) continue;
    const auto env = Make(entry.id);
    EXPECT_EQ(env->spec().id, entry.id);
    EXPECT_GE(env->spec().action.n, 3);
    env->Reset(1);
    FixedPolicy policy("random", env->spec(), 1);
    for (int k = 0; k < 5; ++k) env->Step(policy.Act(env->observations()));
    EXPECT_GT(*std::ranges::max_element(env->observations().bytes), 0);
  }
}

using BenchAtari = Bridge;

// The best of a few tries, since other work on the machine disturbs two processes more than one.
TEST_F(BenchAtari, TheBridgeKeepsNineTenthsOfTheSpeed) {
  EnvironmentOptions options = WithProtocol(Protocol::kMachado, 8);
  options.workers = 1;  // as Python alone
  const auto env = Make("atari/pong", options);
  double best = 0;
  for (int attempt = 0; attempt < 6 && best <= .9; ++attempt) {
    best = std::max(best, MeasureEnvironment(*env, 4).ratio.value());
  }
  EXPECT_GT(best, .9);
}

}  // namespace stableaa::atari_test
