// Freeway: a chicken crosses a road of eight lanes. Reaching the other side is worth a point, a car
// throws it back to the start. A game lasts 2501 steps, whatever happens.
#ifndef STABLEAA_ENV_MINATAR_FREEWAY_H_
#define STABLEAA_ENV_MINATAR_FREEWAY_H_

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

class Freeway {
 public:
  enum Channel : int { kChicken, kCar, kMark };  // a car of speed s leaves its mark in 1 + s
  static constexpr int kChannels = 7;

  static constexpr int kLanes = 8;     // grid rows 1 to 8
  static constexpr int kColumn = 4;    // the chicken's
  static constexpr int kStartRow = 9;  // the chicken's
  static constexpr int kMoveTime = 3;
  static constexpr int kTimeLimit = 2500;
  static constexpr int kSpeeds = 5;

  struct Car {
    int x = 0;
    bool right = false;
    int speed = 1;  // 1 to 5: steps that it rests between two moves
    int timer = 1;  // 0 to speed; the car moves in the step that finds 0

    bool operator==(const Car&) const = default;
  };

  struct State {
    int row = kStartRow;             // the chicken's, 1 to 9
    int move_timer = kMoveTime;      // the chicken may move in a step that finds 0
    int frames_left = kTimeLimit;    // down to -1, when the game is over
    std::array<Car, kLanes> cars{};  // car i is in grid row i + 1
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

 private:
  void DrawCars(RandomStream& random);
  void MoveChicken(int action);
  void MoveCars();

  State state_;
};

}  // namespace minatar
}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_FREEWAY_H_
