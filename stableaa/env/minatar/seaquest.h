// Seaquest: a submarine shoots fish and enemy submarines (a point each) and takes divers aboard.
// Its oxygen lasts 200 steps; surfacing for more costs a diver, and surfacing with six earns points
// for the remaining oxygen. Surfacing with none ends the game, as does touching an enemy or its
// shot. Each visit to the surface makes enemies appear more often and, three times, move faster
// (ramping).
//
// A player who never dives is never in danger, so the game needs an external step limit.
#ifndef STABLEAA_ENV_MINATAR_SEAQUEST_H_
#define STABLEAA_ENV_MINATAR_SEAQUEST_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/env/minatar/grid.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class RandomStream;

namespace minatar {

class Seaquest {
 public:
  enum Channel : int {
    kBow,
    kStern,
    kOwnBullet,
    kTrail,
    kEnemyBullet,
    kFish,
    kSubmarine,
    kOxygenGauge,
    kCrewGauge,
    kDiver
  };
  static constexpr int kChannels = 10;

  static constexpr int kFloor = 8;  // the deepest row; the one below shows the gauges
  static constexpr int kFullOxygen = 200;
  static constexpr int kFirstSpawnPeriod = 20;
  static constexpr int kDiverSpawnPeriod = 30;
  static constexpr int kFirstEnemyMove = 5;
  static constexpr int kFastestEnemyMove = 2;
  static constexpr int kDiverMove = 5;
  static constexpr int kGunTime = 5;
  static constexpr int kEnemyGunTime = 10;
  static constexpr int kCrew = 6;
  // When an enemy appears in each step.
  static constexpr int kLastRampLevel = 19;

  struct Bullet {
    int x = 0, y = 0;
    bool right = false;

    bool operator==(const Bullet&) const = default;
  };

  // A fish or a diver: moves in the step that finds its timer at 0.
  struct Swimmer {
    int x = 0, y = 1;
    bool right = false;
    int move_timer = 0;

    bool operator==(const Swimmer&) const = default;
  };

  struct Submarine : Swimmer {
    int shot_timer = kEnemyGunTime;  // fires in the step that finds 0

    bool operator==(const Submarine&) const = default;
  };

  // Lists run from oldest to newest. Enemies, their bullets and divers are in rows 1 to 8.
  struct State {
    int x = 5, y = 0;  // the bow; y in 0 to 8
    bool right = false;
    int oxygen = kFullOxygen;  // 0 is fatal in the next step; -1 only when the game is over
    // At most 6. Negative after six have been delivered: a quirk of the game, see Surface.
    int divers_aboard = 0;
    bool at_surface = true;  // and the effects of surfacing have been applied
    std::vector<Bullet> own_bullets = {}, enemy_bullets = {};
    std::vector<Swimmer> fish = {};
    std::vector<Submarine> submarines = {};
    std::vector<Swimmer> divers = {};
    int enemy_spawn_timer = kFirstSpawnPeriod;
    int diver_spawn_timer = kDiverSpawnPeriod;
    int gun_timer = 0;
    int ramp_level = 0;  // determines how often enemies appear and how fast they are
    bool terminal = false;

    bool operator==(const State&) const = default;
  };

  explicit Seaquest(bool ramping = true) : ramping_(ramping) {}

  void Reset(RandomStream& random);
  Outcome Step(int action, RandomStream& random);
  void Observe(std::span<std::uint8_t> out) const;

  std::optional<int> ramp_level() const { return state_.ramp_level; }

  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

  State& state() { return state_; }
  const State& state() const { return state_; }

 private:
  // Functions of the level: the first falls by one each time, the second every other time. Running
  // timers keep their values.
  int enemy_spawn_period() const { return kFirstSpawnPeriod - state_.ramp_level; }
  int enemy_move() const {
    return std::max(kFirstEnemyMove - state_.ramp_level / 2, kFastestEnemyMove);
  }

  bool Hits(int x, int y) const { return x == state_.x && y == state_.y; }
  void SpawnEnemy(RandomStream& random);
  void SpawnDiver(RandomStream& random);
  void Act(int action);
  int MoveOwnBullets();
  void MoveDivers();
  bool TakeAboard(const Swimmer& diver);
  int MoveSubmarines();
  void MoveEnemyBullets();
  int MoveFish();
  struct Swum {
    bool removed = false;
    int reward = 0;
  };
  Swum MoveEnemy(Swimmer& enemy);
  int Breathe();
  int Surface();

  bool ramping_;
  State state_;
};

}  // namespace minatar
}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_SEAQUEST_H_
