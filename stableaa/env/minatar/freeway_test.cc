#include "stableaa/env/minatar/freeway.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/minatar/game_test.h"

namespace stableaa::minatar::freeway_test {

// Cars of speed 5 that go right and are far from the chicken.
Freeway QuietFreeway() {
  Freeway game;
  for (auto& car : game.state().cars) car = {.x = 5, .right = true, .speed = 5, .timer = 5};
  game.state().move_timer = 0;
  return game;
}

TEST(Freeway, ChickenMovesFirstInStepFourAndThenEveryThirdStep) {
  Freeway game = QuietFreeway();
  game.state().move_timer = Freeway::kMoveTime;
  std::vector<int> moves;
  for (int step = 1; step <= 12; ++step) {
    const int before = game.state().row;
    Do(game, kUp);
    if (game.state().row != before) moves.push_back(step);
  }
  EXPECT_EQ(moves, (std::vector<int>{4, 7, 10}));
}

TEST(Freeway, WalkingDownFromTheStartCostsTime) {
  Freeway game = QuietFreeway();
  Do(game, kDown);
  EXPECT_EQ(game.state().row, 9);
  EXPECT_EQ(game.state().move_timer, 2);
  game.state().move_timer = 0;
  for (const int action : {kNoop, kLeft, kRight, kFire}) {
    Do(game, action);
    EXPECT_EQ(game.state().row, 9);
    EXPECT_EQ(game.state().move_timer, 0);
  }
}

TEST(Freeway, ChickenCanWalkBack) {
  Freeway game = QuietFreeway();
  game.state().row = 5;
  Do(game, kDown);
  EXPECT_EQ(game.state().row, 6);
}

TEST(Freeway, CrossingIsWorthAPointAndChangesTheCars) {
  Freeway game = QuietFreeway();
  game.state().row = 1;
  RandomStream random = Stream();
  RandomStream twin = Stream();
  EXPECT_EQ(game.Step(kUp, random), (Outcome{1, false}));
  EXPECT_EQ(game.state().row, 9);
  EXPECT_EQ(game.state().move_timer, 2);
  for (auto& car : game.state().cars) {
    EXPECT_EQ(car.x, 5);
    EXPECT_EQ(car.speed, 1 + static_cast<int>(twin.Below(5)));
    EXPECT_EQ(car.timer, car.speed - 1);  // has started counting
  }
  for (auto& car : game.state().cars) EXPECT_EQ(car.right, twin.Bernoulli(0.5));
  EXPECT_EQ(random.state(), twin.state());
}

TEST(Freeway, CarOfSpeedSMovesEverySPlusOneSteps) {
  for (int speed = 1; speed <= 5; ++speed) {
    Freeway game = QuietFreeway();
    game.state().cars[0] = {.x = 0, .right = false, .speed = speed, .timer = speed};
    std::vector<int> moves;
    for (int step = 1; step <= 3 * (speed + 1); ++step) {
      const int before = game.state().cars[0].x;
      Do(game, kNoop);
      if (game.state().cars[0].x != before) moves.push_back(step);
    }
    EXPECT_EQ(moves, (std::vector<int>{speed + 1, 2 * (speed + 1), 3 * (speed + 1)}));
    EXPECT_EQ(game.state().cars[0].x, 7);  // around the edge
  }
}

TEST(Freeway, CarsGoingRightWrapAround) {
  Freeway game = QuietFreeway();
  game.state().cars[0] = {.x = 9, .right = true, .speed = 2, .timer = 0};
  Do(game, kNoop);
  EXPECT_EQ(game.state().cars[0], (Freeway::Car{.x = 0, .right = true, .speed = 2, .timer = 2}));
}

TEST(Freeway, MarksAreBehindTheCarsAndWrapAround) {
  for (int speed = 1; speed <= 5; ++speed) {
    const auto mark = [speed](int x, bool right) {
      Freeway game = QuietFreeway();
      for (auto& car : game.state().cars) car.speed = speed == 5 ? 1 : 5;
      game.state().cars[2] = {.x = x, .right = right, .speed = speed, .timer = 0};
      return Cells(game, 1 + speed);
    };
    EXPECT_EQ(mark(4, true), Places{33});
    EXPECT_EQ(mark(4, false), Places{35});
    EXPECT_EQ(mark(0, true), Places{39});
    EXPECT_EQ(mark(9, false), Places{30});
  }
}

TEST(Freeway, WalkingUnderACarThrowsBack) {
  Freeway game = QuietFreeway();
  game.state().row = 5;
  game.state().cars[3] = {.x = 4, .right = true, .speed = 5, .timer = 0};  // about to leave
  EXPECT_EQ(Do(game, kUp), kNothing);
  EXPECT_EQ(game.state().row, 9);
  EXPECT_EQ(game.state().move_timer, 2);
}

TEST(Freeway, CarThatDrivesIntoTheChickenThrowsItBack) {
  Freeway game = QuietFreeway();
  game.state().row = 4;
  game.state().move_timer = 1;
  game.state().cars[3] = {.x = 3, .right = true, .speed = 5, .timer = 0};
  EXPECT_EQ(Do(game, kNoop), kNothing);
  EXPECT_EQ(Cells(game, Freeway::kChicken), Places{94});
  EXPECT_EQ(game.state().move_timer, 0);
}

TEST(Freeway, LastStepCanEarnAPoint) {
  Freeway game = QuietFreeway();
  game.state().row = 1;
  game.state().frames_left = 0;
  EXPECT_EQ(Do(game, kUp), (Outcome{1, true}));
  const Freeway::State end = game.state();
  EXPECT_EQ(Do(game, kUp), kEnd);
  EXPECT_EQ(game.state(), end);
}

TEST(Freeway, SpeedsAndDirectionsAreDrawnFairly) {
  RandomStream random = Stream();
  constexpr int kTrials = 3000;
  int right = 0;
  std::array<int, 6> speeds = {};
  Freeway game;
  for (int i = 0; i < kTrials; ++i) {
    game.Reset(random);
    for (const auto& car : game.state().cars) {
      EXPECT_EQ(car.x, 0);
      EXPECT_EQ(car.timer, car.speed);
      ++speeds.at(static_cast<std::size_t>(car.speed));
      right += car.right ? 1 : 0;
    }
  }
  ExpectShare(right, 8 * kTrials, 0.5);
  for (std::size_t speed = 1; speed <= 5; ++speed) ExpectShare(speeds[speed], 8 * kTrials, 0.2);
}

TEST(Freeway, HasNoRampLevel) { EXPECT_EQ(Freeway().ramp_level(), std::nullopt); }

TEST(Freeway, LoadRefusesWhatCannotBe) {
  const auto refuse = [](auto change) {
    Freeway game;
    change(game.state());
    ExpectRefused(game);
  };
  refuse([](auto& state) { state.row = 0; });
  refuse([](auto& state) { state.row = 10; });
  refuse([](auto& state) { state.move_timer = 4; });
  refuse([](auto& state) { state.frames_left = 2501; });
  refuse([](auto& state) { state.frames_left = -2; });
  refuse([](auto& state) { state.frames_left = -1; });  // but not over
  refuse([](auto& state) { state.terminal = true; });   // with time left
  refuse([](auto& state) { state.cars[7].x = 10; });
  refuse([](auto& state) { state.cars[0].speed = 6; });
  refuse([](auto& state) { state.cars[0].speed = 0; });
  refuse([](auto& state) { state.cars[0].timer = 2; });  // above its speed
}

}  // namespace stableaa::minatar::freeway_test
