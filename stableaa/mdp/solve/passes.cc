#include "stableaa/mdp/solve/passes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace stableaa {
namespace {

// States per block: enough work for a thread, few enough to share out evenly.
constexpr std::uint64_t kBlock = 2048;

// Models with fewer transitions are swept by one thread: starting others would take longer.
constexpr std::uint64_t kLeastParallel = 200'000;

// Values of next states are prefetched this many transitions ahead, but only in models whose values
// do not fit in the second-level cache.
constexpr std::uint64_t kAhead = 64;
constexpr std::uint64_t kLeastFetched = 50'000;  // states

// Rows of at least this length are summed in four parts, which is faster and rounds less.
constexpr std::uint64_t kLongRow = 16;

template <typename Column>
struct View {
  const std::uint64_t* state_rows;
  const std::uint64_t* row_transitions;
  const Column* columns;
  const double* probabilities;
  const double* rewards;
  std::uint64_t states;
  std::uint64_t transitions;
};

template <typename Column>
View<Column> ViewOf(const Model& model, std::span<const Column> columns) {
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
        if constexpr (kFetch) __builtin_prefetch(values + columns[k + j + kAhead]);
        part[j] += weights[k + j] * values[columns[k + j]];
      }
    }
    sum = (part[0] + part[1]) + (part[2] + part[3]);
  }
  for (; k < end; ++k) {
    if constexpr (kFetch) __builtin_prefetch(values + columns[k + kAhead]);
    sum += weights[k] * values[columns[k]];
  }
  return sum;
}

// The sum without the transition to `state`, whose probability is stored in `stay`.
template <typename Column>
double RowSumElsewhere(const View<Column>& view, const double* values, std::uint64_t begin,
                       std::uint64_t end, std::uint64_t state, double& stay) {
  double sum = 0;
  stay = 0;
  for (std::uint64_t k = begin; k < end; ++k) {
    const bool self = view.columns[k] == state;
    const double p = view.probabilities[k];
    stay = self ? p : stay;
    sum += self ? 0 : p * values[view.columns[k]];
  }
  return sum;
}

// Calls pass(first, last, fetch) for blocks of states on `threads` threads and joins the results.
// `fetch` says whether transitions may be prefetched; near the end that would read past the last.
template <typename Pass>
Differences OverBlocks(std::uint64_t states, std::uint64_t transitions, int threads,
                       const Pass& pass) {
  const auto blocks = static_cast<std::int64_t>((states + kBlock - 1) / kBlock);
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  double values = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min      \
                                                                         : least) \
    reduction(max                                                                 \
              : largest, values) if (threads > 1 && blocks > 1 && transitions >= kLeastParallel)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::uint64_t first = static_cast<std::uint64_t>(block) * kBlock;
    const Differences found = pass(first, std::min(states, first + kBlock));
    least = std::min(least, found.least);
    largest = std::max(largest, found.largest);
    values = std::max(values, found.values);
  }
  return {least, largest, values};
}

constexpr Differences kNone = {std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(), 0};

void Join(Differences& all, double value, double next) {
  const double difference = next - value;
  all.values = std::max(all.values, std::abs(value));
  all.least = difference < all.least ? difference : all.least;
  all.largest = difference > all.largest ? difference : all.largest;
}

template <bool kFetch, bool kActions, typename Column>
Differences BackupBlock(const View<Column>& view, double discount, const double* values,
                        double* image, std::uint32_t* actions, std::uint64_t first,
                        std::uint64_t last) {
  Differences all = kNone;
  std::uint64_t row = view.state_rows[first];
  std::uint64_t k = view.row_transitions[row];
  for (std::uint64_t s = first; s < last; ++s) {
    const std::uint64_t begin_row = row;
    const std::uint64_t end_row = view.state_rows[s + 1];
    double best = -std::numeric_limits<double>::infinity();
    std::uint64_t best_row = row;
    for (; row < end_row; ++row) {
      const std::uint64_t end = view.row_transitions[row + 1];
      const double q = view.rewards[row] +
                       discount * RowSum<kFetch>(view.columns, view.probabilities, values, k, end);
      k = end;
      if constexpr (kActions) best_row = q > best ? row : best_row;
      best = q > best ? q : best;
    }
    image[s] = best;
    if constexpr (kActions) actions[s] = static_cast<std::uint32_t>(best_row - begin_row);
    Join(all, values[s], best);
  }
  return all;
}

// True if a pass over states up to `last` may prefetch kAhead transitions further.
template <typename Column>
bool MayFetch(const View<Column>& view, std::uint64_t last) {
  return view.states >= kLeastFetched &&
         view.row_transitions[view.state_rows[last]] + kAhead <= view.transitions;
}

template <typename Column>
Differences JacobiBlock(const View<Column>& view, double discount, const double* values,
                        double* image, std::uint64_t first, std::uint64_t last) {
  Differences all = kNone;
  for (std::uint64_t s = first; s < last; ++s) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::uint64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; ++row) {
      double stay = 0;
      const double sum = RowSumElsewhere(view, values, view.row_transitions[row],
                                         view.row_transitions[row + 1], s, stay);
      best = std::max(best, (view.rewards[row] + discount * sum) / (1 - discount * stay));
    }
    image[s] = best;
    Join(all, values[s], best);
  }
  return all;
}

template <typename Column>
Differences OperatorBlock(const View<Column>& view, double discount, const Backup& backup,
                          const double* values, double* image, std::uint64_t first,
                          std::uint64_t last) {
  Differences all = kNone;
  std::vector<double> q;
  for (std::uint64_t s = first; s < last; ++s) {
    q.clear();
    for (std::uint64_t row = view.state_rows[s]; row < view.state_rows[s + 1]; ++row) {
      q.push_back(view.rewards[row] + discount * RowSum<false>(view.columns, view.probabilities,
                                                               values, view.row_transitions[row],
                                                               view.row_transitions[row + 1]));
    }
    image[s] = backup.Value(q);
    Join(all, values[s], image[s]);
  }
  return all;
}

}  // namespace

Differences BackupPass(const Model& model, double discount, std::span<const double> values,
                       std::span<double> image, std::span<std::uint32_t> actions, int threads) {
  return model.VisitColumns([&](auto columns) {
    const auto view = ViewOf(model, columns);
    const auto block = [&]<bool kFetch>(std::bool_constant<kFetch>, std::uint64_t first,
                                        std::uint64_t last) {
      return actions.empty() ? BackupBlock<kFetch, false>(view, discount, values.data(),
                                                          image.data(), nullptr, first, last)
                             : BackupBlock<kFetch, true>(view, discount, values.data(),
                                                         image.data(), actions.data(), first, last);
    };
    return OverBlocks(view.states, view.transitions, threads,
                      [&](std::uint64_t first, std::uint64_t last) {
                        return MayFetch(view, last) ? block(std::true_type(), first, last)
                                                    : block(std::false_type(), first, last);
                      });
  });
}

Differences JacobiPass(const Model& model, double discount, std::span<const double> values,
                       std::span<double> image, int threads) {
  return model.VisitColumns([&](auto columns) {
    const auto view = ViewOf(model, columns);
    return OverBlocks(
        view.states, view.transitions, threads, [&](std::uint64_t first, std::uint64_t last) {
          return JacobiBlock(view, discount, values.data(), image.data(), first, last);
        });
  });
}

Differences OperatorPass(const Model& model, double discount, const Backup& backup,
                         std::span<const double> values, std::span<double> image, int threads) {
  return model.VisitColumns([&](auto columns) {
    const auto view = ViewOf(model, columns);
    return OverBlocks(
        view.states, view.transitions, threads, [&](std::uint64_t first, std::uint64_t last) {
          return OperatorBlock(view, discount, backup, values.data(), image.data(), first, last);
        });
  });
}

std::uint64_t PassBytes(const Model& model) { return model.bytes() + 16 * model.states(); }

// True if every state's row is as long as the one gathered for it.
bool PolicyRows::KeepsOffsets(const Model& model, std::span<const std::uint32_t> actions) const {
  if (actions_.size() != actions.size()) return false;
  for (std::uint64_t s = 0; s < actions.size(); ++s) {
    if (actions[s] == actions_[s]) continue;
    const std::uint64_t row = model.state_rows()[s] + actions[s];
    const std::uint64_t length = model.row_transitions()[row + 1] - model.row_transitions()[row];
    if (length != offsets_[s + 1] - offsets_[s]) return false;
  }
  return true;
}

void PolicyRows::PlaceRows(const Model& model, std::span<const std::uint32_t> actions) {
  const std::uint64_t states = model.states();
  offsets_.resize(states + 1);
  rewards_.resize(states);
  offsets_[0] = 0;
  for (std::uint64_t s = 0; s < states; ++s) {
    const std::uint64_t row = model.state_rows()[s] + actions[s];
    offsets_[s + 1] = offsets_[s] + model.row_transitions()[row + 1] - model.row_transitions()[row];
  }
  if (capacity_ < offsets_.back()) {
    capacity_ = offsets_.back();
    columns_ = std::make_unique_for_overwrite<std::uint32_t[]>(capacity_);
    weights_ = std::make_unique_for_overwrite<double[]>(capacity_);
  }
}

void PolicyRows::Gather(const Model& model, double discount, std::span<const std::uint32_t> actions,
                        int threads) {
  const bool all = !KeepsOffsets(model, actions);
  if (all) PlaceRows(model, actions);
  model.VisitColumns([&](auto columns) {
    const auto gather = [&](std::uint64_t first, std::uint64_t last) {
      for (std::uint64_t s = first; s < last; ++s) {
        if (!all && actions[s] == actions_[s]) continue;
        const std::uint64_t row = model.state_rows()[s] + actions[s];
        const std::uint64_t from = model.row_transitions()[row];
        const std::uint64_t to = offsets_[s];
        for (std::uint64_t k = 0; k < offsets_[s + 1] - to; ++k) {
          columns_[to + k] = static_cast<std::uint32_t>(columns[from + k]);
          weights_[to + k] = discount * model.probabilities()[from + k];
        }
        rewards_[s] = model.rewards()[row];
      }
      return kNone;
    };
    OverBlocks(model.states(), offsets_.back(), threads, gather);
  });
  actions_.assign(actions.begin(), actions.end());
}

Differences PolicyRows::Pass(std::span<const double> values, std::span<double> image,
                             int threads) const {
  const std::uint64_t states = rewards_.size();
  const std::uint64_t transitions = offsets_.back();
  const auto block = [&]<bool kFetch>(std::bool_constant<kFetch>, std::uint64_t first,
                                      std::uint64_t last) {
    Differences all = kNone;
    for (std::uint64_t s = first; s < last; ++s) {
      image[s] = rewards_[s] + RowSum<kFetch>(columns_.get(), weights_.get(), values.data(),
                                              offsets_[s], offsets_[s + 1]);
      Join(all, values[s], image[s]);
    }
    return all;
  };
  return OverBlocks(states, transitions, threads, [&](std::uint64_t first, std::uint64_t last) {
    return states >= kLeastFetched && offsets_[last] + kAhead <= transitions
               ? block(std::true_type(), first, last)
               : block(std::false_type(), first, last);
  });
}

std::uint64_t PolicyRows::bytes() const {
  return 12 * offsets_.back() + 32 * static_cast<std::uint64_t>(rewards_.size());
}

}  // namespace stableaa
