// Asterix: the player walks among eight rows that gold and enemies cross. Gold is worth a point, an
// enemy ends the game. Both appear more often and move faster over time (ramping).
#ifndef STABLEAA_ENV_MINATAR_ASTERIX_H_
#define STABLEAA_ENV_MINATAR_ASTERIX_H_

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

class Asterix {
 public:
  enum Channel : int { kPlayer, kEnemy, kTrail, kGold };
  static constexpr int kChannels = 4;

  static constexpr int kRows = 8;  // grid rows 1 to 8
  static constexpr int kFirstSpawnPeriod = 10;
  static constexpr int kFirstMovePeriod = 5;
  static constexpr int kRampTime = 100;
  // When both periods are down to 1.
  static constexpr int kLastRampLevel = 9;

  // Something that crosses a row; each row has at most one.
  struct Entity {
    bool present = false;  // if false, nothing else matters
    int x = 0;
    bool right = false;  // its direction
    bool gold = false;   // otherwise an enemy

    bool operator==(const Entity&) const = default;
  };

  struct State {
    int player_x = 5, player_y = 5;        // y in 1 to 8
    std::array<Entity, kRows> entities{};  // entity i is in grid row i + 1
    int spawn_timer = kFirstSpawnPeriod;   // an entity appears in the step that finds 0
    int move_timer = kFirstMovePeriod;     // all entities move in the step that finds 0
    int ramp_timer = kRampTime;            // down to -1
    int ramp_level = 0;                    // determines both periods, see below
    bool terminal = false;

    bool operator==(const State&) const = default;
  };

  explicit Asterix(bool ramping = true) : ramping_(ramping) {}

  void Reset(RandomStream& random);
  Outcome Step(int action, RandomStream& random);
  void Observe(std::span<std::uint8_t> out) const;

  std::optional<int> ramp_level() const { return state_.ramp_level; }

  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

  State& state() { return state_; }
  const State& state() const { return state_; }

 private:
  // Each level shortens the first period by one step, and every second level the other, so both are
  // functions of the level. A running timer keeps its value.
  int spawn_period() const { return kFirstSpawnPeriod - state_.ramp_level; }
  int move_period() const { return kFirstMovePeriod - state_.ramp_level / 2; }

  void Spawn(RandomStream& random);
  void MovePlayer(int action);
  int MoveEntities();
  int Touch(int row);
  void Ramp();

  bool ramping_;
  State state_;
};

}  // namespace minatar
}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_ASTERIX_H_
