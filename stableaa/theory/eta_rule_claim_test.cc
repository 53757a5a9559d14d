#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/anderson/fixed_point.h"
#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/solve/passes.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/trials.h"

namespace stableaa::eta_rule_claim_test {

constexpr double kDiscount = 0.99;

const Claim& EtaRule() { return EtaRuleClaims()[0]; }

Model KnownGarnet() {
  return GenerateModel({.kind = "garnet", .seed = 1, .states = 100, .actions = 4, .branching = 8});
}

// Backups to the claim's tolerance, counted by the library's own loop; memory 0 means plain.
std::int64_t Backups(const Model& model, int memory, double eta) {
  FixedPointOptions options{.tolerance = 1e-11};
  options.acceleration = {
      .memory = memory, .weights = {.rule = WeightRule::kStable, .eta = eta}, .safeguard = false};
  std::vector<double> values(model.states(), 0);
  const auto map = [&](std::span<const double> x, std::span<double> image) {
    BackupPass(model, kDiscount, x, image, {}, 1);
  };
  const FixedPointSummary summary = SolveFixedPoint(map, values, options);
  EXPECT_TRUE(summary.converged);
  return summary.evaluations;
}

double SpeedUp(const Model& model, int memory, double eta) {
  return static_cast<double>(Backups(model, 0, 0)) /
         static_cast<double>(Backups(model, memory, eta));
}

TEST(EtaRuleClaim, HasOneClaimThatIsNotThePapers) {
  ASSERT_EQ(EtaRuleClaims().size(), 1U);
  EXPECT_EQ(EtaRule().id, "eta-rule");
  EXPECT_TRUE(EtaRule().printed.empty());
  EXPECT_FALSE(EtaRule().corrected.empty());
}

TEST(EtaRuleClaim, HoldsAndATwentiethWouldBeTooLittle) {
  const ClaimResult result = TestClaim(EtaRule(), {.trials = 8});
  EXPECT_EQ(result.printed.verdict, Verdict::kNone);
  EXPECT_EQ(result.corrected.verdict, Verdict::kHolds) << result.corrected.instance;
  const ClaimResult less = TestClaim(EtaRule(), {.trials = 8, .bound_factor = 1.0 / 3});
  EXPECT_EQ(less.corrected.verdict, Verdict::kViolated);
}

TEST(EtaRuleClaim, CountsTheKnownGarnetAsItsTextSays) {
  const Model model = KnownGarnet();
  const double plain = static_cast<double>(Backups(model, 0, 0));
  // A backup lowers a residual of 1e-11 by 1 to 2 %, about 1e-13, which is not far above the
  // rounding of values of 50 (1e-14, and more with the weights): compilers and instruction sets may
  // differ by a backup.
  EXPECT_NEAR(plain, 2501, 1);
  double worst = 0;
  for (const auto& [eta, expected] : {std::pair{0.001, 244}, {0.01, 1260}, {0.1, 2275}}) {
    const auto backups = static_cast<double>(Backups(model, 5, eta));
    EXPECT_NEAR(backups, expected, 1);
    const double rule = 1 + (1 - kDiscount) / eta;
    worst = std::max(worst, std::abs(plain / backups / rule - 1));
  }
  const TrialOutcome known = EtaRule().fixed[0].evaluate();
  EXPECT_NEAR(static_cast<double>(known.corrected->left), worst, 1e-12);
  EXPECT_NEAR(static_cast<double>(known.corrected->right), 0.15, 1e-15);
  EXPECT_FALSE(known.printed);
}

// This is why a solve with η ≥ 1−γ prints a warning.
TEST(EtaRuleClaim, LeavesLessThanAFactorOfTwoFromOneMinusGammaOn) {
  EXPECT_LE(SpeedUp(KnownGarnet(), 5, 1 - kDiscount), 2);
}

TEST(EtaRuleClaim, IsRightlyLimitedToLongMemoriesAndFastMixing) {
  const double eta = 10 * (1 - kDiscount) * (1 - kDiscount);
  constexpr double kRule = 11;  // 1 + (1−γ)/η
  EXPECT_LT(SpeedUp(KnownGarnet(), 1, eta), kRule / 3);
  EXPECT_LT(SpeedUp(GenerateModel({.kind = "chain", .states = 50}), 5, eta), kRule / 2);
}

TEST(EtaRuleClaim, DescribesInstancesOfItsDomain) {
  RandomStream stream(1, "test");
  Choices choices(&stream);
  std::string description;
  const TrialOutcome first = EtaRule().trial(choices, &description);
  ASSERT_TRUE(first.corrected);
  EXPECT_NE(description.find("backups against"), std::string::npos);
  Choices again(choices.Taken(), nullptr);  // no further number may be requested
  EXPECT_EQ(EtaRule().trial(again, nullptr).corrected->left, first.corrected->left);
}

TEST(FullEtaRuleClaim, HoldsForSeveralSeeds) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const ClaimResult result = TestClaim(EtaRule(), {.trials = 80, .seed = seed});
    EXPECT_EQ(result.corrected.verdict, Verdict::kHolds) << result.corrected.instance;
  }
}

}  // namespace stableaa::eta_rule_claim_test
