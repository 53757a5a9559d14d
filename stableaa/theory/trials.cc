#include "stableaa/theory/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {
namespace {

// Instances per hill climb. Every second climb starts from one of the worst instances drawn, the
// others from new ones.
constexpr std::int64_t kClimbLength = 400;
constexpr std::size_t kMostStarts = 100;

constexpr int kMaxAttempts = 1000;

using Form = std::optional<Inequality> TrialOutcome::*;

// An instance, represented by its choices.
struct Candidate {
  double ratio = -1;
  std::vector<double> numbers;
};

// The worst instance for a form, and the worst few as starting points for climbs.
class Worst {
 public:
  void Add(double ratio, const Choices& choices) {
    if (starts_.size() == kMostStarts && ratio <= starts_.back().ratio) return;
    const auto place =
        std::ranges::upper_bound(starts_, ratio, std::ranges::greater{}, &Candidate::ratio);
    starts_.insert(place, {ratio, choices.Taken()});
    if (starts_.size() > kMostStarts) starts_.pop_back();
  }

  const std::vector<Candidate>& candidates() const { return starts_; }

 private:
  std::vector<Candidate> starts_;  // worst first
};

class ClaimTrials {
 public:
  ClaimTrials(const Claim& claim, const TrialOptions& options)
      : claim_(claim),
        options_(options),
        search_(2 * static_cast<std::int64_t>(
                        std::ceil(claim.search_share / 2 * static_cast<double>(options.trials)))),
        instances_(options.seed, fmt::format("theory/{}", claim.id)),
        moves_(options.seed, fmt::format("theory/{}/search", claim.id)) {}

  ClaimResult Run() {
    const Stopwatch watch;
    for (const FixedInstance& fixed : claim_.fixed) TryFixed(fixed);
    for (std::int64_t i = 0; i < options_.trials; ++i) Draw();
    const bool has_printed = !claim_.printed.empty();
    const bool has_corrected = !claim_.corrected.empty();
    const std::int64_t half = has_printed && has_corrected ? search_ / 2 : search_;
    if (has_printed) Search(&TrialOutcome::printed, printed_, half);
    if (has_corrected) Search(&TrialOutcome::corrected, corrected_, half);

    result_.claim = &claim_;
    result_.trials = options_.trials;
    if (has_printed) result_.printed = Judge(&TrialOutcome::printed, printed_, fixed_printed_);
    if (claim_.printed_is_existence) Swap(result_.printed.verdict);
    result_.corrected = has_corrected
                            ? Judge(&TrialOutcome::corrected, corrected_, fixed_corrected_)
                            : result_.printed;
    result_.seconds = watch.Seconds();
    return std::move(result_);
  }

 private:
  // The ratio of an instance for a form, with the bound scaled.
  double RatioOf(const TrialOutcome& outcome, Form form) const {
    if (!(outcome.*form)) return -1;
    Inequality inequality = *(outcome.*form);
    inequality.right *= options_.bound_factor;
    inequality.common *= options_.bound_factor;
    return inequality.Ratio();
  }

  void TryFixed(const FixedInstance& fixed) {
    const TrialOutcome outcome = fixed.evaluate();
    fixed_printed_ =
        std::max(fixed_printed_, {RatioOf(outcome, &TrialOutcome::printed), fixed.text});
    fixed_corrected_ =
        std::max(fixed_corrected_, {RatioOf(outcome, &TrialOutcome::corrected), fixed.text});
    result_.fixed.push_back(outcome);
  }

  // Draws one instance to which the claim applies; the few others do not count.
  void Draw() {
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      Choices choices(&instances_);
      const TrialOutcome outcome = claim_.trial(choices, nullptr);
      if (!outcome.printed && !outcome.corrected) continue;
      printed_.Add(RatioOf(outcome, &TrialOutcome::printed), choices);
      corrected_.Add(RatioOf(outcome, &TrialOutcome::corrected), choices);
      Count();
      return;
    }
    throw WorkFailed(
        fmt::format("{}: no instance among {} that it speaks of", claim_.id, kMaxAttempts));
  }

  // Spends `budget` instances on climbs.
  void Search(Form form, Worst& worst, std::int64_t budget) {
    const std::vector<Candidate> starts = worst.candidates();
    for (std::int64_t climb = 0; budget > 0; ++climb, budget -= kClimbLength) {
      const auto from = static_cast<std::size_t>(climb / 2) % starts.size();
      const Candidate start = climb % 2 == 0 ? starts[from] : Candidate{};
      Climb(form, worst, start, std::min(budget, kClimbLength));
    }
  }

  // From a candidate without numbers, the first step goes to a newly drawn instance.
  void Climb(Form form, Worst& worst, Candidate here, std::int64_t budget) {
    for (std::int64_t i = 0; i < budget; ++i) {
      Choices choices(Neighbour(here.numbers, moves_), &moves_);
      const double ratio = RatioOf(claim_.trial(choices, nullptr), form);
      if (ratio >= here.ratio) here = {ratio, choices.Taken()};
      worst.Add(ratio, choices);
      ++result_.searched;
      Count();
    }
  }

  void Count() {
    ++done_;
    if (options_.watch) options_.watch(done_, options_.trials + search_);
  }

  FormResult Judge(Form form, const Worst& worst,
                   const std::pair<double, std::string_view>& fixed) {
    FormResult result;
    const Candidate& drawn = worst.candidates().front();
    result.worst = std::max(fixed.first, drawn.ratio);
    result.verdict = result.worst > 1 ? Verdict::kViolated : Verdict::kHolds;
    if (fixed.first >= drawn.ratio) {
      result.instance = fixed.second;
    } else {
      Choices again(drawn.numbers, &moves_);
      const TrialOutcome outcome = claim_.trial(again, &result.instance);
      if (RatioOf(outcome, form) != drawn.ratio) {
        throw WorkFailed(fmt::format("{}: an instance did not repeat", claim_.id));
      }
    }
    return result;
  }

  static void Swap(Verdict& verdict) {
    verdict = verdict == Verdict::kHolds ? Verdict::kViolated : Verdict::kHolds;
  }

  const Claim& claim_;
  const TrialOptions& options_;
  const std::int64_t search_;
  RandomStream instances_;  // for the instances drawn
  RandomStream moves_;      // for the search
  Worst printed_, corrected_;
  std::pair<double, std::string_view> fixed_printed_ = {-1, ""}, fixed_corrected_ = {-1, ""};
  std::int64_t done_ = 0;
  ClaimResult result_;
};

}  // namespace

void TrialOptions::Validate() const {
  if (trials < 1 || trials > kMostTrials) {
    throw BadInput(fmt::format("trials: expected 1 to 10^12, found {}", trials));
  }
}

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kViolated:
      return "violated";
    case Verdict::kNone:
      break;
  }
  return "none";
}

ClaimResult TestClaim(const Claim& claim, const TrialOptions& options) {
  options.Validate();
  return ClaimTrials(claim, options).Run();
}

void CheckCorrected(std::span<const ClaimResult> results) {
  std::string violated;
  for (const ClaimResult& result : results) {
    if (result.corrected.verdict != Verdict::kViolated) continue;
    violated += fmt::format("{}{}", violated.empty() ? "" : ", ", result.claim->id);
  }
  if (violated.empty()) return;
  throw WorkFailed(fmt::format("a corrected statement is violated: {}", violated));
}

}  // namespace stableaa
