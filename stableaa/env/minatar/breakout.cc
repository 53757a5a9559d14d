#include "stableaa/env/minatar/breakout.h"

#include <fmt/format.h>

#include <algorithm>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/core/saved_number.h"

namespace stableaa::minatar {

void Breakout::Reset(RandomStream& random) {
  state_ = State{};
  state_.right = random.Below(2) == 0;
  state_.ball_x = state_.last_x = state_.right ? 0 : kSide - 1;
}

Outcome Breakout::Step(int action, RandomStream& /*random*/) {
  if (state_.terminal) return {0, true};
  if (action == kLeft) state_.paddle = std::max(state_.paddle - 1, 0);
  if (action == kRight) state_.paddle = std::min(state_.paddle + 1, kSide - 1);
  const int reward = MoveBall();
  return {reward, state_.terminal};
}

int Breakout::MoveBall() {
  state_.last_x = state_.ball_x;
  state_.last_y = state_.ball_y;
  int x = Ahead(state_.ball_x, state_.right);
  int y = state_.ball_y + (state_.down ? 1 : -1);
  if (!InsideRow(x)) {
    x = state_.last_x;
    state_.right = !state_.right;
  }

  int reward = 0;
  const std::uint32_t brick = state_.bricks & BrickBit(y, x);
  if (y < 0) {
    y = 0;
    state_.down = true;
  } else if (brick != 0 && !state_.struck) {
    reward = 1;
    state_.bricks &= ~brick;
    state_.down = !state_.down;
    y = state_.last_y;
  } else if (y == kPaddleRow) {
    MeetPaddleRow(x, y);
  }
  state_.struck = brick != 0;
  state_.ball_x = x;
  state_.ball_y = y;
  return reward;
}

// A ball that comes straight down on the paddle is reflected; one that would reach it diagonally is
// sent back where it came from. A wall that is gone is rebuilt only here, whether or not the ball
// is caught.
void Breakout::MeetPaddleRow(int& x, int& y) {
  if (state_.bricks == 0) state_.bricks = kWall;
  const bool above = state_.last_x == state_.paddle;
  if (!above && x != state_.paddle) {
    state_.terminal = true;
    return;
  }
  if (!above) state_.right = !state_.right;
  state_.down = false;
  y = state_.last_y;
}

void Breakout::Observe(std::span<std::uint8_t> out) const {
  Frame<kChannels> frame(out);
  frame.Set(kPaddle, kPaddleRow, state_.paddle);
  frame.Set(kBall, state_.ball_y, state_.ball_x);
  frame.Set(kTrail, state_.last_y, state_.last_x);
  // Visits all 30 bits: faster than jumping from one set bit to the next.
  for (int i = 0; i < kBrickRows * kSide; ++i) {
    frame.PutCell(kBrick, kTopBrickRow * kSide + i, (state_.bricks >> i) & 1);
  }
}

void Breakout::Save(ByteWriter& out) const {
  out.Bool(state_.terminal);
  SaveSmall(out, state_.paddle);
  SaveSmall(out, state_.ball_x);
  SaveSmall(out, state_.ball_y);
  out.Bool(state_.right);
  out.Bool(state_.down);
  SaveSmall(out, state_.last_x);
  SaveSmall(out, state_.last_y);
  out.U32(state_.bricks);
  out.Bool(state_.struck);
}

void Breakout::Load(ByteReader& in) {
  State loaded;
  loaded.terminal = in.Bool();
  loaded.paddle = LoadSmall(in, "a paddle's column", 0, kSide - 1);
  loaded.ball_x = LoadSmall(in, "a ball's column", 0, kSide - 1);
  // From the paddle's row another step would leave the grid.
  loaded.ball_y = LoadSmall(in, "a ball's row", 0, loaded.terminal ? kPaddleRow : kPaddleRow - 1);
  loaded.right = in.Bool();
  loaded.down = in.Bool();
  loaded.last_x = LoadSmall(in, "a ball's last column", 0, kSide - 1);
  loaded.last_y = LoadSmall(in, "a ball's last row", 0, kPaddleRow - 1);
  loaded.bricks = in.U32();
  if (loaded.bricks > kWall) {
    throw in.Wrong(fmt::format("expected bricks of 0 to {}, found {}", kWall, loaded.bricks));
  }
  loaded.struck = in.Bool();
  state_ = loaded;
}

}  // namespace stableaa::minatar
