#include "stableaa/mdp/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

template <typename T>
bool SameBits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

std::uint64_t LargestStep(std::span<const std::uint64_t> offsets) {
  std::uint64_t largest = 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    largest = std::max(largest, offsets[i] - offsets[i - 1]);
  }
  return largest;
}

}  // namespace

Model::Model(const ModelArrays& arrays, std::shared_ptr<const void> owner,
             std::optional<double> discount)
    : arrays_(arrays), owner_(std::move(owner)), discount_(discount) {}

std::uint64_t Model::most_actions() const { return LargestStep(arrays_.state_rows); }
std::uint64_t Model::most_transitions() const { return LargestStep(arrays_.row_transitions); }

Model Model::WithDiscount(std::optional<double> discount) const {
  return Model(arrays_, owner_, discount);
}

Model Model::WithRewards(std::vector<double> rewards) const {
  struct Both {
    std::shared_ptr<const void> rest;
    std::vector<double> rewards;
  };
  auto owner = std::make_shared<Both>(Both{owner_, std::move(rewards)});
  ModelArrays arrays = arrays_;
  arrays.rewards = owner->rewards;
  return Model(arrays, std::move(owner), discount_);
}

std::uint64_t Model::bytes() const {
  return arrays_.state_rows.size_bytes() + arrays_.row_transitions.size_bytes() +
         arrays_.narrow_columns.size_bytes() + arrays_.wide_columns.size_bytes() +
         arrays_.probabilities.size_bytes() + arrays_.rewards.size_bytes();
}

bool Model::operator==(const Model& other) const {
  return SameBits(arrays_.state_rows, other.arrays_.state_rows) &&
         SameBits(arrays_.row_transitions, other.arrays_.row_transitions) &&
         SameBits(arrays_.narrow_columns, other.arrays_.narrow_columns) &&
         SameBits(arrays_.wide_columns, other.arrays_.wide_columns) &&
         SameBits(arrays_.probabilities, other.arrays_.probabilities) &&
         SameBits(arrays_.rewards, other.arrays_.rewards) && discount_ == other.discount_;
}

void CheckDiscount(double discount, const std::string& where) {
  if (discount == 1) {
    throw BadInput(fmt::format(
        "{}: a discount of 1 (undiscounted models) is not supported; it must be below 1", where));
  }
  if (!(discount >= 0 && discount < 1)) {
    throw BadInput(fmt::format("{}: expected a discount in [0, 1), found {}", where, discount));
  }
}

}  // namespace stableaa
