#include "stableaa/mdp/watch/solve_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace stableaa {
namespace {

constexpr std::uint64_t kParts = 1'000'000;

ProgressOptions AsShare(ProgressOptions options) {
  options.unit = "";
  options.total = kParts;
  options.start = 0;
  options.by_itself = true;
  return options;
}

}  // namespace

SolveProgress::SolveProgress(ProgressOptions options, double discount, double tolerance)
    : discount_(discount), tolerance_(tolerance), progress_(AsShare(std::move(options))) {}

void SolveProgress::Add(const SolveStep& step) {
  const bool certified = !std::isnan(step.lower);
  const double gap = certified ? std::max(std::abs(step.lower), std::abs(step.upper))
                               : step.residual * discount_ / (1 - discount_);
  const std::string passes =
      fmt::format("{} {}", HumanCount(step.iterations), step.iterations == 1 ? "sweep" : "sweeps");
  progress_.Note(certified ? fmt::format("{}, gap {:.1e} → {:.2g}", passes, gap, tolerance_)
                           : fmt::format("{}, residual {:.1e}", passes, step.residual));
  if (!std::isfinite(gap)) {
    progress_.Advance(0);
    return;
  }
  if (first_ == 0) first_ = gap;
  progress_.Set(static_cast<std::uint64_t>(static_cast<double>(kParts) *
                                           LogarithmicShare(first_, gap, tolerance_)));
}

double LogarithmicShare(double first, double gap, double tolerance) {
  if (gap <= tolerance) return 1;
  if (!(gap < first)) return 0;
  return std::log(first / gap) / std::log(first / tolerance);
}

}  // namespace stableaa
