#include "stableaa/mdp/solve/elimination.h"

#include <algorithm>
#include <cstddef>

namespace stableaa {

bool Elimination::Solve(const ComponentModel& model, std::span<const std::uint32_t> order,
                        std::uint64_t most_operations, std::span<const double> constants,
                        std::span<double> values) {
  const std::size_t n = model.states();
  constants_.resize(n);
  exits_.resize(n);
  offsets_.resize(n + 1);
  columns_.clear();
  weights_.clear();
  entry_.resize(n);
  seen_.assign(n, 0);
  operations_ = 0;
  const bool finished = order.empty() ? Eliminate<true>(model, order, most_operations, constants)
                                      : Eliminate<false>(model, order, most_operations, constants);
  if (!finished) return false;
  // Backwards, each value replaces its constant.
  for (std::size_t i = n; i-- > 0;) {
    double value = constants_[i];
    for (std::uint64_t k = offsets_[i]; k < offsets_[i + 1]; ++k) {
      value += weights_[k] * constants_[columns_[k]];
    }
    constants_[i] = value;
  }
  if (order.empty()) {
    std::ranges::copy(constants_, values.begin());
  } else {
    for (std::size_t i = 0; i < n; ++i) values[order[i]] = constants_[i];
  }
  return true;
}

template <bool kPlaced>
bool Elimination::Eliminate(const ComponentModel& model, std::span<const std::uint32_t> order,
                            std::uint64_t most_operations, std::span<const double> constants) {
  const auto n = static_cast<std::uint32_t>(model.states());
  if constexpr (!kPlaced) {
    step_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) step_[order[i]] = i;
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t place = kPlaced ? i : order[i];
    const std::uint64_t row = model.state_rows()[place] + model.actions[place];
    double constant = constants[place];
    double exit = model.exits()[row];
    left_.clear();
    right_.clear();
    seen_[i] = i + 1;
    entry_[i] = 0;
    for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
         ++k) {
      const std::uint32_t column = model.columns()[k];
      Add(i, kPlaced ? column : step_[column], model.weights()[k]);
    }
    while (!left_.empty()) {
      const std::uint32_t j = left_.back();
      left_.pop_back();
      const double weight = entry_[j];
      constant += weight * constants_[j];
      exit += weight * exits_[j];
      const std::uint64_t end = offsets_[j + std::size_t{1}];
      operations_ += end - offsets_[j] + 1;
      for (std::uint64_t k = offsets_[j]; k < end; ++k) Add(i, columns_[k], weight * weights_[k]);
    }
    if (operations_ > most_operations) return false;
    double others = exit;  // with those, all that is not x_i itself
    for (const std::uint32_t column : right_) others += entry_[column];
    const double factor = 1 / others;
    constants_[i] = constant * factor;
    exits_[i] = exit * factor;
    offsets_[i] = columns_.size();
    for (const std::uint32_t column : right_) {
      columns_.push_back(column);
      weights_.push_back(entry_[column] * factor);
    }
    offsets_[i + std::size_t{1}] = columns_.size();
  }
  return true;
}

[[gnu::always_inline]] inline void Elimination::Add(std::uint32_t step, std::uint32_t to,
                                                    double weight) {
  if (seen_[to] == step + 1) {
    entry_[to] += weight;
    return;
  }
  seen_[to] = step + 1;
  entry_[to] = weight;
  if (to > step) {
    right_.push_back(to);
    return;
  }
  left_.push_back(to);
  for (std::size_t i = left_.size() - 1; i > 0 && left_[i - 1] < to; --i) {
    left_[i] = left_[i - 1];
    left_[i - 1] = to;
  }
}

}  // namespace stableaa
