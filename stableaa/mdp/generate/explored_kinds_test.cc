#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stableaa/mdp/generate/generated_model_test.h"
#include "stableaa/mdp/generate/generator_kinds.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/components.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/model_rows_test.h"
#include "stableaa/mdp/model/structure.h"

namespace stableaa::explored_kinds_test {

constexpr std::uint64_t kNotReached = std::numeric_limits<std::uint64_t>::max();

// The states in the order in which a breadth-first search from state 0 finds them, and how many
// steps away each is.
struct Search {
  std::vector<std::uint64_t> order;
  std::vector<std::uint64_t> depth;

  explicit Search(const Model& model) : depth(model.states(), kNotReached) {
    std::queue<std::uint64_t> open({0});
    depth[0] = 0;
    for (; !open.empty(); open.pop()) {
      const std::uint64_t state = open.front();
      order.push_back(state);
      for (std::uint64_t action = 0; action < model.actions(state); ++action) {
        for (const auto& [next, probability] : NextStates(model, state, action)) {
          if (depth[next] != kNotReached) continue;
          depth[next] = depth[state] + 1;
          open.push(next);
        }
      }
    }
  }
};

bool Absorbs(const Model& model, std::uint64_t state) {
  return model.actions(state) == 1 && NextStates(model, state, 0) == Distribution{{state, 1}};
}

void ExpectNumberedAsFound(const Model& model, const std::string& what) {
  const Search search(model);
  ASSERT_EQ(search.order.size(), model.states()) << what << ": not all states are reachable";
  EXPECT_TRUE(std::ranges::is_sorted(search.order)) << what;
}

// How often each size of a component occurs.
std::map<std::uint64_t, std::uint64_t> SizesOfComponents(const Model& model) {
  std::map<std::uint64_t, std::uint64_t> sizes;
  for (const std::uint64_t size : ComponentSizes(FindComponents(model))) ++sizes[size];
  return sizes;
}

// A share of `count` draws is this close to its probability, but for one time in a million.
double ShareTolerance(double probability, double count) {
  return 5 * std::sqrt(probability * (1 - probability) / count);
}

// ---- all of them ----

TEST(ExploredModels, StatesAreNumberedInTheOrderOfABreadthFirstSearch) {
  for (const std::string kind : {"layered", "rooms", "timers", "cycle"}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      ExpectNumberedAsFound(Generated({.kind = kind, .seed = seed, .states = 5000}), kind);
    }
    ExpectNumberedAsFound(Generated({.kind = kind}), kind);
  }
}

TEST(ExploredModels, TheSmallestOnesAreModelsToo) {
  for (std::uint64_t states = 1; states <= 40; ++states) {
    ExpectNumberedAsFound(Generated({.kind = "layered", .states = states}), "layered");
    if (states >= 2) ExpectNumberedAsFound(Generated({.kind = "cycle", .states = states}), "cycle");
    if (states >= 3) ExpectNumberedAsFound(Generated({.kind = "rooms", .states = states}), "rooms");
  }
}

TEST(ExploredModels, SizesAreExactExceptThatTimersHaveWholeTicks) {
  for (const std::uint64_t states : {1000, 4567, 20001}) {
    for (const std::string kind : {"layered", "rooms", "cycle"}) {
      EXPECT_EQ(Generated({.kind = kind, .states = states}).states(), states) << kind;
    }
    // Attempts 1 to 5: 1364 + 32 states per tick and 129 others.
    const std::uint64_t found = Generated({.kind = "timers", .states = states}).states();
    EXPECT_GE(found, states);
    EXPECT_LT(found, std::max<std::uint64_t>(states, 129) + 1396);
    EXPECT_EQ((found - 129) % 1396, 0);
  }
}

TEST(NumberBreadthFirst, NumbersByActionThenByTheOldNumbers) {
  //  0 → 4, then {2, 3}; 4 → 1.
  const Model model = ModelOfGraph({{{4}, {3, 2}}, {{1}}, {{2}}, {{0}}, {{1}}});
  // 4 becomes 1, 2 stays, 3 stays, 1 becomes 4.
  const Model expected = ModelOfGraph({{{1}, {2, 3}}, {{4}}, {{2}}, {{0}}, {{4}}});
  EXPECT_EQ(NumberBreadthFirst(model), expected);
  EXPECT_EQ(NumberBreadthFirst(expected), expected);
}

// ---- layered ----

TEST(Layered, ActionsLeadToTheNextLayerOrBackToOneOfTheLastEight) {
  const Model model = Generated({.kind = "layered", .states = 20000, .layers = 100, .retries = .3});
  const Search search(model);
  EXPECT_EQ(std::ranges::max(search.depth), 99);
  double retries = 0;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    if (search.depth[state] == 99) continue;
    for (std::uint64_t action = 0; action < model.actions(state); ++action) {
      double back = 0;
      for (const auto& [next, probability] : NextStates(model, state, action)) {
        if (search.depth[next] == search.depth[state] + 1) continue;
        EXPECT_LE(next, state);
        EXPECT_GE(search.depth[next] + 8, search.depth[state]);
        EXPECT_EQ(probability, .1);
        ++back;
      }
      ASSERT_LE(back, 1);
      retries += back;
    }
  }
  const auto rows = static_cast<double>(model.rows());
  // The last layer cannot fail.
  EXPECT_NEAR(retries / rows, .3, ShareTolerance(.3, rows) + .01);
}

TEST(Layered, TheLastLayerIsOfGoals) {
  const Model model = Generated({.kind = "layered", .states = 9000, .layers = 60});
  const Search search(model);
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    ASSERT_EQ(Absorbs(model, state), search.depth[state] == 59) << state;
    if (search.depth[state] == 59) {
      EXPECT_EQ(RewardOf(model, state, 0), 0);
    }
  }
  EXPECT_EQ(Analyse(model).closed_components, Analyse(model).absorbing);
}

TEST(Layered, LayersDoubleUntilAllHaveTheSameWidth) {
  const auto widths = [](std::uint64_t states, std::uint64_t layers) {
    const Search search(
        Generated({.kind = "layered", .states = states, .layers = layers, .retries = 0}));
    std::vector<std::uint64_t> counts(layers, 0);
    for (const std::uint64_t depth : search.depth) ++counts.at(depth);
    return counts;
  };
  using Widths = std::vector<std::uint64_t>;
  EXPECT_EQ(widths(1, 1), (Widths{1}));
  EXPECT_EQ(widths(7, 3), (Widths{1, 2, 4}));
  EXPECT_EQ(widths(8, 4), (Widths{1, 2, 3, 2}));
  EXPECT_EQ(widths(5, 5), (Widths{1, 1, 1, 1, 1}));
  EXPECT_EQ(widths(6, 5), (Widths{1, 2, 1, 1, 1}));
  EXPECT_EQ(widths(40, 8), (Widths{1, 2, 4, 7, 7, 7, 6, 6}));
}

TEST(Layered, ComponentsAreSingleStatesWithoutRetriesAndFewWithSome) {
  const auto sizes = [](double retries) {
    return SizesOfComponents(Generated({.kind = "layered", .retries = retries}));
  };
  EXPECT_EQ(sizes(0), (std::map<std::uint64_t, std::uint64_t>{{1, 50000}}));
  const auto some = sizes(.02);
  EXPECT_GT(some.at(1), 25000);
  EXPECT_GT(some.rbegin()->first, 100);
  EXPECT_LT(some.rbegin()->first, 5000);
  EXPECT_GT(sizes(.1).rbegin()->first, 45000);
}

TEST(Layered, ChoicesAndRewardsHaveTheirShares) {
  const Model model =
      Generated({.kind = "layered", .reward_share = .2, .choices = .25, .retries = .02});
  double several = 0;
  double paying = 0;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    EXPECT_LE(model.actions(state), 3);
    several += model.actions(state) > 1 ? 1 : 0;
    const double reward = RewardOf(model, state, 0);
    EXPECT_TRUE(reward == 0 || reward == 1);
    for (std::uint64_t action = 1; action < model.actions(state); ++action) {
      EXPECT_EQ(RewardOf(model, state, action), reward);
    }
    paying += reward;
  }
  // The goals, one layer of 224, have neither.
  EXPECT_NEAR(several / 50000, .25, ShareTolerance(.25, 50000) + .25 / 200);
  EXPECT_NEAR(paying / 50000, .2, ShareTolerance(.2, 50000) + .2 / 200);
}

TEST(Layered, LayersThatCannotHoldTheStatesAreRefused) {
  EXPECT_EQ(RefusalOf({.kind = "layered", .states = 1000, .layers = 9}),
            "layered: layers: expected 10 to 1000 with 1000 states, found 9");
  EXPECT_EQ(RefusalOf({.kind = "layered", .states = 1000, .layers = 1001}),
            "layered: layers: expected 10 to 1000 with 1000 states, found 1001");
  EXPECT_EQ(Generated({.kind = "layered", .states = 1000, .layers = 10}).states(), 1000);
  EXPECT_EQ(Generated({.kind = "layered", .states = 1000, .layers = 1000}).states(), 1000);
}

// ---- rooms ----

TEST(Rooms, ComponentsAreRoomsOfTheGivenSizesTrapsAndTheGoal) {
  const Model model = Generated({.kind = "rooms", .smallest = 3, .largest = 9, .traps = .1});
  const Components components = FindComponents(model);
  const std::vector<std::uint64_t> sizes = ComponentSizes(components);
  std::map<std::uint64_t, std::uint64_t> counts;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    const std::uint64_t size = sizes[components.component_of_state[state]];
    ++counts[size];
    EXPECT_EQ(size == 1, Absorbs(model, state)) << state;
  }
  std::vector<std::uint64_t> found;
  for (const auto& [size, states] : counts) found.push_back(size);
  EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 3, 4, 5, 6, 7, 8, 9}));
  const auto rooms = static_cast<double>(components.count);
  EXPECT_GT(rooms, 8000);
  EXPECT_NEAR(static_cast<double>(counts.at(1)) / rooms, .1, ShareTolerance(.1, rooms) + 3 / rooms);
}

TEST(Rooms, EqualSizesLeaveTheRestToTraps) {
  // 256 rooms and the goal; then 93 more states than that.
  const GeneratorOptions options = {
      .kind = "rooms", .states = 256 * 94 + 1, .smallest = 94, .largest = 94, .traps = 0};
  EXPECT_EQ(SizesOfComponents(Generated(options)),
            (std::map<std::uint64_t, std::uint64_t>{{1, 1}, {94, 256}}));
  GeneratorOptions more = options;
  *more.states += 93;
  EXPECT_EQ(SizesOfComponents(Generated(more)),
            (std::map<std::uint64_t, std::uint64_t>{{1, 94}, {94, 256}}));
}

// The goal is the state whose entering pays: there is one, it absorbs, and every other open room
// leads on, since all that is closed absorbs.
TEST(Rooms, EnteringTheGoalPaysItsProbability) {
  const Model model = Generated({.kind = "rooms", .states = 6000});
  std::uint64_t goal = kNotReached;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    for (std::uint64_t action = 0; action < model.actions(state); ++action) {
      if (RewardOf(model, state, action) < .9) continue;
      for (const auto& [next, probability] : NextStates(model, state, action)) {
        if (probability < .9) continue;
        EXPECT_TRUE(goal == kNotReached || goal == next);
        goal = next;
      }
    }
  }
  ASSERT_NE(goal, kNotReached);
  EXPECT_TRUE(Absorbs(model, goal));
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    for (std::uint64_t action = 0; action < model.actions(state); ++action) {
      const Distribution next = NextStates(model, state, action);
      const double entering = state != goal && next.contains(goal) ? next.at(goal) : 0;
      EXPECT_EQ(RewardOf(model, state, action), entering) << state;
    }
  }
  const ModelStructure structure = Analyse(model);
  EXPECT_EQ(structure.closed_components, structure.absorbing);
}

TEST(Rooms, PassagesGoBothWaysAndDoorsOneWay) {
  const Model model = Generated({.kind = "rooms", .states = 6000});
  const Components components = FindComponents(model);
  const auto component = [&](std::uint64_t state) { return components.component_of_state[state]; };
  const auto leads = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t action = 0; action < model.actions(from); ++action) {
      if (NextStates(model, from, action).contains(to)) return true;
    }
    return false;
  };
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    if (Absorbs(model, state)) continue;
    for (std::uint64_t action = 0; action < model.actions(state); ++action) {
      const Distribution next = NextStates(model, state, action);
      if (component(next.begin()->first) == component(state)) {
        ASSERT_EQ(next.size(), 1);
        EXPECT_TRUE(leads(next.begin()->first, state));
        continue;
      }
      for (const auto& [to, probability] : next) {
        EXPECT_LT(component(to), component(state));
        EXPECT_TRUE(probability == .1 || probability == .9 || probability == 1);
      }
    }
  }
}

TEST(Rooms, SizesFollowEachOtherAndWrongOnesAreRefused) {
  const auto largest = [](const GeneratorOptions& options) {
    return SizesOfComponents(Generated(options)).rbegin()->first;
  };
  EXPECT_EQ(largest({.kind = "rooms"}), 8);
  EXPECT_EQ(largest({.kind = "rooms", .smallest = 20}), 20);
  EXPECT_EQ(largest({.kind = "rooms", .largest = 1}), 1);
  EXPECT_EQ(RefusalOf({.kind = "rooms", .smallest = 5, .largest = 4}),
            "rooms: smallest: expected at most the 4 of the largest room, found 5");
  EXPECT_EQ(RefusalOf({.kind = "rooms", .states = 90, .smallest = 90}),
            "rooms: smallest: expected at most 89, all states but one, found 90");
}

// ---- timers ----

// The stations again, as a verification tool would explore them from their description: a state is
// a tuple, found states go into a map, and a queue decides who is next.
class ExploredTimers {
 public:
  enum Phase : std::uint8_t { kDraw, kHalf, kCount, kLeft, kAgain, kRest, kDone };
  // Phase, attempt, the slots left of both stations, ticks passed.
  using State = std::tuple<Phase, int, int, int, int>;

  ExploredTimers(int attempts, int ticks, double noise)
      : attempts_(attempts), ticks_(ticks), noise_(noise) {}

  Model Explore() {
    ModelBuilder builder([] { return std::string("timers"); });
    Number({kDraw, 1, 0, 0, 0});
    for (std::size_t visited = 0; visited < found_.size(); ++visited) {
      builder.BeginState();
      for (const Action& action : Actions(found_[visited])) {
        for (const auto& [next, probability] : action.next) {
          if (probability > 0) builder.Transition(Number(next), probability);
        }
        builder.EndRow(action.reward);
      }
    }
    return builder.Finish(std::nullopt);
  }

 private:
  struct Action {
    double reward;
    std::vector<std::pair<State, double>> next;
  };

  std::uint64_t Number(const State& state) {
    const auto [place, is_new] = numbers_.emplace(state, found_.size());
    if (is_new) found_.push_back(state);
    return place->second;
  }

  template <typename Next>
  static Action Uniform(int attempt, const Next& next) {
    Action action{.reward = 0, .next = {}};
    const int slots = 1 << attempt;
    for (int slot = 0; slot < slots; ++slot) action.next.emplace_back(next(slot), 1.0 / slots);
    return action;
  }

  std::vector<Action> Actions(const State& state) const {
    const auto [phase, k, i, j, t] = state;
    const int later = std::min(k + 1, attempts_);
    switch (phase) {
      case kDraw:
        return {Uniform(k, [k = k](int slot) { return State{kHalf, k, slot, 0, 0}; })};
      case kHalf:
        return {Uniform(k, [k = k, i = i](int slot) { return State{kCount, k, i, slot, 0}; })};
      case kAgain:
        return {Uniform(k, [](int slot) { return State{kRest, 0, slot, 0, 0}; })};
      case kLeft:
        return {{0, {{State{kRest, 0, i, 0, 0}, 1.0}}},
                {0, {{State{kRest, 0, 0, 0, 0}, .5}, {State{kAgain, later, 0, 0, 0}, .5}}}};
      case kDone:
        return {{0, {{state, 1.0}}}};
      case kCount:
      case kRest:
        break;
    }
    if (t + 1 < ticks_) return {{1, {{State{phase, k, i, j, t + 1}, 1.0}}}};
    if (phase == kRest && i == 0) {
      return {
          {1,
           {{State{kAgain, attempts_, 0, 0, 0}, noise_}, {State{kDone, 0, 0, 0, 0}, 1 - noise_}}}};
    }
    if (phase == kRest) return {{1, {{State{kRest, 0, i - 1, 0, 0}, 1.0}}}};
    if (i > 0 && j > 0) return {{1, {{State{kCount, k, i - 1, j - 1, 0}, 1.0}}}};
    if (i == j) return {{1, {{State{kDraw, later, 0, 0, 0}, 1.0}}}};
    return {{1, {{State{kLeft, k, std::max(i, j), 0, 0}, 1.0}}}};
  }

  int attempts_;
  int ticks_;
  double noise_;
  std::map<State, std::uint64_t> numbers_;
  std::vector<State> found_;
};

TEST(Timers, AreWhatTheirDescriptionExplores) {
  for (int attempts = 1; attempts <= 4; ++attempts) {
    for (const int ticks : {1, 2, 5}) {
      for (const double noise : {0.0, .1, .75}) {
        const Model explored = ExploredTimers(attempts, ticks, noise).Explore();
        EXPECT_EQ(Generated({.kind = "timers",
                             .states = explored.states(),
                             .noise = noise,
                             .attempts = static_cast<std::uint64_t>(attempts)}),
                  explored)
            << attempts << " attempts, " << ticks << " ticks, noise " << noise;
      }
    }
  }
}

// One more state takes one more tick per slot.
TEST(Timers, StatesMeanTheFewestTicksWithSoMany) {
  const auto states = [](std::uint64_t least) {
    return Generated({.kind = "timers", .states = least, .attempts = 1}).states();
  };
  EXPECT_EQ(states(1), 12);
  EXPECT_EQ(states(12), 12);
  EXPECT_EQ(states(13), 18);
}

// Both components come from the last attempt: equal slots, which collide and draw again, and the
// countdown of a station alone, which starts again after a loss.
TEST(Timers, TwoComponentsAmongSingleStates) {
  const std::uint64_t ticks = 36;
  const Model model = Generated({.kind = "timers"});
  EXPECT_EQ(model.states(), 129 + 1396 * ticks);
  EXPECT_EQ(
      SizesOfComponents(model),
      (std::map<std::uint64_t, std::uint64_t>{
          {1, model.states() - 34 - 64 * ticks}, {1 + 32 * ticks, 1}, {1 + 32 + 32 * ticks, 1}}));
}

TEST(Timers, AlmostEveryStateIsATickThatPaysOne) {
  const Model model = Generated({.kind = "timers", .attempts = 6});
  const auto paying = std::ranges::count(model.rewards(), 1.0);
  EXPECT_EQ(paying + std::ranges::count(model.rewards(), 0.0), model.rows());
  EXPECT_GT(static_cast<double>(paying), .99 * static_cast<double>(model.rows()));
  EXPECT_EQ(model.most_transitions(), 64);
  EXPECT_EQ(model.rows() - model.states(), 2 + 4 + 8 + 16 + 32 + 64 - 6);
}

// ---- cycle ----

TEST(Cycle, WithoutNoiseAndChoicesItIsARing) {
  const Model model = Generated({.kind = "cycle", .states = 500, .noise = 0, .choices = 0});
  EXPECT_EQ(model.transitions(), 500);
  for (std::uint64_t state = 0; state < 500; ++state) {
    EXPECT_EQ(NextStates(model, state, 0), (Distribution{{(state + 1) % 500, 1}}));
  }
}

// Without choices, falls leave the numbers alone.
TEST(Cycle, AThirdEachStaysFallsBackOrStartsOver) {
  const std::uint64_t states = 30000;
  const Model model = Generated({.kind = "cycle", .states = states, .noise = .25, .choices = 0});
  double stays = 0;
  double falls = 0;
  double starts_over = 0;
  for (std::uint64_t state = 100; state + 1 < states; ++state) {
    const Distribution next = NextStates(model, state, 0);
    ASSERT_EQ(next.size(), 2);
    EXPECT_EQ(next.at(state + 1), .75);
    const std::uint64_t fallen = next.begin()->first;
    EXPECT_EQ(next.at(fallen), .25);
    stays += fallen == state ? 1 : 0;
    starts_over += fallen == 0 ? 1 : 0;
    falls += fallen < state && fallen + 20 >= state ? 1 : 0;
  }
  EXPECT_EQ(stays + falls + starts_over, static_cast<double>(states - 101));
  for (const double count : {stays, falls, starts_over}) {
    EXPECT_NEAR(count / 30000, 1.0 / 3, ShareTolerance(1.0 / 3, 30000) + .004);
  }
}

TEST(Cycle, IsOneComponentWithItsShareOfChoices) {
  for (const double noise : {0.0, .001, .5}) {
    const Model model = Generated({.kind = "cycle", .reward_share = .3, .noise = noise});
    EXPECT_EQ(FindComponents(model).count, 1);
    EXPECT_NEAR(static_cast<double>(model.rows()) / 50000, 1.1, ShareTolerance(.1, 50000));
    double paying = 0;
    for (std::uint64_t state = 0; state < model.states(); ++state) {
      paying += RewardOf(model, state, 0);
      if (model.actions(state) > 1) {
        EXPECT_EQ(RewardOf(model, state, 1), 0);
      }
    }
    EXPECT_NEAR(paying / 50000, .3, ShareTolerance(.3, 50000));
  }
}

}  // namespace stableaa::explored_kinds_test
