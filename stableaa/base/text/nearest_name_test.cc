#include "stableaa/base/text/nearest_name.h"

#include <gtest/gtest.h>

namespace stableaa::nearest_name_test {

using Names = std::vector<std::string>;

const Names kKeys = {"anderson.memory",       "anderson.eta", "agent.eta",
                     "agent.weights.refresh", "replay.size",  "optimizer.epsilon"};

TEST(NearestNames, ForgivesOneSlipOfEachKind) {
  for (const char* slip : {"anderson.memry", "anderson.memmory", "anderson.memori",
                           "anderson.memroy", "andreson.memory", "Anderson.memory"}) {
    EXPECT_EQ(NearestNames(slip, kKeys), Names{"anderson.memory"}) << slip;
  }
}

TEST(NearestNames, FindsTheLastPartUnderAnotherTable) {
  EXPECT_EQ(NearestNames("refresh", kKeys), Names{"agent.weights.refresh"});
  EXPECT_EQ(NearestNames("agent.refresh", kKeys), Names{"agent.weights.refresh"});
  EXPECT_EQ(NearestNames("train.sise", kKeys), Names{"replay.size"});
  EXPECT_EQ(NearestNames("eta", kKeys), (Names{"anderson.eta", "agent.eta"}));
}

TEST(NearestNames, SaysNothingWhenNothingIsNear) {
  for (const char* far : {"", ".", "agent.xyz", "learning_rate", "x", "anderson"}) {
    EXPECT_EQ(NearestNames(far, kKeys), Names{}) << far;
  }
  EXPECT_EQ(NearestNames(std::string(1'000'000, 'a'), kKeys), Names{});
}

TEST(DidYouMean, AsksInOneSentence) {
  EXPECT_EQ(DidYouMean("eta", kKeys), "; did you mean 'anderson.eta' or 'agent.eta'?");
  EXPECT_EQ(DidYouMean("learning_rate", kKeys), "");
}

}  // namespace stableaa::nearest_name_test
