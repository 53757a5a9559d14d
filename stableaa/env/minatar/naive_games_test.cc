// The five games again, implemented slowly and differently: plain arrays and lists, a separate
// variable for every period, in the order of the rules. Both versions must agree in every byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/minatar/asterix.h"
#include "stableaa/env/minatar/breakout.h"
#include "stableaa/env/minatar/freeway.h"
#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/minatar/scripted_policy.h"
#include "stableaa/env/minatar/seaquest.h"
#include "stableaa/env/minatar/space_invaders.h"

namespace stableaa::minatar::naive_games_test {

using Bytes = std::vector<std::uint8_t>;
using Grid = std::array<std::array<bool, 10>, 10>;

bool& At(Grid& grid, int y, int x) {
  return grid[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
}

class Screen {
 public:
  explicit Screen(int channels)
      : channels_(channels), bytes_(std::size_t{100} * static_cast<std::size_t>(channels)) {}
  void Dot(int channel, int y, int x) {
    if (y < 0 || y > 9 || x < 0 || x > 9) return;
    const int at = (10 * y + x) * channels_ + channel;
    bytes_[static_cast<std::size_t>(at)] = 1;
  }
  Bytes bytes() const { return bytes_; }

 private:
  int channels_;
  Bytes bytes_;
};

struct NaiveAsterix {
  struct Thing {
    int x, y, dx;
    bool gold;
  };
  int px = 5, py = 5;
  std::list<Thing> things;
  int spawn_period = 10, spawn_timer = 10, move_period = 5, move_timer = 5;
  int ramp_timer = 100, ramp_level = 0;
  bool over = false;

  void Reset(RandomStream&) { *this = {}; }

  void Meet(int& reward) {
    for (auto thing = things.begin(); thing != things.end();) {
      const bool here = thing->x == px && thing->y == py;
      if (here && !thing->gold) over = true;
      if (here && thing->gold) {
        ++reward;
        thing = things.erase(thing);
      } else {
        ++thing;
      }
    }
  }

  int Step(int action, RandomStream& random) {
    if (over) return 0;
    int reward = 0;
    if (spawn_timer == 0) {
      spawn_timer = spawn_period;
      const bool right = random.Bernoulli(0.5);
      const bool gold = random.Bernoulli(1.0 / 3);
      std::vector<int> rows;
      for (int y = 1; y <= 8; ++y) {
        if (std::none_of(things.begin(), things.end(), [y](auto& t) { return t.y == y; })) {
          rows.push_back(y);
        }
      }
      if (!rows.empty()) {
        const int y = rows[random.Below(rows.size())];
        things.push_back({right ? 0 : 9, y, right ? 1 : -1, gold});
      }
    }
    if (action == 1 && px > 0) --px;
    if (action == 3 && px < 9) ++px;
    if (action == 2 && py > 1) --py;
    if (action == 4 && py < 8) ++py;
    Meet(reward);
    if (move_timer == 0) {
      move_timer = move_period;
      for (Thing& thing : things) thing.x += thing.dx;
      things.remove_if([](const Thing& thing) { return thing.x < 0 || thing.x > 9; });
      Meet(reward);
    }
    --spawn_timer;
    --move_timer;
    if (spawn_period > 1 || move_period > 1) {
      if (ramp_timer >= 0) {
        --ramp_timer;
      } else {
        if (move_period > 1 && ramp_level % 2 == 1) --move_period;
        if (spawn_period > 1) --spawn_period;
        ++ramp_level;
        ramp_timer = 100;
      }
    }
    return reward;
  }

  Bytes Look() {
    Screen screen(4);
    screen.Dot(0, py, px);
    for (const Thing& thing : things) {
      screen.Dot(thing.gold ? 3 : 1, thing.y, thing.x);
      screen.Dot(2, thing.y, thing.x - thing.dx);
    }
    return screen.bytes();
  }
};

struct NaiveBreakout {
  int paddle = 4, bx = 0, by = 3, dx = 1, dy = 1, lx = 0, ly = 3;
  Grid bricks = {};
  bool struck = false, over = false;

  void Build() {
    for (int y = 1; y <= 3; ++y) {
      for (int x = 0; x < 10; ++x) At(bricks, y, x) = true;
    }
  }
  bool Gone() {
    for (auto& row : bricks) {
      for (const bool brick : row) {
        if (brick) return false;
      }
    }
    return true;
  }

  void Reset(RandomStream& random) {
    *this = {};
    Build();
    if (random.Below(2) == 1) {
      bx = lx = 9;
      dx = -1;
    }
  }

  int Step(int action, RandomStream&) {
    if (over) return 0;
    int reward = 0;
    if (action == 1 && paddle > 0) --paddle;
    if (action == 3 && paddle < 9) ++paddle;
    lx = bx;
    ly = by;
    int nx = bx + dx;
    int ny = by + dy;
    bool in_brick = false;
    if (nx < 0 || nx > 9) {
      nx = nx < 0 ? 0 : 9;
      dx = -dx;
    }
    if (ny < 0) {
      ny = 0;
      dy = -dy;
    } else if (At(bricks, ny, nx)) {
      in_brick = true;
      if (!struck) {
        reward = 1;
        struck = true;
        At(bricks, ny, nx) = false;
        ny = ly;
        dy = -dy;
      }
    } else if (ny == 9) {
      if (Gone()) Build();
      if (lx == paddle) {
        dy = -dy;
        ny = ly;
      } else if (nx == paddle) {
        dx = -dx;
        dy = -dy;
        ny = ly;
      } else {
        over = true;
      }
    }
    if (!in_brick) struck = false;
    bx = nx;
    by = ny;
    return reward;
  }

  Bytes Look() {
    Screen screen(4);
    screen.Dot(0, 9, paddle);
    screen.Dot(1, by, bx);
    screen.Dot(2, ly, lx);
    for (int y = 0; y < 10; ++y) {
      for (int x = 0; x < 10; ++x) {
        if (At(bricks, y, x)) screen.Dot(3, y, x);
      }
    }
    return screen.bytes();
  }
};

struct NaiveFreeway {
  int row = 9, wait = 3, time = 2500;
  std::array<int, 8> x = {}, dx = {}, speed = {}, timer = {};
  bool over = false;

  void Draw(RandomStream& random) {
    for (int& s : speed) s = static_cast<int>(random.Below(5)) + 1;
    for (int& d : dx) d = random.Bernoulli(0.5) ? 1 : -1;
    timer = speed;
  }
  void Reset(RandomStream& random) {
    *this = {};
    Draw(random);
  }

  int Step(int action, RandomStream& random) {
    if (over) return 0;
    int reward = 0;
    if (wait == 0 && action == 2) {
      wait = 3;
      row = std::max(0, row - 1);
    } else if (wait == 0 && action == 4) {
      wait = 3;
      row = std::min(9, row + 1);
    }
    if (row == 0) {
      reward = 1;
      Draw(random);
      row = 9;
    }
    for (std::size_t i = 0; i < 8; ++i) {
      const int y = static_cast<int>(i) + 1;
      if (row == y && x[i] == 4) row = 9;
      if (timer[i] == 0) {
        timer[i] = speed[i];
        x[i] = (x[i] + dx[i] + 10) % 10;
        if (row == y && x[i] == 4) row = 9;
      } else {
        --timer[i];
      }
    }
    if (wait > 0) --wait;
    if (--time < 0) over = true;
    return reward;
  }

  Bytes Look() {
    Screen screen(7);
    screen.Dot(0, row, 4);
    for (std::size_t i = 0; i < 8; ++i) {
      const int y = static_cast<int>(i) + 1;
      screen.Dot(1, y, x[i]);
      screen.Dot(1 + speed[i], y, (x[i] - dx[i] + 10) % 10);
    }
    return screen.bytes();
  }
};

struct NaiveSeaquest {
  struct Thing {
    int x, y, dx, move = 0, shot = 0;
  };
  using Things = std::vector<Thing>;
  int sx = 5, sy = 0, facing = -1, oxygen = 200, crew = 0;
  bool settled = true, over = false;
  Things own, shots, fish, subs, divers;
  int spawn_period = 20, spawn_timer = 20, diver_timer = 30, enemy_move = 5, gun = 0, level = 0;

  void Reset(RandomStream&) { *this = {}; }

  bool Here(const Thing& thing) const { return thing.x == sx && thing.y == sy; }
  static bool Out(const Thing& thing) { return thing.x < 0 || thing.x > 9; }
  static bool Take(Things& list, const Thing& at) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].x != at.x || list[i].y != at.y) continue;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }
  // Goes through a copy of the list, from the newest on, and drops the members that leave.
  template <typename Each>
  static void Backwards(Things& list, Each leaves) {
    Things kept;
    const Things all = list;
    for (std::size_t i = all.size(); i-- > 0;) {
      Thing thing = all[i];
      if (!leaves(thing)) kept.insert(kept.begin(), thing);
    }
    list = kept;
  }
  bool Swim(Thing& enemy, int& reward) {
    if (Here(enemy)) over = true;
    if (enemy.move > 0) {
      --enemy.move;
      return false;
    }
    enemy.move = enemy_move;
    enemy.x += enemy.dx;
    if (Out(enemy)) return true;
    if (Here(enemy)) {
      over = true;
      return false;
    }
    if (!Take(own, enemy)) return false;
    ++reward;
    return true;
  }

  int Step(int action, RandomStream& random) {
    if (over) return 0;
    int reward = 0;
    if (spawn_timer == 0) {
      const int dx = random.Bernoulli(0.5) ? 1 : -1;
      const bool sub = random.Bernoulli(1.0 / 3);
      const int y = static_cast<int>(random.Integer(1, 8));
      bool blocked = false;
      for (const Thing& thing : fish) blocked |= thing.y == y && thing.dx == -dx;
      for (const Thing& thing : subs) blocked |= thing.y == y && thing.dx == -dx;
      if (!blocked) (sub ? subs : fish).push_back({dx > 0 ? 0 : 9, y, dx, enemy_move, 10});
      spawn_timer = spawn_period;
    }
    if (diver_timer == 0) {
      const int dx = random.Bernoulli(0.5) ? 1 : -1;
      const int y = static_cast<int>(random.Integer(1, 8));
      divers.push_back({dx > 0 ? 0 : 9, y, dx, 5});
      diver_timer = 30;
    }
    if (action == 5 && gun == 0) {
      own.push_back({sx, sy, facing});
      gun = 5;
    }
    if (action == 1) sx = std::max(0, sx - 1), facing = -1;
    if (action == 3) sx = std::min(9, sx + 1), facing = 1;
    if (action == 2) sy = std::max(0, sy - 1);
    if (action == 4) sy = std::min(8, sy + 1);
    Backwards(own, [&](Thing& bullet) {
      bullet.x += bullet.dx;
      if (Out(bullet)) return true;
      if (!Take(fish, bullet) && !Take(subs, bullet)) return false;
      ++reward;
      return true;
    });
    Backwards(divers, [&](Thing& diver) {
      if (Here(diver) && crew < 6) {
        ++crew;
        return true;
      }
      if (diver.move > 0) {
        --diver.move;
        return false;
      }
      diver.move = 5;
      diver.x += diver.dx;
      if (Out(diver)) return true;
      if (!Here(diver) || crew >= 6) return false;
      ++crew;
      return true;
    });
    Backwards(subs, [&](Thing& sub) {
      const bool gone = Swim(sub, reward);
      if (sub.shot == 0) {
        sub.shot = 10;
        shots.push_back({sub.x, sub.y, sub.dx});
      } else {
        --sub.shot;
      }
      return gone;
    });
    Backwards(shots, [&](Thing& shot) {
      if (Here(shot)) over = true;
      shot.x += shot.dx;
      if (Out(shot)) return true;
      if (Here(shot)) over = true;
      return false;
    });
    Backwards(fish, [&](Thing& one) { return Swim(one, reward); });
    spawn_timer -= spawn_timer > 0;
    diver_timer -= diver_timer > 0;
    gun -= gun > 0;
    if (oxygen <= 0) over = true;
    if (sy > 0) {
      --oxygen;
      settled = false;
    } else if (!settled) {
      if (crew == 0) {
        over = true;
      } else {
        settled = true;
        if (crew == 6) {
          reward += oxygen * 10 / 200;
          crew = 0;
        }
        oxygen = 200;
        --crew;
        if (spawn_period > 1 || enemy_move > 2) {
          if (enemy_move > 2 && level % 2 == 1) --enemy_move;
          if (spawn_period > 1) --spawn_period;
          ++level;
        }
      }
    }
    return reward;
  }

  Bytes Look() {
    Screen screen(10);
    screen.Dot(0, sy, sx);
    screen.Dot(1, sy, sx - facing);
    for (const Thing& thing : own) screen.Dot(2, thing.y, thing.x);
    for (const Thing& thing : shots) screen.Dot(4, thing.y, thing.x);
    for (const auto& [list, channel] : {std::pair{&fish, 5}, {&subs, 6}, {&divers, 9}}) {
      for (const Thing& thing : *list) {
        screen.Dot(channel, thing.y, thing.x);
        screen.Dot(3, thing.y, thing.x - thing.dx);
      }
    }
    for (int x = 0; x < 10; ++x) {
      if (20 * (x + 1) <= oxygen) screen.Dot(7, 9, x);
      if (x < 9 && x >= 9 - crew) screen.Dot(8, 9, x);
    }
    return screen.bytes();
  }
};

struct NaiveSpaceInvaders {
  int cannon = 5;
  Grid aliens = {}, own = {}, enemy = {};
  int direction = -1, interval = 12, move_timer = 12, shot_timer = 10, gun = 0, level = 0;
  bool over = false;

  void NewFleet() {
    for (int y = 0; y < 4; ++y) {
      for (int x = 2; x < 8; ++x) At(aliens, y, x) = true;
    }
  }
  void Reset(RandomStream&) {
    *this = {};
    NewFleet();
  }
  int Count() {
    int count = 0;
    for (auto& row : aliens) count += static_cast<int>(std::count(row.begin(), row.end(), true));
    return count;
  }

  int Step(int action, RandomStream&) {
    if (over) return 0;
    int reward = 0;
    if (action == 5 && gun == 0) {
      At(own, 9, cannon) = true;
      gun = 5;
    }
    if (action == 1 && cannon > 0) --cannon;
    if (action == 3 && cannon < 9) ++cannon;
    Grid moved_own = {};
    Grid moved_enemy = {};
    for (int y = 0; y < 9; ++y) {
      for (int x = 0; x < 10; ++x) {
        At(moved_own, y, x) = At(own, y + 1, x);
        At(moved_enemy, y + 1, x) = At(enemy, y, x);
      }
    }
    own = moved_own;
    enemy = moved_enemy;
    if (At(enemy, 9, cannon) || At(aliens, 9, cannon)) over = true;
    if (move_timer == 0) {
      move_timer = std::min(Count(), interval);
      bool at_edge = false;
      bool on_ground = false;
      for (int i = 0; i < 10; ++i) {
        at_edge |= At(aliens, i, direction < 0 ? 0 : 9);
        on_ground |= At(aliens, 9, i);
      }
      Grid moved = {};
      for (int y = 0; y < 10; ++y) {
        for (int x = 0; x < 10; ++x) {
          if (!At(aliens, y, x)) continue;
          if (at_edge) {
            At(moved, (y + 1) % 10, x) = true;
          } else {
            At(moved, y, x + direction) = true;
          }
        }
      }
      aliens = moved;
      if (at_edge) direction = -direction;
      if (at_edge && on_ground) over = true;
      if (At(aliens, 9, cannon)) over = true;
    }
    if (shot_timer == 0) {
      shot_timer = 10;
      int best_x = 100;
      int best_y = 0;
      for (int x = 0; x < 10; ++x) {
        for (int y = 0; y < 10; ++y) {
          if (!At(aliens, y, x) || std::abs(x - cannon) > std::abs(best_x - cannon)) continue;
          if (std::abs(x - cannon) == std::abs(best_x - cannon) && x != best_x) continue;
          best_x = x;
          best_y = y;
        }
      }
      At(enemy, best_y, best_x) = true;
    }
    for (int y = 0; y < 10; ++y) {
      for (int x = 0; x < 10; ++x) {
        if (!At(aliens, y, x) || !At(own, y, x)) continue;
        At(aliens, y, x) = At(own, y, x) = false;
        ++reward;
      }
    }
    gun -= gun > 0;
    --move_timer;
    --shot_timer;
    if (Count() == 0) {
      if (interval > 6) {
        --interval;
        ++level;
      }
      NewFleet();
    }
    return reward;
  }

  Bytes Look() {
    Screen screen(6);
    screen.Dot(0, 9, cannon);
    for (int y = 0; y < 10; ++y) {
      for (int x = 0; x < 10; ++x) {
        if (At(aliens, y, x)) screen.Dot(1, y, x);
        if (At(aliens, y, x)) screen.Dot(direction < 0 ? 2 : 3, y, x);
        if (At(own, y, x)) screen.Dot(4, y, x);
        if (At(enemy, y, x)) screen.Dot(5, y, x);
      }
    }
    return screen.bytes();
  }
};

// What the comparison has covered, so that a test can require that it was worthwhile.
struct Seen {
  int episodes = 0, rewards = 0, highest_level = 0;
};

// Plays both for a while. Episodes differ in how often they follow the script, from never to
// always: random play alone dies before anything interesting happens.
template <typename Game, typename Naive>
Seen PlaySideBySide(MinatarGame which, Game game, Naive naive, int steps) {
  Seen seen;
  RandomStream random(1, "game");
  RandomStream naive_random(1, "game");
  RandomStream choice(2, "actions");
  Bytes bytes(naive.Look().size());
  bool over = true;
  int length = 0;
  for (int step = 0; step < steps; ++step) {
    if (over) {
      length = 0;
      game.Reset(random);
      naive.Reset(naive_random);
      ++seen.episodes;
    }
    game.Observe(bytes);
    const bool scripted = choice.Bernoulli(seen.episodes % 6 / 5.0);
    const int action =
        scripted ? ScriptedMinatarAction(which, bytes) : static_cast<int>(choice.Below(kActions));
    const Outcome outcome = game.Step(action, random);
    const int reward = naive.Step(action, naive_random);
    game.Observe(bytes);
    EXPECT_EQ(outcome, (Outcome{reward, naive.over})) << "step " << step;
    EXPECT_EQ(bytes, naive.Look()) << "step " << step;
    EXPECT_EQ(random.state(), naive_random.state()) << "step " << step;
    if (testing::Test::HasFailure()) break;
    seen.rewards += reward;
    seen.highest_level = std::max(seen.highest_level, game.ramp_level().value_or(0));
    over = outcome.terminal || ++length == 2000;
  }
  return seen;
}

TEST(NaiveGames, AsterixAgrees) {
  const Seen seen = PlaySideBySide(MinatarGame::kAsterix, Asterix(), NaiveAsterix(), 20000);
  EXPECT_GE(seen.episodes, 50);
  EXPECT_GE(seen.rewards, 100);
  EXPECT_GE(seen.highest_level, 5);
}

TEST(NaiveGames, BreakoutAgrees) {
  const Seen seen = PlaySideBySide(MinatarGame::kBreakout, Breakout(), NaiveBreakout(), 20000);
  EXPECT_GE(seen.episodes, 40);
  EXPECT_GE(seen.rewards, 100);
}

TEST(NaiveGames, FreewayAgrees) {
  const Seen seen = PlaySideBySide(MinatarGame::kFreeway, Freeway(), NaiveFreeway(), 20000);
  EXPECT_GE(seen.episodes, 8);
  EXPECT_GE(seen.rewards, 50);
}

TEST(NaiveGames, SeaquestAgrees) {
  const Seen seen = PlaySideBySide(MinatarGame::kSeaquest, Seaquest(), NaiveSeaquest(), 20000);
  EXPECT_GE(seen.episodes, 50);
  EXPECT_GE(seen.rewards, 100);
  EXPECT_GE(seen.highest_level, 2);
}

// Random and scripted play never reach the last levels, where enemies fill the sea, so this starts
// there.
TEST(NaiveGames, SeaquestAgreesAmongManyEnemies) {
  Seaquest game;
  NaiveSeaquest naive;
  game.state().ramp_level = naive.level = Seaquest::kLastRampLevel;
  naive.spawn_period = 1;
  naive.enemy_move = 2;
  RandomStream random(3, "game");
  RandomStream naive_random(3, "game");
  RandomStream choice(4, "actions");
  Bytes bytes(1000);
  std::size_t most = 0;
  int rewards = 0;
  for (int step = 0; step < 5000; ++step) {
    const int action = static_cast<int>(choice.Below(kActions));
    const int reward = naive.Step(action, naive_random);
    ASSERT_EQ(game.Step(action, random), (Outcome{reward, naive.over})) << "step " << step;
    game.Observe(bytes);
    ASSERT_EQ(bytes, naive.Look()) << "step " << step;
    game.state().terminal = naive.over = false;  // immortal
    game.state().oxygen = naive.oxygen = 100;
    most = std::max(most, game.state().fish.size() + game.state().submarines.size());
    rewards += reward;
  }
  EXPECT_GE(most, 20U);
  EXPECT_GE(rewards, 150);
}

TEST(NaiveGames, SpaceInvadersAgrees) {
  const Seen seen =
      PlaySideBySide(MinatarGame::kSpaceInvaders, SpaceInvaders(), NaiveSpaceInvaders(), 20000);
  EXPECT_GE(seen.episodes, 50);
  EXPECT_GE(seen.rewards, 500);
  EXPECT_GE(seen.highest_level, 3);
}

}  // namespace stableaa::minatar::naive_games_test
