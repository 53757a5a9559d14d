#include "stableaa/env/minatar/freeway.h"

#include <fmt/format.h>

#include <algorithm>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/core/saved_number.h"

namespace stableaa::minatar {
namespace {

// The road is a ring.
int Wrap(int x) {
  if (x < 0) return kSide - 1;
  return x < kSide ? x : 0;
}

}  // namespace

void Freeway::Reset(RandomStream& random) {
  state_ = State{};
  DrawCars(random);
}

// Draws new speeds and directions; the cars stay where they are.
void Freeway::DrawCars(RandomStream& random) {
  for (Car& car : state_.cars) {
    car.speed = 1 + static_cast<int>(random.Below(kSpeeds));
    car.timer = car.speed;
  }
  for (Car& car : state_.cars) car.right = random.Bernoulli(0.5);
}

Outcome Freeway::Step(int action, RandomStream& random) {
  if (state_.terminal) return {0, true};
  int reward = 0;
  if (state_.move_timer == 0) MoveChicken(action);
  if (state_.row == 0) {
    reward = 1;
    DrawCars(random);
    state_.row = kStartRow;
  }
  MoveCars();
  if (state_.move_timer > 0) --state_.move_timer;
  --state_.frames_left;
  state_.terminal = state_.frames_left < 0;
  return {reward, state_.terminal};
}

// Walking against the kerb takes time as well.
void Freeway::MoveChicken(int action) {
  if (action != kUp && action != kDown) return;
  state_.move_timer = kMoveTime;
  state_.row = action == kUp ? std::max(state_.row - 1, 0) : std::min(state_.row + 1, kStartRow);
}

void Freeway::MoveCars() {
  int lane = 0;
  for (Car& car : state_.cars) {
    ++lane;
    const auto hit = [&] { return lane == state_.row && car.x == kColumn; };
    if (hit()) state_.row = kStartRow;
    if (car.timer > 0) {
      --car.timer;
      continue;
    }
    car.timer = car.speed;
    car.x = Wrap(Ahead(car.x, car.right));
    if (hit()) state_.row = kStartRow;
  }
}

void Freeway::Observe(std::span<std::uint8_t> out) const {
  Frame<kChannels> frame(out);
  frame.Set(kChicken, state_.row, kColumn);
  int y = 0;
  for (const Car& car : state_.cars) {
    ++y;
    frame.Set(kCar, y, car.x);
    frame.Set(kMark - 1 + car.speed, y, Wrap(Behind(car.x, car.right)));
  }
}

void Freeway::Save(ByteWriter& out) const {
  SaveSmall(out, state_.row);
  SaveSmall(out, state_.move_timer);
  out.I64(state_.frames_left);
  for (const Car& car : state_.cars) {
    SaveSmall(out, car.x);
    out.Bool(car.right);
    SaveSmall(out, car.speed);
    SaveSmall(out, car.timer);
  }
  out.Bool(state_.terminal);
}

void Freeway::Load(ByteReader& in) {
  State loaded;
  loaded.row = LoadSmall(in, "a chicken's row", 1, kStartRow);
  loaded.move_timer = LoadSmall(in, "a chicken's timer", 0, kMoveTime);
  loaded.frames_left = LoadWhole(in, "a number of frames left", -1, kTimeLimit);
  for (Car& car : loaded.cars) {
    car.x = LoadSmall(in, "a car's column", 0, kSide - 1);
    car.right = in.Bool();
    car.speed = LoadSmall(in, "a car's speed", 1, kSpeeds);
    car.timer = LoadSmall(in, "a car's timer", 0, car.speed);
  }
  loaded.terminal = in.Bool();
  if (loaded.terminal != (loaded.frames_left < 0)) {
    throw in.Wrong(fmt::format("expected an end exactly when no time is left, found {} frames {}",
                               loaded.frames_left, loaded.terminal ? "at the end" : "to go"));
  }
  state_ = loaded;
}

}  // namespace stableaa::minatar
