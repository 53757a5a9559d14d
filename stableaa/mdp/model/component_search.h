// The search for strongly connected components, which hands each one over as soon as it is complete.
//
// Components are complete in reverse topological order: everything that one leads to has been handed
// over before. So a solver can finish each while its states are still in the cache, and needs no
// order of its own.
//
//   ComponentSearch search(model, columns, [&](std::span<const std::uint32_t> states) {
//     ...
//     return true;  // false ends the search
//   });
//   search.Run();
//
// Within a component, states come in the order in which the search left them: each after all that it
// found from there, so most of its transitions lead to states before it. Only back edges, to the
// states through which the search was passing at the time, lead to later ones.
//
// Tarjan's algorithm in Pearce's compact form ("A space-efficient algorithm for finding strongly
// connected components", IPL 2016), without recursion.
#ifndef STABLEAA_MDP_MODEL_COMPONENT_SEARCH_H_
#define STABLEAA_MDP_MODEL_COMPONENT_SEARCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "stableaa/mdp/model/components.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// One number per state holds everything about it (Pearce's rindex):
//
//   0        not visited
//   1, 2, …  on the path or waiting for its component: the order of the visit or, once known, the
//            smallest number of a waiting state that it reaches
//   S−1, …   its component is complete: S−1 for the first, then descending
//
// Visits are numbered as if complete states had never existed. So a complete state's number is no
// smaller than any other's, and a minimum need not distinguish them. Only the last of S components
// gets the number 0, when it no longer matters.
template <typename Column, typename Visit>
class ComponentSearch {
 public:
  // REQUIRES: fewer than 2^32 − 1 states.
  ComponentSearch(const Model& model, std::span<const Column> columns, Visit visit)
      : visit_(std::move(visit)),
        columns_(columns),
        first_(FirstTransitions(model)),
        number_(model.states(), 0),
        next_component_(static_cast<std::uint32_t>(model.states() - 1)) {}

  // False if a visit ended it.
  bool Run() {
    const auto states = static_cast<std::uint32_t>(number_.size());
    for (std::uint32_t state = 0; state < states; ++state) {
      if (number_[state] == 0 && !SearchFrom(state)) return false;
    }
    return true;
  }

  // REQUIRES: Run has returned true.
  Components TakeComponents() && {
    const auto states = static_cast<std::uint32_t>(number_.size());
    for (std::uint32_t& number : number_) number = states - 1 - number;
    return {.component_of_state = std::move(number_), .count = count_};
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

  bool SearchFrom(std::uint32_t start) {
    Enter(start);
    while (!way_.empty()) {
      Step& step = way_.back();
      const std::uint32_t new_state = NextNewState(step);
      if (new_state != kNone) {
        Enter(new_state);
      } else if (!Leave()) {
        return false;
      }
    }
    return true;
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
  bool Leave() {
    const Step step = way_.back();
    way_.pop_back();
    PrefetchWayBack();
    waiting_.push_back(step.state);
    if (number_[step.state] != step.visit) return true;
    std::size_t first = waiting_.size() - 1;
    while (first > 0 && number_[waiting_[first - 1]] >= step.visit) --first;
    const std::span<const std::uint32_t> states = std::span(waiting_).subspan(first);
    for (const std::uint32_t state : states) number_[state] = next_component_;
    next_visit_ -= static_cast<std::uint32_t>(states.size());
    --next_component_;
    ++count_;
    const bool go_on = visit_(states);
    waiting_.resize(first);
    return go_on;
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

  Visit visit_;
  std::span<const Column> columns_;
  std::vector<std::uint64_t> first_;  // transition of each state: saves a memory access per visit
  std::vector<std::uint32_t> number_;
  std::vector<Step> way_;
  std::vector<std::uint32_t> waiting_;  // finished, but their component is not complete
  std::uint32_t next_visit_ = 1;
  std::uint32_t next_component_;
  std::uint64_t count_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_COMPONENT_SEARCH_H_
