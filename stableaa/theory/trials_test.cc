#include "stableaa/theory/trials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::trials_test {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- Inequalities ----

TEST(Inequality, RatioAboveOneIsAViolation) {
  EXPECT_EQ((Inequality{.left = 1, .right = 2}).Ratio(), 0.5);
  EXPECT_EQ((Inequality{.left = 3, .right = 2}).Ratio(), 1.5);
  EXPECT_EQ((Inequality{.left = 2, .right = 2}).Ratio(), 1);
}

TEST(Inequality, ExcessCountsOnlyBeyondAThousandAllowances) {
  EXPECT_LT((Inequality{.left = 1 + 900e-9L, .right = 1, .allowance = 1e-9L}).Ratio(), 1);
  EXPECT_GT((Inequality{.left = 1 + 1100e-9L, .right = 1, .allowance = 1e-9L}).Ratio(), 1);
}

TEST(Inequality, AnEqualityIsMeasuredInAllowances) {
  EXPECT_DOUBLE_EQ((Inequality{.left = 5e-9L, .right = 0, .allowance = 1e-11L}).Ratio(), 0.5);
}

TEST(Inequality, NothingOnTheLeftIsNeverAViolation) {
  EXPECT_EQ((Inequality{.left = 0, .right = 0}).Ratio(), 0);
  EXPECT_EQ((Inequality{.left = -1, .right = -2}).Ratio(), 0);
}

TEST(Inequality, WhatIsNotFiniteAndABoundOfZeroAreViolations) {
  for (const Inequality& broken :
       {Inequality{kNan, 1, 0}, Inequality{1, kNan, 0}, Inequality{1, 1, kNan}, Inequality{1, 0, 0},
        Inequality{kInfinity, 1, kInfinity}, Inequality{5, 1, kInfinity},
        Inequality{kInfinity, kInfinity, 0}}) {
    EXPECT_EQ(broken.Ratio(), std::numeric_limits<double>::infinity());
  }
}

TEST(Inequality, ACommonPartIsTakenOffBothSides) {
  EXPECT_EQ((Inequality{.left = 11, .right = 12, .allowance = 0, .common = 10}).Ratio(), 0.5);
  EXPECT_EQ((Inequality{.left = 9, .right = 12, .allowance = 0, .common = 10}).Ratio(), 0);
  EXPECT_GT((Inequality{.left = 11, .right = 10, .allowance = 1e-6L, .common = 10}).Ratio(), 1);
}

TEST(Inequality, KeepWorseKeepsTheLargerRatio) {
  std::optional<Inequality> worst;
  KeepWorse(worst, {.left = 1, .right = 2});
  KeepWorse(worst, {.left = 1, .right = 3});
  EXPECT_EQ(worst->right, 2);
  KeepWorse(worst, {.left = 1, .right = 1});
  EXPECT_EQ(worst->right, 1);
}

// ---- Trials of claims whose truth is known ----

// x² + y² ≤ 2 on the unit square: true, attained at the corner.
TrialOutcome TrySquare(Choices& choices, std::string* description) {
  const double x = choices.Uniform();
  const double y = choices.Uniform();
  if (description != nullptr) *description = "x = " + std::to_string(x);
  return {.printed = Inequality{.left = x * x + y * y, .right = 2}};
}

Claim Square() { return {.id = "square", .printed = "x² + y² ≤ 2", .trial = TrySquare}; }

TEST(ClaimTrials, ATrueClaimHoldsAndItsTightestCaseIsFound) {
  const ClaimResult result = TestClaim(Square(), {.trials = 200});
  EXPECT_EQ(result.printed.verdict, Verdict::kHolds);
  EXPECT_GT(result.printed.worst, 0.999);
  EXPECT_LE(result.printed.worst, 1);
  EXPECT_EQ(result.printed.instance.substr(0, 7), "x = 0.9");
  EXPECT_EQ(result.trials, 200);
  EXPECT_EQ(result.searched, 800);
}

TEST(ClaimTrials, AStatementThatNeedsNoCorrectionCountsAsCorrected) {
  const ClaimResult result = TestClaim(Square(), {.trials = 10});
  EXPECT_EQ(result.corrected.verdict, Verdict::kHolds);
  EXPECT_EQ(result.corrected.worst, result.printed.worst);
}

TEST(ClaimTrials, ABoundTimesNineTenthsIsFoundViolated) {
  const ClaimResult result = TestClaim(Square(), {.trials = 200, .bound_factor = 0.9});
  EXPECT_EQ(result.printed.verdict, Verdict::kViolated);
  EXPECT_GT(result.printed.worst, 1);
}

// Above 1 only within .003 of one point in five dimensions: for 1e-12 of all instances.
TrialOutcome TryNeedle(Choices& choices, std::string*) {
  double squares = 0;
  for (const double at : {0.2, 0.9, 0.5, 0.7, 0.1}) squares += std::pow(choices.Uniform() - at, 2);
  return {.printed = Inequality{.left = 1.00001 - squares, .right = 1}};
}

TEST(ClaimTrials, TheSearchFindsWhatChanceWouldNot) {
  Claim claim{.id = "needle", .printed = "never above", .trial = TryNeedle};
  EXPECT_EQ(TestClaim(claim, {.trials = 1000}).printed.verdict, Verdict::kViolated);
  claim.search_share = 0;
  EXPECT_EQ(TestClaim(claim, {.trials = 20000}).printed.verdict, Verdict::kHolds);
}

// Printed x ≤ .5, corrected x ≤ 1, on [0, 1).
TrialOutcome TryBothForms(Choices& choices, std::string*) {
  const double x = choices.Uniform();
  return {.printed = Inequality{.left = x, .right = 0.5},
          .corrected = Inequality{.left = x, .right = 1}};
}

TEST(ClaimTrials, JudgesBothForms) {
  const Claim claim{
      .id = "forms", .printed = "x ≤ .5", .corrected = "x ≤ 1", .trial = TryBothForms};
  const ClaimResult result = TestClaim(claim, {.trials = 100});
  EXPECT_EQ(result.printed.verdict, Verdict::kViolated);
  EXPECT_EQ(result.corrected.verdict, Verdict::kHolds);
  EXPECT_NEAR(result.printed.worst, 2, 0.01);
  EXPECT_NEAR(result.corrected.worst, 1, 0.005);
}

TEST(ClaimTrials, AClaimThatSomethingExistsHoldsIfItIsFound) {
  const Claim claim{.id = "exists",
                    .printed = "some x > .5",
                    .corrected = "x ≤ 1",
                    .trial = TryBothForms,
                    .printed_is_existence = true};
  const ClaimResult result = TestClaim(claim, {.trials = 100});
  EXPECT_EQ(result.printed.verdict, Verdict::kHolds);
  EXPECT_GT(result.printed.worst, 1);
}

TEST(ClaimTrials, AStatementThatThePaperLacksHasNoVerdict) {
  const Claim claim{.id = "ours", .corrected = "x ≤ 1", .trial = TryBothForms};
  const ClaimResult result = TestClaim(claim, {.trials = 100});
  EXPECT_EQ(result.printed.verdict, Verdict::kNone);
  EXPECT_TRUE(std::isnan(result.printed.worst));
  EXPECT_EQ(result.corrected.verdict, Verdict::kHolds);
}

TEST(ClaimTrials, FixedInstancesCountWhateverTheTrials) {
  static constexpr FixedInstance kFixed[] = {
      {"x = 3", [] { return TrialOutcome{.printed = Inequality{.left = 3, .right = 2}}; }}};
  Claim claim = Square();
  claim.fixed = kFixed;
  const ClaimResult result = TestClaim(claim, {.trials = 1});
  EXPECT_EQ(result.printed.verdict, Verdict::kViolated);
  EXPECT_EQ(result.printed.worst, 1.5);
  EXPECT_EQ(result.printed.instance, "x = 3");
  ASSERT_EQ(result.fixed.size(), 1U);
  EXPECT_EQ(result.fixed[0].printed->left, 3);
}

TEST(ClaimTrials, ABrokenComputationIsSeen) {
  const Claim claim{.id = "nan", .printed = "?", .trial = [](Choices& choices, std::string*) {
                      const bool broken = choices.Chance(0.1);
                      return TrialOutcome{.printed = Inequality{broken ? kNan : 0, 1, 0}};
                    }};
  EXPECT_EQ(TestClaim(claim, {.trials = 100}).printed.verdict, Verdict::kViolated);
}

TEST(ClaimTrials, InstancesThatTheClaimDoesNotSpeakOfAreDrawnAgain) {
  static int spoken = 0;
  spoken = 0;
  const Claim claim{.id = "rare",
                    .printed = "?",
                    .trial =
                        [](Choices& choices, std::string*) {
                          if (choices.Chance(0.9)) return TrialOutcome{};
                          ++spoken;
                          return TrialOutcome{.printed = Inequality{.left = 0, .right = 1}};
                        },
                    .search_share = 0};
  const ClaimResult result = TestClaim(claim, {.trials = 50});
  EXPECT_EQ(spoken, 51) << "50 and the worst once more, to describe it";
  EXPECT_EQ(result.trials, 50);
}

TEST(ClaimTrials, AClaimWithoutInstancesIsAnErrorNotAnEndlessLoop) {
  const Claim claim{.id = "void", .printed = "?", .trial = [](Choices& choices, std::string*) {
                      choices.Uniform();
                      return TrialOutcome{};
                    }};
  EXPECT_THROW(TestClaim(claim, {.trials = 1}), Error);
}

TEST(ClaimTrials, EqualSeedsGiveEqualResultsAndOthersOthers) {
  std::set<double> worst;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ClaimResult once = TestClaim(Square(), {.trials = 20, .seed = seed});
    const ClaimResult twice = TestClaim(Square(), {.trials = 20, .seed = seed});
    EXPECT_EQ(once.printed.worst, twice.printed.worst);
    EXPECT_EQ(once.printed.instance, twice.printed.instance);
    worst.insert(once.printed.worst);
  }
  EXPECT_EQ(worst.size(), 5U);
}

TEST(ClaimTrials, TrialsOutOfRangeAreBadInput) {
  for (const std::int64_t trials :
       {std::int64_t{0}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_NE(MessageOf([&] { TestClaim(Square(), {.trials = trials}); }), "no error");
  }
}

TEST(ClaimTrials, ACorrectedFormThatIsViolatedIsAFailureThatNamesIt) {
  const Claim good{.id = "good", .printed = "x ≤ .5", .corrected = "x ≤ 1", .trial = TryBothForms};
  const Claim bad{.id = "bad", .corrected = "x ≤ 1", .trial = TryBothForms};
  std::vector<ClaimResult> results = {TestClaim(good, {.trials = 50})};
  EXPECT_NO_THROW(CheckCorrected(results)) << "a printed form may be violated";
  results.push_back(TestClaim(bad, {.trials = 50, .bound_factor = 0.5}));
  EXPECT_EQ(MessageOf([&] { CheckCorrected(results); }, Error::Kind::kWorkFailed),
            "a corrected statement is violated: bad");
}

TEST(ClaimTrials, TheWatcherSeesEveryInstanceAndMayStop) {
  std::int64_t calls = 0;
  std::int64_t last_total = 0;
  TestClaim(Square(), {.trials = 30, .watch = [&](std::int64_t done, std::int64_t total) {
                         EXPECT_EQ(done, ++calls);
                         last_total = total;
                       }});
  EXPECT_EQ(calls, 150);
  EXPECT_EQ(last_total, calls);
  EXPECT_THROW(
      TestClaim(Square(),
                {.trials = 30,
                 .watch = [](std::int64_t, std::int64_t) { throw WorkFailed("interrupted"); }}),
      Error);
}

}  // namespace stableaa::trials_test
