// Small strongly connected rooms with one-way doors between them.
//
// Compiled without contracting a·b + c into a single rounding: equal bytes on every platform.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generator_kinds.h"

namespace stableaa {
namespace {

// Rooms in the order in which doors lead through them. The last one is the goal.
struct FloorPlan {
  std::vector<std::uint64_t> starts = {0};  // the first state of each room, and the end
  std::vector<bool> open;                   // neither a trap nor the goal

  std::uint64_t rooms() const { return open.size(); }
  std::uint64_t size(std::uint64_t room) const { return starts[room + 1] - starts[room]; }

  void Add(std::uint64_t states, bool is_open) {
    starts.push_back(starts.back() + states);
    open.push_back(is_open);
  }
};

struct RoomSizes {
  std::uint64_t smallest;
  std::uint64_t largest;
};

RoomSizes SizesOfRooms(const GeneratorOptions& options) {
  const std::uint64_t largest =
      options.largest.value_or(std::max<std::uint64_t>(8, options.smallest.value_or(0)));
  const std::uint64_t smallest = options.smallest.value_or(std::min<std::uint64_t>(2, largest));
  if (smallest > largest) {
    RefuseOption(options, "smallest", fmt::format("at most the {} of the largest room", largest),
                 static_cast<double>(smallest));
  }
  if (smallest > *options.states - 1) {
    RefuseOption(options, "smallest",
                 fmt::format("at most {}, all states but one", *options.states - 1),
                 static_cast<double>(smallest));
  }
  return {smallest, largest};
}

FloorPlan DrawFloorPlan(const GeneratorOptions& options) {
  const auto [smallest, largest] = SizesOfRooms(options);
  RandomStream stream(options.seed, "mdp/rooms/sizes");
  FloorPlan plan;
  std::uint64_t left = *options.states - 1;  // without the goal
  while (left > 0) {
    const bool first = plan.rooms() == 0;
    if (left < smallest || (!first && stream.Bernoulli(*options.traps))) {
      plan.Add(1, false);
      left -= 1;
      continue;
    }
    const std::uint64_t most = std::min(largest, left);
    const std::uint64_t size = smallest + stream.Below(most - smallest + 1);
    plan.Add(size, true);
    left -= size;
  }
  plan.Add(1, false);
  return plan;
}

struct Door {
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t slip;  // with probability kSlip
};
constexpr double kSlip = .1;

// Draws one door into every room, from an open one before it, and one out of every open room, to an
// open one or the goal after it; none skips more than a 32nd of the rooms, but for traps.
class DoorMaker {
 public:
  DoorMaker(const FloorPlan& plan, std::uint64_t seed)
      : plan_(plan),
        goal_(plan.rooms() - 1),
        reach_(std::max<std::uint64_t>(1, plan.rooms() / 32)),
        stream_(seed, "mdp/rooms/doors") {}

  // Ordered by `from`.
  std::vector<Door> Doors() {
    std::vector<Door> doors;
    doors.reserve(2 * plan_.rooms());
    for (std::uint64_t room = 1; room <= goal_; ++room) {
      std::uint64_t from = room - 1 - stream_.Below(std::min(room, reach_));
      while (!plan_.open[from]) --from;  // ends at the first room
      doors.push_back(Between(from, room));
    }
    for (std::uint64_t room = 0; room < goal_; ++room) {
      if (!plan_.open[room]) continue;
      std::uint64_t to = RoomAfter(room);
      while (!plan_.open[to] && to < goal_) ++to;
      doors.push_back(Between(room, to));
    }
    std::ranges::stable_sort(doors, {}, &Door::from);
    return doors;
  }

 private:
  std::uint64_t RoomAfter(std::uint64_t room) {
    return room + 1 + stream_.Below(std::min(goal_ - room, reach_));
  }

  std::uint32_t StateIn(std::uint64_t room) {
    return static_cast<std::uint32_t>(plan_.starts[room] + stream_.Below(plan_.size(room)));
  }

  Door Between(std::uint64_t from, std::uint64_t to) {
    Door door = {};
    door.from = StateIn(from);
    door.to = StateIn(to);
    door.slip = StateIn(RoomAfter(from));
    return door;
  }

  const FloorPlan& plan_;
  std::uint64_t goal_;
  std::uint64_t reach_;
  RandomStream stream_;
};

// The tree of passages within a room: each state but the first hangs on one of the three before it.
std::vector<std::uint64_t> DrawTree(std::uint64_t size, RandomStream& stream) {
  std::vector<std::uint64_t> parents(size, 0);
  for (std::uint64_t i = 1; i < size; ++i) {
    parents[i] = i - 1 - stream.Below(std::min<std::uint64_t>(i, 3));
  }
  return parents;
}

void AddPassages(std::uint64_t start, std::uint64_t i, const std::vector<std::uint64_t>& parents,
                 ModelBuilder& builder) {
  const auto add = [&](std::uint64_t next) {
    builder.Transition(start + next, 1);
    builder.EndRow(0);
  };
  if (i > 0) add(parents[i]);
  for (std::uint64_t child = i + 1; child <= i + 3 && child < parents.size(); ++child) {
    if (parents[child] == i) add(child);
  }
}

void AddDoor(const Door& door, std::uint64_t goal, ModelBuilder& builder) {
  builder.Transition(door.to, 1 - kSlip);
  builder.Transition(door.slip, kSlip);
  builder.EndRow((door.to == goal ? 1 - kSlip : 0) + (door.slip == goal ? kSlip : 0));
}

}  // namespace

Model GenerateRooms(const GeneratorOptions& options) {
  const std::uint64_t states = *options.states;
  CheckSize(options, {.states = states, .rows = 0, .transitions = 0, .scratch_bytes = 40 * states});
  const FloorPlan plan = DrawFloorPlan(options);
  const std::vector<Door> doors = DoorMaker(plan, options.seed).Doors();
  ModelBuilder builder =
      BuilderBeforeNumbering(options, {.states = states,
                                       .rows = 2 * states + doors.size(),
                                       .transitions = 2 * states + 2 * doors.size(),
                                       .scratch_bytes = 40 * states});
  RandomStream tree_stream(options.seed, "mdp/rooms/passages");
  auto door = doors.begin();
  for (std::uint64_t room = 0; room < plan.rooms(); ++room) {
    const std::uint64_t start = plan.starts[room];
    if (!plan.open[room]) {
      AddAbsorbing(start, builder);
      continue;
    }
    const std::vector<std::uint64_t> parents = DrawTree(plan.size(room), tree_stream);
    for (std::uint64_t i = 0; i < parents.size(); ++i) {
      builder.BeginState();
      AddPassages(start, i, parents, builder);
      for (; door != doors.end() && door->from == start + i; ++door) {
        AddDoor(*door, states - 1, builder);
      }
    }
  }
  return NumberBreadthFirst(builder.Finish(options.discount));
}

}  // namespace stableaa
