#include "stableaa/theory/claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/theory/trials.h"

namespace stableaa::claims_test {

// What is known about each statement as printed (docs/paper.md).
const std::map<std::string_view, Verdict>& PrintedVerdicts() {
  using enum Verdict;
  static const std::map<std::string_view, Verdict> verdicts = {{"prop1", kHolds},
                                                               {"thm1", kViolated},
                                                               {"theta-2norm", kHolds},
                                                               {"theta-sup", kViolated},
                                                               {"thm2", kViolated},
                                                               {"thm3a", kViolated},
                                                               {"thm3b", kViolated},
                                                               {"prop2-first", kViolated},
                                                               {"prop2-second", kHolds},
                                                               {"ridge-vanishes", kViolated},
                                                               {"mellowmax-nonexpansive", kHolds},
                                                               {"mellowmax-c2", kHolds},
                                                               {"boltzmann-expansive", kHolds},
                                                               {"maxent-root", kNone},
                                                               {"mellowmax-bias", kNone},
                                                               {"eta-rule", kNone}};
  return verdicts;
}

TEST(Claims, AreTheOnesOfTheContract) {
  std::vector<std::string_view> ids;
  for (const Claim& claim : AllClaims()) ids.push_back(claim.id);
  std::ranges::sort(ids);
  std::vector<std::string_view> expected;
  for (const auto& [id, verdict] : PrintedVerdicts()) expected.push_back(id);
  EXPECT_EQ(ids, expected);
}

TEST(Claims, AreFoundByName) { EXPECT_EQ(&FindClaim("thm1"), &AllClaims()[1]); }

TEST(Claims, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  try {
    FindClaim("theorem1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    const std::string message = error.what();
    EXPECT_NE(message.find("'theorem1'"), std::string::npos) << message;
    for (const Claim& claim : AllClaims()) {
      EXPECT_NE(message.find(claim.id), std::string::npos) << message;
    }
  }
}

std::size_t Columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

TEST(Claims, TextsFitATerminal) {
  for (const Claim& claim : AllClaims()) {
    EXPECT_LE(Columns(claim.title), 75U) << claim.id;
    std::vector<std::string_view> texts = {claim.printed, claim.why, claim.corrected,
                                           claim.derivation};
    for (const FixedInstance& fixed : claim.fixed) texts.push_back(fixed.text);
    for (std::string_view text : texts) {
      while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        EXPECT_LE(Columns(text.substr(0, end)), 90U) << claim.id << ": " << text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
      }
    }
  }
}

TEST(Claims, WhatIsWrongIsExplainedShownAndCorrected) {
  for (const Claim& claim : AllClaims()) {
    EXPECT_FALSE(claim.derivation.empty()) << claim.id;
    EXPECT_FALSE(claim.printed.empty() && claim.corrected.empty()) << claim.id;
    if (PrintedVerdicts().at(claim.id) != Verdict::kViolated) {
      EXPECT_TRUE(claim.why.empty()) << claim.id;
      continue;
    }
    EXPECT_FALSE(claim.why.empty()) << claim.id;
    EXPECT_FALSE(claim.corrected.empty()) << claim.id;
    ASSERT_FALSE(claim.fixed.empty()) << claim.id;
    const auto first = claim.fixed[0].evaluate();
    ASSERT_TRUE(first.printed && first.corrected) << claim.id;
    EXPECT_GT(first.printed->Ratio(), 1) << claim.id;
    EXPECT_LE(first.corrected->Ratio(), 1) << claim.id;
  }
}

// With one trial, the counterexamples alone decide on the printed forms.
TEST(FullClaims, VerdictsAsPrintedDoNotDependOnTheTrials) {
  for (const Claim& claim : AllClaims()) {
    EXPECT_EQ(TestClaim(claim, {.trials = 1}).printed.verdict, PrintedVerdicts().at(claim.id))
        << claim.id;
  }
}

TEST(FullClaims, HoldAsCorrectedForOtherSeeds) {
  for (const Claim& claim : AllClaims()) {
    for (const std::uint64_t seed : {2ULL, 3ULL, 21ULL, 22ULL, 23ULL, 1ULL << 63}) {
      const ClaimResult result = TestClaim(claim, {.trials = 300, .seed = seed});
      EXPECT_EQ(result.corrected.verdict, Verdict::kHolds)
          << claim.id << " " << result.corrected.worst << " " << result.corrected.instance;
      EXPECT_EQ(result.printed.verdict, PrintedVerdicts().at(claim.id)) << claim.id;
      EXPECT_GT(result.corrected.worst, 0) << claim.id;
    }
  }
}

// The search works: where it comes within 5 % of a bound, it breaks a bound 10 % smaller.
TEST(FullClaims, TightBoundsTimesNineTenthsAreFoundViolated) {
  int tight = 0;
  for (const Claim& claim : AllClaims()) {
    Claim bare = claim;
    bare.fixed = {};  // so that the search must find one itself
    if (TestClaim(bare, {.trials = 300}).corrected.worst <= 0.95) continue;
    ++tight;
    const ClaimResult result = TestClaim(bare, {.trials = 300, .seed = 2, .bound_factor = 0.9});
    EXPECT_EQ(result.corrected.verdict, Verdict::kViolated) << claim.id;
  }
  EXPECT_GE(tight, 9);
}

}  // namespace stableaa::claims_test
