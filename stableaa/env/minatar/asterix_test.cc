#include "stableaa/env/minatar/asterix.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/minatar/game_test.h"

namespace stableaa::minatar::asterix_test {

Asterix AsterixWith(int row, Asterix::Entity entity) {
  Asterix game;
  entity.present = true;
  game.state().entities[static_cast<std::size_t>(row - 1)] = entity;
  return game;
}

TEST(Asterix, PlayerStaysInRows1To8AndOnTheGrid) {
  Asterix game;
  for (const auto& [action, place] : {std::pair{kUp, 15}, {kLeft, 10}, {kDown, 80}, {kRight, 89}}) {
    for (int i = 0; i < 9; ++i) {
      game.state().spawn_timer = 5;
      EXPECT_EQ(Do(game, action), kNothing);
    }
    EXPECT_EQ(Cells(game, Asterix::kPlayer), Places{place});
  }
}

TEST(Asterix, FireDoesNothing) {
  Asterix game;
  Do(game, kFire);
  EXPECT_EQ(Cells(game, Asterix::kPlayer), Places{55});
}

TEST(Asterix, EntitiesMoveFirstInStepSixAndThenEveryFiveSteps) {
  Asterix game = AsterixWith(1, {.x = 0, .right = true});
  std::vector<int> moves;
  for (int step = 1; step <= 20; ++step) {
    const int before = game.state().entities[0].x;
    Do(game, kNoop);
    if (game.state().entities[0].x != before) moves.push_back(step);
  }
  EXPECT_EQ(moves, (std::vector<int>{6, 11, 16}));
}

TEST(Asterix, SpawnsFirstInStepElevenAndThenEveryTenSteps) {
  Asterix game;
  std::vector<int> spawns;
  for (int step = 1; step <= 31; ++step) {
    game.state().entities = {};
    Do(game, kNoop);
    if (game.state().entities != decltype(game.state().entities){}) spawns.push_back(step);
  }
  EXPECT_EQ(spawns, (std::vector<int>{11, 21, 31}));
}

TEST(Asterix, GoldIsCollectedByWalkingIntoIt) {
  Asterix game = AsterixWith(5, {.x = 6, .right = false, .gold = true});
  EXPECT_EQ(Do(game, kRight), (Outcome{1, false}));
  EXPECT_TRUE(Cells(game, Asterix::kGold).empty());
}

TEST(Asterix, GoldIsCollectedWhenItWalksIntoThePlayer) {
  Asterix game = AsterixWith(5, {.x = 6, .right = false, .gold = true});
  game.state().move_timer = 0;
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_FALSE(game.state().entities[4].present);
}

TEST(Asterix, EnemyEndsTheGameAndStays) {
  Asterix game = AsterixWith(5, {.x = 6, .right = true});
  EXPECT_EQ(Do(game, kRight), kEnd);
  EXPECT_EQ(Cells(game, Asterix::kEnemy), Places{56});
  game = AsterixWith(5, {.x = 4, .right = true});
  game.state().move_timer = 0;
  EXPECT_EQ(Do(game, kNoop), kEnd);
}

TEST(Asterix, PlayerAndEnemyCannotPassThroughEachOther) {
  Asterix game = AsterixWith(5, {.x = 6, .right = false});
  game.state().move_timer = 0;
  EXPECT_EQ(Do(game, kRight), kEnd);
  EXPECT_EQ(Cells(game, Asterix::kEnemy), Places{55});  // the rest of the step was carried out
  EXPECT_EQ(game.state().move_timer, 4);
}

TEST(Asterix, StepsAfterTheEndChangeNothing) {
  Asterix game = AsterixWith(5, {.x = 6, .right = true});
  Do(game, kRight);
  const Asterix::State end = game.state();
  RandomStream random = Stream();
  const auto before = random.state();
  EXPECT_EQ(game.Step(kLeft, random), kEnd);
  EXPECT_EQ(game.state(), end);
  EXPECT_EQ(random.state(), before);
}

TEST(Asterix, TrailsAreBehindAndNeverWrapAround) {
  const auto trail = [](int x, bool right) {
    return Cells(AsterixWith(2, {.x = x, .right = right}), Asterix::kTrail);
  };
  EXPECT_EQ(trail(3, true), Places{22});
  EXPECT_EQ(trail(3, false), Places{24});
  EXPECT_EQ(trail(0, true), Places{});
  EXPECT_EQ(trail(9, false), Places{});
}

TEST(Asterix, EntitiesLeaveAtTheEdge) {
  for (const bool right : {false, true}) {
    Asterix game = AsterixWith(2, {.x = right ? 9 : 0, .right = right});
    game.state().move_timer = 0;
    EXPECT_EQ(Do(game, kNoop), kNothing);
    EXPECT_EQ(game.state().entities[1], Asterix::Entity{});
  }
}

// All rows but the player's are occupied.
Asterix WithOneFreeRow(int player_x) {
  Asterix game;
  for (auto& entity : game.state().entities) entity = {.present = true, .x = 4, .right = true};
  game.state().entities[4] = {};
  game.state().player_x = player_x;
  game.state().spawn_timer = 0;
  return game;
}

TEST(Asterix, NewEntityMeetsAPlayerInItsEntryCell) {
  int gold = 0;
  int enemies = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random = Stream(seed);
    RandomStream twin = Stream(seed);
    Asterix game = WithOneFreeRow(9);
    const bool from_the_left = twin.Bernoulli(0.5);
    const bool is_gold = twin.Bernoulli(1.0 / 3);
    const Outcome outcome = game.Step(kNoop, random);
    if (from_the_left) {
      EXPECT_EQ(outcome, kNothing);
      EXPECT_EQ(game.state().entities[4].x, 0);
    } else {
      EXPECT_EQ(outcome, (is_gold ? Outcome{1, false} : kEnd));
      (is_gold ? gold : enemies) += 1;
    }
  }
  EXPECT_GT(gold, 0);
  EXPECT_GT(enemies, 0);
}

TEST(Asterix, NewEntityMovesAtOnceIfAMoveIsDue) {
  Asterix game = WithOneFreeRow(5);
  game.state().move_timer = 0;
  Do(game, kNoop);
  const Asterix::Entity& entity = game.state().entities[4];
  EXPECT_EQ(entity.x, entity.right ? 1 : 8);
}

TEST(Asterix, WithoutAFreeRowTwoDrawsAreMadeAndNothingComes) {
  Asterix game = WithOneFreeRow(5);
  game.state().entities[4] = {.present = true, .x = 0, .right = true};
  const auto before = game.state().entities;
  RandomStream random = Stream();
  RandomStream twin = Stream();
  EXPECT_EQ(game.Step(kNoop, random), kNothing);
  EXPECT_EQ(game.state().entities, before);
  EXPECT_EQ(game.state().spawn_timer, 9);
  twin();
  twin();
  EXPECT_EQ(random.state(), twin.state());
}

TEST(Asterix, SidesGoldAndRowsAreDrawnFairly) {
  RandomStream random = Stream();
  constexpr int kTrials = 20000;
  int right = 0;
  int gold = 0;
  std::array<int, 8> rows = {};
  for (int i = 0; i < kTrials; ++i) {
    Asterix game;
    game.state().player_y = 1;
    game.state().spawn_timer = 0;
    game.Step(kNoop, random);
    for (std::size_t row = 0; row < 8; ++row) {
      const Asterix::Entity& entity = game.state().entities[row];
      if (!entity.present) continue;
      ++rows[row];
      right += entity.right ? 1 : 0;
      gold += entity.gold ? 1 : 0;
      EXPECT_EQ(entity.x, entity.right ? 0 : 9);
    }
  }
  ExpectShare(right, kTrials, 0.5);
  ExpectShare(gold, kTrials, 1.0 / 3);
  for (const int count : rows) ExpectShare(count, kTrials, 1.0 / 8);
}

TEST(Asterix, RampsEvery102StepsAndNineTimes) {
  Asterix game;
  std::vector<int> ramps;
  for (int step = 1; step <= 2000; ++step) {
    game.state().entities = {};
    const int before = *game.ramp_level();
    Do(game, kNoop);
    game.state().terminal = false;
    if (*game.ramp_level() != before) ramps.push_back(step);
  }
  EXPECT_EQ(ramps, (std::vector<int>{102, 204, 306, 408, 510, 612, 714, 816, 918}));
  EXPECT_EQ(game.ramp_level(), 9);
}

TEST(Asterix, RampingShortensThePeriods) {
  const std::array<int, 10> move_periods = {5, 5, 4, 4, 3, 3, 2, 2, 1, 1};
  for (int level = 0; level <= 9; ++level) {
    Asterix game;
    game.state().ramp_level = level;
    game.state().spawn_timer = game.state().move_timer = 0;
    Do(game, kNoop);
    EXPECT_EQ(game.state().spawn_timer, 10 - level - 1);
    EXPECT_EQ(game.state().move_timer, move_periods[static_cast<std::size_t>(level)] - 1);
  }
}

TEST(Asterix, WithoutRampingTheLevelStays) {
  Asterix game(false);
  for (int step = 1; step <= 500; ++step) {
    game.state().entities = {};
    Do(game, kNoop);
    game.state().terminal = false;
  }
  EXPECT_EQ(game.ramp_level(), 0);
}

TEST(Asterix, LoadRefusesWhatCannotBe) {
  const auto refuse = [](auto change) {
    Asterix game;
    change(game.state());
    ExpectRefused(game);
  };
  refuse([](auto& state) { state.player_x = 10; });
  refuse([](auto& state) { state.player_y = 0; });
  refuse([](auto& state) { state.player_y = 9; });
  refuse([](auto& state) { state.entities[7].x = 10; });
  refuse([](auto& state) { state.spawn_timer = 11; });
  refuse([](auto& state) { state.move_timer = 6; });
  refuse([](auto& state) { state.ramp_timer = -2; });
  refuse([](auto& state) { state.ramp_timer = 101; });
  refuse([](auto& state) { state.ramp_level = 10; });
}

}  // namespace stableaa::minatar::asterix_test
