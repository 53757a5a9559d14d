#include "stableaa/mdp/renumber.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "stableaa/mdp/model_builder.h"

namespace stableaa {
namespace {

// Rows up to this length, which is nearly all, are sorted by counting: each transition's place is
// the number of smaller next states. Quadratic, but without a branch that could be guessed wrongly.
constexpr std::size_t kShortRow = 16;

// Old states are visited in a random order, so what they need is fetched this many states ahead, in
// four steps: each address lies in what the step before has fetched.
constexpr std::uint64_t kAhead = 6;

// A state's transitions beyond so many are left to the processor's own prefetching.
constexpr std::uint64_t kMostPrefetched = 64;

constexpr std::uint64_t kLineBytes = 64;

// One model's way from its old arrays into new ones. Column is the type of next states.
template <typename Column>
class Renumbering {
 public:
  Renumbering(const Model& model, std::span<const Column> columns,
              std::span<const std::uint64_t> new_number)
      : model_(model), columns_(columns), new_number_(new_number.begin(), new_number.end()) {}

  ModelStorage Run(std::span<const std::uint64_t> old_number) {
    Reserve();
    for (std::uint64_t state = 0; state < old_number.size(); ++state) {
      Prefetch(old_number, state);
      CopyState(old_number[state]);
    }
    storage_.state_rows.push_back(storage_.rewards.size());
    StoreColumns();
    return std::move(storage_);
  }

 private:
  void Reserve() {
    storage_.state_rows.reserve(model_.states() + 1);
    storage_.row_transitions.reserve(model_.rows() + 1);
    storage_.rewards.reserve(model_.rows());
    storage_.probabilities.reserve(model_.transitions());
    renumbered_.reserve(model_.transitions());
    storage_.row_transitions.push_back(0);
  }

  // Always inline, as GCC 12 takes a function that only prefetches for one without effect and drops
  // the calls.
  [[gnu::always_inline]] void Prefetch(std::span<const std::uint64_t> old_number,
                                       std::uint64_t state) const {
    const std::uint64_t last = old_number.size() - 1;
    const auto ahead = [&](std::uint64_t steps) {
      return old_number[std::min(state + steps * kAhead, last)];
    };
    const std::uint64_t farthest = ahead(4);
    PrefetchLines(model_.state_rows().subspan(farthest, 2));
    const std::uint64_t row = model_.state_rows()[ahead(3)];
    const std::uint64_t rows = model_.state_rows()[ahead(3) + 1] - row;
    PrefetchLines(model_.row_transitions().subspan(row, rows + 1));
    PrefetchLines(model_.rewards().subspan(row, rows));
    const auto [begin, length] = TransitionsOf(ahead(2));
    PrefetchLines(columns_.subspan(begin, length));
    PrefetchLines(model_.probabilities().subspan(begin, length));
    const auto [near_begin, near_length] = TransitionsOf(ahead(1));
    for (const Column column : columns_.subspan(near_begin, near_length)) {
      __builtin_prefetch(&new_number_[column]);
    }
  }

  // First and number of a state's transitions, the latter cut to kMostPrefetched.
  std::pair<std::uint64_t, std::uint64_t> TransitionsOf(std::uint64_t old_state) const {
    const std::uint64_t begin = model_.row_transitions()[model_.state_rows()[old_state]];
    const std::uint64_t end = model_.row_transitions()[model_.state_rows()[old_state + 1]];
    return {begin, std::min(end - begin, kMostPrefetched)};
  }

  // Also the line of the last value, wherever in a line the first one lies.
  template <typename T>
  [[gnu::always_inline]] static void PrefetchLines(std::span<const T> values) {
    constexpr std::size_t kPerLine = kLineBytes / sizeof(T);
    for (std::size_t i = 0; i < values.size(); i += kPerLine) __builtin_prefetch(&values[i]);
    __builtin_prefetch(&values.back());
  }

  void CopyState(std::uint64_t old_state) {
    storage_.state_rows.push_back(storage_.rewards.size());
    const std::uint64_t last = model_.state_rows()[old_state + 1];
    for (std::uint64_t row = model_.state_rows()[old_state]; row < last; ++row) {
      const std::uint64_t begin = model_.row_transitions()[row];
      const auto length = static_cast<std::size_t>(model_.row_transitions()[row + 1] - begin);
      const auto columns = columns_.subspan(begin, length);
      const auto probabilities = model_.probabilities().subspan(begin, length);
      if (length <= kShortRow) {
        CopyShortRow(columns, probabilities);
      } else {
        CopyLongRow(columns, probabilities);
      }
      storage_.row_transitions.push_back(renumbered_.size());
      storage_.rewards.push_back(model_.rewards()[row]);
    }
  }

  void CopyShortRow(std::span<const Column> columns, std::span<const double> probabilities) {
    const std::size_t length = columns.size();
    std::array<Column, kShortRow> next;
    std::array<Column, kShortRow> sorted_next;
    std::array<double, kShortRow> sorted_probabilities;
    for (std::size_t i = 0; i < length; ++i) next[i] = new_number_[columns[i]];
    for (std::size_t i = 0; i < length; ++i) {
      std::size_t place = 0;
      for (std::size_t j = 0; j < length; ++j) place += static_cast<std::size_t>(next[j] < next[i]);
      sorted_next[place] = next[i];
      sorted_probabilities[place] = probabilities[i];
    }
    renumbered_.insert(renumbered_.end(), sorted_next.data(), sorted_next.data() + length);
    storage_.probabilities.insert(storage_.probabilities.end(), sorted_probabilities.data(),
                                  sorted_probabilities.data() + length);
  }

  void CopyLongRow(std::span<const Column> columns, std::span<const double> probabilities) {
    row_.clear();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      row_.emplace_back(new_number_[columns[i]], probabilities[i]);
    }
    std::ranges::sort(row_, {}, [](const auto& transition) { return transition.first; });
    for (const auto& [next, probability] : row_) {
      renumbered_.push_back(next);
      storage_.probabilities.push_back(probability);
    }
  }

  void StoreColumns() {
    if constexpr (std::is_same_v<Column, std::uint32_t>) {
      storage_.narrow_columns = std::move(renumbered_);
    } else {
      storage_.wide_columns = std::move(renumbered_);
    }
  }

  const Model& model_;
  std::span<const Column> columns_;
  std::vector<Column> new_number_;  // as narrow as the columns, so that more of it stays in cache
  ModelStorage storage_;
  std::vector<Column> renumbered_;
  std::vector<std::pair<Column, double>> row_;
};

}  // namespace

std::vector<std::uint64_t> InversePermutation(std::span<const std::uint64_t> numbers) {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> inverse(numbers.size(), kNone);
  for (std::uint64_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= numbers.size() || inverse[numbers[i]] != kNone) {
      throw std::logic_error("InversePermutation: not a permutation");
    }
    inverse[numbers[i]] = i;
  }
  return inverse;
}

Model Renumber(const Model& model, std::span<const std::uint64_t> new_number_of_old_state) {
  if (new_number_of_old_state.size() != model.states()) {
    throw std::logic_error("Renumber: not one number per state");
  }
  const std::vector<std::uint64_t> old_number = InversePermutation(new_number_of_old_state);
  return model.VisitColumns([&](auto columns) {
    using Column = std::remove_cvref_t<decltype(columns[0])>;
    Renumbering<Column> renumbering(model, columns, new_number_of_old_state);
    return MakeModel(renumbering.Run(old_number), model.discount());
  });
}

}  // namespace stableaa
