// Shared by the tests of the five games.
#ifndef STABLEAA_ENV_MINATAR_GAME_TEST_H_
#define STABLEAA_ENV_MINATAR_GAME_TEST_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/minatar/grid.h"

namespace stableaa::minatar {

inline RandomStream Stream(std::uint64_t seed = 1) { return RandomStream(seed, "test"); }

inline constexpr Outcome kNothing = {0, false};
inline constexpr Outcome kEnd = {0, true};

template <typename Game>
Outcome Do(Game& game, int action) {
  RandomStream random = Stream();
  return game.Step(action, random);
}

// The cells of a channel, row by row, as 10 y + x.
template <typename Game>
std::vector<int> Cells(const Game& game, int channel) {
  std::vector<std::uint8_t> bytes(std::size_t{kCells} * Game::kChannels, 77);
  game.Observe(bytes);
  std::vector<int> cells;
  for (int cell = 0; cell < kCells; ++cell) {
    const int at = cell * Game::kChannels + channel;
    if (bytes[static_cast<std::size_t>(at)] == 1) cells.push_back(cell);
  }
  return cells;
}
using Places = std::vector<int>;

// Within five standard deviations of n p: a false alarm once in 1.7 million.
inline void ExpectShare(int count, int n, double p) {
  EXPECT_NEAR(count, n * p, 5 * std::sqrt(n * p * (1 - p)));
}

template <typename Game>
void ExpectRefused(const Game& game) {
  ByteWriter out;
  game.Save(out);
  ByteReader in(out.bytes(), "saved");
  Game other;
  const auto before = other.state();
  EXPECT_THROW(other.Load(in), Error);
  EXPECT_EQ(other.state(), before);
}

}  // namespace stableaa::minatar

#endif  // STABLEAA_ENV_MINATAR_GAME_TEST_H_
