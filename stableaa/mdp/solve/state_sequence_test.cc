#include "stableaa/mdp/solve/state_sequence.h"

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

namespace stableaa::state_sequence_test {

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

TEST(StateSequence, IsAPermutation) {
  for (const Model& model : Models()) {
    for (const StateOrder kind : {StateOrder::kBfs, StateOrder::kModel}) {
      std::vector<std::uint32_t> states = FindStateSequence(model, kind).states;
      std::ranges::sort(states);
      std::vector<std::uint32_t> all(model.states());
      std::iota(all.begin(), all.end(), 0U);
      ASSERT_EQ(states, all);
    }
  }
}

TEST(StateSequence, BreadthFirstGoesOutwardsFromTheGoals) {
  for (const Model& model : Models()) {
    const std::vector<std::uint32_t> states = FindStateSequence(model, StateOrder::kBfs).states;
    const std::vector<std::uint64_t> distances = Distances(model);
    for (std::size_t i = 1; i < states.size(); ++i) {
      ASSERT_LE(distances[states[i - 1]], distances[states[i]]);
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

using States = std::vector<std::uint32_t>;

States Outwards(const std::vector<double>& rewards, bool absorbing_end) {
  return FindStateSequence(Row(rewards, absorbing_end), StateOrder::kBfs).states;
}

TEST(StateSequence, GoalsAreAbsorbingStatesBetterThanTheWorst) {
  // The end absorbs at 0; better rewards elsewhere do not matter.
  EXPECT_EQ(Outwards({5, -1, -1, -1, 0}, true), (States{4, 3, 2, 1, 0}));
}

TEST(StateSequence, ATrapThatPaysTheWorstIsNoGoal) {
  // Outwards from state 0, which has the best reward.
  EXPECT_EQ(Outwards({5, -1, -1, -1, -1}, true), (States{0, 1, 2, 3, 4}));
}

TEST(StateSequence, WithoutAbsorbingStatesGoalsAreThoseWithTheBestReward) {
  EXPECT_EQ(Outwards({0, 0, 7, 0, 0}, false).front(), 2);
  EXPECT_EQ(Outwards({7, 0, 0, 0, 0}, false), (States{0, 1, 2, 3, 4}));
  EXPECT_EQ(Outwards({0, 0, 0, 0, 7}, false), (States{4, 3, 2, 1, 0}));
}

}  // namespace stableaa::state_sequence_test
