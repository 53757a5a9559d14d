// Asterix: the player walks among eight rows that gold and enemies cross. Gold is worth a point, an
// enemy ends the game. Both come more often and faster with time (ramping).
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

  static constexpr int kRows = 8;  // those of grid rows 1 to 8
  static constexpr int kFirstSpawnPeriod = 10;
  static constexpr int kFirstMovePeriod = 5;
  static constexpr int kRampTime = 100;
  // With both periods down at 1.
  static constexpr int kLastRampLevel = 9;

  // What crosses a row; there is one per row at most.
  struct Entity {
    bool present = false;  // nothing else counts if not
    int x = 0;
    bool right = false;  // where it goes
    bool gold = false;   // an enemy if not

    bool operator==(const Entity&) const = default;
  };

  struct State {
    int player_x = 5, player_y = 5;        // y in 1 to 8
    std::array<Entity, kRows> entities{};  // entity i is in grid row i + 1
    int spawn_timer = kFirstSpawnPeriod;   // an entity comes in the step that finds 0
    int move_timer = kFirstMovePeriod;     // all entities move in the step that finds 0
    int ramp_timer = kRampTime;            // down to -1
    int ramp_level = 0;                    // decides both periods, see below
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
  // Each level takes one step off the first and every second level one off the other, which makes
  // the periods functions of the level. A running timer keeps its value.
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
