#include "stableaa/mdp/solve/policy_rows.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "stableaa/mdp/solve/pass_blocks.h"

namespace stableaa {
namespace {

// As kLeastFetched, for values of 2 bytes.
constexpr std::uint64_t kLeastCoarseFetched = 4 * kLeastFetched;

// Rounded to nearest. REQUIRES: |number| < 32767.
std::int16_t Rounded(float number) {
  constexpr float kPositive = 32768;  // so that cutting off rounds down
  return static_cast<std::int16_t>(static_cast<std::int32_t>(number + (kPositive + 0.5F)) -
                                   static_cast<std::int32_t>(kPositive));
}

}  // namespace

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
    if (for_coarse_passes_) coarse_weights_ = std::make_unique_for_overwrite<float[]>(capacity_);
  }
}

void PolicyRows::Gather(const Model& model, double discount, std::span<const std::uint32_t> actions,
                        int threads) {
  if (std::ranges::equal(actions, actions_)) return;
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
        if (for_coarse_passes_) {
          std::copy(&weights_[to], &weights_[offsets_[s + 1]], &coarse_weights_[to]);
        }
        rewards_[s] = model.rewards()[row];
      }
      return kNoDifferences;
    };
    OverBlocks(model.states(), offsets_.back(), threads, gather);
  });
  actions_.assign(actions.begin(), actions.end());
}

Differences PolicyRows::Pass(std::span<const double> values, std::span<double> image,
                             int threads) const {
  return OverBlocks(rewards_.size(), offsets_.back(), threads,
                    [&](std::uint64_t first, std::uint64_t last) {
                      return PassOver(first, last, values, image);
                    });
}

Differences PolicyRows::PassOver(std::uint64_t first, std::uint64_t last,
                                 std::span<const double> values, std::span<double> image) const {
  const auto over = [first, last, rewards = rewards_.data(), offsets = offsets_.data(),
                     columns = columns_.get(), weights = weights_.get(), from = values.data(),
                     to = image.data()]<bool kFetch>(std::bool_constant<kFetch>) {
    Differences all = kNoDifferences;
    for (std::uint64_t s = first; s < last; ++s) {
      const double next =
          rewards[s] + RowSum<kFetch>(columns, weights, from, offsets[s], offsets[s + 1]);
      to[s] = next;
      JoinDifference(all, from[s], next);
    }
    return all;
  };
  const bool fetch =
      rewards_.size() >= kLeastFetched && offsets_[last] + kFetchAhead <= offsets_.back();
  return fetch ? over(std::true_type()) : over(std::false_type());
}

Differences PolicyRows::CoarsePass(std::span<const float> drift,
                                   std::span<const std::int16_t> change,
                                   std::span<std::int16_t> next, int threads) const {
  return OverBlocks(rewards_.size(), offsets_.back(), threads,
                    [&](std::uint64_t first, std::uint64_t last) {
                      return CoarsePassOver(first, last, drift.data(), change.data(), next.data());
                    });
}

Differences PolicyRows::CoarsePassOver(std::uint64_t first, std::uint64_t last, const float* drift,
                                       const std::int16_t* change, std::int16_t* next) const {
  const std::uint64_t* const offsets = offsets_.data();
  const std::uint32_t* const columns = columns_.get();
  const float* const weights = coarse_weights_.get();
  const auto over = [=]<bool kFetch>(std::bool_constant<kFetch>) {
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    std::int32_t largest = std::numeric_limits<std::int32_t>::min();
    std::uint64_t k = offsets[first];
    for (std::uint64_t s = first; s < last; ++s) {
      float sum = drift[s];
      for (const std::uint64_t end = offsets[s + 1]; k < end; ++k) {
        if constexpr (kFetch) __builtin_prefetch(change + columns[k + kFetchAhead]);
        sum += weights[k] * static_cast<float>(change[columns[k]]);
      }
      next[s] = Rounded(sum);
      least = std::min(least, next[s] - change[s]);
      largest = std::max(largest, next[s] - change[s]);
    }
    return Differences{static_cast<double>(least), static_cast<double>(largest), 0};
  };
  const bool fetch =
      rewards_.size() >= kLeastCoarseFetched && offsets[last] + kFetchAhead <= offsets_.back();
  return fetch ? over(std::true_type()) : over(std::false_type());
}

std::uint64_t PolicyRows::bytes() const {
  return 12 * offsets_.back() + 32 * static_cast<std::uint64_t>(rewards_.size());
}

std::uint64_t PolicyRows::coarse_bytes() const {
  return 8 * offsets_.back() + 16 * static_cast<std::uint64_t>(rewards_.size());
}

}  // namespace stableaa
