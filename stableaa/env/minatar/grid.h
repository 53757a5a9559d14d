// Shared by the five MinAtar games: a grid of 10 x 10 cells, six actions, and an observation of one
// byte per cell and channel.
//
// MinAtar (Young and Tian, "MinAtar: An Atari-Inspired Testbed for Thorough and Reproducible
// Reinforcement Learning Experiments", 2019) keeps the character of five Atari games and drops
// everything that makes them slow. The games here are written from a description of their rules.
//
// Positions are (y, x): row 0 is the top, column 0 the left.
#ifndef STABLEAA_ENV_MINATAR_GRID_H_
#define STABLEAA_ENV_MINATAR_GRID_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stableaa::minatar {

inline constexpr int kSide = 10;
inline constexpr int kCells = kSide * kSide;

// Every game accepts all six; those it has no use for do nothing.
enum : int { kNoop, kLeft, kUp, kRight, kDown, kFire };
inline constexpr int kActions = 6;

struct Outcome {
  int reward = 0;
  // Stays true until the next Reset; until then steps change nothing and earn nothing.
  bool terminal = false;

  bool operator==(const Outcome&) const = default;
};

constexpr bool InsideRow(int x) { return x >= 0 && x < kSide; }

// One cell further in a direction.
constexpr int Ahead(int x, bool right) { return right ? x + 1 : x - 1; }
constexpr int Behind(int x, bool right) { return right ? x - 1 : x + 1; }

// An observation being written: bytes in the order (y, x, channel), all 0 at first.
template <int channels>
class Frame {
 public:
  explicit Frame(std::span<std::uint8_t> out) : bytes_(out.data()) {
    assert(out.size() == std::size_t{kCells} * channels);
    // The size is passed at run time: for a constant one GCC emits an instruction (rep stos) that
    // takes several times as long as the library's function.
    std::memset(bytes_, 0, out.size());
  }

  void Set(int channel, int y, int x) { SetCell(channel, y * kSide + x); }
  // `cell` counts row by row from the top left.
  void SetCell(int channel, int cell) { PutCell(channel, cell, 1); }
  void PutCell(int channel, int cell, unsigned value) {
    const int at = cell * channels + channel;
    bytes_[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(value);
  }
  // Does nothing if the column is outside the grid.
  void SetInside(int channel, int y, int x) {
    if (InsideRow(x)) Set(channel, y, x);
  }

 private:
  std::uint8_t* bytes_;
};

}  // namespace stableaa::minatar

#endif  // STABLEAA_ENV_MINATAR_GRID_H_
