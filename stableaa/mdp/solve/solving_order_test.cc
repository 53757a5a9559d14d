#include "stableaa/mdp/solve/solving_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/components.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"

namespace stableaa::solving_order_test {

SolvingOrder OrderOf(const Model& model, StateOrder order) {
  return FindSolvingOrder(model, FindStateSequence(model, order));
}

constexpr std::uint64_t kFar = std::numeric_limits<std::uint64_t>::max();

// Calls visit(state, next) for every transition.
template <typename Visit>
void VisitTransitions(const Model& model, const Visit& visit) {
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    for (std::uint64_t k = model.row_transitions()[model.state_rows()[s]];
         k < model.row_transitions()[model.state_rows()[s + 1]]; ++k) {
      visit(s, model.column(k));
    }
  }
}

// As the header says, computed differently.
std::vector<bool> ExpectedGoals(const Model& model) {
  const auto [worst, best] = std::ranges::minmax(model.rewards());
  std::vector<bool> absorbing(model.states(), true);
  VisitTransitions(model, [&](std::uint64_t s, std::uint64_t next) {
    if (s != next) absorbing[s] = false;
  });
  std::vector<double> most(model.states(), -std::numeric_limits<double>::infinity());
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    for (std::uint64_t row = model.state_rows()[s]; row < model.state_rows()[s + 1]; ++row) {
      most[s] = std::max(most[s], model.rewards()[row]);
    }
    if (most[s] <= worst) absorbing[s] = false;
  }
  if (std::ranges::find(absorbing, true) != absorbing.end()) return absorbing;
  std::vector<bool> paying(model.states());
  for (std::uint64_t s = 0; s < model.states(); ++s) paying[s] = most[s] == best;
  return paying;
}

// Steps to the nearest goal, by Bellman and Ford's rounds.
std::vector<std::uint64_t> Distances(const Model& model) {
  const std::vector<bool> goals = ExpectedGoals(model);
  std::vector<std::uint64_t> distances(model.states(), kFar);
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    if (goals[s]) distances[s] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    VisitTransitions(model, [&](std::uint64_t s, std::uint64_t next) {
      if (distances[next] != kFar && distances[next] + 1 < distances[s]) {
        distances[s] = distances[next] + 1;
        changed = true;
      }
    });
  }
  return distances;
}

// The states by place.
std::vector<std::uint64_t> OldNumbers(const SolvingOrder& order) {
  std::vector<std::uint64_t> old(order.places.size(), kFar);
  for (std::uint64_t s = 0; s < old.size(); ++s) {
    EXPECT_LT(order.places[s], old.size());
    EXPECT_EQ(old[order.places[s]], kFar) << "twice";
    EXPECT_EQ(order.states[order.places[s]], s);
    old[order.places[s]] = s;
  }
  return old;
}

void ExpectComponentsInOrder(const Model& model, const SolvingOrder& order) {
  const Components components = FindComponents(model);
  ASSERT_EQ(order.components.size(), components.count + 1);
  EXPECT_EQ(order.components.front(), 0);
  EXPECT_EQ(order.components.back(), model.states());
  const std::vector<std::uint64_t> old = OldNumbers(order);
  for (std::size_t c = 0; c < components.count; ++c) {
    ASSERT_LT(order.components[c], order.components[c + 1]);
    for (std::uint64_t i = order.components[c]; i < order.components[c + 1]; ++i) {
      EXPECT_EQ(components.component_of_state[old[i]],
                components.component_of_state[old[order.components[c]]]);
    }
  }
  VisitTransitions(model, [&](std::uint64_t s, std::uint64_t next) {
    if (components.component_of_state[s] == components.component_of_state[next]) return;
    EXPECT_GT(order.places[s], order.places[next]);
  });
}

std::vector<Model> Models() {
  std::vector<Model> models;
  for (std::uint64_t seed = 0; seed < 400; ++seed) models.push_back(RandomModel(seed, 30));
  for (const bool shuffle : {false, true}) {
    models.push_back(GenerateModel({.kind = "grid", .shuffle = shuffle, .width = 30}));
    models.push_back(GenerateModel({.kind = "maze", .shuffle = shuffle, .width = 31}));
    models.push_back(GenerateModel({.kind = "chain", .shuffle = shuffle, .states = 200}));
    models.push_back(GenerateModel({.kind = "garnet", .shuffle = shuffle, .states = 200}));
  }
  return models;
}

TEST(SolvingOrder, IsAPermutationWithComponentsInReverseTopologicalOrder) {
  for (const Model& model : Models()) {
    for (const StateOrder kind : {StateOrder::kBfs, StateOrder::kModel}) {
      ExpectComponentsInOrder(model, OrderOf(model, kind));
      if (HasFailure()) return;
    }
  }
}

TEST(SolvingOrder, AsInTheModelKeepsTheNumbersWithinComponents) {
  for (const Model& model : Models()) {
    const SolvingOrder order = OrderOf(model, StateOrder::kModel);
    const std::vector<std::uint64_t> old = OldNumbers(order);
    for (std::size_t c = 0; c + 1 < order.components.size(); ++c) {
      for (std::uint64_t i = order.components[c] + 1; i < order.components[c + 1]; ++i) {
        ASSERT_LT(old[i - 1], old[i]);
      }
    }
  }
}

TEST(SolvingOrder, BreadthFirstGoesOutwardsFromTheGoalsWithinComponents) {
  for (const Model& model : Models()) {
    const SolvingOrder order = OrderOf(model, StateOrder::kBfs);
    const std::vector<std::uint64_t> old = OldNumbers(order);
    const std::vector<std::uint64_t> distances = Distances(model);
    for (std::size_t c = 0; c + 1 < order.components.size(); ++c) {
      for (std::uint64_t i = order.components[c] + 1; i < order.components[c + 1]; ++i) {
        ASSERT_LE(distances[old[i - 1]], distances[old[i]]);
      }
    }
  }
}

// Whether every state reaches the first of the sequence, computed round by round.
bool AllReach(const Model& model, std::uint64_t first) {
  std::vector<bool> reaching(model.states(), false);
  reaching[first] = true;
  for (bool changed = true; changed;) {
    changed = false;
    VisitTransitions(model, [&](std::uint64_t s, std::uint64_t next) {
      if (!reaching[next] || reaching[s]) return;
      reaching[s] = true;
      changed = true;
    });
  }
  return std::ranges::find(reaching, false) == reaching.end();
}

TEST(StateSequence, KnowsWhenAllStatesReachTheFirst) {
  int known = 0;
  for (const Model& model : Models()) {
    const StateSequence sequence = FindStateSequence(model, StateOrder::kBfs);
    if (!sequence.all_reach_first) continue;
    ++known;
    EXPECT_TRUE(AllReach(model, sequence.states.front()));
  }
  EXPECT_GT(known, 50);
  for (const bool shuffle : {false, true}) {
    const Model forest = GenerateModel({.kind = "forest", .shuffle = shuffle, .states = 300});
    EXPECT_TRUE(FindStateSequence(forest, StateOrder::kBfs).all_reach_first);
    EXPECT_FALSE(FindStateSequence(forest, StateOrder::kModel).all_reach_first);  // not checked
  }
}

// States 0 – 1 – 2 – 3 – 4 in a row, moving left and right; `rewards` are for going right.
Model Row(const std::vector<double>& rewards, bool absorbing_end) {
  const std::uint64_t n = rewards.size();
  ModelBuilder builder([] { return std::string("row"); });
  for (std::uint64_t s = 0; s < n; ++s) {
    builder.BeginState();
    if (absorbing_end && s + 1 == n) {
      builder.Transition(s, 1);
      builder.EndRow(rewards[s]);
      continue;
    }
    builder.Transition(s == 0 ? 0 : s - 1, 1);
    builder.EndRow(-1);
    builder.Transition(std::min(s + 1, n - 1), 1);
    builder.EndRow(rewards[s]);
  }
  return builder.Finish(std::nullopt);
}

using Numbers = std::vector<std::uint32_t>;

TEST(SolvingOrder, GoalsAreAbsorbingStatesBetterThanTheWorst) {
  // The end absorbs at 0; better rewards elsewhere do not matter.
  EXPECT_EQ(OrderOf(Row({5, -1, -1, -1, 0}, true), StateOrder::kBfs).places,
            (Numbers{4, 3, 2, 1, 0}));
}

TEST(SolvingOrder, ATrapThatPaysTheWorstIsNoGoal) {
  const SolvingOrder order = OrderOf(Row({5, -1, -1, -1, -1}, true), StateOrder::kBfs);
  // The trap comes first, as its own component, then outwards from state 0.
  EXPECT_EQ(order.places, (Numbers{1, 2, 3, 4, 0}));
  EXPECT_EQ(order.components, (std::vector<std::uint64_t>{0, 1, 5}));
}

TEST(SolvingOrder, WithoutAbsorbingStatesGoalsAreThoseWithTheBestReward) {
  EXPECT_EQ(OrderOf(Row({0, 0, 7, 0, 0}, false), StateOrder::kBfs).places[2], 0);
  const SolvingOrder from_zero = OrderOf(Row({7, 0, 0, 0, 0}, false), StateOrder::kBfs);
  EXPECT_EQ(from_zero.places, (Numbers{0, 1, 2, 3, 4}));
  const SolvingOrder back = OrderOf(Row({0, 0, 0, 0, 7}, false), StateOrder::kBfs);
  EXPECT_EQ(back.places, (Numbers{4, 3, 2, 1, 0}));
}

}  // namespace stableaa::solving_order_test
