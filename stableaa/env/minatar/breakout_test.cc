#include "stableaa/env/minatar/breakout.h"

#include <gtest/gtest.h>

#include <optional>

#include "stableaa/core/random.h"
#include "stableaa/env/minatar/game_test.h"

namespace stableaa::minatar::breakout_test {

struct Ball {
  int y, x;
  bool down, right;
  bool operator==(const Ball&) const = default;
};

Breakout BreakoutWith(Ball ball, int paddle = 4) {
  Breakout game;
  game.state().ball_y = game.state().last_y = ball.y;
  game.state().ball_x = game.state().last_x = ball.x;
  game.state().down = ball.down;
  game.state().right = ball.right;
  game.state().paddle = paddle;
  return game;
}

Ball BallOf(const Breakout& game) {
  const Breakout::State& state = game.state();
  return {state.ball_y, state.ball_x, state.down, state.right};
}

TEST(Breakout, StartsFromEitherSideEquallyOften) {
  RandomStream random = Stream();
  constexpr int kTrials = 20000;
  int left = 0;
  Breakout game;
  for (int i = 0; i < kTrials; ++i) {
    game.Reset(random);
    const Ball ball = BallOf(game);
    EXPECT_EQ(ball, (ball.x == 0 ? Ball{3, 0, true, true} : Ball{3, 9, true, false}));
    EXPECT_EQ(Cells(game, Breakout::kTrail), Cells(game, Breakout::kBall));
    left += ball.x == 0 ? 1 : 0;
  }
  EXPECT_EQ(Cells(game, Breakout::kBrick).size(), 30U);
  ExpectShare(left, kTrials, 0.5);
}

TEST(Breakout, PaddleStaysOnTheGrid) {
  Breakout game = BreakoutWith({4, 4, true, true}, 0);
  Do(game, kLeft);
  EXPECT_EQ(game.state().paddle, 0);
  Do(game, kRight);
  EXPECT_EQ(game.state().paddle, 1);
  game.state().paddle = 9;
  Do(game, kRight);
  EXPECT_EQ(game.state().paddle, 9);
  for (const int action : {kUp, kDown, kFire}) {
    game = BreakoutWith({4, 4, true, true});
    Do(game, action);
    EXPECT_EQ(game.state().paddle, 4);
  }
}

TEST(Breakout, WallKeepsTheColumnAndTheRowChanges) {
  Breakout game = BreakoutWith({5, 9, true, true});
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(BallOf(game), (Ball{6, 9, true, false}));
  game = BreakoutWith({6, 0, false, false});
  Do(game, kNoop);
  EXPECT_EQ(BallOf(game), (Ball{5, 0, false, true}));
}

TEST(Breakout, TopKeepsTheRowAndTheColumnChanges) {
  Breakout game = BreakoutWith({0, 4, false, true});
  Do(game, kNoop);
  EXPECT_EQ(BallOf(game), (Ball{0, 5, true, true}));
}

TEST(Breakout, TopCornerTurnsTheBallAround) {
  Breakout game = BreakoutWith({0, 9, false, true});
  Do(game, kNoop);
  EXPECT_EQ(BallOf(game), (Ball{0, 9, true, false}));
}

TEST(Breakout, BrickIsTakenOnceAndReflects) {
  Breakout game = BreakoutWith({4, 4, false, true});
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_EQ(BallOf(game), (Ball{4, 5, true, true}));
  EXPECT_EQ(game.state().bricks, Breakout::kWall & ~Breakout::BrickBit(3, 5));
  EXPECT_TRUE(game.state().struck);
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_FALSE(game.state().struck);
}

TEST(Breakout, WallAndBrickInOneStepTurnBothWays) {
  Breakout game = BreakoutWith({4, 9, false, true});
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  EXPECT_EQ(BallOf(game), (Ball{4, 9, true, false}));
}

TEST(Breakout, BallThatHasStruckFliesThroughBricks) {
  Breakout game = BreakoutWith({4, 4, false, true});
  game.state().struck = true;
  for (int y = 3; y >= 1; --y) {
    EXPECT_EQ(Do(game, kNoop), kNothing);
    EXPECT_EQ(BallOf(game), (Ball{y, 8 - y, false, true}));
    EXPECT_TRUE(game.state().struck);
  }
  EXPECT_EQ(game.state().bricks, Breakout::kWall);
  Do(game, kNoop);
  EXPECT_FALSE(game.state().struck);
  Do(game, kNoop);
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));  // from the top, on the row below
}

TEST(Breakout, TopClearsStruck) {
  Breakout game = BreakoutWith({0, 4, false, true});
  game.state().struck = true;
  Do(game, kNoop);
  EXPECT_FALSE(game.state().struck);
}

TEST(Breakout, PaddleBelowTheBallReflects) {
  Breakout game = BreakoutWith({8, 5, true, true}, 4);
  EXPECT_EQ(Do(game, kRight), kNothing);  // the paddle has already moved
  EXPECT_EQ(BallOf(game), (Ball{8, 6, false, true}));
}

TEST(Breakout, PaddleAheadOfTheBallSendsItBack) {
  Breakout game = BreakoutWith({8, 5, true, true}, 6);
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(BallOf(game), (Ball{8, 6, false, false}));
}

TEST(Breakout, BottomCornerIsSavedOnlyFromBelow) {
  Breakout game = BreakoutWith({8, 9, true, true}, 9);
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(BallOf(game), (Ball{8, 9, false, false}));
  game = BreakoutWith({8, 9, true, true}, 8);
  EXPECT_EQ(Do(game, kNoop), kEnd);
}

TEST(Breakout, MissedBallIsSeenInThePaddlesRow) {
  Breakout game = BreakoutWith({8, 5, true, true}, 4);
  EXPECT_EQ(Do(game, kNoop), kEnd);
  EXPECT_EQ(Cells(game, Breakout::kBall), Places{96});
  EXPECT_EQ(Cells(game, Breakout::kTrail), Places{85});
  const Breakout::State end = game.state();
  EXPECT_EQ(Do(game, kLeft), kEnd);
  EXPECT_EQ(game.state(), end);
}

TEST(Breakout, WallIsRebuiltWhenTheBallComesDownAndNotBefore) {
  Breakout game = BreakoutWith({4, 4, false, true}, 9);
  game.state().bricks = Breakout::BrickBit(3, 5);
  EXPECT_EQ(Do(game, kNoop), (Outcome{1, false}));
  for (int y = 5; y <= 8; ++y) {
    EXPECT_EQ(game.state().bricks, 0U);
    Do(game, kNoop);
  }
  EXPECT_EQ(BallOf(game), (Ball{8, 9, true, true}));
  EXPECT_EQ(game.state().bricks, 0U);
  Do(game, kNoop);
  EXPECT_EQ(game.state().bricks, Breakout::kWall);
}

TEST(Breakout, WallIsRebuiltEvenIfTheBallIsMissed) {
  Breakout game = BreakoutWith({8, 4, true, true}, 0);
  game.state().bricks = 0;
  EXPECT_EQ(Do(game, kNoop), kEnd);
  EXPECT_EQ(game.state().bricks, Breakout::kWall);
}

TEST(Breakout, HasNoRampLevel) { EXPECT_EQ(Breakout().ramp_level(), std::nullopt); }

TEST(Breakout, LoadRefusesWhatCannotBe) {
  const auto refuse = [](auto change) {
    Breakout game;
    change(game.state());
    ExpectRefused(game);
  };
  refuse([](auto& state) { state.paddle = 10; });
  refuse([](auto& state) { state.ball_x = 10; });
  refuse([](auto& state) { state.ball_y = 9; });  // but the game is not over
  refuse([](auto& state) { state.last_x = 10; });
  refuse([](auto& state) { state.last_y = 9; });
  refuse([](auto& state) { state.bricks = Breakout::kWall + 1; });
}

}  // namespace stableaa::minatar::breakout_test
