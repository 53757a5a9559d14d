#include "stableaa/env/minatar/space_invaders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stableaa/env/minatar/game_test.h"

namespace stableaa::minatar::space_invaders_test {

using Map = SpaceInvaders::Map;

Map MapOf(const Places& places) {
  Map map = {};
  for (const int place : places) {
    std::uint16_t& row = map[static_cast<std::size_t>(place / 10)];
    row = static_cast<std::uint16_t>(row | 1 << (place % 10));
  }
  return map;
}

SpaceInvaders InvadersWith(const Places& aliens) {
  SpaceInvaders game;
  game.state().aliens = MapOf(aliens);
  return game;
}

TEST(SpaceInvaders, StartsWithFourRowsOfSix) {
  const SpaceInvaders game;
  Places fleet;
  for (int y = 0; y < 4; ++y) {
    for (int x = 2; x < 8; ++x) fleet.push_back(10 * y + x);
  }
  EXPECT_EQ(Cells(game, SpaceInvaders::kAlien), fleet);
  EXPECT_EQ(Cells(game, SpaceInvaders::kLeftward), fleet);
  EXPECT_EQ(Cells(game, SpaceInvaders::kRightward), Places{});
  EXPECT_EQ(Cells(game, SpaceInvaders::kCannon), Places{95});
}

TEST(SpaceInvaders, CannonStaysOnTheGrid) {
  SpaceInvaders game;
  for (int i = 0; i < 6; ++i) Do(game, kLeft);
  EXPECT_EQ(game.state().cannon, 0);
  game.state().cannon = 8;
  Do(game, kRight);
  Do(game, kRight);
  EXPECT_EQ(game.state().cannon, 9);
}

TEST(SpaceInvaders, FleetMovesFirstInStep13AndEvery12) {
  SpaceInvaders game;
  std::vector<int> moves;
  for (int step = 1; step <= 37; ++step) {
    const Map before = game.state().aliens;
    game.state().enemy_bullets = {};
    Do(game, kNoop);
    if (game.state().aliens != before) moves.push_back(step);
  }
  EXPECT_EQ(moves, (std::vector<int>{13, 25, 37}));
}

TEST(SpaceInvaders, SmallFleetMovesAsOftenAsItHasAliens) {
  for (const int size : {1, 3}) {
    SpaceInvaders game = InvadersWith(size == 1 ? Places{9} : Places{9, 19, 29});
    game.state().move_timer = 0;
    std::vector<int> moves;
    for (int step = 1; step <= 7; ++step) {
      const Map before = game.state().aliens;
      Do(game, kNoop);
      if (game.state().aliens != before) moves.push_back(step);
    }
    EXPECT_EQ(moves, (size == 1 ? std::vector<int>{1, 2, 3, 4, 5, 6, 7} : std::vector{1, 4, 7}));
  }
}

TEST(SpaceInvaders, FleetTurnsAndSinksAtEitherEdge) {
  SpaceInvaders game = InvadersWith({10, 33});
  game.state().move_timer = 0;
  Do(game, kNoop);
  EXPECT_EQ(Cells(game, SpaceInvaders::kRightward), (Places{20, 43}));
  EXPECT_EQ(Cells(game, SpaceInvaders::kLeftward), Places{});
  game = InvadersWith({19, 33});
  game.state().move_timer = 0;
  game.state().right = true;
  Do(game, kNoop);
  EXPECT_EQ(Cells(game, SpaceInvaders::kLeftward), (Places{29, 43}));
}

TEST(SpaceInvaders, FleetOnTheGroundWalksUntilItTurns) {
  SpaceInvaders game = InvadersWith({91, 5});
  game.state().move_timer = 0;
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(Cells(game, SpaceInvaders::kAlien), (Places{4, 90}));
  game.state().move_timer = 0;
  EXPECT_EQ(Do(game, kNoop), kEnd);
  EXPECT_EQ(Cells(game, SpaceInvaders::kRightward), (Places{0, 14}));
}

TEST(SpaceInvaders, AlienAtTheCannonEndsTheGame) {
  SpaceInvaders game = InvadersWith({94});  // the cannon moves into it
  EXPECT_EQ(Do(game, kLeft), kEnd);
  game = InvadersWith({96});  // it walks into the cannon
  game.state().move_timer = 0;
  EXPECT_EQ(Do(game, kNoop), kEnd);
  game = InvadersWith({0, 85});  // it comes down on the cannon
  game.state().move_timer = 0;
  EXPECT_EQ(Do(game, kNoop), kEnd);
}

TEST(SpaceInvaders, FleetShootsInSteps11And21And31) {
  SpaceInvaders game;
  std::vector<int> shots;
  for (int step = 1; step <= 31; ++step) {
    game.state().enemy_bullets = {};
    Do(game, kNoop);
    if (game.state().enemy_bullets != Map{}) shots.push_back(step);
  }
  EXPECT_EQ(shots, (std::vector<int>{11, 21, 31}));
}

TEST(SpaceInvaders, LowestAlienOfTheNearestColumnShoots) {
  const auto shooter = [](int cannon, const Places& aliens) {
    SpaceInvaders game = InvadersWith(aliens);
    game.state().cannon = cannon;
    game.state().enemy_shot_timer = 0;
    Do(game, kNoop);
    return Cells(game, SpaceInvaders::kEnemyBullet);
  };
  EXPECT_EQ(shooter(5, {3, 13, 7, 17, 27}), Places{13});  // a tie: the left
  EXPECT_EQ(shooter(5, {2, 13, 7, 17}), Places{13});
  EXPECT_EQ(shooter(5, {2, 12, 7, 17}), Places{17});
  EXPECT_EQ(shooter(5, {5, 64, 66}), Places{5});
  EXPECT_EQ(shooter(0, {9}), Places{9});
  EXPECT_EQ(shooter(9, {0, 50}), Places{50});
}

TEST(SpaceInvaders, EnemyBulletFallsFromTheStepAfterItsShotAndPassesAliens) {
  SpaceInvaders game = InvadersWith({5, 25, 35});
  game.state().enemy_bullets = MapOf({5});
  Do(game, kNoop);
  EXPECT_EQ(Cells(game, SpaceInvaders::kEnemyBullet), Places{15});
  Do(game, kNoop);
  EXPECT_EQ(Cells(game, SpaceInvaders::kEnemyBullet), Places{25});
  EXPECT_EQ(Cells(game, SpaceInvaders::kAlien).size(), 3U);
}

TEST(SpaceInvaders, BulletKillsOnlyInTheStepInWhichItLands) {
  SpaceInvaders game;
  game.state().enemy_bullets = MapOf({85});
  EXPECT_EQ(Do(game, kNoop), kEnd);
  game = SpaceInvaders();
  game.state().enemy_bullets = MapOf({85});
  EXPECT_EQ(Do(game, kLeft), kNothing);
  EXPECT_EQ(Cells(game, SpaceInvaders::kEnemyBullet), Places{95});
  EXPECT_EQ(Do(game, kRight), kNothing);  // into a spent bullet
  EXPECT_EQ(Cells(game, SpaceInvaders::kEnemyBullet), Places{});
}

TEST(SpaceInvaders, GunFiresEveryFifthStepAndItsBulletIsSeenInRow8) {
  SpaceInvaders game;
  Do(game, kFire);
  EXPECT_EQ(Cells(game, SpaceInvaders::kOwnBullet), Places{85});
  std::vector<int> shots;
  for (int step = 2; step <= 11; ++step) {
    game.state().own_bullets = game.state().enemy_bullets = {};
    Do(game, kFire);
    if (game.state().own_bullets != Map{}) shots.push_back(step);
  }
  EXPECT_EQ(shots, (std::vector<int>{6, 11}));
}

TEST(SpaceInvaders, BulletsLeaveAtTheTop) {
  SpaceInvaders game;
  game.state().own_bullets = MapOf({0});
  Do(game, kNoop);
  EXPECT_EQ(game.state().own_bullets, Map{});
}

TEST(SpaceInvaders, EveryHitIsWorthAPoint) {
  SpaceInvaders game = InvadersWith({5, 23, 37});
  game.state().own_bullets = MapOf({33, 47, 81});
  EXPECT_EQ(Do(game, kNoop), (Outcome{2, false}));
  EXPECT_EQ(Cells(game, SpaceInvaders::kAlien), Places{5});
  EXPECT_EQ(Cells(game, SpaceInvaders::kOwnBullet), Places{71});
}

TEST(SpaceInvaders, BulletAndSinkingAlienCanChangePlaces) {
  SpaceInvaders game = InvadersWith({0, 45});
  game.state().move_timer = 0;
  game.state().own_bullets = MapOf({55});
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(Cells(game, SpaceInvaders::kAlien), (Places{10, 55}));
  EXPECT_EQ(Cells(game, SpaceInvaders::kOwnBullet), Places{45});
}

TEST(SpaceInvaders, ShooterMayDieInTheStepOfItsShot) {
  SpaceInvaders game = InvadersWith({0, 35});
  game.state().enemy_shot_timer = 0;
  game.state().own_bullets = MapOf({45});
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_EQ(Cells(game, SpaceInvaders::kEnemyBullet), Places{35});
}

TEST(SpaceInvaders, BulletsOfBothSidesPassEachOther) {
  SpaceInvaders game;
  game.state().own_bullets = MapOf({71});
  game.state().enemy_bullets = MapOf({51});
  Do(game, kNoop);
  EXPECT_EQ(game.state().own_bullets, game.state().enemy_bullets);
  Do(game, kNoop);
  EXPECT_EQ(Cells(game, SpaceInvaders::kOwnBullet), Places{51});
  EXPECT_EQ(Cells(game, SpaceInvaders::kEnemyBullet), Places{71});
}

// About to lose its last alien.
SpaceInvaders LastAlien(int level, bool ramping = true) {
  SpaceInvaders game(ramping);
  game.state() = InvadersWith({35}).state();
  game.state().own_bullets = MapOf({45});
  game.state().ramp_level = level;
  return game;
}

TEST(SpaceInvaders, NextFleetComesAtOnceAndFaster) {
  SpaceInvaders game = LastAlien(0);
  game.state().right = true;
  game.state().move_timer = 7;
  game.state().enemy_bullets = MapOf({51});
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_EQ(game.state().aliens, SpaceInvaders::kFleet);
  EXPECT_EQ(game.ramp_level(), 1);
  EXPECT_TRUE(game.state().right);
  EXPECT_EQ(game.state().move_timer, 6);
  EXPECT_EQ(Cells(game, SpaceInvaders::kEnemyBullet), Places{61});
  game.state().move_timer = 0;
  Do(game, kNoop);
  EXPECT_EQ(game.state().move_timer, 11 - 1);
}

TEST(SpaceInvaders, RampsSixTimes) {
  for (int level = 0; level <= 6; ++level) {
    SpaceInvaders game = LastAlien(level);
    Do(game, kNoop);
    EXPECT_EQ(game.ramp_level(), std::min(level + 1, 6));
  }
}

TEST(SpaceInvaders, WithoutRampingFleetsAreReplacedByEqualOnes) {
  SpaceInvaders game = LastAlien(0, false);
  Do(game, kNoop);
  EXPECT_EQ(game.state().aliens, SpaceInvaders::kFleet);
  EXPECT_EQ(game.ramp_level(), 0);
}

TEST(SpaceInvaders, FleetClearedInTheLastStepIsReplacedAndPaid) {
  SpaceInvaders game = LastAlien(2);
  game.state().enemy_bullets = MapOf({85});
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, true}));
  EXPECT_EQ(game.state().aliens, SpaceInvaders::kFleet);
  EXPECT_EQ(game.ramp_level(), 3);
  const SpaceInvaders::State end = game.state();
  EXPECT_EQ(Do(game, kLeft), kEnd);
  EXPECT_EQ(game.state(), end);
}

TEST(SpaceInvaders, LoadRefusesWhatCannotBe) {
  const auto refuse = [](auto change) {
    SpaceInvaders game;
    change(game.state());
    ExpectRefused(game);
  };
  refuse([](auto& state) { state.cannon = 10; });
  refuse([](auto& state) { state.aliens = {}; });
  refuse([](auto& state) { state.aliens[9] = 1024; });
  refuse([](auto& state) { state.own_bullets[0] = 1024; });
  refuse([](auto& state) { state.enemy_bullets[5] = 1024; });
  refuse([](auto& state) { state.move_timer = 13; });
  refuse([](auto& state) { state.enemy_shot_timer = 11; });
  refuse([](auto& state) { state.gun_timer = 6; });
  refuse([](auto& state) { state.ramp_level = 7; });
}

}  // namespace stableaa::minatar::space_invaders_test
