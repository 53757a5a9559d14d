#include "stableaa/env/minatar/scripted_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

#include "stableaa/core/error.h"
#include "stableaa/env/minatar/asterix.h"
#include "stableaa/env/minatar/breakout.h"
#include "stableaa/env/minatar/grid.h"
#include "stableaa/env/minatar/seaquest.h"
#include "stableaa/env/minatar/space_invaders.h"

namespace stableaa {
namespace {

using namespace minatar;  // NOLINT: this file is about the games

struct Cell {
  int y = 0, x = 0;
};

// An observation that can be queried. Cells outside the grid are empty.
class View {
 public:
  View(std::span<const std::uint8_t> bytes, int channels) : bytes_(bytes), channels_(channels) {
    const int expected = kCells * channels;
    if (std::cmp_not_equal(bytes.size(), expected)) {
      throw BadInput(fmt::format("observation has {} bytes: expected {}", bytes.size(), expected));
    }
  }

  bool Has(int channel, int y, int x) const {
    if (!InsideRow(y) || !InsideRow(x)) return false;
    const int at = (y * kSide + x) * channels_ + channel;
    return bytes_[static_cast<std::size_t>(at)] != 0;
  }

  // In columns x - 1 to x + 1 of row y.
  bool HasNear(int channel, int y, int x) const {
    return Has(channel, y, x - 1) || Has(channel, y, x) || Has(channel, y, x + 1);
  }

  int Count(int channel) const {
    int count = 0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) count += Has(channel, y, x) ? 1 : 0;
    }
    return count;
  }

  // By Manhattan distance; ties go to the highest, then the leftmost.
  std::optional<Cell> Nearest(int channel, Cell from) const {
    std::optional<Cell> nearest;
    int shortest = 2 * kSide;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const int distance = std::abs(y - from.y) + std::abs(x - from.x);
        if (distance >= shortest || !Has(channel, y, x)) continue;
        nearest = Cell{y, x};
        shortest = distance;
      }
    }
    return nearest;
  }

  std::optional<Cell> Find(int channel) const { return Nearest(channel, {}); }

 private:
  std::span<const std::uint8_t> bytes_;
  int channels_;
};

// Matches the row first, then the column.
int Towards(Cell from, Cell to) {
  if (to.y != from.y) return to.y < from.y ? kUp : kDown;
  if (to.x != from.x) return to.x < from.x ? kLeft : kRight;
  return kNoop;
}

Cell After(Cell cell, int action, int top, int bottom) {
  if (action == kUp) cell.y = std::max(cell.y - 1, top);
  if (action == kDown) cell.y = std::min(cell.y + 1, bottom);
  if (action == kLeft) cell.x = std::max(cell.x - 1, 0);
  if (action == kRight) cell.x = std::min(cell.x + 1, kSide - 1);
  return cell;
}

int PlayAsterix(const View& view) {
  const auto player = view.Find(Asterix::kPlayer);
  if (!player) return kNoop;
  const auto is_safe = [&](int action) {
    const Cell cell = After(*player, action, 1, Asterix::kRows);
    return !view.HasNear(Asterix::kEnemy, cell.y, cell.x);
  };
  if (!is_safe(kNoop)) {
    for (const int action : {kUp, kDown, kLeft, kRight}) {
      if (is_safe(action)) return action;
    }
    return kNoop;
  }
  const auto gold = view.Nearest(Asterix::kGold, *player);
  if (!gold) return kNoop;
  const int action = Towards(*player, *gold);
  return is_safe(action) ? action : kNoop;
}

// Follows where the ball will be if nothing is in its way.
int PlayBreakout(const View& view) {
  const auto paddle = view.Find(Breakout::kPaddle);
  const auto ball = view.Find(Breakout::kBall);
  const auto trail = view.Find(Breakout::kTrail);
  if (!paddle || !ball || !trail) return kNoop;
  const int target = std::clamp(2 * ball->x - trail->x, 0, kSide - 1);
  if (target == paddle->x) return kNoop;
  return target < paddle->x ? kLeft : kRight;
}

class SeaquestPlayer {
 public:
  SeaquestPlayer(const View& view, Cell bow) : view_(view), bow_(bow) {}

  int Play() const {
    const int crew = view_.Count(Seaquest::kCrewGauge);
    const int oxygen = view_.Count(Seaquest::kOxygenGauge);
    if (crew == Seaquest::kCrew || (oxygen <= 4 && crew >= 1)) return ComeUp();
    if (IsThreatened(bow_)) return Evade();
    if (HasTarget()) return kFire;
    if (const auto diver = view_.Nearest(Seaquest::kDiver, bow_)) {
      const int action = Towards(bow_, *diver);
      return IsSafe(action) ? action : kNoop;
    }
    return bow_.y < kWaitingRow && IsSafe(kDown) ? kDown : kNoop;
  }

 private:
  static constexpr int kWaitingRow = 4;
  static constexpr int kRange = 4;  // cells ahead that are worth a shot

  int ComeUp() const {
    if (bow_.y > 0 && IsSafe(kUp)) return kUp;
    return HasTarget() ? kFire : kNoop;
  }

  int Evade() const {
    if (HasTarget()) return kFire;
    if (bow_.y > 1 && IsSafe(kUp)) return kUp;
    if (bow_.y < Seaquest::kFloor && IsSafe(kDown)) return kDown;
    return kFire;
  }

  bool IsThreatened(Cell cell) const {
    return view_.HasNear(Seaquest::kEnemyBullet, cell.y, cell.x) ||
           view_.HasNear(Seaquest::kFish, cell.y, cell.x) ||
           view_.HasNear(Seaquest::kSubmarine, cell.y, cell.x);
  }

  bool IsSafe(int action) const { return !IsThreatened(After(bow_, action, 0, Seaquest::kFloor)); }

  bool HasTarget() const {
    const bool right = view_.Has(Seaquest::kStern, bow_.y, bow_.x - 1);
    for (int distance = 1; distance <= kRange; ++distance) {
      const int x = right ? bow_.x + distance : bow_.x - distance;
      if (view_.Has(Seaquest::kFish, bow_.y, x)) return true;
      if (view_.Has(Seaquest::kSubmarine, bow_.y, x)) return true;
    }
    return false;
  }

  const View& view_;
  Cell bow_;
};

int PlaySeaquest(const View& view) {
  const auto bow = view.Find(Seaquest::kBow);
  return bow ? SeaquestPlayer(view, *bow).Play() : kNoop;
}

// Columns to fire from: where the lowest alien of each column will be when a bullet arrives.
std::array<bool, kSide> AimsOf(const View& view) {
  std::array<bool, kSide> aims = {};
  const int pace = std::min(view.Count(SpaceInvaders::kAlien), SpaceInvaders::kFirstInterval);
  const int direction = view.Find(SpaceInvaders::kLeftward) ? -1 : 1;
  for (int x = 0; x < kSide; ++x) {
    int y = kSide - 1;
    while (y >= 0 && !view.Has(SpaceInvaders::kAlien, y, x)) --y;
    if (y < 0) continue;
    const int aim = std::clamp(x + direction * ((kSide - y) / pace), 0, kSide - 1);
    aims[static_cast<std::size_t>(aim)] = true;
  }
  return aims;
}

int PlaySpaceInvaders(const View& view) {
  const auto cannon = view.Find(SpaceInvaders::kCannon);
  if (!cannon) return kNoop;
  const auto is_hot = [&view](int x) {
    return view.Has(SpaceInvaders::kEnemyBullet, 6, x) ||
           view.Has(SpaceInvaders::kEnemyBullet, 7, x) ||
           view.Has(SpaceInvaders::kEnemyBullet, 8, x);
  };
  const int here = cannon->x;
  if (is_hot(here)) {
    if (here < kSide - 1 && !is_hot(here + 1)) return kRight;
    if (here > 0 && !is_hot(here - 1)) return kLeft;
    return kFire;
  }
  const std::array<bool, kSide> aims = AimsOf(view);
  const auto is_aim = [&aims](int x) { return InsideRow(x) && aims[static_cast<std::size_t>(x)]; };
  if (is_aim(here)) return kFire;
  for (int distance = 1; distance < kSide; ++distance) {
    if (is_aim(here - distance)) return is_hot(here - 1) ? kFire : kLeft;
    if (is_aim(here + distance)) return is_hot(here + 1) ? kFire : kRight;
  }
  return kNoop;
}

}  // namespace

int ScriptedMinatarAction(MinatarGame game, std::span<const std::uint8_t> observation) {
  const View view(observation, MinatarChannels(game));
  switch (game) {
    case MinatarGame::kAsterix:
      return PlayAsterix(view);
    case MinatarGame::kBreakout:
      return PlayBreakout(view);
    case MinatarGame::kFreeway:
      return kUp;
    case MinatarGame::kSeaquest:
      return PlaySeaquest(view);
    case MinatarGame::kSpaceInvaders:
      break;
  }
  return PlaySpaceInvaders(view);
}

}  // namespace stableaa
