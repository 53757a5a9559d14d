#include "stableaa/mdp/model/components.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "stableaa/core/error.h"
#include "stableaa/mdp/model/component_search.h"

namespace stableaa {
namespace {

// A quick test whether all states form one component, as in many models that mix well: one state
// reaches every state and every state reaches it. Passes over all transitions spread both
// properties with one bit per state, which stays in cache where the search would wait for memory at
// each state. Spreading can take more passes than it is worth, so false means undecided.
template <typename Column>
class OneComponentTest {
 public:
  OneComponentTest(const Model& model, std::span<const Column> columns)
      : model_(model), columns_(columns) {}

  bool Passes() const {
    return SpreadsForward(0) &&
           Spreads(0, [this](std::vector<bool>& reaching) { return PassBackward(reaching); });
  }

  // For an order of all states in which all reach the first. Never false if there is one component.
  bool PassesAlong(std::span<const std::uint32_t> to_first) const {
    return SpreadsForward(to_first.front()) || SpreadsAlong(to_first) ||
           ReachesAll(to_first.front());
  }

 private:
  static constexpr int kMostPasses = 4;
  // A pass must multiply the states reached by this factor until one in this many has been reached:
  // with slower growth, the remaining passes will not reach all of them.
  static constexpr std::uint64_t kLeastGrowth = 8;

  // A pass returns how many states newly have the property.
  template <typename Pass>
  bool Spreads(std::uint64_t from, Pass pass) const {
    std::vector<bool> found(model_.states(), false);
    found[from] = true;
    std::uint64_t count = 1;
    for (int i = 0; i < kMostPasses && count < model_.states(); ++i) {
      const std::uint64_t before = count;
      count += pass(found);
      if (count == before) return false;
      if (count < kLeastGrowth * before && count < model_.states() / kLeastGrowth) return false;
    }
    return count == model_.states();
  }

  bool SpreadsForward(std::uint64_t from) const {
    return Spreads(from, [this](std::vector<bool>& reached) { return PassForward(reached); });
  }

  // Paths away from the first state are found along the order, paths to it against it.
  bool SpreadsAlong(std::span<const std::uint32_t> order) const {
    std::vector<char> reached(model_.states(), 0);
    reached[order.front()] = 1;
    std::uint64_t count = 1;
    const auto visit = [&](std::uint32_t state) {
      if (reached[state] != 0) count += MarkNext(state, reached);
    };
    for (const std::uint32_t state : order) visit(state);
    if (count == model_.states()) return true;
    std::for_each(order.rbegin(), order.rend(), visit);
    return count == model_.states();
  }

  // A search, state by state, which reaches the end of even the longest paths.
  bool ReachesAll(std::uint32_t from) const {
    std::vector<char> reached(model_.states(), 0);
    reached[from] = 1;
    std::vector<std::uint32_t> open = {from};
    open.reserve(model_.states());
    for (std::size_t i = 0; i < open.size() && open.size() < model_.states(); ++i) {
      const auto [begin, end] = TransitionsOf(open[i]);
      for (std::uint64_t k = begin; k < end; ++k) {
        if (reached[columns_[k]] != 0) continue;
        reached[columns_[k]] = 1;
        open.push_back(static_cast<std::uint32_t>(columns_[k]));
      }
    }
    return open.size() == model_.states();
  }

  // Returns how many were newly marked.
  std::uint64_t MarkNext(std::uint32_t state, std::vector<char>& reached) const {
    std::uint64_t added = 0;
    const auto [begin, end] = TransitionsOf(state);
    for (std::uint64_t k = begin; k < end; ++k) {
      added += static_cast<std::uint64_t>(reached[columns_[k]] == 0);
      reached[columns_[k]] = 1;
    }
    return added;
  }

  std::uint64_t PassForward(std::vector<bool>& reached) const {
    std::uint64_t added = 0;
    for (std::uint64_t state = 0; state < model_.states(); ++state) {
      if (!reached[state]) continue;
      const auto [begin, end] = TransitionsOf(state);
      for (std::uint64_t k = begin; k < end; ++k) {
        added += reached[columns_[k]] ? 0 : 1;
        reached[columns_[k]] = true;
      }
    }
    return added;
  }

  std::uint64_t PassBackward(std::vector<bool>& reaching) const {
    std::uint64_t added = 0;
    for (std::uint64_t state = 0; state < model_.states(); ++state) {
      if (reaching[state]) continue;
      const auto [begin, end] = TransitionsOf(state);
      const auto next = columns_.subspan(begin, end - begin);
      if (std::ranges::any_of(next, [&](Column column) { return reaching[column]; })) {
        reaching[state] = true;
        ++added;
      }
    }
    return added;
  }

  std::pair<std::uint64_t, std::uint64_t> TransitionsOf(std::uint64_t state) const {
    return {model_.row_transitions()[model_.state_rows()[state]],
            model_.row_transitions()[model_.state_rows()[state + 1]]};
  }

  const Model& model_;
  std::span<const Column> columns_;
};

}  // namespace

void CheckSearchable(const Model& model) {
  if (model.states() < std::numeric_limits<std::uint32_t>::max()) return;
  throw WorkFailed(
      fmt::format("the components of {} states cannot be found; there must be fewer than 2^32 - 1",
                  model.states()));
}

bool ShowsOneComponent(const Model& model, std::span<const std::uint32_t> to_first) {
  return model.VisitColumns([&](auto columns) {
    const OneComponentTest test(model, columns);
    return to_first.empty() ? test.Passes() : test.PassesAlong(to_first);
  });
}

Components FindComponents(const Model& model) {
  CheckSearchable(model);
  if (ShowsOneComponent(model)) {
    return {.component_of_state = std::vector<std::uint32_t>(model.states(), 0), .count = 1};
  }
  return model.VisitColumns([&](auto columns) {
    ComponentSearch search(model, columns, [](std::span<const std::uint32_t>) { return true; });
    search.Run();
    return std::move(search).TakeComponents();
  });
}

std::vector<std::uint64_t> ComponentSizes(const Components& components) {
  std::vector<std::uint64_t> sizes(components.count, 0);
  for (const std::uint32_t component : components.component_of_state) ++sizes[component];
  return sizes;
}

std::vector<bool> ClosedComponents(const Model& model, const Components& components) {
  std::vector<bool> closed(components.count, true);
  model.VisitColumns([&](auto columns) {
    std::uint64_t k = 0;
    for (std::uint64_t state = 0; state < model.states(); ++state) {
      const std::uint32_t own = components.component_of_state[state];
      const std::uint64_t end = model.row_transitions()[model.state_rows()[state + 1]];
      bool leaves = false;
      for (; k < end; ++k) leaves |= components.component_of_state[columns[k]] != own;
      if (leaves) closed[own] = false;
    }
  });
  return closed;
}

}  // namespace stableaa
