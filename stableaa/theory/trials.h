// Tests a claim: its fixed instances, random ones, and a search for worse ones.
//
//   const ClaimResult result = TestClaim(FindClaim("thm1"), {.trials = 1000, .seed = 1});
//
// The search is a hill climb on Inequality::Ratio() with restarts, from the worst instances drawn
// and from new ones in turn: it goes to neighbours (choices.h) that are no better, half of the time
// for the printed form and half for the corrected one. So "holds" means that someone has tried to
// break it.
//
// Equal claim, trials and seed give equal results on one machine.
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
  // Random instances, 1 to 10^12; the fixed ones and those of the search come on top.
  std::int64_t trials = 1000;
  std::uint64_t seed = 1;

  // Multiplies the right sides. Below 1 it asks whether the search would notice a bound that is too
  // small; for tests.
  double bound_factor = 1;

  // Called after every instance, with all that are to come as a total; may throw to stop.
  std::function<void(std::int64_t done, std::int64_t total)> watch = {};

  // Throws BadInput for trials out of range.
  void Validate() const;
};

enum class Verdict { kHolds, kViolated, kNone };

// "holds", "violated", "none".
std::string_view Name(Verdict verdict);

// What became of one form of a claim.
struct FormResult {
  Verdict verdict = Verdict::kNone;                         // none: there is no such form
  double worst = std::numeric_limits<double>::quiet_NaN();  // the largest Ratio(); NaN for none
  std::string instance;                                     // the one that it belongs to
};

struct ClaimResult {
  const Claim* claim = nullptr;
  FormResult printed;
  FormResult corrected;  // the printed form's where that is true
  std::int64_t trials = 0;
  std::int64_t searched = 0;  // by the search; with the few instances that a form is silent on
  std::vector<TrialOutcome> fixed;  // of claim->fixed
  double seconds = 0;
};

ClaimResult TestClaim(const Claim& claim, const TrialOptions& options);

// WorkFailed, naming the claims, if a corrected form is violated.
void CheckCorrected(std::span<const ClaimResult> results);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_TRIALS_H_
