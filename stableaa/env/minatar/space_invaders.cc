#include "stableaa/env/minatar/space_invaders.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/core/saved_number.h"

namespace stableaa::minatar {
namespace {

using Map = SpaceInvaders::Map;

constexpr unsigned kWholeRow = (1U << kSide) - 1;

unsigned Bit(int x) { return 1U << x; }

// The columns that contain something.
unsigned Columns(const Map& map) {
  unsigned columns = 0;
  for (const std::uint16_t row : map) columns |= row;
  return columns;
}

int Count(const Map& map) {
  int count = 0;
  for (const std::uint16_t row : map) count += std::popcount(row);
  return count;
}

void MoveUp(Map& map) {
  std::copy(map.begin() + 1, map.end(), map.begin());
  map.back() = 0;
}

void MoveDown(Map& map) {
  std::copy_backward(map.begin(), map.end() - 1, map.end());
  map.front() = 0;
}

void SaveMap(ByteWriter& out, const Map& map) {
  for (const std::uint16_t row : map) out.U32(row);
}

void LoadMap(ByteReader& in, Map& map) {
  for (std::uint16_t& row : map) {
    const std::uint32_t bits = in.U32();
    if (bits > kWholeRow) {
      throw in.Wrong(fmt::format("expected a row of 10 bits, found {:#x}", bits));
    }
    row = static_cast<std::uint16_t>(bits);
  }
}

}  // namespace

void SpaceInvaders::Reset(RandomStream& /*random*/) { state_ = State{}; }

Outcome SpaceInvaders::Step(int action, RandomStream& /*random*/) {
  if (state_.terminal) return {0, true};
  Act(action);
  MoveBullets();
  if (ReachesCannon(state_.aliens)) state_.terminal = true;
  if (state_.move_timer == 0) MoveFleet();
  if (state_.enemy_shot_timer == 0) FireAtCannon();
  const int reward = RemoveHitAliens();
  if (state_.gun_timer > 0) --state_.gun_timer;
  --state_.move_timer;
  --state_.enemy_shot_timer;
  if (reward > 0 && Columns(state_.aliens) == 0) ReplaceFleet();
  return {reward, state_.terminal};
}

bool SpaceInvaders::ReachesCannon(const Map& map) const {
  return (map[kGround] & Bit(state_.cannon)) != 0;
}

void SpaceInvaders::Act(int action) {
  if (action == kFire && state_.gun_timer == 0) {
    std::uint16_t& row = state_.own_bullets[kGround];
    row = static_cast<std::uint16_t>(row | Bit(state_.cannon));
    state_.gun_timer = kGunTime;
  }
  if (action == kLeft) state_.cannon = std::max(state_.cannon - 1, 0);
  if (action == kRight) state_.cannon = std::min(state_.cannon + 1, kSide - 1);
}

// An enemy bullet kills only in the step in which it reaches the ground.
void SpaceInvaders::MoveBullets() {
  MoveUp(state_.own_bullets);
  MoveDown(state_.enemy_bullets);
  if (ReachesCannon(state_.enemy_bullets)) state_.terminal = true;
}

void SpaceInvaders::MoveFleet() {
  Map& aliens = state_.aliens;
  state_.move_timer = std::min(Count(aliens), fleet_interval());
  const int edge = state_.right ? kSide - 1 : 0;
  if ((Columns(aliens) & Bit(edge)) != 0) {
    state_.right = !state_.right;
    if (aliens[kGround] != 0) state_.terminal = true;
    // Aliens that sink below the ground reappear at the top, in the last observation of a game.
    std::rotate(aliens.begin(), aliens.end() - 1, aliens.end());
  } else {
    for (std::uint16_t& row : aliens) {
      row = static_cast<std::uint16_t>(state_.right ? row << 1 : row >> 1);
    }
  }
  if (ReachesCannon(aliens)) state_.terminal = true;
}

// The lowest alien of the column nearest to the cannon fires; of two such columns, the left one's.
void SpaceInvaders::FireAtCannon() {
  state_.enemy_shot_timer = kEnemyShotTime;
  const unsigned columns = Columns(state_.aliens);
  for (int distance = 0; distance < kSide; ++distance) {
    unsigned column = 0;
    if (state_.cannon >= distance) column = columns & Bit(state_.cannon - distance);
    if (column == 0) column = columns & Bit(state_.cannon + distance);
    if (column == 0) continue;
    std::size_t y = kGround;
    while ((state_.aliens[y] & column) == 0) --y;
    state_.enemy_bullets[y] = static_cast<std::uint16_t>(state_.enemy_bullets[y] | column);
    return;
  }
}

int SpaceInvaders::RemoveHitAliens() {
  int reward = 0;
  for (std::size_t y = 0; y < kSide; ++y) {
    const unsigned hit = static_cast<unsigned>(state_.aliens[y]) & state_.own_bullets[y];
    if (hit == 0) continue;
    reward += std::popcount(hit);
    state_.aliens[y] = static_cast<std::uint16_t>(state_.aliens[y] & ~hit);
    state_.own_bullets[y] = static_cast<std::uint16_t>(state_.own_bullets[y] & ~hit);
  }
  return reward;
}

// Everything else continues unchanged: direction, timers, bullets.
void SpaceInvaders::ReplaceFleet() {
  state_.aliens = kFleet;
  if (ramping_ && state_.ramp_level < kLastRampLevel) ++state_.ramp_level;
}

void SpaceInvaders::Observe(std::span<std::uint8_t> out) const {
  Frame<kChannels> frame(out);
  const auto show = [&frame](const Map& map, auto... channels) {
    int cell = 0;
    for (const std::uint16_t row : map) {
      for (unsigned left = row; left != 0; left &= left - 1) {
        (frame.SetCell(channels, cell + std::countr_zero(left)), ...);
      }
      cell += kSide;
    }
  };
  frame.Set(kCannon, kGround, state_.cannon);
  show(state_.aliens, kAlien, state_.right ? kRightward : kLeftward);
  show(state_.own_bullets, kOwnBullet);
  show(state_.enemy_bullets, kEnemyBullet);
}

void SpaceInvaders::Save(ByteWriter& out) const {
  out.Bool(state_.terminal);
  SaveSmall(out, state_.cannon);
  SaveMap(out, state_.aliens);
  SaveMap(out, state_.own_bullets);
  SaveMap(out, state_.enemy_bullets);
  out.Bool(state_.right);
  SaveSmall(out, state_.move_timer);
  SaveSmall(out, state_.enemy_shot_timer);
  SaveSmall(out, state_.gun_timer);
  SaveSmall(out, state_.ramp_level);
}

void SpaceInvaders::Load(ByteReader& in) {
  State loaded;
  loaded.terminal = in.Bool();
  loaded.cannon = LoadSmall(in, "a cannon's column", 0, kSide - 1);
  LoadMap(in, loaded.aliens);
  // Without any, nobody could fire, and the time until the next move would be undefined.
  if (Columns(loaded.aliens) == 0) throw in.Wrong("expected at least one alien, found none");
  LoadMap(in, loaded.own_bullets);
  LoadMap(in, loaded.enemy_bullets);
  loaded.right = in.Bool();
  loaded.move_timer = LoadSmall(in, "a fleet's timer", 0, kFirstInterval);
  loaded.enemy_shot_timer = LoadSmall(in, "a fleet's shot timer", 0, kEnemyShotTime);
  loaded.gun_timer = LoadSmall(in, "a gun timer", 0, kGunTime);
  loaded.ramp_level = LoadSmall(in, "a ramp level", 0, kLastRampLevel);
  state_ = loaded;
}

}  // namespace stableaa::minatar
