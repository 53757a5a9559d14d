// Prefetching for loops that visit the states of a model in a scattered order.
//
// What a state needs lies in five arrays, and each address is in the data of the array before. So
// it is fetched in four steps, kAhead states apart.
#ifndef STABLEAA_MDP_MODEL_STATE_PREFETCH_H_
#define STABLEAA_MDP_MODEL_STATE_PREFETCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "stableaa/mdp/model/model.h"

namespace stableaa {

// Column is the type of next states. `sequence` holds the states in the order of their visits, and
// `target_data` an entry per state that the loop reads for each next state.
template <typename Column, typename State, typename Target>
class StatePrefetch {
 public:
  // Models up to this size fit in the second-level cache, where prefetching is wasted work.
  static bool Pays(const Model& model) { return model.bytes() >= std::uint64_t{1} << 19; }

  StatePrefetch(const Model& model, std::span<const Column> columns,
                std::span<const State> sequence, std::span<const Target> target_data)
      : model_(model), columns_(columns), sequence_(sequence), target_data_(target_data) {}

  // To be called before the visit of sequence[i]. Always inline, because GCC 12 thinks that a
  // function that only prefetches has no effect and drops the calls.
  [[gnu::always_inline]] void Before(std::size_t i) const {
    const std::size_t last = sequence_.size() - 1;
    const auto ahead = [&](std::size_t steps) {
      return static_cast<std::uint64_t>(sequence_[std::min(i + steps * kAhead, last)]);
    };
    Lines(model_.state_rows().subspan(ahead(4), 2));
    const std::uint64_t row = model_.state_rows()[ahead(3)];
    const std::uint64_t rows = model_.state_rows()[ahead(3) + 1] - row;
    Lines(model_.row_transitions().subspan(row, rows + 1));
    Lines(model_.rewards().subspan(row, rows));
    const auto [begin, length] = TransitionsOf(ahead(2));
    Lines(columns_.subspan(begin, length));
    Lines(model_.probabilities().subspan(begin, length));
    const auto [near_begin, near_length] = TransitionsOf(ahead(1));
    for (const Column column : columns_.subspan(near_begin, near_length)) {
      __builtin_prefetch(&target_data_[column]);
    }
  }

 private:
  static constexpr std::size_t kAhead = 6;
  // A state's transitions beyond this many are left to the processor's own prefetching.
  static constexpr std::uint64_t kMostTransitions = 64;
  static constexpr std::size_t kLineBytes = 64;

  // The first of a state's transitions and their number, capped.
  std::pair<std::uint64_t, std::uint64_t> TransitionsOf(std::uint64_t state) const {
    const std::uint64_t begin = model_.row_transitions()[model_.state_rows()[state]];
    const std::uint64_t end = model_.row_transitions()[model_.state_rows()[state + 1]];
    return {begin, std::min(end - begin, kMostTransitions)};
  }

  // Includes the cache line of the last value, wherever in a line the first one is.
  template <typename T>
  [[gnu::always_inline]] static void Lines(std::span<const T> values) {
    for (std::size_t i = 0; i < values.size(); i += kLineBytes / sizeof(T)) {
      __builtin_prefetch(&values[i]);
    }
    __builtin_prefetch(&values.back());
  }

  const Model& model_;
  std::span<const Column> columns_;
  std::span<const State> sequence_;
  std::span<const Target> target_data_;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_STATE_PREFETCH_H_
