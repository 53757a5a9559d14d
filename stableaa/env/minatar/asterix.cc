#include "stableaa/env/minatar/asterix.h"

#include <algorithm>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/core/saved_number.h"

namespace stableaa::minatar {

void Asterix::Reset(RandomStream& /*random*/) { state_ = State{}; }

Outcome Asterix::Step(int action, RandomStream& random) {
  if (state_.terminal) return {0, true};
  if (state_.spawn_timer == 0) {
    Spawn(random);
    state_.spawn_timer = spawn_period();
  }
  MovePlayer(action);
  int reward = 0;
  for (int row = 0; row < kRows; ++row) reward += Touch(row);
  if (state_.move_timer == 0) {
    state_.move_timer = move_period();
    reward += MoveEntities();
  }
  --state_.spawn_timer;
  --state_.move_timer;
  Ramp();
  return {reward, state_.terminal};
}

// Uses a free row, if there is one. Draws the kind first, even if there is none.
void Asterix::Spawn(RandomStream& random) {
  const bool right = random.Bernoulli(0.5);
  const bool gold = random.Bernoulli(1.0 / 3);
  const auto free = std::count_if(state_.entities.begin(), state_.entities.end(),
                                  [](const Entity& entity) { return !entity.present; });
  if (free == 0) return;
  auto skip = random.Below(static_cast<std::uint64_t>(free));
  for (Entity& entity : state_.entities) {
    if (entity.present || skip-- > 0) continue;
    entity = {.present = true, .x = right ? 0 : kSide - 1, .right = right, .gold = gold};
    return;
  }
}

void Asterix::MovePlayer(int action) {
  switch (action) {
    case kLeft:
      state_.player_x = std::max(state_.player_x - 1, 0);
      break;
    case kRight:
      state_.player_x = std::min(state_.player_x + 1, kSide - 1);
      break;
    case kUp:
      state_.player_y = std::max(state_.player_y - 1, 1);
      break;
    case kDown:
      state_.player_y = std::min(state_.player_y + 1, kRows);
      break;
    default:
      break;
  }
}

int Asterix::MoveEntities() {
  int reward = 0;
  for (int row = 0; row < kRows; ++row) {
    Entity& entity = state_.entities[static_cast<std::size_t>(row)];
    if (!entity.present) continue;
    entity.x = Ahead(entity.x, entity.right);
    if (InsideRow(entity.x)) {
      reward += Touch(row);
    } else {
      entity = {};
    }
  }
  return reward;
}

// Handles the entity of a row being where the player is; returns the reward.
int Asterix::Touch(int row) {
  Entity& entity = state_.entities[static_cast<std::size_t>(row)];
  const bool touched = entity.present && row + 1 == state_.player_y && entity.x == state_.player_x;
  if (!touched) return 0;
  if (!entity.gold) {
    state_.terminal = true;
    return 0;
  }
  entity = {};
  return 1;
}

// The timer counts 0 and -1 too, so a level lasts kRampTime + 2 steps.
void Asterix::Ramp() {
  if (!ramping_ || state_.ramp_level == kLastRampLevel) return;
  if (state_.ramp_timer >= 0) {
    --state_.ramp_timer;
    return;
  }
  ++state_.ramp_level;
  state_.ramp_timer = kRampTime;
}

void Asterix::Observe(std::span<std::uint8_t> out) const {
  Frame<kChannels> frame(out);
  frame.Set(kPlayer, state_.player_y, state_.player_x);
  int y = 0;
  for (const Entity& entity : state_.entities) {
    ++y;
    if (!entity.present) continue;
    frame.Set(entity.gold ? kGold : kEnemy, y, entity.x);
    frame.SetInside(kTrail, y, Behind(entity.x, entity.right));
  }
}

void Asterix::Save(ByteWriter& out) const {
  out.Bool(state_.terminal);
  SaveSmall(out, state_.player_x);
  SaveSmall(out, state_.player_y);
  for (const Entity& entity : state_.entities) {
    out.Bool(entity.present);
    SaveSmall(out, entity.x);
    out.Bool(entity.right);
    out.Bool(entity.gold);
  }
  SaveSmall(out, state_.spawn_timer);
  SaveSmall(out, state_.move_timer);
  out.I64(state_.ramp_timer);
  SaveSmall(out, state_.ramp_level);
}

void Asterix::Load(ByteReader& in) {
  State loaded;
  loaded.terminal = in.Bool();
  loaded.player_x = LoadSmall(in, "a player's column", 0, kSide - 1);
  loaded.player_y = LoadSmall(in, "a player's row", 1, kRows);
  for (Entity& entity : loaded.entities) {
    entity.present = in.Bool();
    entity.x = LoadSmall(in, "an entity's column", 0, kSide - 1);
    entity.right = in.Bool();
    entity.gold = in.Bool();
  }
  loaded.spawn_timer = LoadSmall(in, "a spawn timer", 0, kFirstSpawnPeriod);
  loaded.move_timer = LoadSmall(in, "a move timer", 0, kFirstMovePeriod);
  loaded.ramp_timer = LoadWhole(in, "a ramp timer", -1, kRampTime);
  loaded.ramp_level = LoadSmall(in, "a ramp level", 0, kLastRampLevel);
  state_ = loaded;
}

}  // namespace stableaa::minatar
