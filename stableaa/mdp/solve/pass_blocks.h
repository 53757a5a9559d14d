// What passes over a model are made of: sums over rows, and blocks of states for threads.
#ifndef STABLEAA_MDP_SOLVE_PASS_BLOCKS_H_
#define STABLEAA_MDP_SOLVE_PASS_BLOCKS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/passes.h"

namespace stableaa {

// States per block: enough work for a thread, few enough to share out evenly.
inline constexpr std::uint64_t kStatesPerBlock = 2048;

// Models with fewer transitions are swept by one thread: starting others would take longer.
inline constexpr std::uint64_t kLeastParallel = 200'000;

// Values of next states are prefetched this many transitions ahead, but only in models whose values
// do not fit in the second-level cache.
inline constexpr std::uint64_t kFetchAhead = 64;
inline constexpr std::uint64_t kLeastFetched = 50'000;  // states

// Rows of at least this length are summed in four parts, which is faster and rounds less.
inline constexpr std::uint64_t kLongRow = 16;

template <typename Column>
struct RowsView {
  const std::uint64_t* state_rows;
  const std::uint64_t* row_transitions;
  const Column* columns;
  const double* probabilities;
  const double* rewards;
  std::uint64_t states;
  std::uint64_t transitions;
};

template <typename Column>
RowsView<Column> ViewOf(const Model& model, std::span<const Column> columns) {
  return {model.state_rows().data(),    model.row_transitions().data(), columns.data(),
          model.probabilities().data(), model.rewards().data(),         model.states(),
          model.transitions()};
}

// Σ weights[k] values[columns[k]] over a row. Most rows are short, so a function call would cost as
// much as the sum.
template <bool kFetch, typename Column>
[[gnu::always_inline]] inline double RowSum(const Column* columns, const double* weights,
                                            const double* values, std::uint64_t begin,
                                            std::uint64_t end) {
  double sum = 0;
  std::uint64_t k = begin;
  if (end - begin >= kLongRow) {
    double part[4] = {0, 0, 0, 0};
    for (; k + 4 <= end; k += 4) {
      for (std::uint64_t j = 0; j < 4; ++j) {
        if constexpr (kFetch) __builtin_prefetch(values + columns[k + j + kFetchAhead]);
        part[j] += weights[k + j] * values[columns[k + j]];
      }
    }
    sum = (part[0] + part[1]) + (part[2] + part[3]);
  }
  for (; k < end; ++k) {
    if constexpr (kFetch) __builtin_prefetch(values + columns[k + kFetchAhead]);
    sum += weights[k] * values[columns[k]];
  }
  return sum;
}

// The best of a state's action values, the first row that attains it, and the best of the others.
struct BestRow {
  double value = -std::numeric_limits<double>::infinity();
  double second = -std::numeric_limits<double>::infinity();
  std::uint64_t row = 0;

  // How far the best action is ahead; infinite for an only one.
  double lead() const { return value - second; }
};

// `k` is the first transition of `row`. Both are moved to the end of the state's.
template <bool kFetch, typename Column>
[[gnu::always_inline]] inline BestRow FindBestRow(const RowsView<Column>& view, double discount,
                                                  const double* values, std::uint64_t& row,
                                                  std::uint64_t& k, std::uint64_t end_row) {
  BestRow best{.row = row};
  for (; row < end_row; ++row) {
    const std::uint64_t end = view.row_transitions[row + 1];
    const double q = view.rewards[row] +
                     discount * RowSum<kFetch>(view.columns, view.probabilities, values, k, end);
    k = end;
    // Written so that it takes no branches, which would be as good as random.
    const double lesser = q < best.value ? q : best.value;
    best.second = lesser > best.second ? lesser : best.second;
    best.row = q > best.value ? row : best.row;
    best.value = q > best.value ? q : best.value;
  }
  return best;
}

// A float no larger than a number ≥ 0. Below the normal floats it is 0.
inline float RoundedDown(double number) {
  constexpr double kLess = 1 - 0x1p-23;
  return number < std::numeric_limits<float>::min() ? 0 : static_cast<float>(kLess * number);
}

// Calls pass(first, last, fetch) for blocks of states on `threads` threads and joins the results.
// `fetch` says whether transitions may be prefetched; near the end that would read past the last.
template <typename Pass>
Differences OverBlocks(std::uint64_t states, std::uint64_t transitions, int threads,
                       const Pass& pass) {
  const auto blocks = static_cast<std::int64_t>((states + kStatesPerBlock - 1) / kStatesPerBlock);
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  double values = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min      \
                                                                         : least) \
    reduction(max                                                                 \
              : largest, values) if (threads > 1 && blocks > 1 && transitions >= kLeastParallel)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::uint64_t first = static_cast<std::uint64_t>(block) * kStatesPerBlock;
    const Differences found = pass(first, std::min(states, first + kStatesPerBlock));
    least = std::min(least, found.least);
    largest = std::max(largest, found.largest);
    values = std::max(values, found.values);
  }
  return {least, largest, values};
}

inline constexpr Differences kNoDifferences = {std::numeric_limits<double>::infinity(),
                                               -std::numeric_limits<double>::infinity(), 0};

inline void JoinDifference(Differences& all, double value, double next) {
  const double difference = next - value;
  all.values = std::max(all.values, std::abs(value));
  all.least = difference < all.least ? difference : all.least;
  all.largest = difference > all.largest ? difference : all.largest;
}

// True if a pass over states up to `last` may prefetch kFetchAhead transitions further.
template <typename Column>
bool MayFetch(const RowsView<Column>& view, std::uint64_t last) {
  return view.states >= kLeastFetched &&
         view.row_transitions[view.state_rows[last]] + kFetchAhead <= view.transitions;
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_PASS_BLOCKS_H_
