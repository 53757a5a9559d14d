#include "stableaa/mdp/solve/state_sequence.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>

namespace stableaa {
namespace {

using States = std::vector<std::uint32_t>;

// For each state, the states with a transition to it, repeated if there are several.
struct Predecessors {
  std::vector<std::uint64_t> offsets;
  States states;
};

std::span<const std::uint32_t> TargetsOf(const Model& model, std::uint64_t state) {
  const std::uint64_t begin = model.row_transitions()[model.state_rows()[state]];
  const std::uint64_t end = model.row_transitions()[model.state_rows()[state + 1]];
  return model.arrays().narrow_columns.subspan(begin, end - begin);
}

Predecessors FindPredecessors(const Model& model) {
  Predecessors found;
  found.offsets.assign(model.states() + 2, 0);
  for (const std::uint32_t next : model.arrays().narrow_columns) ++found.offsets[next + 2];
  std::partial_sum(found.offsets.begin(), found.offsets.end(), found.offsets.begin());
  found.states.resize(model.transitions());
  // Offsets run one place ahead while they count up to where the next state begins.
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    for (const std::uint32_t next : TargetsOf(model, s)) {
      found.states[found.offsets[next + 1]++] = static_cast<std::uint32_t>(s);
    }
  }
  return found;
}

bool IsAbsorbing(const Model& model, std::uint64_t state) {
  return std::ranges::all_of(TargetsOf(model, state),
                             [&](std::uint32_t next) { return next == state; });
}

double BestReward(const Model& model, std::uint64_t state) {
  const auto rewards = model.rewards();
  const std::uint64_t begin = model.state_rows()[state];
  return *std::max_element(
      rewards.begin() + static_cast<std::ptrdiff_t>(begin),
      rewards.begin() + static_cast<std::ptrdiff_t>(model.state_rows()[state + 1]));
}

States Goals(const Model& model) {
  const auto [worst, best] = std::ranges::minmax(model.rewards());
  States absorbing;
  States paying;
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    const double reward = BestReward(model, s);
    if (reward > worst && IsAbsorbing(model, s)) absorbing.push_back(static_cast<std::uint32_t>(s));
    if (reward == best) paying.push_back(static_cast<std::uint32_t>(s));
  }
  return absorbing.empty() ? paying : absorbing;
}

// All states by distance to the goals. Those that reach none come last, in further searches that
// each start from the lowest state left.
StateSequence BackwardsFrom(const Model& model, States goals) {
  const Predecessors predecessors = FindPredecessors(model);
  std::vector<char> seen(model.states());
  bool one_lot = goals.size() == 1;
  States queue = std::move(goals);
  queue.reserve(model.states());
  for (const std::uint32_t s : queue) seen[s] = 1;
  std::size_t head = 0;
  for (std::uint64_t start = 0; start < model.states(); ++start) {
    while (head < queue.size()) {
      const std::uint32_t state = queue[head++];
      for (std::uint64_t k = predecessors.offsets[state]; k < predecessors.offsets[state + 1];
           ++k) {
        const std::uint32_t before = predecessors.states[k];
        if (seen[before] != 0) continue;
        seen[before] = 1;
        queue.push_back(before);
      }
    }
    if (seen[start] != 0) continue;
    seen[start] = 1;
    queue.push_back(static_cast<std::uint32_t>(start));
    one_lot = false;
  }
  return {.states = std::move(queue), .all_reach_first = one_lot};
}

}  // namespace

StateSequence FindStateSequence(const Model& model, StateOrder order) {
  if (model.wide()) throw std::logic_error("FindStateSequence of a model with 64-bit columns");
  if (order == StateOrder::kBfs) return BackwardsFrom(model, Goals(model));
  StateSequence sequence;
  sequence.states.resize(model.states());
  std::iota(sequence.states.begin(), sequence.states.end(), 0U);
  return sequence;
}

}  // namespace stableaa
