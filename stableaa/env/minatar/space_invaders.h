// Space Invaders: a fleet of aliens moves back and forth and comes closer with each turn; the
// cannon shoots at it for a point per alien. The game ends with a hit on the cannon, an alien
// reaching it, or a fleet that would sink below the ground. Each destroyed fleet is followed by a
// faster one (ramping).
//
// Nothing in it is random.
#ifndef STABLEAA_ENV_MINATAR_SPACE_INVADERS_H_
#define STABLEAA_ENV_MINATAR_SPACE_INVADERS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "stableaa/env/minatar/grid.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class RandomStream;

namespace minatar {

class SpaceInvaders {
 public:
  enum Channel : int { kCannon, kAlien, kLeftward, kRightward, kOwnBullet, kEnemyBullet };
  static constexpr int kChannels = 6;

  static constexpr int kGround = kSide - 1;  // the cannon's row
  static constexpr int kFirstInterval = 12;
  static constexpr int kLastRampLevel = 6;  // an interval of 6
  static constexpr int kEnemyShotTime = 10;
  static constexpr int kGunTime = 5;

  // One bit per cell: rows from the top, bit x of a row is its column x.
  using Map = std::array<std::uint16_t, kSide>;
  static constexpr std::uint16_t kFleetRow = 0b00'1111'1100;
  static constexpr Map kFleet = {kFleetRow, kFleetRow, kFleetRow, kFleetRow};

  struct State {
    int cannon = 5;       // column
    Map aliens = kFleet;  // never empty
    Map own_bullets = {}, enemy_bullets = {};
    bool right = false;  // the fleet's direction
    int move_timer = kFirstInterval;
    int enemy_shot_timer = kEnemyShotTime;
    int gun_timer = 0;
    int ramp_level = 0;  // the fleet moves every 12 - level steps, small ones more often
    bool terminal = false;

    bool operator==(const State&) const = default;
  };

  explicit SpaceInvaders(bool ramping = true) : ramping_(ramping) {}

  void Reset(RandomStream& random);
  Outcome Step(int action, RandomStream& random);
  void Observe(std::span<std::uint8_t> out) const;

  std::optional<int> ramp_level() const { return state_.ramp_level; }

  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

  State& state() { return state_; }
  const State& state() const { return state_; }

 private:
  int fleet_interval() const { return kFirstInterval - state_.ramp_level; }

  bool ReachesCannon(const Map& map) const;
  void Act(int action);
  void MoveBullets();
  void MoveFleet();
  void FireAtCannon();
  int RemoveHitAliens();
  void ReplaceFleet();

  bool ramping_;
  State state_;
};

}  // namespace minatar
}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_SPACE_INVADERS_H_
