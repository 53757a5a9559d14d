// Tests a claim: its fixed instances, random ones, and a search for worse ones.
//
//   const ClaimResult result = TestClaim(FindClaim("thm1"), {.trials = 1000, .seed = 1});
//
// The search is a hill climb on Inequality::Ratio(), restarted alternately from the worst instances
// drawn and from new ones. It moves to neighbours (choices.h) whose ratio is at least as large,
// half of the time for the printed form and half for the corrected one. So "holds" means that the
// search tried to break it.
//
// On one machine, equal claim, trials and seed give equal results.
#ifndef STABLEAA_THEORY_TRIALS_H_
#define STABLEAA_THEORY_TRIALS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/theory/claim.h"

namespace stableaa {

inline constexpr std::int64_t kMostTrials = 1'000'000'000'000;

struct TrialOptions {
  // Random instances, 1 to 10^12; the fixed ones and those of the search are extra.
  std::int64_t trials = 1000;
  std::uint64_t seed = 1;

  // Multiplies the right sides. A factor below 1 tests whether the search would notice a bound that
  // is too small.
  double bound_factor = 1;

  // Called after every instance, with the total number of instances to test; may throw to stop.
  std::function<void(std::int64_t done, std::int64_t total)> watch = {};

  // Throws BadInput for trials out of range.
  void Validate() const;
};

enum class Verdict { kHolds, kViolated, kNone };

// "holds", "violated", "none".
std::string_view Name(Verdict verdict);

// The result for one form of a claim.
struct FormResult {
  Verdict verdict = Verdict::kNone;                         // none: the claim has no such form
  double worst = std::numeric_limits<double>::quiet_NaN();  // the largest Ratio(); NaN if none
  std::string instance;                                     // the instance that attains it
};

struct ClaimResult {
  const Claim* claim = nullptr;
  FormResult printed;
  FormResult corrected;  // the printed form's if that is true
  std::int64_t trials = 0;
  std::int64_t searched = 0;  // by the search, including instances to which a form does not apply
  std::vector<TrialOutcome> fixed;  // of claim->fixed
  double seconds = 0;
};

ClaimResult TestClaim(const Claim& claim, const TrialOptions& options);

// WorkFailed, naming the claims, if a corrected form is violated.
void CheckCorrected(std::span<const ClaimResult> results);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_TRIALS_H_
