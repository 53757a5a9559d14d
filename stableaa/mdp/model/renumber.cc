#include "stableaa/mdp/model/renumber.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "stableaa/mdp/model/state_prefetch.h"

namespace stableaa {
namespace {

// Rows up to this length, nearly all of them, are sorted by counting: each transition's position is
// the number of smaller next states. Quadratic, but without branches to mispredict.
constexpr std::size_t kShortRow = 16;

// The arrays of a model. Not vectors, which would write zeros first.
template <typename Column>
struct RenumberedArrays {
  explicit RenumberedArrays(const Model& model)
      : state_rows(std::make_unique_for_overwrite<std::uint64_t[]>(model.states() + 1)),
        row_transitions(std::make_unique_for_overwrite<std::uint64_t[]>(model.rows() + 1)),
        rewards(std::make_unique_for_overwrite<double[]>(model.rows())),
        columns(std::make_unique_for_overwrite<Column[]>(model.transitions())),
        probabilities(std::make_unique_for_overwrite<double[]>(model.transitions())) {}

  std::unique_ptr<std::uint64_t[]> state_rows;
  std::unique_ptr<std::uint64_t[]> row_transitions;
  std::unique_ptr<double[]> rewards;
  std::unique_ptr<Column[]> columns;
  std::unique_ptr<double[]> probabilities;
};

// Copies one model from its old arrays into new ones. Column is the type of next states.
template <typename Column>
class Renumbering {
 public:
  Renumbering(const Model& model, std::span<const Column> columns,
              std::span<const std::uint64_t> new_number)
      : model_(model),
        columns_(columns),
        new_number_(new_number.begin(), new_number.end()),
        out_(std::make_shared<RenumberedArrays<Column>>(model)) {}

  Model Run(std::span<const std::uint64_t> old_number) {
    if (Prefetch::Pays(model_)) {
      CopyStates<true>(old_number);
    } else {
      CopyStates<false>(old_number);
    }
    ModelArrays arrays{.state_rows = {out_->state_rows.get(), model_.states() + 1},
                       .row_transitions = {out_->row_transitions.get(), model_.rows() + 1},
                       .narrow_columns = {},
                       .wide_columns = {},
                       .probabilities = {out_->probabilities.get(), model_.transitions()},
                       .rewards = {out_->rewards.get(), model_.rows()}};
    const std::span<const Column> columns(out_->columns.get(), model_.transitions());
    if constexpr (std::is_same_v<Column, std::uint32_t>) {
      arrays.narrow_columns = columns;
    } else {
      arrays.wide_columns = columns;
    }
    return Model(arrays, std::move(out_), model_.discount());
  }

 private:
  using Prefetch = StatePrefetch<Column, std::uint64_t, Column>;

  template <bool kPrefetch>
  void CopyStates(std::span<const std::uint64_t> old_number) {
    RenumberedArrays<Column>& out = *out_;
    const Prefetch prefetch(model_, columns_, old_number, new_number_);
    std::uint64_t to_row = 0;
    std::uint64_t to = 0;  // transition
    for (std::uint64_t state = 0; state < old_number.size(); ++state) {
      if constexpr (kPrefetch) prefetch.Before(state);
      const std::uint64_t old_state = old_number[state];
      out.state_rows[state] = to_row;
      const std::uint64_t last = model_.state_rows()[old_state + 1];
      for (std::uint64_t row = model_.state_rows()[old_state]; row < last; ++row, ++to_row) {
        const std::uint64_t begin = model_.row_transitions()[row];
        const std::uint64_t length = model_.row_transitions()[row + 1] - begin;
        out.row_transitions[to_row] = to;
        out.rewards[to_row] = model_.rewards()[row];
        if (length <= kShortRow) {
          CopyShortRow(begin, length, to);
        } else {
          CopyLongRow(begin, length, to);
        }
        to += length;
      }
    }
    out.state_rows[old_number.size()] = to_row;
    out.row_transitions[to_row] = to;
  }

  // Copies the transitions starting at `begin` to those starting at `to`.
  void CopyShortRow(std::uint64_t begin, std::uint64_t length, std::uint64_t to) {
    std::array<Column, kShortRow> next;
    for (std::size_t i = 0; i < length; ++i) next[i] = new_number_[columns_[begin + i]];
    for (std::size_t i = 0; i < length; ++i) {
      std::uint64_t place = to;
      for (std::size_t j = 0; j < length; ++j) {
        place += static_cast<std::uint64_t>(next[j] < next[i]);
      }
      out_->columns[place] = next[i];
      out_->probabilities[place] = model_.probabilities()[begin + i];
    }
  }

  void CopyLongRow(std::uint64_t begin, std::uint64_t length, std::uint64_t to) {
    row_.clear();
    for (std::uint64_t k = begin; k < begin + length; ++k) {
      row_.emplace_back(new_number_[columns_[k]], model_.probabilities()[k]);
    }
    std::ranges::sort(row_, {}, [](const auto& transition) { return transition.first; });
    for (const auto& [next, probability] : row_) {
      out_->columns[to] = next;
      out_->probabilities[to] = probability;
      ++to;
    }
  }

  const Model& model_;
  std::span<const Column> columns_;
  std::vector<Column> new_number_;  // as narrow as the columns, so more of it stays in cache
  std::shared_ptr<RenumberedArrays<Column>> out_;
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
    return Renumbering<Column>(model, columns, new_number_of_old_state).Run(old_number);
  });
}

}  // namespace stableaa
