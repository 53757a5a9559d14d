#include "stableaa/experiment/results/atari_scores.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "stableaa/env/registry.h"
#include "stableaa/experiment/results/comparison.h"

namespace stableaa::atari_scores_test {

TEST(AtariScores, AreThoseOfTheGamesThatTheRegistryLists) {
  std::set<std::string> expected, found;
  for (const EnvironmentListing& listing : ListEnvironments()) {
    if (!listing.id.starts_with("atari/") || listing.id.ends_with(">")) continue;
    expected.insert(listing.id);
    EXPECT_TRUE(FindAtariScores(listing.id).has_value()) << listing.id;
  }
  for (const AtariScores& scores : AllAtariScores()) {
    found.insert("atari/" + std::string(scores.game));
  }
  EXPECT_EQ(expected.size(), 20U);
  EXPECT_EQ(found, expected);
}

// Column sums of the published table: a wrong digit anywhere changes them.
TEST(AtariScores, AreThePublishedOnes) {
  double random = 0, human = 0;
  for (const AtariScores& scores : AllAtariScores()) {
    random += scores.random;
    human += scores.human;
  }
  EXPECT_NEAR(random, 18651.0, 1e-8);
  EXPECT_NEAR(human, 271209.3, 1e-8);
  const auto pong = FindAtariScores("atari/pong");
  ASSERT_TRUE(pong.has_value());
  EXPECT_EQ(pong->game, "pong");
  EXPECT_EQ(pong->random, -20.7);
  EXPECT_EQ(pong->human, 14.6);
}

TEST(AtariScores, APersonIsBetterThanChance) {
  for (const AtariScores& scores : AllAtariScores()) {
    EXPECT_LT(scores.random, scores.human) << scores.game;
  }
}

TEST(AtariScores, OtherEnvironmentsHaveNone) {
  for (const char* const name : {"minatar/breakout", "breakout", "atari/", "atari", "", "/",
                                 "atari/tetris", "atari/pongg", "atari/atari/pong", "Atari/Pong"}) {
    EXPECT_FALSE(FindAtariScores(name).has_value()) << name;
  }
}

TEST(AtariScores, AnySpellingIsFoundByItsProperId) {
  const auto found = FindAtariScores(NormalizedId("Atari/YarsRevenge"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->game, "yars_revenge");
}

// As in reports: 0 for the random player, 1 for the human.
double HumanNormalised(const AtariScores& scores, double score) {
  return Scale{.kind = Scale::Kind::kHuman, .low = scores.random, .high = scores.human}(score);
}

TEST(HumanNormalised, IsZeroForChanceAndOneForThePerson) {
  for (const AtariScores& scores : AllAtariScores()) {
    EXPECT_EQ(HumanNormalised(scores, scores.random), 0) << scores.game;
    EXPECT_EQ(HumanNormalised(scores, scores.human), 1) << scores.game;
    const double middle = (scores.random + scores.human) / 2;
    EXPECT_NEAR(HumanNormalised(scores, middle), 0.5, 1e-14) << scores.game;
  }
}

TEST(HumanNormalised, IsKnownForTheBestOfPong) {
  const auto pong = FindAtariScores("atari/pong");
  ASSERT_TRUE(pong.has_value());
  EXPECT_NEAR(HumanNormalised(*pong, 21), 41.7 / 35.3, 1e-14);
  EXPECT_NEAR(HumanNormalised(*pong, -21), -0.3 / 35.3, 1e-14);
  EXPECT_TRUE(std::isnan(HumanNormalised(*pong, std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace stableaa::atari_scores_test
