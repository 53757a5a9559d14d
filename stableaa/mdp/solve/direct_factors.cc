#include "stableaa/mdp/solve/direct_factors.h"

#include <algorithm>
#include <functional>

namespace stableaa {

bool DirectFactors::Factor(const SparseRows& rows, std::uint64_t most_operations) {
  const auto n = static_cast<std::uint32_t>(rows.size());
  lower_.Clear();
  upper_.Clear();
  inverse_.resize(n);
  entry_.resize(n);
  seen_.assign(n, 0);
  operations_ = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    BeginRow(rows, i);
    while (!left_.empty()) {
      std::ranges::pop_heap(left_, std::greater());
      const std::uint32_t j = left_.back();
      left_.pop_back();
      const double factor = entry_[j] * inverse_[j];
      lower_.columns.push_back(j);
      lower_.weights.push_back(factor);
      const std::uint64_t end = upper_.offsets[j + std::size_t{1}];
      operations_ += end - upper_.offsets[j] + 1;
      for (std::uint64_t k = upper_.offsets[j]; k < end; ++k) {
        AddTo(i, upper_.columns[k], -factor * upper_.weights[k]);
      }
    }
    if (operations_ > most_operations) return false;
    inverse_[i] = 1 / entry_[i];
    for (const std::uint32_t column : right_) {
      upper_.columns.push_back(column);
      upper_.weights.push_back(entry_[column]);
    }
    lower_.offsets.push_back(lower_.columns.size());
    upper_.offsets.push_back(upper_.columns.size());
  }
  return true;
}

// The row of A.
void DirectFactors::BeginRow(const SparseRows& rows, std::uint32_t row) {
  left_.clear();
  right_.clear();
  seen_[row] = row + 1;
  entry_[row] = 1;
  for (std::uint64_t k = rows.offsets[row]; k < rows.offsets[row + std::size_t{1}]; ++k) {
    AddTo(row, rows.columns[k], -rows.weights[k]);
  }
}

void DirectFactors::AddTo(std::uint32_t row, std::uint32_t column, double value) {
  if (seen_[column] == row + 1) {
    entry_[column] += value;
    return;
  }
  seen_[column] = row + 1;
  entry_[column] = value;
  if (column < row) {
    left_.push_back(column);
    std::ranges::push_heap(left_, std::greater());
  } else {
    right_.push_back(column);
  }
}

void DirectFactors::Solve(std::span<double> x) const {
  const std::size_t n = inverse_.size();
  for (std::size_t i = 0; i < n; ++i) {
    double value = x[i];
    for (std::uint64_t k = lower_.offsets[i]; k < lower_.offsets[i + 1]; ++k) {
      value -= lower_.weights[k] * x[lower_.columns[k]];
    }
    x[i] = value;
  }
  for (std::size_t i = n; i-- > 0;) {
    double value = x[i];
    for (std::uint64_t k = upper_.offsets[i]; k < upper_.offsets[i + 1]; ++k) {
      value -= upper_.weights[k] * x[upper_.columns[k]];
    }
    x[i] = value * inverse_[i];
  }
}

}  // namespace stableaa
