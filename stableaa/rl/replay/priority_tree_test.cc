#include "stableaa/rl/replay/priority_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "stableaa/core/random.h"

namespace stableaa::priority_tree_test {

TEST(PriorityTree, FindsTheLeafInWhichAPrefixFalls) {
  for (const std::size_t leaves : {1U, 2U, 3U, 7U, 8U, 9U}) {
    PriorityTree tree(leaves);
    for (std::size_t i = 0; i < leaves; ++i) tree.Set(i, static_cast<double>(i + 1));
    double before = 0;
    for (std::size_t i = 0; i < leaves; ++i) {
      EXPECT_EQ(tree.Find(before), i);
      EXPECT_EQ(tree.Find(before + static_cast<double>(i) + .5), i);
      before += tree[i];
    }
    EXPECT_EQ(tree.total(), before);
  }
}

TEST(PriorityTree, NeverFindsALeafOfPriorityZero) {
  RandomStream random(1, "test");
  for (int trial = 0; trial < 2000; ++trial) {
    PriorityTree tree(13);
    for (std::size_t i = 0; i < 13; ++i) {
      if (random.Bernoulli(.3)) tree.Set(i, std::pow(10., random.Uniform(-300, 300)));
    }
    if (tree.total() == 0) continue;
    for (const double prefix :
         {0., random.Uniform() * tree.total(), std::nextafter(tree.total(), 0.), tree.total(),
          std::numeric_limits<double>::max()}) {
      EXPECT_GT(tree[tree.Find(prefix)], 0);
    }
  }
}

TEST(PriorityTree, DoesNotRememberFormerPriorities) {
  RandomStream random(1, "test");
  PriorityTree worn(100), fresh(100);
  for (int i = 0; i < 10'000; ++i) worn.Set(random.Below(100), random.Uniform());
  for (std::size_t i = 100; i-- > 0;) fresh.Set(i, worn[i]);
  EXPECT_EQ(worn.total(), fresh.total());
  for (int i = 0; i < 1000; ++i) {
    const double prefix = random.Uniform() * worn.total();
    EXPECT_EQ(worn.Find(prefix), fresh.Find(prefix));
  }
}

TEST(PriorityTree, TakesTheMemoryThatWasEstimated) {
  for (const std::size_t leaves : {1U, 5U, 1000U}) {
    EXPECT_EQ(PriorityTree(leaves).bytes(), PriorityTree::EstimateBytes(leaves));
  }
}

}  // namespace stableaa::priority_tree_test
