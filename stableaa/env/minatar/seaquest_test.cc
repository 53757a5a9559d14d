#include "stableaa/env/minatar/seaquest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/minatar/game_test.h"

namespace stableaa::minatar::seaquest_test {

// Under water in the middle, going left; nothing appears for a while.
Seaquest Submerged() {
  Seaquest game;
  game.state().y = 4;
  game.state().at_surface = false;
  return game;
}

// Just below the surface.
Seaquest BelowSurface(int divers_aboard, int oxygen = 100) {
  Seaquest game = Submerged();
  game.state().y = 1;
  game.state().divers_aboard = divers_aboard;
  game.state().oxygen = oxygen;
  return game;
}

Seaquest::Submarine EnemySubmarine(int x, int y, bool right, int move_timer, int shot_timer) {
  return {{.x = x, .y = y, .right = right, .move_timer = move_timer}, shot_timer};
}

TEST(Seaquest, StaysOnTheGridAndFacesWhereItWentLast) {
  Seaquest game = Submerged();
  for (int i = 0; i < 12; ++i) Do(game, kRight);
  EXPECT_EQ(Cells(game, Seaquest::kBow), Places{49});
  EXPECT_EQ(Cells(game, Seaquest::kStern), Places{48});
  game = Submerged();
  for (int i = 0; i < 7; ++i) Do(game, kLeft);
  EXPECT_EQ(Cells(game, Seaquest::kBow), Places{40});
  EXPECT_EQ(Cells(game, Seaquest::kStern), Places{41});
  for (int i = 0; i < 7; ++i) Do(game, kDown);
  EXPECT_EQ(Cells(game, Seaquest::kBow), Places{80});
}

TEST(Seaquest, EnemiesComeFirstInStep21AndThenEvery20) {
  Seaquest game;
  std::vector<int> spawns;
  RandomStream random = Stream();
  for (int step = 1; step <= 61; ++step) {
    game.state().fish.clear();
    game.state().submarines.clear();
    game.Step(kNoop, random);
    if (!game.state().fish.empty() || !game.state().submarines.empty()) spawns.push_back(step);
  }
  EXPECT_EQ(spawns, (std::vector<int>{21, 41, 61}));
}

TEST(Seaquest, DiversComeFirstInStep31AndThenEvery30) {
  Seaquest game;
  std::vector<int> spawns;
  RandomStream random = Stream();
  for (int step = 1; step <= 91; ++step) {
    game.state().divers.clear();
    game.Step(kNoop, random);
    if (!game.state().divers.empty()) spawns.push_back(step);
  }
  EXPECT_EQ(spawns, (std::vector<int>{31, 61, 91}));
}

TEST(Seaquest, NothingComesAgainstTheTrafficOfItsRow) {
  int blocked = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random = Stream(seed);
    RandomStream twin = Stream(seed);
    Seaquest game;
    game.state().enemy_spawn_timer = 0;
    game.state().fish = {{.x = 3, .y = 2, .right = true, .move_timer = 5}};
    game.state().submarines = {EnemySubmarine(3, 6, false, 5, 5)};
    const bool right = twin.Bernoulli(0.5);
    const bool is_submarine = twin.Bernoulli(1.0 / 3);
    const int y = 1 + static_cast<int>(twin.Below(8));
    game.Step(kNoop, random);
    EXPECT_EQ(random.state(), twin.state());
    EXPECT_EQ(game.state().enemy_spawn_timer, 19);
    const bool against = (y == 2 && !right) || (y == 6 && right);
    const std::size_t fish = game.state().fish.size();
    const std::size_t submarines = game.state().submarines.size();
    EXPECT_EQ(fish, against || is_submarine ? 1U : 2U);
    EXPECT_EQ(submarines, !against && is_submarine ? 2U : 1U);
    blocked += against ? 1 : 0;
  }
  EXPECT_GT(blocked, 10);
}

TEST(Seaquest, SpawnsAreDrawnFairly) {
  RandomStream random = Stream();
  constexpr int kTrials = 20000;
  int right = 0;
  int submarines = 0;
  int divers_right = 0;
  std::array<int, 9> rows = {};
  std::array<int, 9> diver_rows = {};
  for (int i = 0; i < kTrials; ++i) {
    Seaquest game;
    game.state().enemy_spawn_timer = game.state().diver_spawn_timer = 0;
    game.Step(kNoop, random);
    const bool is_submarine = !game.state().submarines.empty();
    const Seaquest::Swimmer enemy =
        is_submarine ? Seaquest::Swimmer(game.state().submarines[0]) : game.state().fish[0];
    const Seaquest::Swimmer diver = game.state().divers[0];
    EXPECT_EQ(enemy.x, enemy.right ? 0 : 9);
    EXPECT_EQ(diver.x, diver.right ? 0 : 9);
    submarines += is_submarine ? 1 : 0;
    right += enemy.right ? 1 : 0;
    divers_right += diver.right ? 1 : 0;
    ++rows.at(static_cast<std::size_t>(enemy.y));
    ++diver_rows.at(static_cast<std::size_t>(diver.y));
  }
  ExpectShare(right, kTrials, 0.5);
  ExpectShare(divers_right, kTrials, 0.5);
  ExpectShare(submarines, kTrials, 1.0 / 3);
  for (std::size_t y = 1; y <= 8; ++y) {
    ExpectShare(rows[y], kTrials, 1.0 / 8);
    ExpectShare(diver_rows[y], kTrials, 1.0 / 8);
  }
}

TEST(Seaquest, FishLeavesItsEntryAfterItsReloadAndMovesEveryReloadPlusOneSteps) {
  for (const auto& [level, reload] : {std::pair{0, 5}, {1, 5}, {2, 4}, {4, 3}, {6, 2}, {19, 2}}) {
    Seaquest game;
    game.state().ramp_level = level;
    game.state().enemy_spawn_timer = 0;
    RandomStream random = Stream(2);  // makes a fish appear
    game.Step(kNoop, random);
    ASSERT_EQ(game.state().fish.size(), 1U);
    std::vector<int> moves;
    for (int step = 1; step <= 2 * reload + 1; ++step) {
      game.state().enemy_spawn_timer = 5;
      const int before = game.state().fish[0].x;
      game.Step(kNoop, random);
      if (game.state().fish[0].x != before) moves.push_back(step);
    }
    EXPECT_EQ(moves, (std::vector<int>{reload, 2 * reload + 1}));
  }
}

TEST(Seaquest, GunFiresEveryFifthStepAndItsBulletIsSeenBesideTheBow) {
  Seaquest game = Submerged();
  EXPECT_EQ(Do(game, kFire), kNothing);
  EXPECT_EQ(Cells(game, Seaquest::kOwnBullet), Places{44});
  std::vector<int> shots;
  for (int step = 2; step <= 12; ++step) {
    game.state().own_bullets.clear();
    Do(game, kFire);
    if (!game.state().own_bullets.empty()) shots.push_back(step);
  }
  EXPECT_EQ(shots, (std::vector<int>{6, 11}));
}

TEST(Seaquest, ShotOutwardsFromTheEdgeVanishesAtOnce) {
  Seaquest game = Submerged();
  game.state().x = 0;
  Do(game, kFire);
  EXPECT_TRUE(game.state().own_bullets.empty());
  EXPECT_EQ(game.state().gun_timer, 4);
}

TEST(Seaquest, BulletKillsTheOldestFishOfACellThenSubmarines) {
  Seaquest game = Submerged();
  const auto fish = [](int timer) {
    return Seaquest::Swimmer{.x = 3, .y = 4, .right = true, .move_timer = timer};
  };
  game.state().fish = {fish(3), fish(4)};
  game.state().submarines = {EnemySubmarine(3, 4, true, 5, 5)};
  game.state().own_bullets = {{4, 4, false}};
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_EQ(game.state().fish, std::vector{fish(3)});  // the newer one, a step later
  EXPECT_EQ(game.state().submarines.size(), 1U);
  game.state().fish.clear();
  game.state().own_bullets = {{4, 4, false}};
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_TRUE(game.state().submarines.empty());
  EXPECT_TRUE(game.state().own_bullets.empty());
}

TEST(Seaquest, SeveralBulletsEarnSeveralPoints) {
  Seaquest game = Submerged();
  game.state().fish = {{.x = 3, .y = 4, .right = true, .move_timer = 5},
                       {.x = 8, .y = 7, .right = true, .move_timer = 5}};
  game.state().own_bullets = {{4, 4, false}, {7, 7, true}};
  EXPECT_EQ(Do(game, kNoop), (Outcome{2, false}));
}

TEST(Seaquest, ShotSubmarineCannotFire) {
  Seaquest game = Submerged();
  game.state().submarines = {EnemySubmarine(2, 7, true, 5, 0)};
  game.state().own_bullets = {{3, 7, false}};
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_TRUE(game.state().enemy_bullets.empty());
}

TEST(Seaquest, SubmarineThatRunsIntoABulletStillFires) {
  Seaquest game = Submerged();
  game.state().submarines = {EnemySubmarine(2, 7, true, 0, 0)};
  game.state().own_bullets = {{4, 7, false}};  // will reach 3, as will the submarine
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_TRUE(game.state().submarines.empty());
  EXPECT_TRUE(game.state().own_bullets.empty());
  EXPECT_EQ(Cells(game, Seaquest::kEnemyBullet), Places{74});
}

TEST(Seaquest, SubmarineThatLeavesFiresWithoutEffect) {
  Seaquest game = Submerged();
  game.state().submarines = {EnemySubmarine(9, 7, true, 0, 0)};
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_TRUE(game.state().submarines.empty());
  EXPECT_TRUE(game.state().enemy_bullets.empty());
}

TEST(Seaquest, SubmarineFiresTenStepsAfterItsSpawnAndThenEveryEleven) {
  Seaquest game;
  game.state().submarines = {EnemySubmarine(5, 7, true, 5, 10)};
  Do(game, kNoop);  // the step of the spawn
  std::vector<int> shots;
  for (int step = 1; step <= 35; ++step) {
    game.state().enemy_bullets.clear();
    game.state().submarines[0].x = 5;
    game.state().enemy_spawn_timer = 5;
    Do(game, kNoop);
    if (!game.state().enemy_bullets.empty()) shots.push_back(step);
  }
  EXPECT_EQ(shots, (std::vector<int>{10, 21, 32}));
}

TEST(Seaquest, NewEnemyBulletIsSeenBesideItsSubmarine) {
  Seaquest game = Submerged();
  game.state().submarines = {EnemySubmarine(6, 7, false, 5, 0)};
  Do(game, kNoop);
  EXPECT_EQ(Cells(game, Seaquest::kSubmarine), Places{76});
  EXPECT_EQ(Cells(game, Seaquest::kEnemyBullet), Places{75});
}

TEST(Seaquest, EnemyBulletKillsWhereItIsAndWhereItGoes) {
  Seaquest game = Submerged();
  game.state().enemy_bullets = {{4, 4, true}};
  EXPECT_EQ(Do(game, kNoop), kEnd);
  EXPECT_EQ(game.state().enemy_bullets.size(), 1U);
  game = Submerged();
  game.state().enemy_bullets = {{4, 4, false}};
  EXPECT_EQ(Do(game, kLeft), kEnd);  // into it, before it moves on
  game = Submerged();
  game.state().enemy_bullets = {{4, 4, false}};
  EXPECT_EQ(Do(game, kNoop), kNothing);
}

TEST(Seaquest, FishAndSubmarinesKillByTouch) {
  for (const int timer : {0, 3}) {
    Seaquest game = Submerged();
    game.state().fish = {{.x = 4, .y = 4, .right = false, .move_timer = timer}};
    EXPECT_EQ(Do(game, kLeft), kEnd);
    EXPECT_EQ(game.state().fish.size(), 1U);
    game = Submerged();
    game.state().submarines = {EnemySubmarine(4, 4, false, timer, 9)};
    EXPECT_EQ(Do(game, kLeft), kEnd);
  }
  Seaquest game = Submerged();
  game.state().fish = {{.x = 4, .y = 4, .right = true, .move_timer = 0}};
  EXPECT_EQ(Do(game, kNoop), kEnd);
  game = Submerged();
  game.state().submarines = {EnemySubmarine(6, 4, false, 0, 9)};
  EXPECT_EQ(Do(game, kNoop), kEnd);
}

TEST(Seaquest, SternIsSafe) {
  Seaquest game = Submerged();
  game.state().fish = {{.x = 5, .y = 4, .right = true, .move_timer = 3}};
  game.state().enemy_bullets = {{6, 4, false}};
  game.state().x = 4;
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(Cells(game, Seaquest::kStern), Places{45});
}

TEST(Seaquest, RewardsOfTheLastStepCount) {
  Seaquest game = Submerged();
  game.state().fish = {{.x = 5, .y = 4, .right = true, .move_timer = 3},
                       {.x = 2, .y = 7, .right = true, .move_timer = 3}};
  game.state().own_bullets = {{3, 7, false}};
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, true}));
  EXPECT_EQ(game.state().oxygen, 199);  // the rest of the step was still carried out
  const Seaquest::State end = game.state();
  EXPECT_EQ(Do(game, kLeft), kEnd);
  EXPECT_EQ(game.state(), end);
}

TEST(Seaquest, AllDiversOfACellComeAboardUpToSix) {
  Seaquest game = Submerged();
  const Seaquest::Swimmer diver = {.x = 5, .y = 4, .right = true, .move_timer = 3};
  game.state().divers_aboard = 4;
  game.state().divers = {diver, diver, diver};
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(game.state().divers_aboard, 6);
  EXPECT_EQ(game.state().divers.size(), 1U);
  EXPECT_EQ(Cells(game, Seaquest::kCrewGauge), (Places{93, 94, 95, 96, 97, 98}));
}

TEST(Seaquest, DiversSwimAboardOrPast) {
  for (const int crew : {0, 6}) {
    Seaquest game = Submerged();
    game.state().divers_aboard = crew;
    game.state().divers = {{.x = 4, .y = 4, .right = true, .move_timer = 0}};
    EXPECT_EQ(Do(game, kNoop), kNothing);
    EXPECT_EQ(game.state().divers_aboard, crew == 0 ? 1 : 6);
    EXPECT_EQ(game.state().divers.size(), crew == 0 ? 0U : 1U);
  }
}

TEST(Seaquest, DiversRestFiveStepsBetweenMovesAndLeaveAtTheEdge) {
  Seaquest game;
  game.state().divers = {{.x = 8, .y = 4, .right = true, .move_timer = 0}};
  Do(game, kNoop);
  EXPECT_EQ(Cells(game, Seaquest::kDiver), Places{49});
  EXPECT_EQ(Cells(game, Seaquest::kTrail), Places{48});
  for (int i = 0; i < 5; ++i) Do(game, kNoop);
  EXPECT_EQ(Cells(game, Seaquest::kDiver), Places{49});
  Do(game, kNoop);
  EXPECT_TRUE(game.state().divers.empty());
}

TEST(Seaquest, TrailsAreOfFishSubmarinesAndDiversOnly) {
  Seaquest game;
  game.state().fish = {{.x = 3, .y = 2, .right = true, .move_timer = 3},
                       {.x = 0, .y = 1, .right = true, .move_timer = 3}};
  game.state().submarines = {EnemySubmarine(3, 5, false, 3, 3), EnemySubmarine(9, 6, false, 3, 3)};
  game.state().divers = {{.x = 5, .y = 8, .right = false, .move_timer = 3}};
  game.state().own_bullets = {{4, 4, true}};
  game.state().enemy_bullets = {{4, 7, true}};
  EXPECT_EQ(Cells(game, Seaquest::kTrail), (Places{22, 54, 86}));
  EXPECT_EQ(Cells(game, Seaquest::kFish), (Places{10, 23}));
  EXPECT_EQ(Cells(game, Seaquest::kSubmarine), (Places{53, 69}));
  EXPECT_EQ(Cells(game, Seaquest::kDiver), Places{85});
  EXPECT_EQ(Cells(game, Seaquest::kOwnBullet), Places{44});
  EXPECT_EQ(Cells(game, Seaquest::kEnemyBullet), Places{74});
}

TEST(Seaquest, OxygenGaugeShowsWholeTwentieths) {
  const auto cells = [](int oxygen) {
    Seaquest game;
    game.state().oxygen = oxygen;
    return Cells(game, Seaquest::kOxygenGauge).size();
  };
  EXPECT_EQ(cells(200), 10U);
  EXPECT_EQ(cells(199), 9U);
  EXPECT_EQ(cells(20), 1U);
  EXPECT_EQ(cells(19), 0U);
  EXPECT_EQ(cells(-1), 0U);
}

TEST(Seaquest, OxygenLastsTwoHundredStepsBelowTheSurface) {
  Seaquest game;
  RandomStream random = Stream();
  int steps = 0;
  for (bool over = false; !over; ++steps) {
    game.state().fish.clear();
    game.state().submarines.clear();
    game.state().enemy_bullets.clear();
    over = game.Step(steps == 0 ? kDown : kNoop, random).terminal;
    EXPECT_EQ(game.state().oxygen, 199 - steps);
  }
  EXPECT_EQ(steps, 201);
}

TEST(Seaquest, AtTheSurfaceOxygenDoesNotFall) {
  Seaquest game;
  for (int i = 0; i < 10; ++i) Do(game, kUp);
  EXPECT_EQ(game.state().oxygen, 200);
}

TEST(Seaquest, SurfacingWithNobodyAboardIsFatal) {
  Seaquest game = BelowSurface(0);
  EXPECT_EQ(Do(game, kUp), kEnd);
  EXPECT_FALSE(game.state().at_surface);
  EXPECT_EQ(game.state().oxygen, 100);
}

TEST(Seaquest, SurfacingWithAFewTakesOneAndFillsTheOxygen) {
  for (int crew = 1; crew <= 5; ++crew) {
    Seaquest game = BelowSurface(crew);
    EXPECT_EQ(Do(game, kUp), kNothing);
    EXPECT_EQ(game.state().divers_aboard, crew - 1);
    EXPECT_EQ(game.state().oxygen, 200);
    EXPECT_EQ(game.ramp_level(), 1);
    EXPECT_EQ(Do(game, kUp), kNothing);  // once per visit
    EXPECT_EQ(game.state().divers_aboard, crew - 1);
  }
}

TEST(Seaquest, SurfacingWithSixTakesOneMoreAway) {
  Seaquest game = BelowSurface(6, 139);
  EXPECT_EQ(Do(game, kUp), (Outcome{6, false}));
  EXPECT_EQ(game.state().divers_aboard, -1);
  EXPECT_TRUE(Cells(game, Seaquest::kCrewGauge).empty());
}

TEST(Seaquest, BonusOfAFullCrewIsWhatTheGaugeShows) {
  for (const auto& [oxygen, bonus] : {std::pair{199, 9}, {180, 9}, {179, 8}, {19, 0}, {1, 0}}) {
    Seaquest game = BelowSurface(6, oxygen);
    EXPECT_EQ(Do(game, kUp), (Outcome{bonus, false}));
  }
}

TEST(Seaquest, NegativeCrewMaySurfaceAgainAndAgain) {
  Seaquest game = BelowSurface(-1);
  EXPECT_EQ(Do(game, kUp), kNothing);
  EXPECT_EQ(game.state().divers_aboard, -2);
  Do(game, kDown);
  EXPECT_EQ(game.state().oxygen, 199);
  EXPECT_EQ(Do(game, kUp), kNothing);
  EXPECT_EQ(game.state().divers_aboard, -3);
  EXPECT_EQ(game.ramp_level(), 2);
}

TEST(Seaquest, NegativeCrewFilledUpToZeroMakesSurfacingFatalAgain) {
  Seaquest game = BelowSurface(-1);
  game.state().divers = {{.x = 5, .y = 1, .right = true, .move_timer = 3}};
  Do(game, kNoop);
  EXPECT_EQ(game.state().divers_aboard, 0);
  EXPECT_EQ(Do(game, kUp), kEnd);
}

TEST(Seaquest, ReachingTheSurfaceWithoutOxygenIsTooLate) {
  Seaquest game = BelowSurface(6, 0);
  EXPECT_EQ(Do(game, kUp), kEnd);
  EXPECT_EQ(game.state().oxygen, 200);  // but it was carried out
  EXPECT_EQ(game.state().divers_aboard, -1);
}

TEST(Seaquest, RampsNineteenTimes) {
  Seaquest game;
  for (int visit = 1; visit <= 25; ++visit) {
    game.state().y = 1;
    game.state().divers_aboard = 3;
    game.state().at_surface = false;
    game.state().enemy_spawn_timer = 5;
    Do(game, kUp);
    EXPECT_EQ(game.ramp_level(), std::min(visit, 19));
    game.state().enemy_spawn_timer = 0;
    Do(game, kUp);
    EXPECT_EQ(game.state().enemy_spawn_timer, std::max(20 - visit, 1) - 1);
    game.state().fish.clear();
    game.state().submarines.clear();
  }
}

TEST(Seaquest, WithoutRampingTheLevelStays) {
  Seaquest game(false);
  game.state() = BelowSurface(3).state();
  Do(game, kUp);
  EXPECT_EQ(game.state().divers_aboard, 2);
  EXPECT_EQ(game.ramp_level(), 0);
}

TEST(Seaquest, ResetKeepsNothing) {
  Seaquest game = BelowSurface(6);
  game.state().fish = {{.x = 5, .y = 4, .right = true, .move_timer = 3}};
  RandomStream random = Stream();
  game.Reset(random);
  EXPECT_EQ(game.state(), Seaquest::State{});
}

TEST(Seaquest, LoadRefusesWhatCannotBe) {
  const auto refuse = [](auto change) {
    Seaquest game;
    change(game.state());
    ExpectRefused(game);
  };
  refuse([](auto& state) { state.x = 10; });
  refuse([](auto& state) { state.y = 9; });
  refuse([](auto& state) { state.x = 9; });  // facing left: the stern would be outside
  refuse([](auto& state) {
    state.x = 0;
    state.right = true;
  });
  refuse([](auto& state) { state.oxygen = 201; });
  refuse([](auto& state) { state.oxygen = -1; });  // but the game is not over
  refuse([](auto& state) { state.divers_aboard = 7; });
  refuse([](auto& state) { state.divers_aboard = -2'000'000'000; });
  refuse([](auto& state) { state.own_bullets = {{10, 0, true}}; });
  refuse([](auto& state) { state.own_bullets = {{0, 9, true}}; });
  refuse([](auto& state) { state.enemy_bullets = {{0, 0, true}}; });
  refuse([](auto& state) { state.enemy_bullets.resize(201, {0, 1, true}); });
  refuse([](auto& state) { state.fish.resize(201); });
  refuse([](auto& state) { state.fish = {{.x = 10, .y = 1}}; });
  refuse([](auto& state) { state.fish = {{.x = 1, .y = 0}}; });
  refuse([](auto& state) { state.fish = {{.x = 1, .y = 9}}; });
  refuse([](auto& state) { state.divers = {{.x = 1, .y = 2, .right = true, .move_timer = 6}}; });
  refuse([](auto& state) { state.submarines = {EnemySubmarine(1, 1, true, 6, 1)}; });
  refuse([](auto& state) { state.submarines = {EnemySubmarine(1, 1, true, 1, 11)}; });
  refuse([](auto& state) { state.enemy_spawn_timer = 21; });
  refuse([](auto& state) { state.diver_spawn_timer = 31; });
  refuse([](auto& state) { state.gun_timer = 6; });
  refuse([](auto& state) { state.ramp_level = 20; });
}

}  // namespace stableaa::minatar::seaquest_test
