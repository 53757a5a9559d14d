#include "stableaa/mdp/model/model_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr double kSumTolerance = 1e-9;
constexpr std::uint64_t kLargestNarrow = std::numeric_limits<std::uint32_t>::max();

// The possible rounding error when summing n numbers that add up to 1.
double SumRounding(std::size_t n) {
  return static_cast<double>(n + 4) * std::numeric_limits<double>::epsilon();
}

}  // namespace

Model MakeModel(ModelStorage storage, std::optional<double> discount) {
  auto owner = std::make_shared<const ModelStorage>(std::move(storage));
  const ModelArrays arrays{.state_rows = owner->state_rows,
                           .row_transitions = owner->row_transitions,
                           .narrow_columns = owner->narrow_columns,
                           .wide_columns = owner->wide_columns,
                           .probabilities = owner->probabilities,
                           .rewards = owner->rewards};
  return Model(arrays, std::move(owner), discount);
}

ModelBuilder::ModelBuilder(Where where) : where_(std::move(where)) {
  storage_.row_transitions.push_back(0);
}

void ModelBuilder::Reserve(std::size_t states, std::size_t rows, std::size_t transitions) {
  storage_.state_rows.reserve(states + 1);
  storage_.row_transitions.reserve(rows + 1);
  storage_.rewards.reserve(rows);
  storage_.probabilities.reserve(transitions);
  if (wide_) {
    storage_.wide_columns.reserve(transitions);
  } else {
    storage_.narrow_columns.reserve(transitions);
  }
}

void ModelBuilder::UseWideColumns() {
  if (!storage_.probabilities.empty()) throw std::logic_error("UseWideColumns after transitions");
  wide_ = true;
}

void ModelBuilder::BeginState() {
  if (!row_.empty()) throw std::logic_error("BeginState within a row");
  CheckLastState();
  storage_.state_rows.push_back(storage_.rewards.size());
}

void ModelBuilder::CheckLastState() const {
  if (!storage_.state_rows.empty() && storage_.state_rows.back() == storage_.rewards.size()) {
    throw BadInput(fmt::format("{}: state {} has no action; give it at least one", where_(),
                               storage_.state_rows.size() - 1));
  }
}

std::string ModelBuilder::RowName() const {
  return fmt::format("state {}, action {}", states() - 1,
                     storage_.rewards.size() - storage_.state_rows.back());
}

void ModelBuilder::EndRow(double reward) {
  if (storage_.state_rows.empty()) throw std::logic_error("EndRow before BeginState");
  if (!std::isfinite(reward)) {
    throw BadInput(
        fmt::format("{}: {}: expected a finite reward, found {}", where_(), RowName(), reward));
  }
  SortRow();
  NormaliseRow();
  for (const auto& [next, probability] : row_) Append(next, probability);
  row_.clear();
  storage_.row_transitions.push_back(storage_.probabilities.size());
  storage_.rewards.push_back(reward);
}

// Sorts by next state and sums repetitions in the order given.
void ModelBuilder::SortRow() {
  for (const auto& [next, probability] : row_) {
    // The comparison is false for NaN. 1 may be exceeded by as much as a sum may.
    if (!(probability >= 0 && probability <= 1 + kSumTolerance)) {
      throw BadInput(fmt::format("{}: {}: expected a probability in [0, 1], found {}", where_(),
                                 RowName(), probability));
    }
  }
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto not_before = [](const auto& a, const auto& b) { return a.first >= b.first; };
  const bool ascending = std::ranges::adjacent_find(row_, not_before) == row_.end();
  if (!ascending) {
    std::ranges::stable_sort(row_, before);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < row_.size(); ++i) {
      if (row_[i].first == row_[kept].first) {
        row_[kept].second += row_[i].second;
      } else {
        row_[++kept] = row_[i];
      }
    }
    row_.resize(kept + 1);
  }
  std::erase_if(row_, [](const auto& transition) { return transition.second == 0; });
}

void ModelBuilder::NormaliseRow() {
  double sum = 0;
  for (const auto& transition : row_) sum += transition.second;
  if (!(std::abs(sum - 1) <= kSumTolerance)) {
    throw BadInput(
        fmt::format("{}: {}: the probabilities sum to {} instead of 1", where_(), RowName(), sum));
  }
  const bool above_one =
      std::ranges::any_of(row_, [](const auto& transition) { return transition.second > 1; });
  if (std::abs(sum - 1) <= SumRounding(row_.size()) && !above_one) return;
  for (auto& transition : row_) transition.second /= sum;
}

void ModelBuilder::Append(std::uint64_t next, double probability) {
  if (next > kLargestNarrow && !wide_) {
    storage_.wide_columns.assign(storage_.narrow_columns.begin(), storage_.narrow_columns.end());
    storage_.narrow_columns = {};
    wide_ = true;
  }
  if (wide_) {
    storage_.wide_columns.push_back(next);
  } else {
    storage_.narrow_columns.push_back(static_cast<std::uint32_t>(next));
  }
  storage_.probabilities.push_back(probability);
  largest_next_ = std::max(largest_next_, next);
}

Model ModelBuilder::Finish(std::optional<double> discount) {
  if (storage_.state_rows.empty()) {
    throw BadInput(fmt::format("{}: the model has no state", where_()));
  }
  CheckLastState();
  if (largest_next_ >= states()) {
    throw BadInput(fmt::format("{}: a transition leads to state {}, but there are only {} states",
                               where_(), largest_next_, states()));
  }
  storage_.state_rows.push_back(storage_.rewards.size());
  return MakeModel(std::move(storage_), discount);
}

namespace {

// What is wrong with rows [first, last), or an empty text.
template <typename Column>
std::string FaultInRows(const ModelArrays& arrays, std::span<const Column> columns,
                        std::uint64_t first, std::uint64_t last) {
  const std::uint64_t states = arrays.state_rows.size() - 1;
  for (std::uint64_t row = first; row < last; ++row) {
    const std::uint64_t begin = arrays.row_transitions[row];
    const std::uint64_t end = arrays.row_transitions[row + 1];
    if (end <= begin || end > arrays.probabilities.size()) {
      return fmt::format("row {} has the transitions {} to {}, of {}", row, begin, end,
                         arrays.probabilities.size());
    }
    double sum = 0;
    bool sound = columns[end - 1] < states && std::isfinite(arrays.rewards[row]);
    for (std::uint64_t k = begin; k < end; ++k) {
      sum += arrays.probabilities[k];
      sound &= arrays.probabilities[k] > 0 && arrays.probabilities[k] <= 1;
      sound &= k == begin || columns[k - 1] < columns[k];
    }
    // NaN fails every comparison; infinity fails the sum.
    if (!sound || !(std::abs(sum - 1) <= SumRounding(static_cast<std::size_t>(end - begin)))) {
      return fmt::format(
          "row {}: expected ascending next states below {}, positive probabilities that sum to 1 "
          "(found {}) and a finite reward (found {})",
          row, states, sum, arrays.rewards[row]);
    }
  }
  return {};
}

std::string FaultInOffsets(std::span<const std::uint64_t> offsets, std::uint64_t end,
                           const char* what) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != end) {
    return fmt::format("expected {} from 0 to {}", what, end);
  }
  bool ascending = true;
  for (std::size_t i = 1; i < offsets.size(); ++i) ascending &= offsets[i - 1] < offsets[i];
  return ascending ? std::string() : fmt::format("expected ascending {}", what);
}

}  // namespace

void CheckCanonical(const ModelArrays& arrays, const std::string& name, int threads) {
  const std::uint64_t rows = arrays.rewards.size();
  const std::size_t transitions = arrays.probabilities.size();
  const bool wide = !arrays.wide_columns.empty();
  const auto fail = [&](const std::string& fault) {
    if (!fault.empty()) throw BadInput(fmt::format("{}: {}", name, fault));
  };
  const bool one_kind = arrays.wide_columns.empty() || arrays.narrow_columns.empty();
  if (!one_kind || arrays.wide_columns.size() + arrays.narrow_columns.size() != transitions ||
      arrays.state_rows.size() < 2 || arrays.row_transitions.size() != rows + 1) {
    fail("the sizes of the arrays do not fit each other");
  }
  fail(FaultInOffsets(arrays.state_rows, rows, "first rows of states"));
  fail(FaultInOffsets(arrays.row_transitions, transitions, "first transitions of rows"));

  constexpr std::uint64_t kBlock = std::uint64_t{1} << 16;
  const auto blocks = static_cast<std::int64_t>((rows + kBlock - 1) / kBlock);
  std::string fault;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (blocks > 1)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::uint64_t first = static_cast<std::uint64_t>(block) * kBlock;
    const std::uint64_t last = std::min(rows, first + kBlock);
    const std::string found = wide ? FaultInRows(arrays, arrays.wide_columns, first, last)
                                   : FaultInRows(arrays, arrays.narrow_columns, first, last);
    if (!found.empty()) {
#pragma omp critical
      if (fault.empty()) fault = found;
    }
  }
  fail(fault);
}

}  // namespace stableaa
