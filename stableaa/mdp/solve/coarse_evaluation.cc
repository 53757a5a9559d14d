#include "stableaa/mdp/solve/coarse_evaluation.h"

#include <cmath>

#include "stableaa/mdp/solve/pass_blocks.h"

namespace stableaa {

bool CoarseEvaluation::CanStart(const Differences& differences) {
  constexpr double kLeastSpan = 1e-290;
  return differences.span() > kLeastSpan && std::isfinite(differences.span());
}

void CoarseEvaluation::Start(std::span<const double> values, std::span<const double> image,
                             const Differences& differences, int most_passes, int threads) {
  // |d − middle| ≤ span/2 and |E_{j+1}| ≤ |d| + |E_j|, so E cannot become larger than this; the
  // rest of the 16 bits is for rounding.
  constexpr double kLargest = 32000;
  unit_ = differences.span() / 2 * (most_passes + 1) / kLargest;
  middle_ = differences.least + differences.span() / 2;
  constant_ = middle_;
  drift_.resize(values.size());
  change_.resize(values.size());
  next_.resize(values.size());
  OverBlocks(values.size(), values.size(), threads, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t s = first; s < last; ++s) {
      drift_[s] = static_cast<float>((image[s] - values[s] - middle_) / unit_);
      change_[s] = static_cast<std::int16_t>(drift_[s]);
    }
    return kNoDifferences;
  });
}

double CoarseEvaluation::Pass(const PolicyRows& rows, double discount, int threads) {
  const Differences differences = rows.CoarsePass(drift_, change_, next_, threads);
  change_.swap(next_);
  constant_ = middle_ + discount * constant_;
  return unit_ * differences.span();
}

Differences CoarseEvaluation::AddTo(std::span<double> values, int threads) const {
  return OverBlocks(values.size(), values.size(), threads,
                    [&](std::uint64_t first, std::uint64_t last) {
                      Differences all = kNoDifferences;
                      for (std::uint64_t s = first; s < last; ++s) {
                        const double next = values[s] + (constant_ + unit_ * change_[s]);
                        JoinDifference(all, values[s], next);
                        values[s] = next;
                      }
                      return all;
                    });
}

}  // namespace stableaa
