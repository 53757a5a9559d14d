#include "stableaa/mdp/model/components.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "stableaa/core/error.h"

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

// The search. One number per state holds everything about it (Pearce's rindex):
//
//   0        not visited
//   1, 2, …  on the path or waiting for its component: the order of the visit or, once known, the
//            smallest number of a waiting state that it reaches
//   S−1, …   its component is complete: S−1 for the first, then descending
//
// Visits are numbered as if complete states had never existed. So a complete state's number is no
// smaller than any other's, and a minimum need not distinguish them. Only the last of S components
// gets the number 0, when it no longer matters.
template <typename Column>
class ComponentSearch {
 public:
  ComponentSearch(const Model& model, std::span<const Column> columns)
      : columns_(columns),
        first_(FirstTransitions(model)),
        number_(model.states(), 0),
        next_component_(static_cast<std::uint32_t>(model.states() - 1)) {}

  Components Run() {
    const auto states = static_cast<std::uint32_t>(number_.size());
    for (std::uint32_t state = 0; state < states; ++state) {
      if (number_[state] == 0) SearchFrom(state);
    }
    Components components;
    components.count = count_;
    for (std::uint32_t& number : number_) number = states - 1 - number;
    components.component_of_state = std::move(number_);
    return components;
  }

 private:
  // A state on the path from the start, and the next of its transitions to follow.
  struct Step {
    std::uint64_t transition;
    std::uint64_t end;  // of its transitions
    std::uint32_t state;
    std::uint32_t visit;  // the state's first number
  };

  static std::vector<std::uint64_t> FirstTransitions(const Model& model) {
    std::vector<std::uint64_t> first(model.states() + 1);
    for (std::size_t state = 0; state < first.size(); ++state) {
      first[state] = model.row_transitions()[model.state_rows()[state]];
    }
    return first;
  }

  void SearchFrom(std::uint32_t start) {
    Enter(start);
    while (!way_.empty()) {
      Step& step = way_.back();
      const std::uint32_t new_state = NextNewState(step);
      if (new_state != kNone) {
        Enter(new_state);
      } else {
        Leave();
      }
    }
  }

  void Enter(std::uint32_t state) {
    number_[state] = next_visit_;
    way_.push_back({.transition = first_[state],
                    .end = first_[state + std::size_t{1}],
                    .state = state,
                    .visit = next_visit_});
    ++next_visit_;
  }

  // Follows a state's transitions up to one that leads to a new state. That one is followed again
  // after the return, when the new state's number is known.
  std::uint32_t NextNewState(Step& step) {
    std::uint32_t least = number_[step.state];
    std::uint32_t new_state = kNone;
    std::uint64_t k = step.transition;
    for (; k < step.end; ++k) {
      const std::uint32_t number = number_[columns_[k]];
      if (number == 0) {
        new_state = static_cast<std::uint32_t>(columns_[k]);
        break;
      }
      least = std::min(least, number);
    }
    number_[step.state] = least;
    step.transition = k;
    return new_state;
  }

  // If the state reaches no older waiting state, it and all that started waiting since are a
  // component.
  void Leave() {
    const Step step = way_.back();
    way_.pop_back();
    PrefetchWayBack();
    if (number_[step.state] != step.visit) {
      waiting_.push_back(step.state);
      return;
    }
    --next_visit_;
    while (!waiting_.empty() && number_[waiting_.back()] >= step.visit) {
      number_[waiting_.back()] = next_component_;
      waiting_.pop_back();
      --next_visit_;
    }
    number_[step.state] = next_component_;
    --next_component_;
    ++count_;
  }

  // Unlike the way forward, what the way back needs next is known. Always inline, because GCC 12
  // thinks that a function that only prefetches has no effect and drops the calls.
  [[gnu::always_inline]] void PrefetchWayBack() const {
    constexpr std::size_t kAhead = 8;
    if (way_.size() <= kAhead) return;
    const Step& later = way_[way_.size() - 1 - kAhead];
    __builtin_prefetch(&number_[later.state]);
    __builtin_prefetch(columns_.data() + later.transition);
  }

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::span<const Column> columns_;
  std::vector<std::uint64_t> first_;  // transition of each state: saves a memory access per visit
  std::vector<std::uint32_t> number_;
  std::vector<Step> way_;
  std::vector<std::uint32_t> waiting_;  // finished, but their component is not complete
  std::uint32_t next_visit_ = 1;
  std::uint32_t next_component_;
  std::uint64_t count_ = 0;
};

}  // namespace

Components FindComponents(const Model& model, std::span<const std::uint32_t> to_first) {
  if (model.states() >= std::numeric_limits<std::uint32_t>::max()) {
    throw WorkFailed(fmt::format(
        "the components of {} states cannot be found; there must be fewer than 2^32 - 1",
        model.states()));
  }
  return model.VisitColumns([&](auto columns) {
    const OneComponentTest test(model, columns);
    if (to_first.empty() ? test.Passes() : test.PassesAlong(to_first)) {
      return Components{.component_of_state = std::vector<std::uint32_t>(model.states(), 0),
                        .count = 1};
    }
    return ComponentSearch(model, columns).Run();
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
