#include "stableaa/mdp/solve/lazy_backup.h"

#include <algorithm>
#include <cmath>

#include "stableaa/mdp/solve/pass_blocks.h"

namespace stableaa {
namespace {

// Rows of scattered states take this much longer than rows in a stream.
constexpr double kScattered = 1.5;

}  // namespace

LazyBackup::LazyBackup(const Model& model, const Certifier& certifier)
    : model_(model), certifier_(certifier), leads_(model.states()) {}

void LazyBackup::Moved(const Differences& change) {
  // A constant does not quite cancel: the probabilities of a row sum to 1 only up to rounding.
  used_ +=
      certifier_.discount() * (change.span() + 2 * certifier_.row_sum_error() * change.magnitude());
}

// Leads above it are not used up.
float LazyBackup::Limit() const {
  // Each of the two action values of a lead is off by no more than a backed-up value.
  const double rounding = 2 * (1 - certifier_.discount()) * certifier_.Floor(largest_);
  const double limit = used_ + rounding;
  constexpr double kMore = 1 + 0x1p-23;  // rounded up
  return static_cast<float>(kMore * limit);
}

// The rows of states whose leads are used up.
std::uint64_t LazyBackup::RowsLeft(float limit) const {
  std::uint64_t rows = 0;
  for (std::uint64_t s = 0; s < leads_.size(); ++s) {
    const std::uint64_t used_up = leads_[s] > limit ? 0 : 1;
    rows += used_up * model_.actions(s);  // without a branch, which would be as good as random
  }
  return rows;
}

Differences LazyBackup::FullPass(std::span<const double> values, std::span<double> image,
                                 std::span<std::uint32_t> actions, int threads) {
  const Differences differences =
      BackupPassWithLeads(model_, certifier_.discount(), values, image, actions, leads_, threads);
  used_ = 0;
  largest_ = differences.values;
  return differences;
}

Differences LazyBackup::PartialPass(const PolicyRows& rows, float limit,
                                    std::span<const double> values, std::span<double> image,
                                    std::span<std::uint32_t> actions, int threads) {
  const double discount = certifier_.discount();
  const auto evaluate = [&](const auto& view, std::uint64_t s) {
    std::uint64_t row = view.state_rows[s];
    std::uint64_t k = view.row_transitions[row];
    const BestRow best =
        FindBestRow<false>(view, discount, values.data(), row, k, view.state_rows[s + 1]);
    image[s] = best.value;
    actions[s] = static_cast<std::uint32_t>(best.row - view.state_rows[s]);
    leads_[s] = RoundedDown(best.lead() + used_);
  };
  const Differences differences = model_.VisitColumns([&](auto columns) {
    const auto view = ViewOf(model_, columns);
    return OverBlocks(view.states, view.transitions, threads,
                      [&](std::uint64_t first, std::uint64_t last) {
                        rows.PassOver(first, last, values, image);
                        Differences all = kNoDifferences;
                        for (std::uint64_t s = first; s < last; ++s) {
                          if (!(leads_[s] > limit)) evaluate(view, s);
                          JoinDifference(all, values[s], image[s]);
                        }
                        return all;
                      });
  });
  largest_ = std::max(largest_, differences.values);
  return differences;
}

CountedBackup LazyBackup::Pass(PolicyRows& rows, std::span<const double> values,
                               std::span<double> image, std::span<std::uint32_t> actions,
                               int threads) {
  const auto states = static_cast<double>(model_.states());
  const auto all = static_cast<double>(model_.rows());
  const float limit = Limit();
  const std::uint64_t left = std::isfinite(limit) ? RowsLeft(limit) : model_.rows();
  if (states + kScattered * static_cast<double>(left) >= all) {
    return {FullPass(values, image, actions, threads), model_.rows(), PassBytes(model_)};
  }
  rows.Gather(model_, certifier_.discount(), actions, threads);
  const double share = static_cast<double>(left) / all;
  return {PartialPass(rows, limit, values, image, actions, threads), model_.states() + left,
          rows.bytes() + static_cast<std::uint64_t>(share * static_cast<double>(model_.bytes()))};
}

}  // namespace stableaa
