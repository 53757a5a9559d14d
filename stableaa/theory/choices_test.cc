#include "stableaa/theory/choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "stableaa/core/random.h"

namespace stableaa::choices_test {

const double kAlmostOne = std::nextafter(1.0, 0.0);

TEST(Choices, AreRememberedAndRepeatTheInstance) {
  RandomStream stream(7, "choices");
  Choices first(&stream);
  const int integer = first.Integer(1, 100);
  const double normal = first.Normal();
  const std::uint64_t seed = first.Seed();
  ASSERT_EQ(first.Taken().size(), 3U);

  RandomStream other(8, "never asked");
  const RandomStream::State untouched = other.state();
  Choices again(first.Taken(), &other);
  EXPECT_EQ(again.Integer(1, 100), integer);
  EXPECT_EQ(again.Normal(), normal);
  EXPECT_EQ(again.Seed(), seed);
  EXPECT_EQ(other.state(), untouched);
}

TEST(Choices, BeyondTheRememberedOnesComeFromTheStream) {
  RandomStream stream(7, "choices");
  RandomStream same(7, "choices");
  Choices choices({0.25}, &stream);
  EXPECT_EQ(choices.Uniform(), 0.25);
  EXPECT_EQ(choices.Uniform(), same.Uniform());
  EXPECT_EQ(choices.Taken().size(), 2U);
}

// A repetition that stops earlier must drop the rest: otherwise a search would move numbers that
// have no effect.
TEST(Choices, TakenAreOnlyThoseAskedFor) {
  RandomStream stream(7, "choices");
  Choices choices({0.1, 0.2, 0.3}, &stream);
  choices.Uniform();
  EXPECT_EQ(choices.Taken(), std::vector<double>{0.1});
}

TEST(Choices, RangesIncludeTheirEnds) {
  RandomStream stream(7, "choices");
  const auto with = [&](double number) { return Choices({number}, &stream); };
  EXPECT_EQ(with(0).Integer(-3, 5), -3);
  EXPECT_EQ(with(kAlmostOne).Integer(-3, 5), 5);
  EXPECT_EQ(with(0).LogUniform(1e-3, 1e3), 1e-3);
  EXPECT_NEAR(with(0.5).LogUniform(1e-3, 1e3), 1, 1e-12);
  EXPECT_LE(with(kAlmostOne).LogUniform(1e-3, 1e3), 1e3);
  EXPECT_EQ(with(0.5).Normal(), 0);
  EXPECT_LT(with(0).Normal(), -8);
  EXPECT_GT(with(kAlmostOne).Normal(), 8);
  EXPECT_FALSE(with(0).Chance(0));
  EXPECT_TRUE(with(kAlmostOne).Chance(1));
}

TEST(Neighbour, StaysWithinTheUnitIntervalAndMovesSomething) {
  RandomStream stream(7, "neighbours");
  const std::vector<double> numbers = {0, 0.3, 0.5, 0.7, kAlmostOne};
  std::set<std::size_t> moved_counts;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<double> moved = Neighbour(numbers, stream);
    ASSERT_EQ(moved.size(), numbers.size());
    std::size_t count = 0;
    for (std::size_t k = 0; k < moved.size(); ++k) {
      ASSERT_GE(moved[k], 0);
      ASSERT_LT(moved[k], 1);
      count += moved[k] != numbers[k] ? 1 : 0;
    }
    EXPECT_GE(count, 1U);
    moved_counts.insert(count);
  }
  EXPECT_EQ(moved_counts.size(), 5U) << "from one number to all of them";
}

TEST(Neighbour, OfNothingIsNothing) {
  RandomStream stream(7, "neighbours");
  EXPECT_TRUE(Neighbour({}, stream).empty());
}

}  // namespace stableaa::choices_test
