#include "stableaa/mdp/model/structure.h"

#include <gtest/gtest.h>

#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_rows_test.h"

namespace stableaa::structure_test {

// 0 → 1 ⇄ 2 → 3 (absorbing); 4 → 0 is not reachable; 5 has two actions, one of which leaves.
Model Example() {
  const Graph graph = {{{1}}, {{1, 2}}, {{1}, {3}}, {{3}}, {{0, 1, 5}}, {{5}, {0}}};
  return ModelOfGraph(graph).WithRewards({1, 2, 3, -4, 0, 6, 5, 0});
}

TEST(Structure, SizesOfAnExample) {
  const ModelStructure structure = Analyse(Example());
  EXPECT_EQ(structure.states, 6);
  EXPECT_EQ(structure.rows, 8);
  EXPECT_EQ(structure.transitions, 11);
  EXPECT_EQ(structure.bytes, 7 * 8 + 9 * 8 + 8 * 8 + 11 * 12);
  EXPECT_EQ(structure.least_actions, 1);
  EXPECT_EQ(structure.most_actions, 2);
  EXPECT_DOUBLE_EQ(structure.mean_actions, 8.0 / 6);
  EXPECT_EQ(structure.least_transitions, 1);
  EXPECT_EQ(structure.most_transitions, 3);
  EXPECT_DOUBLE_EQ(structure.mean_transitions, 11.0 / 8);
  EXPECT_DOUBLE_EQ(structure.density, 11.0 / 48);
  EXPECT_EQ(structure.least_reward, -4);
  EXPECT_EQ(structure.most_reward, 6);
}

TEST(Structure, GraphOfAnExample) {
  const ModelStructure structure = Analyse(Example());
  EXPECT_FALSE(structure.deterministic);
  EXPECT_DOUBLE_EQ(structure.self_loop_share, 3.0 / 8);  // of states 1, 3 and 5
  EXPECT_EQ(structure.reachable, 4);
  EXPECT_EQ(structure.absorbing, 1);  // 5 can leave
  EXPECT_EQ(structure.components, 5);
  EXPECT_EQ(structure.largest_component, 2);
  EXPECT_EQ(structure.closed_components, 1);
}

TEST(Structure, OneAbsorbingState) {
  const ModelStructure structure = Analyse(ModelOfGraph({{{0}, {0}}}));
  EXPECT_TRUE(structure.deterministic);
  EXPECT_EQ(structure.self_loop_share, 1);
  EXPECT_EQ(structure.reachable, 1);
  EXPECT_EQ(structure.absorbing, 1);
  EXPECT_EQ(structure.components, 1);
  EXPECT_EQ(structure.largest_component, 1);
  EXPECT_EQ(structure.closed_components, 1);
  EXPECT_EQ(structure.density, 1);
}

TEST(Structure, WideColumnsGiveTheSameGraph) {
  const Graph graph = {{{1}}, {{1, 2}}, {{1}, {3}}, {{3}}, {{0, 1, 5}}, {{5}, {0}}};
  const ModelStructure narrow = Analyse(ModelOfGraph(graph));
  const ModelStructure wide = Analyse(ModelOfGraph(graph, true));
  EXPECT_EQ(wide.reachable, narrow.reachable);
  EXPECT_EQ(wide.absorbing, narrow.absorbing);
  EXPECT_EQ(wide.components, narrow.components);
  EXPECT_EQ(wide.self_loop_share, narrow.self_loop_share);
  EXPECT_EQ(wide.bytes, narrow.bytes + 4 * narrow.transitions);
}

TEST(Structure, AMazeIsDeterministicAndLeadsToItsGoal) {
  const ModelStructure structure = Analyse(GenerateModel({.kind = "maze"}));
  EXPECT_TRUE(structure.deterministic);
  EXPECT_EQ(structure.absorbing, 1);
  EXPECT_EQ(structure.closed_components, 1);
  EXPECT_EQ(structure.least_reward, -1);
  EXPECT_EQ(structure.most_reward, 0);
}

TEST(Structure, AChainIsOneComponent) {
  const ModelStructure structure = Analyse(GenerateModel({.kind = "chain"}));
  EXPECT_EQ(structure.components, 1);
  EXPECT_EQ(structure.reachable, structure.states);
  EXPECT_EQ(structure.absorbing, 0);
}

}  // namespace stableaa::structure_test
