#include "stableaa/mdp/generate/generators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generated_model_test.h"
#include "stableaa/mdp/model/components.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/model_rows_test.h"
#include "stableaa/mdp/model/structure.h"

namespace stableaa::generators_test {

// FNV-1a over all arrays.
std::uint64_t Checksum(const Model& model) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](auto values) {
    for (const std::byte byte : std::as_bytes(values)) {
      hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
    }
  };
  add(model.state_rows());
  add(model.row_transitions());
  add(model.arrays().narrow_columns);
  add(model.probabilities());
  add(model.rewards());
  return hash;
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const GeneratorKind& kind : GeneratorKinds()) names.emplace_back(kind.name);
  return names;
}

// ---- all kinds ----

// Changed bytes break published results: they need a reason, and new numbers here.
TEST(Generators, BytesArePinned) {
  const std::map<std::string, std::uint64_t> expected = {
      {"garnet", 0x959129cc0b0448ff},    {"grid", 0xc12f6f51ff7d012e},
      {"maze", 0xe04244eb66e7fc0b},      {"chain", 0xf7f47807b4c5aee5},
      {"forest", 0x25a19ea03556342b},    {"queues", 0x8f6daedc3a3302a2},
      {"inventory", 0xd4d7630866a14f25}, {"random-walk", 0xa04df106f302ebb3},
      {"layered", 0x5553de5ef2dd65de},   {"rooms", 0x0f72bd5099269d4a},
      {"timers", 0x293625ca5ddefe0e},    {"cycle", 0x0c13538e3b6ad894},
  };
  for (const std::string& kind : KindNames()) {
    EXPECT_EQ(Checksum(Generated({.kind = kind, .seed = 5, .states = 900})), expected.at(kind))
        << kind;
  }
}

TEST(Generators, EqualSeedsGiveEqualModels) {
  for (const std::string& kind : KindNames()) {
    const GeneratorOptions options = {
        .kind = kind, .seed = 8, .shuffle = true, .discount = .5, .states = 3000};
    EXPECT_EQ(Generated(options), Generated(options)) << kind;
  }
}

TEST(Generators, OtherSeedsGiveOtherModelsWhereAnythingIsRandom) {
  for (const std::string kind :
       {"garnet", "grid", "maze", "random-walk", "layered", "rooms", "cycle"}) {
    EXPECT_FALSE(Generated({.kind = kind, .seed = 1}) == Generated({.kind = kind, .seed = 2}))
        << kind;
  }
  for (const std::string kind : {"chain", "forest", "queues", "inventory", "timers"}) {
    GeneratorOptions first = {.kind = kind, .seed = 1, .states = 500};
    GeneratorOptions second = {.kind = kind, .seed = 2, .states = 500};
    EXPECT_EQ(Generated(first), Generated(second)) << kind;
    first.shuffle = true;
    second.shuffle = true;
    EXPECT_FALSE(Generated(first) == Generated(second)) << kind;
  }
}

// Checks what renumbering cannot change, and that it did change something.
TEST(Generators, ShuffledModelsAreTheSameProcess) {
  for (const std::string& kind : KindNames()) {
    const Model model = Generated({.kind = kind, .seed = 4, .states = 2000});
    const Model shuffled = Generated({.kind = kind, .seed = 4, .shuffle = true, .states = 2000});
    EXPECT_FALSE(model == shuffled) << kind;
    const ModelStructure a = Analyse(model);
    const ModelStructure b = Analyse(shuffled);
    EXPECT_EQ(a.states, b.states);
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.transitions, b.transitions);
    EXPECT_EQ(a.absorbing, b.absorbing);
    EXPECT_EQ(a.components, b.components);
    EXPECT_EQ(a.self_loop_share, b.self_loop_share);
    std::vector<double> rewards(model.rewards().begin(), model.rewards().end());
    std::vector<double> shuffled_rewards(shuffled.rewards().begin(), shuffled.rewards().end());
    std::ranges::sort(rewards);
    std::ranges::sort(shuffled_rewards);
    EXPECT_EQ(rewards, shuffled_rewards) << kind;
  }
}

TEST(Generators, DefaultsAreAcceptedAndDocumented) {
  for (const GeneratorKind& kind : GeneratorKinds()) {
    Generated({.kind = std::string(kind.name)});
    EXPECT_FALSE(kind.description.empty());
    for (const GeneratorOption& option : kind.options) {
      EXPECT_FALSE(option.meaning.empty());
      if (!option.default_value) continue;
      EXPECT_GE(*option.default_value, option.least) << option.name;
      EXPECT_LE(*option.default_value, option.most) << option.name;
    }
  }
}

// ---- options ----

TEST(GeneratorOptions, EveryOptionOutsideItsRangeIsRefusedByName) {
  for (const GeneratorKind& kind : GeneratorKinds()) {
    for (const GeneratorOption& option : kind.options) {
      const auto field = std::ranges::find(GeneratorFields(), option.name, &GeneratorField::name);
      ASSERT_NE(field, GeneratorFields().end());
      GeneratorOptions options = {.kind = std::string(kind.name)};
      if (field->real != nullptr) {
        options.*field->real = option.most + 1;
      } else {
        options.*field->integer = static_cast<std::uint64_t>(option.most) + 1;
      }
      const std::string message = RefusalOf(options);
      EXPECT_TRUE(message.starts_with(std::string(kind.name) + ": " + std::string(option.name)))
          << message;
      EXPECT_NE(message.find("expected"), std::string::npos) << message;
    }
  }
}

TEST(GeneratorOptions, MessagesNameValueAndRange) {
  EXPECT_EQ(RefusalOf({.kind = "grid", .noise = -.5}), "grid: noise: expected 0 to 1, found -0.5");
  EXPECT_EQ(RefusalOf({.kind = "grid", .noise = std::nan("")}),
            "grid: noise: expected 0 to 1, found nan");
  EXPECT_EQ(RefusalOf({.kind = "forest", .states = 1}),
            "forest: states: expected 2 to 4294967296, found 1");
  EXPECT_EQ(RefusalOf({.kind = "garnet", .states = 7, .branching = 8}),
            "garnet: branching: expected at most the 7 states, found 8");
}

TEST(GeneratorOptions, AnOptionOfAnotherKindIsRefused) {
  EXPECT_EQ(RefusalOf({.kind = "grid", .branching = 3}),
            "grid has no option branching; it takes width, height, states, walls, noise");
}

TEST(GeneratorOptions, UnknownKindsAreRefusedWithANearOne) {
  EXPECT_EQ(RefusalOf({.kind = "gird"}),
            "unknown kind of model 'gird'; the kinds are garnet, grid, maze, chain, forest, "
            "queues, inventory, random-walk, layered, rooms, timers, cycle; did you mean 'grid'?");
}

TEST(GeneratorOptions, TwoSizesAreRefused) {
  EXPECT_EQ(RefusalOf({.kind = "maze", .states = 100, .height = 3}),
            "maze: states and height both set the size; give one of them");
  EXPECT_EQ(RefusalOf({.kind = "queues", .states = 100, .capacity = 3}),
            "queues: states and capacity both set the size; give one of them");
}

TEST(GeneratorOptions, DiscountsOutsideTheirRangeAreRefused) {
  EXPECT_EQ(RefusalOf({.kind = "chain", .discount = 1.5}),
            "discount: expected a discount in [0, 1), found 1.5");
  EXPECT_EQ(Generated({.kind = "chain", .discount = .25}).discount(), .25);
}

TEST(GeneratorOptions, MessagesCallThemAsTheLabelSays) {
  const auto label = [](std::string_view name) { return "<" + std::string(name) + ">"; };
  EXPECT_EQ(RefusalOf({.kind = "random-walk", .reward_share = 2, .label = label}),
            "random-walk: <reward_share>: expected 0 to 1, found 2");
  EXPECT_EQ(RefusalOf({.kind = "chain", .branching = 3, .label = label}),
            "chain has no option <branching>; it takes <states>, <noise>");
  EXPECT_EQ(RefusalOf({.kind = "maze", .states = 100, .height = 3, .label = label}),
            "maze: <states> and <height> both set the size; give one of them");
}

TEST(GeneratorOptions, SizesBeyondNumbersAreRefused) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 32;
  EXPECT_EQ(RefusalOf({.kind = "grid", .width = kLarge, .height = kLarge}),
            "grid: expected a size of at most 2^32 states, found 1.84e+19");
  EXPECT_EQ(RefusalOf({.kind = "grid", .width = kLarge, .height = 1}),
            "grid: expected a size of at most 2^32 states, found 4.29e+09");
  EXPECT_EQ(RefusalOf({.kind = "queues", .queues = 8, .capacity = 1000000}),
            "queues: expected a size of at most 2^32 states, found 1.84e+19");
  EXPECT_EQ(RefusalOf({.kind = "inventory", .capacity = 100000, .seasons = 1000000}),
            "inventory: expected a size of at most 2^32 states, found 1e+11");
}

TEST(GeneratorOptions, SizesBeyondMemoryAreRefusedBeforeAllocating) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 32;
  const auto message = [](const GeneratorOptions& options) {
    return RefusalOf(options, Error::Kind::kWorkFailed);
  };
  const std::string garnet = message({.kind = "garnet", .states = kLarge, .actions = 1000000});
  EXPECT_TRUE(garnet.starts_with("mdp generate garnet needs ")) << garnet;
  EXPECT_TRUE(garnet.ends_with("generate fewer states")) << garnet;
  const std::string dense =
      message({.kind = "garnet", .states = kLarge, .actions = 1000000, .branching = kLarge});
  EXPECT_TRUE(dense.starts_with("mdp generate garnet needs 1e+09 GB")) << dense;
}

// ---- garnet ----

TEST(Garnet, RowsHaveDistinctNextStatesAndUniformRewards) {
  const Model model = Generated({.kind = "garnet", .states = 200, .actions = 3, .branching = 7});
  EXPECT_EQ(model.states(), 200);
  EXPECT_EQ(model.rows(), 600);
  EXPECT_EQ(model.transitions(), 4200);
  double mean = 0;
  for (std::uint64_t row = 0; row < model.rows(); ++row) {
    EXPECT_EQ(model.row_transitions()[row + 1] - model.row_transitions()[row], 7);
    EXPECT_GE(model.rewards()[row], 0);
    EXPECT_LT(model.rewards()[row], 1);
    mean += model.rewards()[row] / 600;
  }
  EXPECT_NEAR(mean, .5, .05);
}

// Each state is a next state equally often, and the spacings of b−1 cuts have E[p²] = 2/(b(b+1)).
TEST(Garnet, NextStatesAndProbabilitiesHaveTheirDistributions) {
  const Model model = Generated({.kind = "garnet", .states = 20, .actions = 5000, .branching = 4});
  std::vector<double> count(20, 0);
  double square = 0;
  for (std::uint64_t k = 0; k < model.transitions(); ++k) {
    ++count[model.column(k)];
    square += model.probabilities()[k] * model.probabilities()[k];
  }
  const auto transitions = static_cast<double>(model.transitions());
  // Five standard deviations.
  const double expected = transitions / 20;
  for (const double c : count) EXPECT_NEAR(c, expected, 5 * std::sqrt(expected));
  EXPECT_NEAR(square / transitions, 2.0 / (4 * 5), .002);
}

TEST(Garnet, AFullBranchingIsDense) {
  const Model model = Generated({.kind = "garnet", .states = 30, .branching = 30});
  EXPECT_EQ(Analyse(model).density, 1);
}

TEST(Garnet, BranchingOneIsDeterministicAndFewStatesHaveFewer) {
  EXPECT_TRUE(Analyse(Generated({.kind = "garnet", .branching = 1})).deterministic);
  EXPECT_EQ(Generated({.kind = "garnet", .states = 3}).most_transitions(), 3);
}

TEST(Garnet, TheShareOfRowsWithARewardIsKept) {
  const Model model = Generated({.kind = "garnet", .states = 5000, .reward_share = .1});
  const auto paying = std::ranges::count_if(model.rewards(), [](double r) { return r > 0; });
  EXPECT_NEAR(static_cast<double>(paying), 2000, 5 * std::sqrt(1800.0));
}

// ---- grid ----

// The grid again, written from its description: maps instead of arrays, a flood fill instead of
// sets.
struct NaiveGrid {
  using Cell = std::pair<int, int>;  // row, column
  std::map<Cell, std::uint64_t> number;
  Cell goal;

  NaiveGrid(int width, int height, double walls, std::uint64_t seed) {
    RandomStream stream(seed, "mdp/grid/walls");
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if (!stream.Bernoulli(walls)) number.emplace(Cell(y, x), number.size());
      }
    }
    std::set<Cell> largest;
    std::set<Cell> seen;
    for (const auto& [cell, state] : number) {
      if (seen.contains(cell)) continue;
      const std::set<Cell> region = Flood(cell);
      seen.insert(region.begin(), region.end());
      if (region.size() > largest.size()) largest = region;
    }
    int nearest = width + height;
    for (const auto& [y, x] : largest) {
      const int distance = (width - 1 - x) + (height - 1 - y);
      if (distance <= nearest) goal = {y, x};  // the later one is lower
      nearest = std::min(nearest, distance);
    }
  }

  static Cell Moved(Cell cell, std::size_t direction) {
    constexpr std::array<Cell, 4> kMoves = {Cell(-1, 0), Cell(0, 1), Cell(1, 0), Cell(0, -1)};
    return {cell.first + kMoves[direction].first, cell.second + kMoves[direction].second};
  }

  std::set<Cell> Flood(Cell start) const {
    std::set<Cell> region = {start};
    std::queue<Cell> open({start});
    for (; !open.empty(); open.pop()) {
      for (std::size_t direction = 0; direction < 4; ++direction) {
        const Cell next = Moved(open.front(), direction);
        if (number.contains(next) && region.insert(next).second) open.push(next);
      }
    }
    return region;
  }

  Distribution Next(Cell cell, std::size_t action, double noise) const {
    if (cell == goal) return {{number.at(cell), 1}};
    Distribution next;
    for (const auto& [turn, probability] :
         std::map<std::size_t, double>{{0, 1 - noise}, {1, noise / 2}, {3, noise / 2}}) {
      const Cell to = Moved(cell, (action + turn) % 4);
      if (probability > 0) next[number.at(number.contains(to) ? to : cell)] += probability;
    }
    return next;
  }
};

void ExpectGrid(int width, int height, double walls, double noise, std::uint64_t seed) {
  const Model model = Generated({.kind = "grid",
                                 .seed = seed,
                                 .width = static_cast<std::uint64_t>(width),
                                 .height = static_cast<std::uint64_t>(height),
                                 .walls = walls,
                                 .noise = noise});
  const NaiveGrid grid(width, height, walls, seed);
  ASSERT_EQ(model.states(), grid.number.size());
  for (const auto& [cell, state] : grid.number) {
    ASSERT_EQ(model.actions(state), 4);
    for (std::size_t action = 0; action < 4; ++action) {
      const Distribution expected = grid.Next(cell, action, noise);
      const Distribution found = NextStates(model, state, action);
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [next, probability] : expected) {
        ASSERT_TRUE(found.contains(next));
        ASSERT_NEAR(found.at(next), probability, 1e-15);
      }
      ASSERT_EQ(RewardOf(model, state, action), cell == grid.goal ? 0 : -1);
    }
  }
}

TEST(Grid, IsWhatItsDescriptionSays) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ExpectGrid(13, 9, .3, .2, seed);
    ExpectGrid(7, 12, .5, 0, seed);
    ExpectGrid(10, 10, .4, 1, seed);
    ExpectGrid(1, 15, .1, .3, seed);
    if (HasFailure()) return;
  }
  ExpectGrid(5, 4, 0, .2, 1);
  ExpectGrid(1, 1, 0, .2, 1);
}

TEST(Grid, OpenThreeByThreeByHand) {
  const Model model =
      Generated({.kind = "grid", .width = 3, .height = 3, .walls = 0, .noise = .25});
  EXPECT_EQ(model.states(), 9);
  // Up from the upper left corner: blocked above and on the left.
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{0, .875}, {1, .125}}));
  // Right from the centre.
  EXPECT_EQ(NextStates(model, 4, 1), (Distribution{{1, .125}, {5, .75}, {7, .125}}));
  EXPECT_EQ(NextStates(model, 8, 3), (Distribution{{8, 1}}));
  EXPECT_EQ(RewardOf(model, 8, 3), 0);
}

TEST(Grid, StatesMeansTheLeastSquareWithSoManyCells) {
  EXPECT_EQ(Generated({.kind = "grid", .states = 81, .walls = 0}).states(), 81);
  EXPECT_EQ(Generated({.kind = "grid", .states = 82, .walls = 0}).states(), 100);
}

TEST(Grid, WallsTakeTheirShareAndPocketsStay) {
  const ModelStructure structure = Analyse(Generated({.kind = "grid", .states = 90000}));
  EXPECT_NEAR(static_cast<double>(structure.states), 63000, 5 * std::sqrt(90000 * .21));
  EXPECT_GT(structure.largest_component, structure.states * 9 / 10);
  EXPECT_GT(structure.closed_components, 100);
}

TEST(Grid, NothingButWallsIsRefused) {
  EXPECT_EQ(RefusalOf({.kind = "grid", .width = 1, .height = 1, .walls = .99}),
            "grid: walls 0.99: every cell came out as a wall; expected fewer walls, more cells "
            "or another seed");
}

// ---- maze ----

// Undirected passages between the cells of a maze, without the goal's self-loops.
std::uint64_t Passages(const Model& model) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> passages;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    for (std::uint64_t action = 0; action < 4; ++action) {
      const std::uint64_t next = NextStates(model, state, action).begin()->first;
      if (next != state) passages.insert(std::minmax(state, next));
    }
  }
  return passages.size();
}

TEST(Maze, EveryCellReachesTheGoalDeterministically) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Model model = Generated({.kind = "maze", .seed = seed, .width = 51, .height = 31});
    const ModelStructure structure = Analyse(model);
    EXPECT_TRUE(structure.deterministic);
    EXPECT_EQ(structure.absorbing, 1);
    EXPECT_EQ(structure.closed_components, 1);  // so all others lead there
    EXPECT_EQ(NextStates(model, model.states() - 1, 0), (Distribution{{model.states() - 1, 1}}));
    EXPECT_EQ(RewardOf(model, model.states() - 1, 0), 0);
    EXPECT_EQ(RewardOf(model, 0, 0), -1);
  }
}

// 26 × 16 rooms; a tree has one passage cell fewer than rooms, and a passage cell has two ends.
TEST(Maze, WithoutLoopsItIsATreeOfRooms) {
  const Model model = Generated({.kind = "maze", .width = 51, .height = 31, .loops = 0});
  EXPECT_EQ(model.states(), 416 + 415);
  EXPECT_EQ(Passages(model), 2 * 415);
}

TEST(Maze, LoopsOpenTheirShareOfTheWallsLeft) {
  const std::uint64_t walls = 49 * 50 + 50 * 49 - 2499;
  const auto openings = [](double loops) {
    return Generated({.kind = "maze", .width = 99, .height = 99, .loops = loops}).states() - 4999;
  };
  EXPECT_EQ(openings(1), walls);
  EXPECT_NEAR(static_cast<double>(openings(.05)), .05 * static_cast<double>(walls), 55);
}

// A 2 × 2 block of open cells would be a ring of four states: right, down, left, up leads back
// without a blocked move.
TEST(Maze, PassagesAreOneCellWide) {
  const Model model = Generated({.kind = "maze", .loops = 1});
  const auto move = [&](std::uint64_t state, std::uint64_t action) {
    return NextStates(model, state, action).begin()->first;
  };
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    const std::uint64_t right = move(state, 1);
    const std::uint64_t below = move(right, 2);
    if (right == state || below == right) continue;
    const std::uint64_t left = move(below, 3);
    EXPECT_TRUE(left == below || move(left, 0) == left) << state;
  }
}

TEST(Maze, EvenSidesEndInAWall) {
  const Model even = Generated({.kind = "maze", .width = 10, .height = 10, .loops = 0});
  EXPECT_EQ(even.states(), 25 + 24);
  EXPECT_EQ(Generated({.kind = "maze", .width = 1, .height = 1}).states(), 1);
  EXPECT_EQ(Generated({.kind = "maze", .width = 7, .height = 1}).states(), 7);
}

// ---- chain ----

TEST(Chain, FourStatesByHand) {
  const Model model = Generated({.kind = "chain", .states = 4, .noise = .25});
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{0, .75}, {1, .25}}));
  EXPECT_EQ(NextStates(model, 0, 1), (Distribution{{0, .25}, {1, .75}}));
  EXPECT_EQ(NextStates(model, 2, 0), (Distribution{{1, .75}, {3, .25}}));
  EXPECT_EQ(NextStates(model, 3, 1), (Distribution{{2, .25}, {3, .75}}));
  EXPECT_EQ(std::vector<double>(model.rewards().begin(), model.rewards().end()),
            (std::vector<double>{.01, 0, 0, 0, 0, 0, 0, 1}));
}

// Plain value iteration with the span certificate: V* is within γ/(1−γ)·(max d − min d).
std::uint64_t SpanPasses(const Model& model, double discount, double tolerance,
                         std::uint64_t most_passes) {
  std::vector<double> values(model.states(), 0);
  std::vector<double> backed_up(model.states());
  for (std::uint64_t pass = 1; pass <= most_passes; ++pass) {
    double least = 1e300;
    double most = -1e300;
    for (std::uint64_t state = 0; state < model.states(); ++state) {
      double best = -1e300;
      for (std::uint64_t row = model.state_rows()[state]; row < model.state_rows()[state + 1];
           ++row) {
        double sum = 0;
        for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
             ++k) {
          sum += model.probabilities()[k] * values[model.column(k)];
        }
        best = std::max(best, model.rewards()[row] + discount * sum);
      }
      backed_up[state] = best;
      least = std::min(least, best - values[state]);
      most = std::max(most, best - values[state]);
    }
    values.swap(backed_up);
    if (discount / (1 - discount) * (most - least) <= tolerance) return pass;
  }
  return most_passes;
}

TEST(FullChain, MixesSlowlyAndGarnetFast) {
  EXPECT_GE(SpanPasses(Generated({.kind = "chain"}), .999, 1e-6, 5000), 5000);
  EXPECT_LT(SpanPasses(Generated({.kind = "garnet"}), .999, 1e-6, 5000), 100);
}

// ---- forest ----

// The example's matrices with S = 3, r1 = 4, r2 = 2, p = .1, as every toolbox prints them.
TEST(Forest, ThreeAgesAreTheKnownMatrices) {
  const Model model = Generated({.kind = "forest", .states = 3});
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{0, .1}, {1, .9}}));
  EXPECT_EQ(NextStates(model, 1, 0), (Distribution{{0, .1}, {2, .9}}));
  EXPECT_EQ(NextStates(model, 2, 0), (Distribution{{0, .1}, {2, .9}}));
  for (std::uint64_t age = 0; age < 3; ++age) {
    EXPECT_EQ(NextStates(model, age, 1), (Distribution{{0, 1}}));
  }
  EXPECT_EQ(std::vector<double>(model.rewards().begin(), model.rewards().end()),
            (std::vector<double>{0, 0, 0, 1, 4, 2}));
}

TEST(Forest, RewardsAndFireAreOptions) {
  const Model model =
      Generated({.kind = "forest", .states = 2, .fire = 1, .wait_reward = -3, .cut_reward = 8});
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{0, 1}}));
  EXPECT_EQ(RewardOf(model, 1, 0), -3);
  EXPECT_EQ(RewardOf(model, 1, 1), 8);
}

// ---- queues ----

// Two queues of one job, load 3/2: μ = (1, 3/4), λ = (3/4, 9/16), clock 1 + 21/16 = 37/16.
TEST(Queues, TwoQueuesOfOneJobByHand) {
  const Model model = Generated({.kind = "queues", .queues = 2, .capacity = 1, .load = 1.5});
  ASSERT_EQ(model.states(), 4);
  const auto expect = [&](std::uint64_t state, std::uint64_t action, const Distribution& expected) {
    const Distribution found = NextStates(model, state, action);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [next, parts] : expected) EXPECT_NEAR(found.at(next), parts / 37, 1e-15);
  };
  expect(0, 0, {{0, 16}, {1, 9}, {2, 12}});      // nothing to serve
  expect(1, 1, {{0, 12}, {1, 4 + 9}, {3, 12}});  // the second is full and served
  expect(1, 0, {{1, 16 + 9}, {3, 12}});          // the server idles at the first
  expect(2, 0, {{0, 16}, {2, 12}, {3, 9}});      // the first is full and served
  expect(3, 0, {{1, 16}, {3, 12 + 9}});
  expect(3, 1, {{2, 12}, {3, 4 + 12 + 9}});
  EXPECT_EQ(RewardOf(model, 0, 0), 0);
  EXPECT_EQ(RewardOf(model, 1, 0), -2);
  EXPECT_EQ(RewardOf(model, 2, 1), -1);
  EXPECT_EQ(RewardOf(model, 3, 1), -3);
}

TEST(Queues, SizesFollowFromCapacityOrStates) {
  EXPECT_EQ(Generated({.kind = "queues"}).states(), 316 * 316);
  EXPECT_EQ(Generated({.kind = "queues", .queues = 3, .capacity = 4}).states(), 125);
  EXPECT_EQ(Generated({.kind = "queues", .states = 126, .queues = 3}).states(), 216);
  EXPECT_EQ(Analyse(Generated({.kind = "queues", .states = 900})).components, 1);
  // Without arrivals the queues only drain.
  EXPECT_EQ(Analyse(Generated({.kind = "queues", .capacity = 3, .load = 0})).components, 16);
}

// ---- inventory ----

// One customer: buys with probability 1/4 in season 0 and 3/4 in season 1 of 2.
TEST(Inventory, OneCustomerByHand) {
  const Model model =
      Generated({.kind = "inventory", .capacity = 2, .seasons = 2, .lot = 1, .customers = 1});
  ASSERT_EQ(model.states(), 6);
  EXPECT_EQ(model.actions(0), 3);
  EXPECT_EQ(model.actions(1), 2);
  EXPECT_EQ(model.actions(2), 1);
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{3, 1}}));
  EXPECT_EQ(RewardOf(model, 0, 0), 0);
  // Two pieces ordered in season 0: 2·¼ − 5 − 2 − .002·(2 − ¼).
  EXPECT_EQ(NextStates(model, 0, 2), (Distribution{{4, .25}, {5, .75}}));
  EXPECT_NEAR(RewardOf(model, 0, 2), .5 - 7 - .0035, 1e-14);
  // One piece in stock in season 1, nothing ordered; the year starts over.
  EXPECT_EQ(NextStates(model, 4, 0), (Distribution{{0, .75}, {1, .25}}));
  EXPECT_NEAR(RewardOf(model, 4, 0), 1.5 - .0005, 1e-14);
}

// With stock to spare the number sold is binomial: mean n·p.
TEST(Inventory, DemandIsBinomial) {
  const Model model =
      Generated({.kind = "inventory", .capacity = 40, .seasons = 1, .lot = 40, .customers = 12});
  double mean = 0;
  double square = 0;
  for (const auto& [next, probability] : NextStates(model, 40, 0)) {
    const double sold = 40 - static_cast<double>(next);
    mean += probability * sold;
    square += probability * sold * sold;
  }
  EXPECT_NEAR(mean, 12 * .25, 1e-13);
  EXPECT_NEAR(square - mean * mean, 12 * .25 * .75, 1e-12);
  EXPECT_NEAR(NextStates(model, 40, 0).at(40), std::pow(.75, 12), 1e-15);
  // Two pieces cannot serve more than two.
  EXPECT_EQ(NextStates(model, 2, 0).size(), 3);
  EXPECT_NEAR(NextStates(model, 2, 0).at(2), std::pow(.75, 12), 1e-15);
}

TEST(Inventory, SizesFollowFromCapacityOrStates) {
  const Model model = Generated({.kind = "inventory"});
  EXPECT_EQ(model.states(), 104000);
  EXPECT_EQ(model.actions(0), 8);
  EXPECT_EQ(model.actions(1999), 1);
  EXPECT_EQ(Generated({.kind = "inventory", .states = 1001, .seasons = 10}).states(), 1010);
}

// ---- random walk ----

TEST(RandomWalk, ARingByHand) {
  const Model model = Generated({.kind = "random-walk", .states = 5, .dimensions = 1, .drift = .5});
  EXPECT_EQ(model.states(), 5);
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{1, .25}, {4, .75}}));
  EXPECT_EQ(NextStates(model, 0, 1), (Distribution{{1, .75}, {4, .25}}));
  EXPECT_EQ(NextStates(model, 4, 1), (Distribution{{0, .75}, {3, .25}}));
}

TEST(RandomWalk, ATorusHasFourNeighboursEach) {
  const Model model = Generated({.kind = "random-walk", .states = 16, .drift = .5});
  EXPECT_EQ(model.states(), 16);
  // State 5 lies at (1, 1): its neighbours are (0, 1), (1, 0), (1, 2), (2, 1).
  EXPECT_EQ(NextStates(model, 5, 0), (Distribution{{1, .625}, {4, .125}, {6, .125}, {9, .125}}));
  // State 0 wraps around: (3, 0), (0, 3), (0, 1), (1, 0).
  EXPECT_EQ(NextStates(model, 0, 1), (Distribution{{12, .125}, {3, .625}, {1, .125}, {4, .125}}));
}

TEST(RandomWalk, RewardsBelongToStatesAndAreRare) {
  const Model model = Generated({.kind = "random-walk"});
  EXPECT_EQ(model.states(), 10000);
  double paying = 0;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    for (std::uint64_t action = 1; action < 4; ++action) {
      EXPECT_EQ(RewardOf(model, state, action), RewardOf(model, state, 0));
    }
    paying += RewardOf(model, state, 0) > 0 ? 1 : 0;
  }
  EXPECT_NEAR(paying, 100, 50);
  EXPECT_EQ(Generated({.kind = "random-walk", .states = 28, .dimensions = 3}).states(), 64);
}

// ---- size ----

TEST(FullGenerators, AMillionCellsTakeSeconds) {
  const Model model = GenerateModel({.kind = "grid", .states = 1000000});
  CheckCanonical(model.arrays(), "grid", 2);
  EXPECT_GT(model.states(), 690000);
}

}  // namespace stableaa::generators_test
