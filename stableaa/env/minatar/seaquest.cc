#include "stableaa/env/minatar/seaquest.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/core/saved_number.h"

namespace stableaa::minatar {
namespace {

// More than can accumulate in play (an enemy each step, gone after sixty at most), but few enough
// to keep a step short.
constexpr int kLongestList = 200;

// The crew falls by one per visit to the surface, without end; this is far from the limit of an
// int.
constexpr int kSmallestCrew = -1'000'000'000;

// Calls `remove(member)` from the newest member to the oldest and erases those for which it returns
// true.
template <typename T, typename Remove>
void RemoveNewestFirst(std::vector<T>& list, Remove remove) {
  for (auto member = list.end(); member != list.begin();) {
    --member;
    if (remove(*member)) member = list.erase(member);
  }
}

// Erases the oldest member in a cell; returns false if there is none.
template <typename T>
bool RemoveOldestAt(std::vector<T>& list, int x, int y) {
  const auto found = std::find_if(
      list.begin(), list.end(), [x, y](const T& member) { return member.x == x && member.y == y; });
  if (found == list.end()) return false;
  list.erase(found);
  return true;
}

void CountDown(int& timer) {
  if (timer > 0) --timer;
}

int GaugeCells(int oxygen) { return std::max(oxygen, 0) * kSide / Seaquest::kFullOxygen; }

template <typename T>
void SaveCount(ByteWriter& out, const std::vector<T>& list) {
  out.U32(static_cast<std::uint32_t>(list.size()));
}

template <typename T>
void LoadCount(ByteReader& in, std::string_view what, std::vector<T>& list) {
  const std::uint32_t count = in.U32();
  if (count > kLongestList) {
    throw in.Wrong(fmt::format("expected at most {} {}, found {}", kLongestList, what, count));
  }
  list.resize(count);
}

void SaveBullets(ByteWriter& out, const std::vector<Seaquest::Bullet>& bullets) {
  SaveCount(out, bullets);
  for (const Seaquest::Bullet& bullet : bullets) {
    SaveSmall(out, bullet.x);
    SaveSmall(out, bullet.y);
    out.Bool(bullet.right);
  }
}

void LoadBullets(ByteReader& in, int top, std::vector<Seaquest::Bullet>& bullets) {
  LoadCount(in, "bullets", bullets);
  for (Seaquest::Bullet& bullet : bullets) {
    bullet.x = LoadSmall(in, "a bullet's column", 0, kSide - 1);
    bullet.y = LoadSmall(in, "a bullet's row", top, Seaquest::kFloor);
    bullet.right = in.Bool();
  }
}

void SaveSwimmer(ByteWriter& out, const Seaquest::Swimmer& swimmer) {
  SaveSmall(out, swimmer.x);
  SaveSmall(out, swimmer.y);
  out.Bool(swimmer.right);
  SaveSmall(out, swimmer.move_timer);
}

void LoadSwimmer(ByteReader& in, Seaquest::Swimmer& swimmer) {
  static_assert(Seaquest::kDiverMove == Seaquest::kFirstEnemyMove);
  swimmer.x = LoadSmall(in, "a swimmer's column", 0, kSide - 1);
  swimmer.y = LoadSmall(in, "a swimmer's row", 1, Seaquest::kFloor);
  swimmer.right = in.Bool();
  swimmer.move_timer = LoadSmall(in, "a swimmer's timer", 0, Seaquest::kDiverMove);
}

}  // namespace

void Seaquest::Reset(RandomStream& /*random*/) {
  // Copied, not moved from, so the lists keep their memory.
  static const State start;
  state_ = start;
}

Outcome Seaquest::Step(int action, RandomStream& random) {
  if (state_.terminal) return {0, true};
  if (state_.enemy_spawn_timer == 0) {
    SpawnEnemy(random);
    state_.enemy_spawn_timer = enemy_spawn_period();
  }
  if (state_.diver_spawn_timer == 0) {
    SpawnDiver(random);
    state_.diver_spawn_timer = kDiverSpawnPeriod;
  }
  Act(action);
  int reward = MoveOwnBullets();
  MoveDivers();
  reward += MoveSubmarines();
  MoveEnemyBullets();
  reward += MoveFish();
  CountDown(state_.enemy_spawn_timer);
  CountDown(state_.diver_spawn_timer);
  CountDown(state_.gun_timer);
  reward += Breathe();
  return {reward, state_.terminal};
}

// Nothing appears against the traffic of its row; the kind is drawn in any case.
void Seaquest::SpawnEnemy(RandomStream& random) {
  const bool right = random.Bernoulli(0.5);
  const bool is_submarine = random.Bernoulli(1.0 / 3);
  const int y = 1 + static_cast<int>(random.Below(kFloor));
  const auto comes_against = [&](const Swimmer& other) {
    return other.y == y && other.right != right;
  };
  if (std::any_of(state_.fish.begin(), state_.fish.end(), comes_against)) return;
  if (std::any_of(state_.submarines.begin(), state_.submarines.end(), comes_against)) return;

  const Swimmer enemy = {
      .x = right ? 0 : kSide - 1, .y = y, .right = right, .move_timer = enemy_move()};
  if (is_submarine) {
    state_.submarines.push_back({enemy, kEnemyGunTime});
  } else {
    state_.fish.push_back(enemy);
  }
}

void Seaquest::SpawnDiver(RandomStream& random) {
  const bool right = random.Bernoulli(0.5);
  const int y = 1 + static_cast<int>(random.Below(kFloor));
  state_.divers.push_back(
      {.x = right ? 0 : kSide - 1, .y = y, .right = right, .move_timer = kDiverMove});
}

void Seaquest::Act(int action) {
  switch (action) {
    case kFire:
      if (state_.gun_timer > 0) break;
      state_.own_bullets.push_back({state_.x, state_.y, state_.right});
      state_.gun_timer = kGunTime;
      break;
    case kLeft:
      state_.x = std::max(state_.x - 1, 0);
      state_.right = false;
      break;
    case kRight:
      state_.x = std::min(state_.x + 1, kSide - 1);
      state_.right = true;
      break;
    case kUp:
      state_.y = std::max(state_.y - 1, 0);
      break;
    case kDown:
      state_.y = std::min(state_.y + 1, kFloor);
      break;
    default:
      break;
  }
}

int Seaquest::MoveOwnBullets() {
  int reward = 0;
  RemoveNewestFirst(state_.own_bullets, [&](Bullet& bullet) {
    bullet.x = Ahead(bullet.x, bullet.right);
    if (!InsideRow(bullet.x)) return true;
    const bool hit = RemoveOldestAt(state_.fish, bullet.x, bullet.y) ||
                     RemoveOldestAt(state_.submarines, bullet.x, bullet.y);
    if (hit) ++reward;
    return hit;
  });
  return reward;
}

void Seaquest::MoveDivers() {
  RemoveNewestFirst(state_.divers, [&](Swimmer& diver) {
    if (TakeAboard(diver)) return true;
    if (diver.move_timer > 0) {
      --diver.move_timer;
      return false;
    }
    diver.move_timer = kDiverMove;
    diver.x = Ahead(diver.x, diver.right);
    return !InsideRow(diver.x) || TakeAboard(diver);
  });
}

bool Seaquest::TakeAboard(const Swimmer& diver) {
  if (!Hits(diver.x, diver.y) || state_.divers_aboard >= kCrew) return false;
  ++state_.divers_aboard;
  return true;
}

// A submarine fires even in the step that removes it: a shot from outside the grid is gone before
// it is seen; one from a submarine that ran into a bullet stays.
int Seaquest::MoveSubmarines() {
  int reward = 0;
  RemoveNewestFirst(state_.submarines, [&](Submarine& submarine) {
    const Swum swum = MoveEnemy(submarine);
    reward += swum.reward;
    if (submarine.shot_timer > 0) {
      --submarine.shot_timer;
    } else {
      submarine.shot_timer = kEnemyGunTime;
      state_.enemy_bullets.push_back({submarine.x, submarine.y, submarine.right});
    }
    return swum.removed;
  });
  return reward;
}

void Seaquest::MoveEnemyBullets() {
  RemoveNewestFirst(state_.enemy_bullets, [&](Bullet& bullet) {
    if (Hits(bullet.x, bullet.y)) state_.terminal = true;
    bullet.x = Ahead(bullet.x, bullet.right);
    if (Hits(bullet.x, bullet.y)) state_.terminal = true;
    return !InsideRow(bullet.x);
  });
}

int Seaquest::MoveFish() {
  int reward = 0;
  RemoveNewestFirst(state_.fish, [&](Swimmer& fish) {
    const Swum swum = MoveEnemy(fish);
    reward += swum.reward;
    return swum.removed;
  });
  return reward;
}

Seaquest::Swum Seaquest::MoveEnemy(Swimmer& enemy) {
  if (Hits(enemy.x, enemy.y)) state_.terminal = true;
  if (enemy.move_timer > 0) {
    --enemy.move_timer;
    return {};
  }
  enemy.move_timer = enemy_move();
  enemy.x = Ahead(enemy.x, enemy.right);
  if (!InsideRow(enemy.x)) return {.removed = true, .reward = 0};
  if (Hits(enemy.x, enemy.y)) {
    state_.terminal = true;
    return {};
  }
  const bool shot = RemoveOldestAt(state_.own_bullets, enemy.x, enemy.y);
  return {.removed = shot, .reward = shot ? 1 : 0};
}

int Seaquest::Breathe() {
  if (state_.oxygen <= 0) state_.terminal = true;
  if (state_.y > 0) {
    --state_.oxygen;
    state_.at_surface = false;
    return 0;
  }
  if (state_.at_surface) return 0;
  if (state_.divers_aboard == 0) {
    state_.terminal = true;
    return 0;
  }
  return Surface();
}

// A full crew leaves, and then one more diver, which makes -1. The original does this, and results
// would not be comparable otherwise: surfacing is fatal only with a crew of exactly 0.
int Seaquest::Surface() {
  int reward = 0;
  if (state_.divers_aboard == kCrew) {
    reward = GaugeCells(state_.oxygen);
    state_.divers_aboard = 0;
  }
  --state_.divers_aboard;
  state_.oxygen = kFullOxygen;
  state_.at_surface = true;
  if (ramping_ && state_.ramp_level < kLastRampLevel) ++state_.ramp_level;
  return reward;
}

void Seaquest::Observe(std::span<std::uint8_t> out) const {
  Frame<kChannels> frame(out);
  const auto show = [&frame](Channel channel, const auto& list) {
    for (const auto& member : list) frame.Set(channel, member.y, member.x);
  };
  const auto show_with_trail = [&](Channel channel, const auto& list) {
    show(channel, list);
    for (const auto& member : list) {
      frame.SetInside(kTrail, member.y, Behind(member.x, member.right));
    }
  };
  frame.Set(kBow, state_.y, state_.x);
  frame.Set(kStern, state_.y, Behind(state_.x, state_.right));
  show(kOwnBullet, state_.own_bullets);
  show(kEnemyBullet, state_.enemy_bullets);
  show_with_trail(kFish, state_.fish);
  show_with_trail(kSubmarine, state_.submarines);
  show_with_trail(kDiver, state_.divers);
  const int gauge_row = kSide - 1;
  for (int x = 0; x < GaugeCells(state_.oxygen); ++x) frame.Set(kOxygenGauge, gauge_row, x);
  for (int i = 1; i <= state_.divers_aboard; ++i) frame.Set(kCrewGauge, gauge_row, kSide - 1 - i);
}

void Seaquest::Save(ByteWriter& out) const {
  out.Bool(state_.terminal);
  SaveSmall(out, state_.x);
  SaveSmall(out, state_.y);
  out.Bool(state_.right);
  out.I64(state_.oxygen);
  out.I64(state_.divers_aboard);
  out.Bool(state_.at_surface);
  SaveBullets(out, state_.own_bullets);
  SaveBullets(out, state_.enemy_bullets);
  SaveCount(out, state_.fish);
  for (const Swimmer& fish : state_.fish) SaveSwimmer(out, fish);
  SaveCount(out, state_.submarines);
  for (const Submarine& submarine : state_.submarines) {
    SaveSwimmer(out, submarine);
    SaveSmall(out, submarine.shot_timer);
  }
  SaveCount(out, state_.divers);
  for (const Swimmer& diver : state_.divers) SaveSwimmer(out, diver);
  SaveSmall(out, state_.enemy_spawn_timer);
  SaveSmall(out, state_.diver_spawn_timer);
  SaveSmall(out, state_.gun_timer);
  SaveSmall(out, state_.ramp_level);
}

void Seaquest::Load(ByteReader& in) {
  State loaded;
  loaded.terminal = in.Bool();
  loaded.x = LoadSmall(in, "a submarine's column", 0, kSide - 1);
  loaded.y = LoadSmall(in, "a submarine's row", 0, kFloor);
  loaded.right = in.Bool();
  if (!InsideRow(Behind(loaded.x, loaded.right))) {
    throw in.Wrong(
        fmt::format("expected a stern on the grid, found it behind a bow in column {}", loaded.x));
  }
  loaded.oxygen = LoadWhole(in, "oxygen", loaded.terminal ? -1 : 0, kFullOxygen);
  loaded.divers_aboard = LoadWhole(in, "a crew", kSmallestCrew, kCrew);
  loaded.at_surface = in.Bool();
  LoadBullets(in, 0, loaded.own_bullets);
  LoadBullets(in, 1, loaded.enemy_bullets);
  LoadCount(in, "fish", loaded.fish);
  for (Swimmer& fish : loaded.fish) LoadSwimmer(in, fish);
  LoadCount(in, "submarines", loaded.submarines);
  for (Submarine& submarine : loaded.submarines) {
    LoadSwimmer(in, submarine);
    submarine.shot_timer = LoadSmall(in, "a shot timer", 0, kEnemyGunTime);
  }
  LoadCount(in, "divers", loaded.divers);
  for (Swimmer& diver : loaded.divers) LoadSwimmer(in, diver);
  loaded.enemy_spawn_timer = LoadSmall(in, "an enemy spawn timer", 0, kFirstSpawnPeriod);
  loaded.diver_spawn_timer = LoadSmall(in, "a diver spawn timer", 0, kDiverSpawnPeriod);
  loaded.gun_timer = LoadSmall(in, "a gun timer", 0, kGunTime);
  loaded.ramp_level = LoadSmall(in, "a ramp level", 0, kLastRampLevel);
  state_ = std::move(loaded);
}

}  // namespace stableaa::minatar
