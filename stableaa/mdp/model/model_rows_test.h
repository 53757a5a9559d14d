// For tests that inspect models row by row.
#ifndef STABLEAA_MDP_MODEL_MODEL_ROWS_TEST_H_
#define STABLEAA_MDP_MODEL_MODEL_ROWS_TEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {

using Distribution = std::map<std::uint64_t, double>;

// The next states of an action.
inline Distribution NextStates(const Model& model, std::uint64_t state, std::uint64_t action) {
  const std::uint64_t row = model.state_rows()[state] + action;
  Distribution next;
  for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1]; ++k) {
    next[model.column(k)] = model.probabilities()[k];
  }
  return next;
}

inline double RewardOf(const Model& model, std::uint64_t state, std::uint64_t action) {
  return model.rewards()[model.state_rows()[state] + action];
}

// A model with equally likely next states, one action per list: graph[state][action] is the list.
using Graph = std::vector<std::vector<std::vector<std::uint64_t>>>;

inline Model ModelOfGraph(const Graph& graph, bool wide = false) {
  ModelBuilder builder([] { return std::string("graph"); });
  if (wide) builder.UseWideColumns();
  for (const auto& actions : graph) {
    builder.BeginState();
    for (const auto& next : actions) {
      for (const std::uint64_t state : next) {
        builder.Transition(state, 1 / static_cast<double>(next.size()));
      }
      builder.EndRow(0);
    }
  }
  return builder.Finish(std::nullopt);
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_MODEL_ROWS_TEST_H_
