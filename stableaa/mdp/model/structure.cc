#include "stableaa/mdp/model/structure.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "stableaa/mdp/model/components.h"

namespace stableaa {
namespace {

struct Steps {
  std::uint64_t least;
  std::uint64_t most;
};

// The steps between neighbours of an ascending sequence.
Steps StepsOf(std::span<const std::uint64_t> offsets) {
  Steps steps{.least = std::numeric_limits<std::uint64_t>::max(), .most = 0};
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    const std::uint64_t step = offsets[i] - offsets[i - 1];
    steps.least = std::min(steps.least, step);
    steps.most = std::max(steps.most, step);
  }
  return steps;
}

struct SelfLoops {
  std::uint64_t rows = 0;
  std::uint64_t absorbing_states = 0;
};

template <typename Column>
SelfLoops CountSelfLoops(const Model& model, std::span<const Column> columns) {
  SelfLoops loops;
  for (std::uint64_t state = 0; state < model.states(); ++state) {
    bool absorbing = true;
    for (std::uint64_t row = model.state_rows()[state]; row < model.state_rows()[state + 1];
         ++row) {
      const std::uint64_t begin = model.row_transitions()[row];
      const std::uint64_t end = model.row_transitions()[row + 1];
      bool stays = false;
      for (std::uint64_t k = begin; k < end; ++k) stays |= columns[k] == state;
      loops.rows += stays ? 1 : 0;
      absorbing &= stays && end - begin == 1;
    }
    loops.absorbing_states += absorbing ? 1 : 0;
  }
  return loops;
}

template <typename Column>
std::uint64_t CountReachable(const Model& model, std::span<const Column> columns) {
  std::vector<bool> found(model.states(), false);
  std::vector<Column> open = {0};  // found, but not yet visited
  found[0] = true;
  std::uint64_t count = 0;
  while (!open.empty()) {
    const Column state = open.back();
    open.pop_back();
    ++count;
    const std::uint64_t end = model.row_transitions()[model.state_rows()[state + std::size_t{1}]];
    for (std::uint64_t k = model.row_transitions()[model.state_rows()[state]]; k < end; ++k) {
      if (found[columns[k]]) continue;
      found[columns[k]] = true;
      open.push_back(columns[k]);
    }
  }
  return count;
}

void AnalyseSizes(const Model& model, ModelStructure& structure) {
  structure.states = model.states();
  structure.rows = model.rows();
  structure.transitions = model.transitions();
  structure.bytes = model.bytes();
  const auto states = static_cast<double>(model.states());
  const auto rows = static_cast<double>(model.rows());
  const auto transitions = static_cast<double>(model.transitions());
  const Steps actions = StepsOf(model.state_rows());
  structure.least_actions = actions.least;
  structure.most_actions = actions.most;
  structure.mean_actions = rows / states;
  const Steps lengths = StepsOf(model.row_transitions());
  structure.least_transitions = lengths.least;
  structure.most_transitions = lengths.most;
  structure.mean_transitions = transitions / rows;
  structure.density = transitions / rows / states;
  structure.deterministic = lengths.most == 1;
  const auto [least_reward, most_reward] = std::ranges::minmax(model.rewards());
  structure.least_reward = least_reward;
  structure.most_reward = most_reward;
}

void AnalyseGraph(const Model& model, ModelStructure& structure) {
  const Components components = FindComponents(model);
  const std::vector<bool> closed = ClosedComponents(model, components);
  structure.components = components.count;
  structure.largest_component = std::ranges::max(ComponentSizes(components));
  structure.closed_components = static_cast<std::uint64_t>(std::ranges::count(closed, true));
  model.VisitColumns([&](auto columns) {
    const SelfLoops loops = CountSelfLoops(model, columns);
    structure.self_loop_share = static_cast<double>(loops.rows) / static_cast<double>(model.rows());
    structure.absorbing = loops.absorbing_states;
    structure.reachable = components.count == 1 ? model.states() : CountReachable(model, columns);
  });
}

}  // namespace

ModelStructure Analyse(const Model& model) {
  ModelStructure structure;
  AnalyseSizes(model, structure);
  AnalyseGraph(model, structure);
  return structure;
}

}  // namespace stableaa
