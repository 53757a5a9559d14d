// Breakout: a ball, a paddle and a wall of three rows. A brick is worth a point, a missed ball ends
// the game. Only the side from which the ball starts is random.
#ifndef STABLEAA_ENV_MINATAR_BREAKOUT_H_
#define STABLEAA_ENV_MINATAR_BREAKOUT_H_

#include <cstdint>
#include <optional>
#include <span>

#include "stableaa/env/minatar/grid.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class RandomStream;

namespace minatar {

class Breakout {
 public:
  enum Channel : int { kPaddle, kBall, kTrail, kBrick };
  static constexpr int kChannels = 4;

  static constexpr int kPaddleRow = kSide - 1;
  static constexpr int kTopBrickRow = 1;
  static constexpr int kBrickRows = 3;
  static constexpr std::uint32_t kWall = (std::uint32_t{1} << (kBrickRows * kSide)) - 1;

  struct State {
    int paddle = 4;  // column
    // Reaches the paddle's row only when the game is over.
    int ball_x = 0, ball_y = 3;
    bool right = true, down = true;  // the ball's direction
    int last_x = 0, last_y = 3;      // where the ball was
    std::uint32_t bricks = kWall;    // bit 10 i + x: column x of row 1 + i
    // The ball has hit a brick and has been flying over bricks since; it cannot hit those.
    bool struck = false;
    bool terminal = false;

    bool operator==(const State&) const = default;
  };

  void Reset(RandomStream& random);
  Outcome Step(int action, RandomStream& random);
  void Observe(std::span<std::uint8_t> out) const;

  std::optional<int> ramp_level() const { return {}; }

  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

  State& state() { return state_; }
  const State& state() const { return state_; }

  // 0 where there can be no brick.
  static constexpr std::uint32_t BrickBit(int y, int x) {
    if (y < kTopBrickRow || y >= kTopBrickRow + kBrickRows) return 0;
    return std::uint32_t{1} << ((y - kTopBrickRow) * kSide + x);
  }

 private:
  int MoveBall();
  void MeetPaddleRow(int& x, int& y);

  State state_;
};

}  // namespace minatar
}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_BREAKOUT_H_
