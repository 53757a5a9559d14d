#include "stableaa/mdp/model/components.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/component_search.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/model_rows_test.h"

namespace stableaa::components_test {

// Floyd and Warshall's closure: reach[a][b] if b can be reached from a; every state reaches itself.
std::vector<std::vector<bool>> Reachability(const Graph& graph) {
  const std::size_t n = graph.size();
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
  for (std::size_t a = 0; a < n; ++a) {
    reach[a][a] = true;
    for (const auto& next : graph[a]) {
      for (const std::uint64_t b : next) reach[a][b] = true;
    }
  }
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (reach[a][via] && reach[via][b]) reach[a][b] = true;
      }
    }
  }
  return reach;
}

Graph RandomGraph(RandomStream& stream) {
  const std::uint64_t n = 1 + stream.Below(12);
  Graph graph(n);
  for (auto& actions : graph) {
    actions.resize(1 + stream.Below(2));
    for (auto& next : actions) {
      next.resize(1 + stream.Below(2));
      for (std::uint64_t& state : next) state = stream.Below(n);
    }
  }
  return graph;
}

void ExpectRight(const Graph& graph, const Components& found) {
  const auto reach = Reachability(graph);
  const auto& component = found.component_of_state;
  ASSERT_EQ(component.size(), graph.size());
  for (std::size_t a = 0; a < graph.size(); ++a) {
    ASSERT_LT(component[a], found.count);
    for (std::size_t b = 0; b < graph.size(); ++b) {
      EXPECT_EQ(component[a] == component[b], reach[a][b] && reach[b][a]);
      EXPECT_TRUE(!reach[a][b] || component[a] >= component[b]);
    }
  }
}

TEST(Components, AreMutualReachabilityInReverseTopologicalOrder) {
  RandomStream stream(1, "components");
  bool several = false;
  for (int trial = 0; trial < 2000; ++trial) {
    const Graph graph = RandomGraph(stream);
    const Components found = FindComponents(ModelOfGraph(graph));
    ExpectRight(graph, found);
    several |= found.count > 1 && found.count < graph.size();
    if (HasFailure()) return;
  }
  EXPECT_TRUE(several);
}

using Visits = std::vector<std::vector<std::uint32_t>>;

// The components in the order in which a search hands them over, up to `most` of them.
Visits VisitsOf(const Model& model, std::size_t most) {
  Visits visits;
  const auto visit = [&](std::span<const std::uint32_t> states) {
    visits.emplace_back(states.begin(), states.end());
    return visits.size() < most;
  };
  const bool finished = ComponentSearch(model, model.arrays().narrow_columns, visit).Run();
  EXPECT_EQ(finished, visits.size() < most);
  return visits;
}

TEST(ComponentSearch, HandsOverEachComponentAfterAllThatItLeadsTo) {
  RandomStream stream(6, "components");
  for (int trial = 0; trial < 2000; ++trial) {
    const Graph graph = RandomGraph(stream);
    const Model model = ModelOfGraph(graph);
    const Visits visits = VisitsOf(model, graph.size() + 1);
    Components found{.component_of_state = std::vector<std::uint32_t>(graph.size(), 99),
                     .count = visits.size()};
    std::size_t states = 0;
    for (std::uint32_t c = 0; c < visits.size(); ++c) {
      for (const std::uint32_t s : visits[c]) found.component_of_state[s] = c;
      states += visits[c].size();
    }
    EXPECT_EQ(states, graph.size());
    ExpectRight(graph, found);
    for (std::size_t most = 1; most <= visits.size(); ++most) {
      EXPECT_EQ(VisitsOf(model, most), Visits(visits.begin(), visits.begin() + most));
    }
    if (HasFailure()) return;
  }
}

// From state 0 along a line to 3, which leads back to 1: left are 3, then 2, then 1.
TEST(ComponentSearch, StatesComeAsTheSearchLeftThem) {
  const Model model = ModelOfGraph({{{1}}, {{2}}, {{3}}, {{1}}});
  EXPECT_EQ(VisitsOf(model, 10), (Visits{{3, 2, 1}, {0}}));
}

TEST(Components, SizesAndClosedOnesAgreeWithReachability) {
  RandomStream stream(2, "components");
  for (int trial = 0; trial < 500; ++trial) {
    const Graph graph = RandomGraph(stream);
    const Model model = ModelOfGraph(graph);
    const Components found = FindComponents(model);
    const auto reach = Reachability(graph);
    std::vector<std::uint64_t> sizes(found.count, 0);
    std::vector<bool> closed(found.count, true);
    for (std::size_t a = 0; a < graph.size(); ++a) {
      ++sizes[found.component_of_state[a]];
      for (std::size_t b = 0; b < graph.size(); ++b) {
        if (reach[a][b] && !reach[b][a]) closed[found.component_of_state[a]] = false;
      }
    }
    ASSERT_EQ(ComponentSizes(found), sizes);
    ASSERT_EQ(ClosedComponents(model, found), closed);
  }
}

TEST(Components, WideColumnsGiveTheSame) {
  RandomStream stream(3, "components");
  for (int trial = 0; trial < 100; ++trial) {
    const Graph graph = RandomGraph(stream);
    const Components narrow = FindComponents(ModelOfGraph(graph));
    const Components wide = FindComponents(ModelOfGraph(graph, true));
    EXPECT_EQ(narrow.component_of_state, wide.component_of_state);
    EXPECT_EQ(narrow.count, wide.count);
  }
}

TEST(Components, AbsorbingStatesAreComponentsOfTheirOwn) {
  constexpr std::uint64_t kStates = 1000;
  Graph graph;
  for (std::uint64_t state = 0; state < kStates; ++state) graph.push_back({{state}});
  const Model model = ModelOfGraph(graph);
  const Components found = FindComponents(model);
  EXPECT_EQ(found.count, kStates);
  EXPECT_EQ(ComponentSizes(found), std::vector<std::uint64_t>(kStates, 1));
  EXPECT_EQ(ClosedComponents(model, found), std::vector<bool>(kStates, true));
}

TEST(Components, AMillionStatesInARowNeedNoDeepStack) {
  constexpr std::uint64_t kStates = 1000000;
  ModelBuilder builder([] { return std::string("row"); });
  for (std::uint64_t state = 0; state < kStates; ++state) {
    builder.BeginState();
    builder.Transition(std::min(state + 1, kStates - 1), 1);
    builder.EndRow(0);
  }
  const Components found = FindComponents(builder.Finish(std::nullopt));
  EXPECT_EQ(found.count, kStates);
  // The end of the row comes first.
  EXPECT_EQ(found.component_of_state[kStates - 1], 0);
  EXPECT_EQ(found.component_of_state[0], kStates - 1);
}

// A ring against the order of the states, which the quick test cannot show.
TEST(Components, ALongRingIsOneComponent) {
  constexpr std::uint64_t kStates = 100000;
  ModelBuilder builder([] { return std::string("ring"); });
  for (std::uint64_t state = 0; state < kStates; ++state) {
    builder.BeginState();
    builder.Transition((state + kStates - 1) % kStates, 1);
    builder.EndRow(0);
  }
  const Components found = FindComponents(builder.Finish(std::nullopt));
  EXPECT_EQ(found.count, 1);
  EXPECT_EQ(found.component_of_state, std::vector<std::uint32_t>(kStates, 0));
}

TEST(Components, AWellMixingModelIsOneComponentByTheQuickLook) {
  const Components found = FindComponents(GenerateModel({.kind = "garnet", .states = 5000}));
  EXPECT_EQ(found.count, 1);
  EXPECT_EQ(found.component_of_state, std::vector<std::uint32_t>(5000, 0));
}

// Each of the quick test's two properties can fail alone.
TEST(Components, OneStateThatCannotReturnOrBeReachedIsSeen) {
  Graph graph;
  for (std::uint64_t state = 0; state < 50; ++state) {
    graph.push_back({{(state + 1) % 50}, {(state * 7) % 50}});
  }
  Graph with_trap = graph;
  with_trap[20].push_back({50});
  with_trap.push_back({{50}});
  EXPECT_EQ(FindComponents(ModelOfGraph(with_trap)).count, 2);
  Graph with_source = graph;
  with_source.push_back({{3}});
  EXPECT_EQ(FindComponents(ModelOfGraph(with_source)).count, 2);
  EXPECT_EQ(FindComponents(ModelOfGraph(graph)).count, 1);
}

// All states by their number of steps to `first`, or empty if some state does not reach it.
std::vector<std::uint32_t> WayTo(std::uint32_t first, const Graph& graph) {
  std::vector<std::uint32_t> order = {first};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::uint32_t state = 0; state < graph.size(); ++state) {
      const bool leads = std::ranges::any_of(graph[state], [&](const auto& row) {
        return std::ranges::find(row, order[i]) != row.end();
      });
      if (leads && std::ranges::find(order, state) == order.end()) order.push_back(state);
    }
  }
  if (order.size() < graph.size()) order.clear();
  return order;
}

TEST(Components, OneIsShownExactlyWhereAStateIsKnownToBeReachedByAll) {
  RandomStream stream(4, "components");
  int one = 0;
  int several = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Graph graph = RandomGraph(stream);
    std::vector<std::uint32_t> order =
        WayTo(static_cast<std::uint32_t>(stream.Below(graph.size())), graph);
    if (order.empty()) continue;
    const Components expected = FindComponents(ModelOfGraph(graph));
    (expected.count == 1 ? one : several) += 1;
    for (const bool shuffled : {false, true}) {  // the order after the first is only a hint
      if (shuffled) stream.Shuffle(std::span(order).subspan(1));
      ASSERT_EQ(ShowsOneComponent(ModelOfGraph(graph), order), expected.count == 1);
    }
  }
  EXPECT_GT(one, 100);
  EXPECT_GT(several, 100);
}

// Neither passes in numerical order nor passes along the way back get around it.
TEST(Components, ARingInAnyOrderIsOneComponent) {
  constexpr std::uint64_t kStates = 5000;
  ModelBuilder builder([] { return std::string("ring"); });
  for (std::uint64_t state = 0; state < kStates; ++state) {
    builder.BeginState();
    builder.Transition((state + 1234) % kStates, .5);
    builder.Transition((state + 1) % kStates, .5);
    builder.EndRow(0);
  }
  std::vector<std::uint32_t> order(kStates);
  std::iota(order.begin(), order.end(), 0U);
  RandomStream(5, "components").Shuffle(std::span(order));
  EXPECT_TRUE(ShowsOneComponent(builder.Finish(std::nullopt), order));
}

TEST(Components, ShufflingStatesKeepsTheSizes) {
  const Model model = GenerateModel({.kind = "grid", .width = 60, .height = 40});
  const Model shuffled =
      GenerateModel({.kind = "grid", .shuffle = true, .width = 60, .height = 40});
  std::vector<std::uint64_t> sizes = ComponentSizes(FindComponents(model));
  std::vector<std::uint64_t> shuffled_sizes = ComponentSizes(FindComponents(shuffled));
  std::ranges::sort(sizes);
  std::ranges::sort(shuffled_sizes);
  EXPECT_GT(sizes.size(), 10);
  EXPECT_EQ(sizes, shuffled_sizes);
}

}  // namespace stableaa::components_test
