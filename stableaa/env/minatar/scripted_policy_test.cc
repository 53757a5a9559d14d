#include "stableaa/env/minatar/scripted_policy.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "stableaa/env/minatar/asterix.h"
#include "stableaa/env/minatar/grid.h"
#include "stableaa/env/minatar/seaquest.h"

// The players of Breakout and Space Invaders are checked against known answers in minatar_test.cc;
// these tests cover the choices of the other two, one scene each.

namespace stableaa::minatar::scripted_policy_test {

// An observation built by hand; cells are 10 y + x.
class Scene {
 public:
  explicit Scene(MinatarGame game)
      : game_(game), bytes_(static_cast<std::size_t>(kCells * MinatarChannels(game))) {}

  Scene& Put(int channel, std::initializer_list<int> cells) {
    for (const int cell : cells) {
      const int at = cell * MinatarChannels(game_) + channel;
      bytes_[static_cast<std::size_t>(at)] = 1;
    }
    return *this;
  }

  int Action() const { return ScriptedMinatarAction(game_, bytes_); }

 private:
  MinatarGame game_;
  std::vector<std::uint8_t> bytes_;
};

// --- Asterix

Scene Player(int cell) { return Scene(MinatarGame::kAsterix).Put(Asterix::kPlayer, {cell}); }

TEST(ScriptedAsterix, RestsWithNothingToDo) { EXPECT_EQ(Player(55).Action(), kNoop); }

TEST(ScriptedAsterix, GetsOutOfTheWayUpDownLeftRightInThisOrder) {
  for (const int enemy : {54, 55, 56}) {
    EXPECT_EQ(Player(55).Put(Asterix::kEnemy, {enemy}).Action(), kUp) << enemy;
  }
  EXPECT_EQ(Player(55).Put(Asterix::kEnemy, {53}).Action(), kNoop);
  EXPECT_EQ(Player(55).Put(Asterix::kEnemy, {56, 44}).Action(), kDown);
  EXPECT_EQ(Player(55).Put(Asterix::kEnemy, {56, 44, 65}).Action(), kLeft);
  EXPECT_EQ(Player(55).Put(Asterix::kEnemy, {54, 44, 65}).Action(), kRight);
  EXPECT_EQ(Player(55).Put(Asterix::kEnemy, {55, 44, 65}).Action(), kNoop);
}

TEST(ScriptedAsterix, KnowsTheEdges) {
  EXPECT_EQ(Player(15).Put(Asterix::kEnemy, {16}).Action(), kDown);
  EXPECT_EQ(Player(85).Put(Asterix::kEnemy, {86, 75}).Action(), kLeft);
  EXPECT_EQ(Player(80).Put(Asterix::kEnemy, {80, 70}).Action(), kNoop);
}

TEST(ScriptedAsterix, GoesForGoldRowsFirst) {
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {42}).Action(), kUp);
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {62}).Action(), kDown);
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {52}).Action(), kLeft);
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {58}).Action(), kRight);
}

TEST(ScriptedAsterix, GoesForTheNearestGoldOfEqualOnesTheHigher) {
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {25, 75}).Action(), kDown);
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {35, 75}).Action(), kUp);
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {53, 57}).Action(), kLeft);
}

TEST(ScriptedAsterix, DoesNotRunIntoDangerForGold) {
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {35}).Put(Asterix::kEnemy, {44}).Action(), kNoop);
  EXPECT_EQ(Player(55).Put(Asterix::kGold, {52}).Put(Asterix::kEnemy, {53}).Action(), kNoop);
}

// --- Seaquest

struct Gauges {
  int oxygen = 9, crew = 0;
};

// The bow is in the cell, with the stern beside it.
Scene Boat(int cell, bool right, Gauges gauges = {}) {
  Scene scene(MinatarGame::kSeaquest);
  scene.Put(Seaquest::kBow, {cell}).Put(Seaquest::kStern, {right ? cell - 1 : cell + 1});
  for (int x = 0; x < gauges.oxygen; ++x) scene.Put(Seaquest::kOxygenGauge, {90 + x});
  for (int i = 1; i <= gauges.crew; ++i) scene.Put(Seaquest::kCrewGauge, {99 - i});
  return scene;
}

TEST(ScriptedSeaquest, WaitsInRow4) {
  EXPECT_EQ(Boat(5, false).Action(), kDown);
  EXPECT_EQ(Boat(35, false).Action(), kDown);
  EXPECT_EQ(Boat(45, false).Action(), kNoop);
  EXPECT_EQ(Boat(75, false).Action(), kNoop);
  EXPECT_EQ(Boat(35, false).Put(Seaquest::kFish, {46}).Action(), kNoop);
}

TEST(ScriptedSeaquest, ComesUpWithSixOrWithSomebodyWhenOutOfBreath) {
  EXPECT_EQ(Boat(45, false, {.oxygen = 9, .crew = 6}).Action(), kUp);
  EXPECT_EQ(Boat(45, false, {.oxygen = 9, .crew = 5}).Action(), kNoop);
  EXPECT_EQ(Boat(45, false, {.oxygen = 4, .crew = 1}).Action(), kUp);
  EXPECT_EQ(Boat(45, false, {.oxygen = 5, .crew = 1}).Action(), kNoop);
  EXPECT_EQ(Boat(45, false, {.oxygen = 4, .crew = 0}).Action(), kNoop);
  EXPECT_EQ(Boat(15, false, {.oxygen = 4, .crew = 1}).Action(), kUp);  // all the way to the surface
  EXPECT_EQ(Boat(5, false, {.oxygen = 4, .crew = 1}).Action(), kNoop);
}

TEST(ScriptedSeaquest, WaitsOrShootsWhenTheWayUpIsBlocked) {
  const Gauges full = {.oxygen = 9, .crew = 6};
  EXPECT_EQ(Boat(45, false, full).Put(Seaquest::kEnemyBullet, {34}).Action(), kNoop);
  EXPECT_EQ(Boat(45, false, full).Put(Seaquest::kFish, {34, 42}).Action(), kFire);
  EXPECT_EQ(Boat(45, false, full).Put(Seaquest::kFish, {44}).Action(), kUp);  // threat or not
}

TEST(ScriptedSeaquest, EvadesUpThenDownAndShootsWhenCornered) {
  for (const int channel : {Seaquest::kEnemyBullet, Seaquest::kFish, Seaquest::kSubmarine}) {
    EXPECT_EQ(Boat(45, false).Put(channel, {46}).Action(), kUp) << channel;  // from behind
    EXPECT_EQ(Boat(45, false).Put(channel, {46, 35}).Action(), kDown) << channel;
    EXPECT_EQ(Boat(45, false).Put(channel, {46, 35, 55}).Action(), kFire) << channel;
  }
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kFish, {44}).Action(), kFire);  // ahead
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kEnemyBullet, {44}).Action(), kUp);
}

TEST(ScriptedSeaquest, EvadesNeitherToTheSurfaceNorBelowTheFloor) {
  EXPECT_EQ(Boat(15, false).Put(Seaquest::kFish, {16}).Action(), kDown);
  EXPECT_EQ(Boat(85, false).Put(Seaquest::kFish, {86, 75}).Action(), kFire);
}

TEST(ScriptedSeaquest, ShootsWithinFourCellsAhead) {
  for (const int channel : {Seaquest::kFish, Seaquest::kSubmarine}) {
    EXPECT_EQ(Boat(45, false).Put(channel, {41}).Action(), kFire);
    EXPECT_EQ(Boat(45, false).Put(channel, {40}).Action(), kNoop);
    EXPECT_EQ(Boat(45, false).Put(channel, {48}).Action(), kNoop);  // behind
    EXPECT_EQ(Boat(45, true).Put(channel, {49}).Action(), kFire);
    EXPECT_EQ(Boat(44, true).Put(channel, {49}).Action(), kNoop);
  }
}

TEST(ScriptedSeaquest, DoesNotShootAcrossTheEdge) {
  EXPECT_EQ(Boat(48, true).Put(Seaquest::kFish, {50}).Action(), kNoop);
}

TEST(ScriptedSeaquest, CollectsDiversUnlessThatIsDangerous) {
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kDiver, {12}).Action(), kUp);
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kDiver, {12, 65}).Action(), kDown);  // nearer
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kDiver, {42}).Action(), kLeft);
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kDiver, {48}).Action(), kRight);
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kDiver, {12}).Put(Seaquest::kFish, {36}).Action(), kNoop);
  EXPECT_EQ(Boat(45, false).Put(Seaquest::kDiver, {48}).Put(Seaquest::kFish, {47}).Action(), kNoop);
}

}  // namespace stableaa::minatar::scripted_policy_test
