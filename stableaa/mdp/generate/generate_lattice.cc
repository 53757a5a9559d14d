// Grids and mazes: a rectangle of cells that are open or walls.
//
// Compiled without contracting a·b + c into a single rounding: equal bytes on every platform.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generator_kinds.h"

namespace stableaa {
namespace {

constexpr std::uint32_t kWall = std::numeric_limits<std::uint32_t>::max();

// The actions, in order.
enum Direction : std::uint8_t { kUp, kRight, kDown, kLeft };
constexpr std::size_t kDirections = 4;

// A rectangle of cells, numbered row by row, with a number for each: kWall or, eventually, the
// number of its state.
class Lattice {
 public:
  Lattice(std::uint64_t width, std::uint64_t height, std::uint32_t number)
      : width_(width), height_(height), numbers_(width * height, number) {}

  std::uint64_t width() const { return width_; }
  std::uint64_t height() const { return height_; }
  std::uint64_t cells() const { return numbers_.size(); }
  std::uint32_t number(std::uint64_t cell) const { return numbers_[cell]; }
  void set_number(std::uint64_t cell, std::uint32_t number) { numbers_[cell] = number; }
  bool open(std::uint64_t cell) const { return numbers_[cell] != kWall; }

  // The neighbour of the cell at (x, y), unless it is off the lattice or a wall.
  std::optional<std::uint64_t> OpenNeighbour(std::uint64_t x, std::uint64_t y,
                                             Direction direction) const {
    const std::uint64_t cell = y * width_ + x;
    const std::array<bool, kDirections> off = {y == 0, x + 1 == width_, y + 1 == height_, x == 0};
    if (off[direction]) return std::nullopt;
    const std::array<std::uint64_t, kDirections> to = {cell - width_, cell + 1, cell + width_,
                                                       cell - 1};
    return open(to[direction]) ? std::optional(to[direction]) : std::nullopt;
  }

  // Numbers the open cells 0, 1, … and returns how many there are.
  std::uint64_t NumberOpenCells() {
    std::uint32_t count = 0;
    for (std::uint32_t& number : numbers_) {
      if (number != kWall) number = count++;
    }
    return count;
  }

 private:
  std::uint64_t width_;
  std::uint64_t height_;
  std::vector<std::uint32_t> numbers_;
};

// Width and height as given, or the smallest square for `states`; refused if too large.
std::pair<std::uint64_t, std::uint64_t> Sides(const GeneratorOptions& options) {
  if (!options.states) return {*options.width, *options.height};
  const std::uint64_t side = SideOfVolume(*options.states, 2, 1);
  return {side, side};
}

// The probability of moving in each direction, for each intended one.
using MoveProbabilities = std::array<std::array<double, kDirections>, kDirections>;

MoveProbabilities NoisyMoves(double noise) {
  MoveProbabilities moves = {};
  for (std::size_t wanted = 0; wanted < kDirections; ++wanted) {
    moves[wanted][wanted] = 1 - noise;
    moves[wanted][(wanted + 1) % kDirections] = noise / 2;
    moves[wanted][(wanted + 3) % kDirections] = noise / 2;
  }
  return moves;
}

// Adds the four rows of the open cell at (x, y).
void AddCell(const Lattice& lattice, std::uint64_t x, std::uint64_t y,
             const MoveProbabilities& moves, ModelBuilder& builder) {
  // Open cells are numbered row by row, so this order of directions ascends, with the cell itself
  // in the middle.
  constexpr std::array<Direction, kDirections> kAscending = {kUp, kLeft, kRight, kDown};
  const std::uint64_t self = lattice.number(y * lattice.width() + x);
  std::array<std::optional<std::uint64_t>, kDirections> neighbours;
  for (const Direction direction : kAscending) {
    neighbours[direction] = lattice.OpenNeighbour(x, y, direction);
  }
  for (const std::array<double, kDirections>& probability : moves) {
    double stay = 0;
    for (const Direction direction : kAscending) {
      if (!neighbours[direction]) stay += probability[direction];
    }
    for (const Direction direction : kAscending) {
      if (direction == kRight && stay > 0) builder.Transition(self, stay);
      if (neighbours[direction] && probability[direction] > 0) {
        builder.Transition(lattice.number(*neighbours[direction]), probability[direction]);
      }
    }
    builder.EndRow(-1);
  }
}

// One state per open cell; all actions in the goal stay there at no cost.
Model BuildLatticeModel(const Lattice& lattice, std::uint64_t goal, const MoveProbabilities& moves,
                        ModelBuilder builder) {
  for (std::uint64_t y = 0; y < lattice.height(); ++y) {
    for (std::uint64_t x = 0; x < lattice.width(); ++x) {
      const std::uint64_t cell = y * lattice.width() + x;
      if (!lattice.open(cell)) continue;
      builder.BeginState();
      if (cell != goal) {
        AddCell(lattice, x, y, moves, builder);
        continue;
      }
      for (std::size_t action = 0; action < kDirections; ++action) {
        builder.Transition(lattice.number(cell), 1);
        builder.EndRow(0);
      }
    }
  }
  return builder.Finish(std::nullopt);
}

// Disjoint sets of cells: each cell points to another one in its set, or to itself.
class Regions {
 public:
  explicit Regions(const Lattice& lattice) : parent_(lattice.cells()) {
    for (std::uint64_t cell = 0; cell < parent_.size(); ++cell) {
      parent_[cell] = static_cast<std::uint32_t>(cell);
      if (!lattice.open(cell)) continue;
      if (cell % lattice.width() != 0 && lattice.open(cell - 1)) Join(cell, cell - 1);
      if (cell >= lattice.width() && lattice.open(cell - lattice.width())) {
        Join(cell, cell - lattice.width());
      }
    }
  }

  std::uint32_t Root(std::uint64_t cell) {
    auto root = static_cast<std::uint32_t>(cell);
    while (parent_[root] != root) {
      parent_[root] = parent_[parent_[root]];
      root = parent_[root];
    }
    return root;
  }

 private:
  // The lower cell becomes the root: regions grow downwards, paths stay short.
  void Join(std::uint64_t a, std::uint64_t b) {
    const std::uint32_t first = Root(a);
    const std::uint32_t second = Root(b);
    parent_[std::max(first, second)] = std::min(first, second);
  }

  std::vector<std::uint32_t> parent_;
};

// The root of the region with the most cells; the first in case of a tie.
std::uint32_t LargestRegion(const Lattice& lattice, Regions& regions) {
  std::vector<std::uint32_t> sizes(lattice.cells(), 0);
  for (std::uint64_t cell = 0; cell < lattice.cells(); ++cell) {
    if (lattice.open(cell)) ++sizes[regions.Root(cell)];
  }
  return static_cast<std::uint32_t>(std::ranges::max_element(sizes) - sizes.begin());
}

// The cell in the largest region nearest the lower right corner; the lowest in case of a tie.
std::uint64_t GridGoal(const Lattice& lattice) {
  Regions regions(lattice);
  const std::uint32_t largest = LargestRegion(lattice, regions);
  std::uint64_t goal = 0;
  std::uint64_t least_distance = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t cell = lattice.cells(); cell-- > 0;) {
    const std::uint64_t distance = (lattice.width() - 1 - cell % lattice.width()) +
                                   (lattice.height() - 1 - cell / lattice.width());
    if (distance < least_distance && lattice.open(cell) && regions.Root(cell) == largest) {
      goal = cell;
      least_distance = distance;
    }
  }
  return goal;
}

// Digs the passages of a maze. Rooms are numbered row by row; for each room reached, `came_from`
// holds the direction back to the room it was reached from.
class MazeDigger {
 public:
  MazeDigger(Lattice& lattice, RandomStream& stream)
      : lattice_(lattice),
        stream_(stream),
        columns_((lattice.width() + 1) / 2),
        came_from_(columns_ * ((lattice.height() + 1) / 2), kNotReached) {}

  // Depth first from room 0, backtracking when there is no new room nearby. The rooms store the way
  // back, so no stack is needed.
  void DigTree() {
    came_from_[0] = kStart;
    Open(0);
    std::uint64_t room = 0;
    while (true) {
      const std::optional<Direction> direction = RandomNewDirection(room);
      if (direction) {
        const std::uint64_t next = Neighbour(room, *direction);
        came_from_[next] = Opposite(*direction);
        Open(Passage(room, *direction));
        Open(Cell(next));
        room = next;
      } else if (came_from_[room] != kStart) {
        room = Neighbour(room, static_cast<Direction>(came_from_[room]));
      } else {
        return;
      }
    }
  }

  void DigLoops(double share) {
    for (std::uint64_t room = 0; room < came_from_.size(); ++room) {
      for (const Direction direction : {kRight, kDown}) {
        if (Exists(room, direction) && !lattice_.open(Passage(room, direction)) &&
            stream_.Bernoulli(share)) {
          Open(Passage(room, direction));
        }
      }
    }
  }

  std::uint64_t LastRoomCell() const { return Cell(came_from_.size() - 1); }

 private:
  static constexpr std::uint8_t kStart = 4;
  static constexpr std::uint8_t kNotReached = 5;

  static std::uint8_t Opposite(Direction direction) {
    return static_cast<std::uint8_t>((direction + 2) % kDirections);
  }

  void Open(std::uint64_t cell) { lattice_.set_number(cell, 0); }

  std::uint64_t Cell(std::uint64_t room) const {
    return room / columns_ * 2 * lattice_.width() + room % columns_ * 2;
  }

  bool Exists(std::uint64_t room, Direction direction) const {
    switch (direction) {
      case kUp:
        return room >= columns_;
      case kRight:
        return (room + 1) % columns_ != 0;
      case kDown:
        return room + columns_ < came_from_.size();
      case kLeft:
        return room % columns_ != 0;
    }
    return false;
  }

  // `from` moved by one step on a lattice with `columns` columns.
  static std::uint64_t Step(std::uint64_t from, Direction direction, std::uint64_t columns) {
    switch (direction) {
      case kUp:
        return from - columns;
      case kRight:
        return from + 1;
      case kDown:
        return from + columns;
      case kLeft:
        return from - 1;
    }
    return from;
  }

  std::uint64_t Neighbour(std::uint64_t room, Direction direction) const {
    return Step(room, direction, columns_);
  }

  std::uint64_t Passage(std::uint64_t room, Direction direction) const {
    return Step(Cell(room), direction, lattice_.width());
  }

  std::optional<Direction> RandomNewDirection(std::uint64_t room) {
    std::array<Direction, kDirections> found = {};
    std::size_t count = 0;
    for (const Direction direction : {kUp, kRight, kDown, kLeft}) {
      if (Exists(room, direction) && came_from_[Neighbour(room, direction)] == kNotReached) {
        found[count++] = direction;
      }
    }
    if (count == 0) return std::nullopt;
    return found[stream_.Below(count)];
  }

  Lattice& lattice_;
  RandomStream& stream_;
  std::uint64_t columns_;
  std::vector<std::uint8_t> came_from_;
};

// Lattices are checked by their cells before they are made, models by their open cells afterwards.
void CheckLatticeSize(const GeneratorOptions& options, std::uint64_t width, std::uint64_t height,
                      std::uint64_t bytes_per_cell) {
  const std::uint64_t cells = SaturatedProduct(width, height);
  // The largest number stands for walls.
  const std::uint64_t states = cells == kMostGeneratedStates ? cells + 1 : cells;
  CheckSize(options, {.states = states,
                      .rows = 0,
                      .transitions = 0,
                      .scratch_bytes = SaturatedProduct(cells, bytes_per_cell)});
}

}  // namespace

Model GenerateGrid(const GeneratorOptions& options) {
  const auto [width, height] = Sides(options);
  CheckLatticeSize(options, width, height, 12);
  Lattice lattice(width, height, 0);
  RandomStream wall_stream(options.seed, "mdp/grid/walls");
  for (std::uint64_t cell = 0; cell < lattice.cells(); ++cell) {
    if (wall_stream.Bernoulli(*options.walls)) lattice.set_number(cell, kWall);
  }
  const std::uint64_t states = lattice.NumberOpenCells();
  if (states == 0) {
    throw BadInput(
        fmt::format("grid: {} {}: every cell came out as a wall; expected fewer "
                    "walls, more cells or another seed",
                    options.label("walls"), *options.walls));
  }
  const std::uint64_t goal = GridGoal(lattice);
  const std::uint64_t row_length = *options.noise > 0 ? 3 : 1;
  return BuildLatticeModel(lattice, goal, NoisyMoves(*options.noise),
                           BuilderFor(options, {.states = states,
                                                .rows = kDirections * states,
                                                .transitions = kDirections * states * row_length,
                                                .scratch_bytes = 4 * lattice.cells()}));
}

Model GenerateMaze(const GeneratorOptions& options) {
  const auto [width, height] = Sides(options);
  CheckLatticeSize(options, width, height, 5);
  Lattice lattice(width, height, kWall);
  RandomStream tree_stream(options.seed, "mdp/maze/tree");
  MazeDigger digger(lattice, tree_stream);
  digger.DigTree();
  digger.DigLoops(*options.loops);
  const std::uint64_t states = lattice.NumberOpenCells();
  return BuildLatticeModel(lattice, digger.LastRoomCell(), NoisyMoves(0),
                           BuilderFor(options, {.states = states,
                                                .rows = kDirections * states,
                                                .transitions = kDirections * states,
                                                .scratch_bytes = 5 * lattice.cells()}));
}

}  // namespace stableaa
